package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// accepted keeps the stored requests, unless so many wait that they are refused.
type accepted struct {
	Inbox
	works   []request
	lanes   []record.Lane
	waiting int
}

func (a *accepted) Accept(_ context.Context, work []byte, lane record.Lane, _ ...string) (fresh bool, waiting int, err error) {
	if a.waiting > 0 {
		return false, a.waiting, nil
	}
	var req request
	err = json.Unmarshal(work, &req)
	a.works, a.lanes = append(a.works, req), append(a.lanes, lane)
	return true, 0, err
}

// changer treats every line as a change.
type changer struct {
	noRunner

	form func(ctx context.Context) (call.Form, error)
}

func (changer) Changes(record.Line) bool { return true }

func (c changer) Form(ctx context.Context, _ call.Invocation) (call.Form, error) {
	return c.form(ctx)
}

// submission is a form that a user submits.
func submission(t *testing.T, kind, meta string) payload {
	t.Helper()
	var p payload
	require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"type":"view_submission","user":{"id":"U0ANN"},"view":{"id":"V1","type":"modal","callback_id":%q,"private_metadata":%q}}`, kind, meta), &p))
	return p
}

// pushedText is what an acknowledgement puts above the form.
func pushedText(t *testing.T, answer *slack.ViewSubmissionResponse) string {
	t.Helper()
	require.NotNil(t, answer, "the form would close as if all were well")
	require.Equal(t, slack.RAPush, answer.ResponseAction)
	text, err := json.Marshal(answer.View.Blocks)
	require.NoError(t, err)
	return string(text)
}

func TestAFormOfAnotherVersion(t *testing.T) {
	t.Parallel()
	b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Inbox: &accepted{}, Runner: noRunner{}})
	for _, c := range [][2]string{{card.ViewForm, ""}, {card.ViewForm, "[]"}, {card.ViewForm, "{}"}, {card.ViewForm, `{"line":"\"x"}`}, {card.ViewAsk, "{}"}, {"later", `{"line":"deny"}`}, {"later", ""}} {
		answer := b.submittedInTime(t.Context(), submission(t, c[0], c[1]), delivery{names: []string{"d1"}})
		require.Contains(t, pushedText(t, answer), "of another version of wafbot", "%s", c)
	}
}

// A form that is slow to check never closes without an answer.
func TestAFormThatCantBeCheckedInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		form func(ctx context.Context) (call.Form, error)
		says string
	}{
		"slow facts": {func(ctx context.Context) (call.Form, error) { <-ctx.Done(); return call.Form{}, ctx.Err() }, "could not be read in time"},
		"slow record": {func(context.Context) (call.Form, error) {
			time.Sleep(4 * time.Second)
			return call.Form{}, refusal.ErrDenied
		}, "perhaps not recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Inbox: &accepted{}, Runner: changer{form: c.form}})
				begun := time.Now()
				answer := b.submittedInTime(t.Context(), submission(t, card.ViewForm, `{"line":"deny"}`),
					delivery{names: []string{"d1"}, at: begun})
				require.Contains(t, pushedText(t, answer), c.says)
				require.Less(t, time.Since(begun), slackconn.AckWithin)
				time.Sleep(5 * time.Second) // until it is checked
			})
		})
	}
}

// A question over ten minutes old is asked again.
func TestDoItAnywayExpires(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		waited time.Duration
		anyway bool
	}{{9 * time.Minute, true}, {11 * time.Minute, false}} {
		store := &accepted{}
		b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Inbox: store, Runner: changer{}})
		at := time.Now()
		meta, err := json.Marshal(card.ViewMeta{Line: "deny 203.0.113.7", Asked: at.Add(-c.waited)})
		require.NoError(t, err)
		b.submittedInTime(t.Context(), submission(t, card.ViewAsk, string(meta)), delivery{names: []string{"d1"}, at: at})
		click := payload{Type: "block_actions"}
		click.Container.MessageTS = fmt.Sprintf("%d.000100", at.Add(-c.waited).Unix())
		require.NoError(t, json.Unmarshal([]byte(`[{"action_id":"anyway:1","value":"deny 203.0.113.7"}]`), &click.Actions))
		b.click(t.Context(), click, delivery{names: []string{"d2"}, at: at})
		require.Len(t, store.works, 2)
		for _, work := range store.works {
			require.Equal(t, c.anyway, work.Invocation.Anyway, "%s", c.waited)
		}
	}
}

// Where the machine's clock is the wrong one, what Slack dates is as old as it is: a mention isn't stale, and a
// question in a message is answered once.
func TestWhatSlackDatesWhereTheMachineIsWrong(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-time.Hour, 0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			clocks, store := clock.New(), &accepted{}
			clocks.NoteRedis(time.Now(), time.Now().Add(off))
			slackEnd := slackconn.Connect(slackconn.Config{Token: "xoxb-secret", HTTP: &http.Client{Transport: &heard{texts: map[string][]string{}}}})
			b := alone(Config{Slack: slackEnd, Secret: signingSecret, Inbox: store, Runner: changer{}, Clocks: clocks})
			asked := clocks.Now()
			time.Sleep(time.Minute)
			deliverEventAt(t, b, clocks.Now(), "Ev1", wrote("U0ROB", fmt.Sprintf("%d.000100", asked.Unix()), "deny 203.0.113.7"))
			click := payload{Type: "block_actions"}
			click.Container.MessageTS = fmt.Sprintf("%d.000100", asked.Unix())
			require.NoError(t, json.Unmarshal([]byte(`[{"action_id":"anyway:1","value":"deny 203.0.113.7"}]`), &click.Actions))
			b.click(t.Context(), click, delivery{names: []string{"d2"}, at: clocks.Now()})
			require.Len(t, store.works, 2)
			require.InDelta(t, 60, clocks.Now().Sub(store.works[0].Invocation.At).Seconds(), 1, off)
			require.True(t, store.works[1].Invocation.Anyway, off)
		})
	}
}

// Slack silently drops an acknowledgement of 20 kB.
func TestAQuestionThatIsTooLongForAnAcknowledgement(t *testing.T) {
	t.Parallel()
	b := alone(Config{Slack: slackconn.Connect(slackconn.Config{}), Inbox: &accepted{}, Runner: noRunner{}})
	r := &refusal.Refusal{Kind: refusal.ErrAsk, Line: record.Line{Name: "deny"}, Text: text.New("?")}
	for range 60 {
		r.Text.Add("\n• ", strings.Repeat("<&>", 60))
	}
	require.Contains(t, pushedText(t, b.pushAnyway(request{}, r)), "fill in fewer at a time")
}

func TestAFormOpenedInTheHomeTabIsAnsweredThere(t *testing.T) {
	t.Parallel()
	click := payload{}
	require.NoError(t, json.Unmarshal([]byte(`{"type":"block_actions","user":{"id":"U0ANN"},"container":{"type":"view"},"view":{"id":"V1","type":"home"}}`), &click))
	at := delivery{names: []string{"d1"}}
	req := click.request(at)
	require.True(t, req.Home)
	meta, err := json.Marshal(req.meta())
	require.NoError(t, err)
	form := payload{Type: "view_submission"}
	form.View.ID, form.View.Type, form.View.Meta = "V2", "modal", string(meta)
	require.True(t, form.request(at).Home)
	form.View.Meta = `{"channel":"C1"}`
	require.False(t, form.request(at).Home)
}
