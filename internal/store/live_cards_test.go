package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// Sixty live cards for ten minutes, or thirty for two: there are more stale cards than edits all the time.
func TestManyLiveCardsStayWithinTheEdits(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		const every = 15 * time.Second
		attacks := full.Of(30, 60)
		l.poll(attacks)
		time.Sleep(time.Duration(2*attacks) * time.Second) // a message a second
		begun := time.Now()
		shown := time.Duration(0) // after a click, at most
		for poll := range int(time.Duration(full.Of(2, 10)) * time.Minute / every) {
			l.poll(attacks)
			time.Sleep(every / 2)
			attack := record.AttackID("acme", fmt.Sprint("x:", 7*poll%attacks))
			clicked := time.Now()
			l.claim(attack)
			time.Sleep(every / 2)
			at, ok := l.way.next(l.card(attack), clicked)
			require.True(t, ok, "no click waits for the others' figures")
			shown = max(shown, at.Sub(clicked))
		}
		require.Zero(t, l.way.refusals())
		require.LessOrEqual(t, shown, 3*time.Second)
		l.way.requirePace(t, editsPerMinute)
		incidents, others := l.longest(0, attacks, begun)
		require.LessOrEqual(t, incidents, 3*time.Minute, "they are first")
		require.LessOrEqual(t, others, 8*time.Minute, "no card is left behind")
		t.Logf("%d edits in ten minutes, a click shown after %s at most, a card redrawn after %s at most, an incident's after %s", len(l.way.edited()), shown, others, incidents)
	})
}

// longest is how long the same figures stood on a card, of incidents and of others from the first to the last.
func (l *live) longest(first, last int, from time.Time) (incidents, others time.Duration) {
	for i := first; i < last; i++ {
		stood := l.way.gap(l.card(record.AttackID(l.account, fmt.Sprint("x:", i))), from)
		if i%5 == 0 {
			incidents = max(incidents, stood)
		} else {
			others = max(others, stood)
		}
	}
	return incidents, others
}

// The order of edits is one over all accounts that share a workspace: an account with few cards doesn't take from the
// incidents of one that has many, nor the other way round.
func TestEditsGoToTheIncidentsOfAllAccounts(t *testing.T) {
	full.Only(t)
	onLiveCards(t, func(t *testing.T, l *live) {
		other := l.beside()
		const many, few, every = 60, 6, 15 * time.Second
		l.poll(many)
		other.poll(few)
		time.Sleep(2 * time.Minute)
		begun := time.Now()
		for range int(10 * time.Minute / every) {
			l.poll(many)
			other.poll(few)
			time.Sleep(every)
		}
		require.Zero(t, l.way.refusals())
		l.way.requirePace(t, editsPerMinute)
		incidents, others := l.longest(0, many, begun)
		incidentsThere, othersThere := other.longest(0, few, begun)
		t.Logf("of the many an incident's after %s, another after %s; of the few %s and %s", incidents, others, incidentsThere, othersThere)
		require.LessOrEqual(t, max(incidents, incidentsThere), 3*time.Minute)
		require.Greater(t, othersThere, incidents, "they wait for the other account's incidents")
		require.LessOrEqual(t, max(others, othersThere), 8*time.Minute)
	})
}

// What waits for its second to be posted gives way to an incident.
func TestAnIncidentDoesNotWaitBehindAttacks(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		l.poll(20)
		time.Sleep(6500 * time.Millisecond)
		before := len(l.way.said())
		require.Less(t, before, 20, "some still wait")
		one := apiclient.Attack{ID: "x:incident", Type: "sqli", Method: "GET", Path: "/it-worked", First: noon, Last: time.Now(), VulnID: "812"}
		n := record.Event{
			ID: record.CardDelivery("acme", one.ID), Account: "acme", Kind: record.NewIncident, Channel: "C1", At: time.Now(), Subject: one.ID, Order: 1, Detail: record.AttackFacts{},
		}
		u := record.PollUpdate{Attacks: map[string]record.AttackState{one.ID: {Attack: one, Revision: 1, Notified: true, Channel: "C1"}}, Events: []record.Event{n}}
		require.NoError(t, l.store.Attacks.Save(t.Context(), "acme", u))
		l.notifier.Saved("acme", u)
		time.Sleep(time.Second)
		require.Contains(t, l.way.said()[before], "critical incident")
		time.Sleep(time.Minute)
		require.Len(t, l.way.said(), 21, "and the others come, once")
		require.Zero(t, l.way.refusals())
	})
}

