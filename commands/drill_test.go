package commands_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// drills gives the account two places where its routes post, one with a pager.
func drills(c *commands.Config) {
	incidents := config.Match{Kind: config.OneOrMore{config.KindIncident}}
	page := &config.Page{URL: "https://pager.example.com"}
	c.Accounts[0].Channel = "C0WAF"
	c.Accounts[0].Routes = []config.Route{{Match: incidents, Channel: "C0INCID", Mention: "S0ONCALL", Page: page}}
}

// drill is what is kept.
func (w *world) drill() record.Drill {
	w.t.Helper()
	d, err := w.store.Triage.Drill(w.t.Context(), "acme")
	require.NoError(w.t, err)
	return d
}

// serves has the world's replica live, until the test ends or it is stopped.
func (w *world) serves() (stop func()) {
	ctx, cancel := context.WithCancel(behind(w.t))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.store.Replicas.Beat(ctx)
	}()
	require.Eventually(w.t, func() bool {
		err := w.store.Replicas.Hear(ctx)
		n, _ := w.store.Replicas.Living()
		return err == nil && n == 1
	}, time.Minute, time.Second)
	stop = func() {
		cancel()
		<-ended
	}
	w.t.Cleanup(stop)
	return stop
}

func TestADrillIsAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, drills)
		w.serves()
		_, err := w.try(eve, "drill")
		require.ErrorIs(t, err, refusal.ErrDenied)
		w.writes(ann, "drill", "Drill begun, with 2 test cards", "C0INCID", "after 5 min")
		d := w.drill()
		require.Regexp(t, `^d[0-9a-z]{8}$`, d.ID)
		require.False(t, d.Page)
		require.Equal(t, []string{"drill " + d.ID + "-0", "drill " + d.ID + "-1", "drill " + d.ID}, w.notified.ids())
		w.nothing(bob, "drill", "A drill waits", "Drill of acme, asked for by Ann", "C0INCID (mentions S0ONCALL), its pager is not called: nobody has acknowledged it yet",
			"C0WAF: nobody has acknowledged it yet", "Not tried: denying and undoing, approval, storms, and the pager: drill page=yes calls it for real")

		time.Sleep(12 * time.Second)
		_, err = w.try(eve, "drill ack="+d.ID+"-1")
		require.ErrorIs(t, err, refusal.ErrDenied)
		w.writes(bob, "drill ack="+d.ID+"-1", "Thank you: acknowledged after 12 s")
		w.nothing(bob, "drill ack="+d.ID+"-1", "acknowledged this test card already")
		_, err = w.try(ann, "drill ack="+d.ID+"-1")
		require.ErrorContains(t, err, "Bob was faster")
		w.nothing(ann, "drill ack="+d.ID+"-2", "That drill is over")
		w.nothing(ann, "drill ack=d00000000-1", "That drill is over")
		w.nothing(ann, "drill", "C0WAF: acknowledged by Bob after 12 s")

		w.writes(ann, "drill ack="+d.ID+"-0", "Thank you")
		require.Equal(t, []string{"drill " + d.ID + "-1 acknowledged", "drill " + d.ID + "-0 acknowledged"}, w.notified.ids()[3:])
		require.Equal(t, d.Cards[0].Channel, w.drill().Cards[0].Channel)
		w.writes(ann, "drill", "2 test cards")
		require.NotEqual(t, d.ID, w.drill().ID, "nobody is missing in the one before")
		require.Zero(t, w.changesSent())
	})
}

func TestADrillThatNobodyAcknowledges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, drills)
		stop := w.serves()
		w.writes(ann, "drill page=yes")
		d := w.drill()
		require.True(t, d.Page)
		w.nothing(ann, "drill", "C0INCID (mentions S0ONCALL), its pager is called: nobody", "If a pager can't be called, a message in the account's channel says so")
		time.Sleep(record.DrillFor)
		w.writes(bob, "drill ack="+d.ID+"-1", "acknowledged after 5 min")
		w.writes(ann, "drill")
		require.NotEqual(t, d.ID, w.drill().ID)
		_, err := w.try(ann, "drill page=no")
		require.ErrorIs(t, err, refusal.ErrUsage)
		time.Sleep(record.DrillFor)
		stop()
		w.nothing(ann, "drill", "No wafbot serve is running")
	})
}
