package workspace_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// card posts a message with one button, and clicks it in the background when asked.
func (b *bubble) card() (click func() <-chan workspace.Delivery) {
	b.t.Helper()
	posted := b.call("chat.postMessage", token, `{"channel":"C1WAF","text":"x","blocks":[{"type":"actions","elements":[
		{"type":"button","action_id":"deny","value":"deny 203.0.113.7","text":{"type":"plain_text","text":"Deny"}}]}]}`)
	require.Equal(b.t, true, posted["ok"], "%v", posted)
	return func() <-chan workspace.Delivery {
		came := make(chan workspace.Delivery, 1)
		go func() {
			d, err := b.Click(b.t.Context(), workspace.Click{User: "ann", Channel: "#waf", TS: posted["ts"].(string), Button: "Deny"})
			if err != nil {
				d.Err = err.Error()
			}
			came <- d
		}()
		return came
	}
}

func TestAClickInAnEnvelope(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		came := b.card()()
		got := s.next()
		require.Equal(b.t, "interactive", got.Type)
		require.False(b.t, got.AcceptsResponsePayload)
		require.Nil(b.t, got.RetryAttempt, "clicks aren't retried")
		var callback slack.InteractionCallback
		require.NoError(b.t, json.Unmarshal([]byte(got.raw), &struct {
			Payload *slack.InteractionCallback
		}{&callback}))
		require.Equal(b.t, slack.InteractionTypeBlockActions, callback.Type)
		require.Equal(b.t, "deny 203.0.113.7", callback.ActionCallback.BlockActions[0].Value)

		time.Sleep(2 * time.Second)
		s.send(`{"envelope_id":"` + got.EnvelopeID + `","payload":{"text":"not taken"}}`)
		d := <-came
		require.Equal(b.t, workspace.IngressSocket, d.Via)
		require.True(b.t, d.Acked)
		require.Equal(b.t, http.StatusOK, d.Status)
		require.Equal(b.t, 2*time.Second, d.Took)
		require.Empty(b.t, d.Warning+d.Err+d.Body+d.Path)
		require.Equal(b.t, got.EnvelopeID, d.EnvelopeID)
		require.Equal(b.t, got.raw, d.EnvelopeBody)
		require.Equal(b.t, callback.ResponseURL, d.ResponseURL)
		link := b.Links()[0]
		require.Equal(b.t, []any{link.ID, 1, 1}, []any{d.Link, link.Delivered, link.Acked})
	})
}

func TestACommandInAnEnvelopeMayBeAnsweredAtOnce(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		for payload, shown := range map[string]int{"": 0, `,"payload":{}`: 0, `,"payload":null`: 0, `,"payload":{"text":"working on it"}`: 1} {
			came := b.command("deny 203.0.113.7")
			got := s.next()
			require.Equal(b.t, "slash_commands", got.Type)
			require.True(b.t, got.AcceptsResponsePayload)
			require.Equal(b.t, "/waf", got.Payload["command"])
			require.Equal(b.t, "deny 203.0.113.7", got.Payload["text"])
			require.Equal(b.t, "U1ANN", got.Payload["user_id"])
			require.Equal(b.t, "false", got.Payload["is_enterprise_install"], "as in a form")
			before := len(b.Ephemerals("ann"))
			s.send(`{"envelope_id":"` + got.EnvelopeID + `"` + payload + `}`)
			require.Empty(b.t, (<-came).Warning)
			require.Len(b.t, b.Ephemerals("ann"), before+shown, payload)
		}
	})
}

func TestAcknowledgementsThatDontCount(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s, other := b.greeted(), b.greeted()
		ways := map[string]func(frame){
			"over another link": func(f frame) { other.ack(f); other.allRead() },
			"of another id":     func(frame) { s.send(`{"envelope_id":"made-up"}`) },
			"without JSON":      func(frame) { s.send(`ok`); s.send(`["x"]`) },
			"of 20 kB":          func(f frame) { s.send(padded(f, 20_000)) },
			"late":              func(f frame) { time.Sleep(3*time.Second + 1); s.ack(f) },
		}
		for name, send := range ways {
			came := b.command("status")
			var got frame
			for got.EnvelopeID == "" {
				select {
				case got = <-s.frames:
				case f := <-other.frames: // its turn: no matter here
					other.ack(f)
					<-came
					came = b.command("status")
				}
			}
			send(got)
			d := <-came
			require.False(b.t, d.Acked, name)
			require.Equal(b.t, "the app did not respond", d.Warning, name)
			require.Equal(b.t, "no acknowledgement within 3 seconds", d.Err, name)
			require.Zero(b.t, d.Status, name)
		}
		require.Zero(b.t, b.Links()[0].Acked)
		require.Equal(b.t, len(ways), b.Links()[0].Delivered)
	})
}

// padded acknowledges in that many bytes.
func padded(f frame, size int) string {
	text := `{"envelope_id":"` + f.EnvelopeID + `","payload":{"text":""}}`
	return strings.Replace(text, `"text":"`, `"text":"`+strings.Repeat("x", size-len(text)), 1)
}

