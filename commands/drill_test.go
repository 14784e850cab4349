package commands_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// drill is what is kept.
func (w *world) drill() record.Drill {
	w.t.Helper()
	d, err := w.triage.Drill(w.t.Context(), "acme")
	require.NoError(w.t, err)
	return d
}

func TestADrillIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.try(eve, "drill")
	require.ErrorIs(t, err, refusal.ErrDenied)
	w.writes(ann, "drill for=10m", "DRILL d", "the channel of acme", "until 2026-11-20 03:10 UTC", "the service isn't touched")
	d := w.drill()
	require.Regexp(t, `^d[0-9a-z]{8}$`, d.ID)
	require.True(t, d.Waits())
	require.False(t, describe.DrillPassed(d))
	w.nothing(bob, "drill", "A drill of Ann waits already, until 2026-11-20 03:10 UTC", "drill stop")

	w.pass(30 * time.Second)
	_, err = w.try(eve, "drill ack="+d.ID)
	require.ErrorIs(t, err, refusal.ErrDenied)
	click := w.asks(bob, "drill ack="+d.ID)
	click.Clicked = click.At.Add(-80 * time.Millisecond)
	res, err := w.do(click)
	require.NoError(t, err)
	require.Equal(t, "done", res.Outcome)
	w.nothing(bob, "drill ack="+d.ID[:5], "answered this drill already")
	_, err = w.try(ann, "drill ack="+d.ID)
	require.ErrorContains(t, err, "Bob was faster")
	w.nothing(ann, "drill stop", "No drill of acme waits")
	w.nothing(ann, "drill ack=d00000000", "That drill is over")
	require.Equal(t, []string{"drill " + d.ID, "drill " + d.ID + " over"}, w.notified.ids(), "its card follows")
	require.EqualValues(t, 2, w.drill().Audited, "after what was refused to Eve")
	require.Zero(t, w.changesSent())
}

func TestAnUnansweredDrill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clock := record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}
	w.nothing(ann, "drill stop", "No drill of acme waits")
	w.writes(ann, "drill", "until 2026-11-20 03:05 UTC")
	w.nothing(clock, "drill stop account=acme")
	w.pass(5 * time.Minute)
	w.writes(clock, "drill stop account=acme", "No answer to the drill")
	_, err := w.try(bob, "drill ack="+w.drill().ID)
	require.ErrorContains(t, err, "The drill was over at 2026-11-20 03:05 UTC")
	w.writes(ann, "drill for=1h")
	w.writes(bob, "drill stop", "is called off")
	_, err = w.try(ann, "drill for=2h")
	require.ErrorIs(t, err, refusal.ErrUsage)
	w.triage.serving = 0
	w.nothing(ann, "drill", "No wafbot serve is running")
}

func TestTheReportOfADrill(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { return at.Add(d) }
	begun := record.Drill{ID: "dk7q2m9xw", Account: "acme", At: at, Until: after(5 * time.Minute), Redis: 400 * time.Microsecond}
	posted := begun
	posted.Card = record.DrillCard{Drill: begun.ID, Channel: "C1", TS: "1.1", Posted: after(1200 * time.Millisecond), Found: 45 * time.Millisecond}
	answered := posted
	answered.Answer = &record.DrillAnswer{By: ann, Clicked: after(13 * time.Second), Taken: after(13*time.Second + 30*time.Millisecond), InHand: after(13*time.Second + 41*time.Millisecond)}
	answered.Card.Shown, answered.Audited = after(13*time.Second+241*time.Millisecond), 17
	silent := posted
	silent.Over, silent.Card.Found, silent.Card.Fault = after(5*time.Minute), 0, "the channel's history can't be read: missing_scope"
	require.Equal(t, "DRILL of acme: its card was not posted", describe.Drill(begun)[0].String())
	require.Equal(t, "DRILL of acme: no answer", describe.Drill(silent)[0].String())
	for name, tt := range map[string]struct {
		drill  record.Drill
		passed bool
		want   []string
	}{
		"not posted": {begun, false, []string{"ok a round trip to Redis: 0.4 ms", "FAILED the card reaches Slack (it was not posted: look at the log of wafbot serve)"}},
		"waits": {posted, false, []string{
			"ok a round trip to Redis: 0.4 ms", "ok from asking until Slack had the card: 1.2 s", "ok finding the card again in the channel's history: 45.0 ms",
			"FAILED an answer (none yet)",
		}},
		"answered": {answered, true, []string{
			"ok a round trip to Redis: 0.4 ms", "ok from asking until Slack had the card: 1.2 s", "ok finding the card again in the channel's history: 45.0 ms",
			"ok until Ann answered: 11.8 s", "ok from the click until wafbot had it: 30.0 ms (Slack's clock against wafbot's)",
			"ok until it was recorded and in progress: 11.0 ms", "ok until the card showed it: 200.0 ms",
			"ok the audit log has it (number 17; wafbot serve prints its own, numbered alike, on standard output)",
		}},
		"no answer": {silent, false, []string{
			"ok a round trip to Redis: 0.4 ms", "ok from asking until Slack had the card: 1.2 s",
			"FAILED finding the card again in the channel's history (the channel's history can't be read: missing_scope)",
			"FAILED an answer (none within 4 min 58 s)", "FAILED until the card showed it (it does not yet)",
			"FAILED the audit log has it (it has no number: Redis did not take it, or the account's last entries can't be read)",
		}},
	} {
		var got []string
		for _, s := range describe.DrillSteps(tt.drill) {
			got = append(got, s.Line().String())
		}
		require.Equal(t, tt.want, got, name)
		require.Equal(t, tt.passed, describe.DrillPassed(tt.drill), name)
		report := describe.Drill(tt.drill)
		require.Len(t, report, len(got)+2)
		require.Contains(t, report[len(report)-1].String(), "Not tried: changes at the service")
	}
}
