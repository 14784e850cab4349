package poller_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/rebuild"
	"github.com/wafbot/wafbot/internal/record"
)

// emptied is an account whose store was emptied and filled again from these cards.
func emptied(t *testing.T, began time.Duration, cards ...record.CardMetadata) *account {
	a := newAccount(t)
	shown := map[string]record.AttackState{}
	for _, c := range cards {
		shown[c.AttackID] = rebuild.Attack(c, noon)
	}
	a.store.state["acme"] = record.PollState{LastGood: noon, Attacks: shown, FirstStart: noon.Add(began)}
	return a
}

func cardOf(id string, change ...func(*record.CardMetadata)) record.CardMetadata {
	f := record.CardMetadata{AttackID: id, Status: apiclient.StatusNotBlocked, Decade: 3, Channel: "C9", Mention: "S0ONCALL"}
	for _, c := range change {
		c(&f)
	}
	return f
}

func TestEventsAfterRedisWasEmptied(t *testing.T) {
	t.Parallel()
	incident := func(f *record.CardMetadata) { f.Incident = true }
	asAttack := func(f *record.CardMetadata) { f.Decade = 2 }
	blocked := func(f *record.CardMetadata) { f.Status = apiclient.StatusBlocked }
	quiet := func(f *record.CardMetadata) { f.Quiet = true }
	for name, tt := range map[string]struct {
		card  []record.CardMetadata
		ago   time.Duration
		began time.Duration // of the first start; 0: now
		now   func(*attackRecord)
		want  []string
	}{
		"on a card":                    {card: []record.CardMetadata{cardOf("x:1")}, ago: time.Minute, want: []string{"grew x:1"}},
		"on a card, many hits since":   {card: []record.CardMetadata{cardOf("x:1")}, ago: time.Minute, now: func(r *attackRecord) { r.hits = 9_000 }, want: []string{"grew x:1"}},
		"on a card, ten times as many": {card: []record.CardMetadata{cardOf("x:1")}, ago: time.Minute, now: func(r *attackRecord) { r.hits = 9_990 }, want: []string{"worsened x:1"}},
		"on a card with few hits":      {card: []record.CardMetadata{cardOf("x:1", asAttack)}, ago: time.Minute, now: func(r *attackRecord) { r.hits = 1_000 }, want: []string{"worsened x:1"}},
		"let through since":            {card: []record.CardMetadata{cardOf("x:1", blocked)}, ago: time.Minute, want: []string{"worsened x:1"}},
		"an incident since":            {card: []record.CardMetadata{cardOf("x:1")}, ago: time.Minute, now: func(r *attackRecord) { r.vuln = 8 }, want: []string{"became incident x:1"}},
		"an incident before":           {card: []record.CardMetadata{cardOf("x:1", incident)}, ago: time.Minute, now: func(r *attackRecord) { r.vuln = 8 }, want: []string{"grew x:1"}},
		"over since":                   {card: []record.CardMetadata{cardOf("x:1")}, ago: time.Hour, want: []string{"quiet x:1"}},
		"over, and its card says so":   {card: []record.CardMetadata{cardOf("x:1", quiet)}, ago: time.Hour, want: []string{}},
		"goes on again":                {card: []record.CardMetadata{cardOf("x:1", quiet)}, ago: time.Minute, want: []string{"resumed x:1"}},
		"no card":                      {ago: time.Minute, want: []string{"new attack x:1"}},
		"no card, over since":          {ago: time.Hour, began: -2 * time.Hour, want: []string{"new attack x:1"}},
		"over before the first start":  {ago: 3 * time.Hour, began: -2 * time.Hour, want: []string{}},
		"went on at the first start":   {ago: 130 * time.Minute, began: -2 * time.Hour, want: []string{"new attack x:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := emptied(t, tt.began, tt.card...)
			a.at(time.Second)
			a.add("x:1", tt.ago-time.Second)
			if tt.now != nil {
				a.change("x:1", tt.now)
			}
			p := a.start()
			require.NoError(t, p.Poll(t.Context()))
			require.Equal(t, tt.want, a.store.takeNames())
			require.NoError(t, p.Poll(t.Context()))
			require.Empty(t, a.store.takeNames(), "once")
		})
	}
}

// A card whose attack the service doesn't list any more is left alone, and not deleted at once: at the edge of the
// lookback records come and go.
func TestACardWithoutItsAttackIsKept(t *testing.T) {
	t.Parallel()
	a := emptied(t, 0, cardOf("x:1"))
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	require.Empty(t, a.store.takeNames())
	require.True(t, a.store.state["acme"].Attacks["x:1"].Rebuilt)

	a.at(2 * time.Minute)
	a.add("x:1", time.Minute)
	require.NoError(t, p.Poll(t.Context()))
	events := a.store.takeEvents()
	require.Len(t, events, 1)
	require.Equal(t, record.Grew, events[0].Kind)
	require.Equal(t, "C9", events[0].Channel)
	require.Equal(t, int(noon.Unix())+1, events[0].Order)
	kept := a.store.state["acme"].Attacks["x:1"]
	require.Equal(t, []any{"S0ONCALL", false}, []any{kept.Mention, kept.Rebuilt})
}

func TestAReplyThatTheAttackGotWorse(t *testing.T) {
	t.Parallel()
	card := cardOf("x:1", func(f *record.CardMetadata) { f.Status = apiclient.StatusPartly })
	worse := card.Worsened(record.CardMetadata{Incident: true, Status: apiclient.StatusNotBlocked, Decade: 5})
	require.Equal(t, cardOf("x:1", func(f *record.CardMetadata) { f.Incident, f.Decade = true, 5 }), worse)
	require.Equal(t, worse, worse.Worsened(record.CardMetadata{Status: apiclient.StatusBlocked, Decade: 1}), "an older one")
}

// A replica that owns the account again reads what the store holds by then.
func TestRunBeginsWithWhatTheStoreHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := inProcess(t, time.Now)
		a.add("x:1", time.Minute)
		p := a.start()
		reign := func() {
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- p.Run(ctx) }()
			synctest.Wait()
			stop()
			require.NoError(t, <-done)
		}
		reign()
		require.Equal(t, []string{"first start ", "new attack x:1"}, a.store.takeNames())
		a.store.state["acme"] = record.PollState{LastGood: time.Now(), Attacks: map[string]record.AttackState{"x:1": rebuild.Attack(cardOf("x:1"), time.Now())}}
		reign()
		require.Equal(t, []string{"grew x:1"}, a.store.takeNames())
	})
}