func TestAnAcknowledgementOfJustUnder20KBCounts(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		came := b.command("status")
		s.send(padded(s.next(), 19_999))
		require.True(b.t, (<-came).Acked)
	})
}

func TestEachPayloadGoesToOneLinkAndAllGetTheirShare(t *testing.T) {
	inBubble(t, func(b *bubble) {
		sockets := []*socket{b.greeted(), b.greeted(), b.greeted()}
		for range 9 {
			came := b.command("status")
			synctest.Wait()
			for _, s := range sockets {
				if len(s.frames) == 1 {
					s.ack(s.next())
				}
			}
			require.True(b.t, (<-came).Acked)
		}
		for _, link := range b.Links() {
			require.Equal(b.t, []int{3, 3}, []int{link.Delivered, link.Acked})
		}
	})
}

func TestAClickIsLostWithItsLink(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s, other := b.greeted(), b.greeted()
		came := b.command("status")
		got := <-either(s, other)
		require.NoError(b.t, b.CutLinks())
		d := <-came
		require.Equal(b.t, "the link closed before the acknowledgement", d.Err)
		require.Equal(b.t, "the app did not respond", d.Warning)
		require.Zero(b.t, b.passed())
		require.NotEmpty(b.t, got.EnvelopeID)
	})
}

// either hands on the next frame of whichever link it comes over.
func either(sockets ...*socket) <-chan frame {
	came := make(chan frame, len(sockets))
	for _, s := range sockets {
		go func() { came <- <-s.frames }()
	}
	return came
}

func TestReplayAndFaultsOverALink(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		answerAll := func(n int) (got []frame) {
			for range n {
				got = append(got, s.next())
				s.ack(got[len(got)-1])
			}
			return got
		}
		came := b.command("status")
		first := answerAll(1)[0]
		d := <-came
		again := make(chan workspace.Delivery, 1)
		go func() {
			sent, err := b.Replay(b.t.Context(), d)
			if err != nil {
				sent.Err = err.Error()
			}
			again <- sent
		}()
		require.Equal(b.t, first.raw, answerAll(1)[0].raw)
		require.True(b.t, (<-again).Acked)
		_, err := b.Forge(b.t.Context(), d)
		require.ErrorContains(b.t, err, "only a signed request")

		b.SetFault(workspace.Fault{Kind: "duplicate_delivery", Times: 1})
		came = b.command("status")
		twice := answerAll(2)
		require.Equal(b.t, twice[0].EnvelopeID, twice[1].EnvelopeID)
		require.True(b.t, (<-came).Acked)

		b.SetFault(workspace.Fault{Kind: "lost_click", Times: 1})
		lost := <-b.command("status")
		require.Equal(b.t, "the app did not respond", lost.Warning)
		require.Empty(b.t, lost.Via)
		require.Empty(b.t, s.frames)
	})
}

func TestARawEnvelope(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		raw := `{"envelope_id":"e1","type":"interactive","payload":{"user":42}}`
		came := make(chan workspace.Delivery, 1)
		go func() {
			d, err := b.SendRaw(b.t.Context(), raw)
			if err != nil {
				d.Err = err.Error()
			}
			came <- d
		}()
		got := s.next()
		require.Equal(b.t, raw, got.raw)
		time.Sleep(time.Second)
		s.ack(got)
		d := <-came
		require.True(b.t, d.Acked)
		require.Equal(b.t, time.Second, d.Took)
		_, err := b.SendRaw(b.t.Context(), `{"type":"interactive"}`)
		require.ErrorContains(b.t, err, "envelope_id")
	})
}

func TestTriggersAndResponseURLsOfEnvelopes(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		view := func(trigger any) any {
			return b.call("views.open", token, fmt.Sprintf(`{"trigger_id":%q,"view":{"type":"modal","title":{"type":"plain_text","text":"t"},
				"blocks":[{"type":"divider"}]}}`, trigger))["error"]
		}
		came := b.command("status")
		got := s.next()
		s.ack(got)
		d := <-came
		require.Nil(b.t, view(got.Payload["trigger_id"]))
		require.Equal(b.t, "exchanged_trigger_id", view(got.Payload["trigger_id"]))
		for n := range 6 {
			response, err := b.client.Post(d.ResponseURL, "application/json", strings.NewReader(`{"text":"hi"}`))
			require.NoError(b.t, err)
			response.Body.Close()
			require.Equal(b.t, map[bool]int{true: 200, false: 404}[n < 5], response.StatusCode)
		}
		came = b.command("status")
		got = s.next()
		s.ack(got)
		d = <-came
		time.Sleep(3*time.Second + 1)
		require.Equal(b.t, "expired_trigger_id", view(got.Payload["trigger_id"]))
		time.Sleep(30 * time.Minute)
		response, err := b.client.Post(d.ResponseURL, "application/json", strings.NewReader(`{"text":"late"}`))
		require.NoError(b.t, err)
		response.Body.Close()
		require.Equal(b.t, 404, response.StatusCode)
	})
}
