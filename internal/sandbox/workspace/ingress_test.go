package workspace_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// answering is a bot over HTTP that answers each request with the next of those statuses, and records when each came.
func answering(came *chan *http.Request, statuses ...int) func(*workspace.Config) {
	return func(cfg *workspace.Config) {
		*came = make(chan *http.Request, 99) // within the bubble
		cfg.Deliver = "http://bot.test"
		cfg.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if echo := echoed(r); echo != "" {
				return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(echo))}, nil
			}
			status := statuses[0]
			if len(statuses) > 1 {
				statuses = statuses[1:]
			}
			*came <- r
			header := http.Header{}
			if status == http.StatusGone {
				header.Set("X-Slack-No-Retry", "1")
			}
			return &http.Response{StatusCode: status, Header: header, Body: http.NoBody}, nil
		})}
	}
}

// echoed is the challenge that a request holds; "": none.
func echoed(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var check struct{ Challenge string }
	_ = json.Unmarshal(body, &check) // a form isn't JSON
	return check.Challenge
}

// Slack sends events only to an address that has answered its challenge; clicks and commands go there all the same.
func TestEventsGoOnlyToAVerifiedAddress(t *testing.T) {
	var came chan *http.Request
	inBubble(t, func(b *bubble) {
		b.DeliverTo("http://other.test")
		require.False(b.t, b.Verified())
		b.say("ann", "", "too early")
		synctest.Wait()
		require.True(b.t, b.Events()[0].Done)
		require.Empty(b.t, b.Events()[0].Attempts)
		_, err := b.Command(b.t.Context(), workspace.Command{User: "ann", Channel: "waf"})
		require.NoError(b.t, err)
		require.Len(b.t, came, 1)
		_, err = b.VerifyURL(b.t.Context())
		require.NoError(b.t, err)
		b.say("ann", "", "now")
		synctest.Wait()
		require.Len(b.t, came, 2)
	}, answering(&came, 200))
}

func TestTheWayOfDeliveries(t *testing.T) {
	var requests chan *http.Request
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		go func() {
			for f := range s.frames {
				if f.err != nil {
					return
				}
				_ = s.conn.WriteMessage(1, []byte(`{"envelope_id":"`+f.EnvelopeID+`"}`))
			}
		}()
		const request, link = workspace.IngressHTTP, workspace.IngressSocket
		for _, step := range []struct {
			way  workspace.Ingress
			want []workspace.Ingress
		}{
			{workspace.IngressAuto, []workspace.Ingress{request, request}},
			{request, []workspace.Ingress{request, request}},
			{link, []workspace.Ingress{link, link}},
			{workspace.IngressEither, []workspace.Ingress{link, request, link, request}},
		} {
			require.NoError(b.t, b.SetIngress(step.way))
			require.Equal(b.t, step.way, b.Ingress())
			for _, want := range step.want {
				d := <-b.command("status")
				require.Equal(b.t, want, d.Via, "%q", step.way)
				require.True(b.t, d.Acked)
				require.Nil(b.t, d.Twin)
			}
		}
		require.NoError(b.t, b.SetIngress(workspace.IngressBoth))
		d := <-b.command("status")
		require.Equal(b.t, []any{request, true, link, true}, []any{d.Via, d.Acked, d.Twin.Via, d.Twin.Acked})
		require.Equal(b.t, d.Payload, d.Twin.Payload)

		b.DeliverTo("")
		require.NoError(b.t, b.SetIngress(workspace.IngressEither))
		for range 2 {
			require.Equal(b.t, link, (<-b.command("status")).Via, "the only one there is")
		}
		require.NoError(b.t, b.SetIngress(workspace.IngressAuto))
		require.Equal(b.t, link, (<-b.command("status")).Via)
		require.ErrorContains(b.t, b.SetIngress("pigeon"), "pigeon")
		require.NoError(b.t, s.conn.Close())
		require.Len(b.t, requests, 7)
	}, answering(&requests, 200))
}