// Of incidents each takes a second; the card of the storm among which they are waits two at most, or it would show it
// too late.
func TestAStormsCardWaitsForFewIncidents(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		u := record.PollUpdate{Attacks: map[string]record.AttackState{}}
		notify := func(a apiclient.Attack, reason record.EventKind, storm *record.Storm) {
			u.Attacks[a.ID] = record.AttackState{Attack: a, Revision: 1, Notified: true, Channel: "C1", Storm: storm}
			u.Events = append(u.Events, record.Event{
				ID: record.CardDelivery("acme", a.ID), Account: "acme", Kind: reason, Channel: "C1", At: time.Now(),
				Subject: a.ID, Order: 1, Detail: record.AttackFacts{},
			})
		}
		notify(apiclient.Attack{ID: "storm:C1:1", First: noon, Last: time.Now()}, record.NewAttack, &record.Storm{Over: 10, In: time.Minute, Grouped: 900, Began: time.Now()})
		for i := range 15 {
			notify(apiclient.Attack{ID: fmt.Sprint("x:", i), Type: "sqli", First: noon, Last: time.Now(), VulnID: "812"}, record.NewIncident, nil)
		}
		require.NoError(t, l.store.Attacks.Save(t.Context(), "acme", u))
		begun := len(l.way.said())
		l.notifier.Saved("acme", u)
		time.Sleep(500 * time.Millisecond)
		require.Len(t, l.way.said()[begun:], 4, "at once")
		time.Sleep(4 * time.Second)
		said := l.way.said()[begun:]
		require.Len(t, said, 8, "and then one a second")
		for i, text := range said {
			require.Equal(t, i == 5, strings.Contains(text, " storm"),
				"four at once, one a second, and after two seconds: %d: %s", i, text)
		}
		time.Sleep(time.Minute)
		require.Len(t, l.way.said()[begun:], 16)
		require.Zero(t, l.way.refusals())
	})
}

// A refused edit holds all edits, for as long as Slack says; posts go on.
func TestEditsRestAsLongAsSlackWants(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		l.poll(2)
		time.Sleep(5 * time.Second)
		l.slack.SetFault(workspace.Fault{Method: "chat.update", Kind: "ratelimited", RetryAfter: 30, Times: 1})
		l.claim(record.AttackID("acme", "x:0"))
		time.Sleep(time.Second)
		l.claim(record.AttackID("acme", "x:1"))
		l.poll(3)
		time.Sleep(28 * time.Second)
		require.Len(t, l.way.edited(), 1, "but the one that was refused")
		require.Len(t, l.way.said(), 3)
		time.Sleep(10 * time.Second)
		require.Len(t, l.way.edited(), 3, "one for each card")
	})
}

// A card that Slack doesn't let be drawn keeps no other waiting, though a user acted on it.
func TestACardThatFailsKeepsNoOtherWaiting(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		l.poll(2)
		time.Sleep(5 * time.Second)
		l.way.refuse(l.card(record.AttackID("acme", "x:0")))
		l.claim(record.AttackID("acme", "x:0"))
		time.Sleep(time.Second)
		l.poll(2)
		time.Sleep(10 * time.Second)
		require.Len(t, l.way.edited(), 1, "the other")
		l.way.refuse("")
		time.Sleep(5 * time.Second)
		require.Len(t, l.way.edited(), 2, "and it is drawn when that is over")
	})
}

// While Slack takes no posts a card says all the same that its attack is over: that is an edit.
func TestAQuietAttackDoesNotWaitForPosts(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		l.poll(1)
		time.Sleep(5 * time.Second)
		l.slack.SetFault(workspace.Fault{Method: "chat.postMessage", Kind: "ratelimited", RetryAfter: 30, Times: 1})
		l.poll(2)
		time.Sleep(3 * time.Second)
		edits := len(l.way.edited())
		over := apiclient.Attack{ID: "x:0", Type: "sqli", Method: "GET", Path: "/0", First: noon, Last: time.Now()}
		u := record.PollUpdate{
			Attacks: map[string]record.AttackState{over.ID: {Attack: over, Revision: 3, Notified: true, Channel: "C1", Quiet: true}},
			Events:  []record.Event{{ID: "quiet", Account: "acme", Kind: record.WentQuiet, Channel: "C1", At: time.Now(), Subject: over.ID, Order: 3, Detail: record.AttackFacts{}}},
		}
		require.NoError(t, l.store.Attacks.Save(t.Context(), "acme", u))
		l.notifier.Saved("acme", u)
		time.Sleep(5 * time.Second)
		require.Len(t, l.way.said(), 2, "the second card, which is refused")
		require.Len(t, l.way.edited(), edits+1)
	})
}

// Where no message can be edited, a card is reposted for what happened, not for figures, and not at each of them.
func TestCardsThatCannotBeEdited(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		l.poll(2) // an incident and an attack
		time.Sleep(5 * time.Second)
		require.Len(t, l.way.said(), 2)
		l.slack.SetFault(workspace.Fault{Method: "chat.update", Kind: "edit_window_closed"})
		for range full.Of(4, 20) {
			l.poll(2)
			time.Sleep(15 * time.Second)
		}
		require.Len(t, l.way.said(), 2, "figures alone are no reason")

		attack := record.AttackID("acme", "x:0")
		first := l.card(attack)
		acts := full.Of(8, 40) // a minute has four
		for range acts {
			l.claim(attack)
			l.poll(2)
			time.Sleep(15 * time.Second)
		}
		cards, notes := l.way.saidOf(" incident: "), l.way.saidOf("out of date")
		require.GreaterOrEqual(t, cards, acts/5)
		require.LessOrEqual(t, cards, acts/4+1, "the first at once, then one a minute, while people act")
		require.Equal(t, cards-1, notes, "under each former card stands where the card is")
		require.NotEqual(t, first, l.card(attack))
		time.Sleep(2 * time.Minute)
		said := len(l.way.said())
		time.Sleep(time.Duration(full.Of(1, 10)) * time.Minute)
		require.Len(t, l.way.said(), said, "then there is peace")
	})
}

// What got worse within ten minutes of the last call waits while Slack is away, and then what got worse after it: one
// reply says both, and mentions.
func TestOneReplyForSeveralCallsWhomOneOfThemCalls(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		l.poll(2)
		time.Sleep(5 * time.Second)
		l.slack.SetFault(workspace.Fault{Method: "chat.postMessage", Kind: "ratelimited", RetryAfter: 60, Times: 1})
		worsened := func(revision int, suppressed bool) {
			one := apiclient.Attack{ID: "x:1", Type: "sqli", Method: "GET", Path: "/1", First: noon, Last: time.Now(), Hits: apiclient.Known(int64(1000 * revision))}
			u := record.PollUpdate{
				Attacks: map[string]record.AttackState{one.ID: {Attack: one, ObservedAt: time.Now(), Revision: revision, Notified: true, Channel: "C1", Mention: "S0ONCALL1"}},
				Events: []record.Event{{
					ID: fmt.Sprint("worse ", revision), Account: "acme", Kind: record.Worsened, Channel: "C1", At: time.Now(),
					Subject: one.ID, Order: revision, Detail: record.AttackFacts{Mention: "S0ONCALL1", Suppressed: suppressed},
				}},
			}
			require.NoError(t, l.store.Attacks.Save(t.Context(), "acme", u))
			l.notifier.Saved("acme", u)
			time.Sleep(time.Second)
		}
		require.NoError(t, l.store.Outbox.Announce(t.Context(), pagerUnreachable("p1"))) // what finds out that Slack is away
		l.notifier.Pending("acme", 1)
		time.Sleep(time.Second)
		worsened(2, true)
		worsened(3, false)
		time.Sleep(2 * time.Minute)
		require.Equal(t, 1, l.way.saidOf("It got worse"))
		require.Equal(t, 1, l.way.saidOf("S0ONCALL1"))
	})
}

// The replica that posted it died meanwhile, and its channel can't be read: whether it is there can't be verified, and
// it is posted all the same.
func TestWhatCannotBeVerifiedIsPosted(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		one := apiclient.Attack{ID: "x:lost", Type: "sqli", Method: "GET", Path: "/lost", First: noon, Last: time.Now(), VulnID: "812"}
		n := record.Event{ID: record.CardDelivery("acme", one.ID), Account: "acme", Kind: record.NewIncident, Channel: "C0GONE", At: time.Now(), Subject: one.ID, Order: 1, Detail: record.AttackFacts{}}
		require.NoError(t, failure(l.store.Outbox.BeginNotify(t.Context(), "acme", n.ID, time.Now())))
		u := record.PollUpdate{Attacks: map[string]record.AttackState{one.ID: {Attack: one, Revision: 1, Notified: true, Channel: "C0GONE"}}, Events: []record.Event{n}}
		require.NoError(t, l.store.Attacks.Save(t.Context(), "acme", u))
		l.notifier.Saved("acme", u)
		time.Sleep(time.Minute)
		require.Len(t, l.slack.Messages("#waf"), 1)
		at, err := l.store.Cards.Card(t.Context(), "acme", record.AttackID("acme", one.ID))
		require.NoError(t, err)
		require.Equal(t, "C1", at.Channel, "the account's own")
	})
}

func (w *slackWay) saidOf(part string) (n int) {
	for _, text := range w.said() {
		if strings.Contains(text, part) {
			n++
		}
	}
	return n
}

// The right to post is one, facts and attempt are the other.
func TestACardCostsTwoRoundTripsBeforeItsPost(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		l.poll(1) // Redis knows the scripts then
		time.Sleep(time.Minute)
		one := apiclient.Attack{ID: "x:new", Type: "sqli", Method: "GET", Path: "/new", First: noon, Last: time.Now()}
		n := record.Event{
			ID: record.CardDelivery("acme", one.ID), Account: "acme", Kind: record.NewAttack, Channel: "C1", At: time.Now(), Subject: one.ID, Order: 1, Detail: record.AttackFacts{},
		}
		state := record.AttackState{Attack: one, ObservedAt: time.Now(), Revision: 1, Notified: true, Channel: "C1"}
		u := record.PollUpdate{Attacks: map[string]record.AttackState{one.ID: state}, Events: []record.Event{n}}
		require.NoError(t, l.store.Attacks.Save(t.Context(), "acme", u))
		synctest.Wait()
		trips, before := atomic.Int64{}, atomic.Int64{}
		l.store.AddHook(sending(func(context.Context, ...redis.Cmder) error {
			trips.Add(1)
			return nil
		}))
		l.way.mu.Lock()
		l.way.posting = func() { before.Store(trips.Load()) }
		l.way.mu.Unlock()
		l.notifier.Saved("acme", u)
		synctest.Wait()
		require.Contains(t, strings.Join(l.way.said(), ""), "/new")
		require.LessOrEqual(t, before.Load(), int64(2))
		require.Positive(t, before.Load())
	})
}

// Without a pace of its own wafbot takes Slack's: after a 429 it pauses as long as that says, and then keeps to a
// message a second.
func TestWithoutAPaceItTakesSlacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t, 0)
		l.poll(20)
		time.Sleep(18 * time.Second)
		require.Len(t, l.slack.Messages("C1"), 20)
		time.Sleep(time.Minute)
		require.Len(t, l.slack.Messages("C1"), 20, "none came twice")
		require.LessOrEqual(t, l.way.refusals(), 8+7, "those on their way when the first was refused, and those begun in place of others whose answer came before its")
	})
}
