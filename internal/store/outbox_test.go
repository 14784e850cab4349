package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func shown(id string) record.AttackState {
	return record.AttackState{
		Attack:     apiclient.Attack{ID: id, Type: "sqli", Path: "/" + strings.Repeat("x", 100), First: noon, Last: noon.Add(time.Minute)},
		ObservedAt: noon, Revision: 2, Notified: true, Channel: "C1",
	}
}

func shownAll(ids ...string) map[string]record.AttackState {
	all := map[string]record.AttackState{}
	for _, id := range ids {
		all[id] = shown(id)
	}
	return all
}

func event(id, attackid string) record.Event {
	return record.Event{
		ID: id, Account: "acme", Kind: record.NewAttack, Subject: attackid, Channel: "C1", At: noon, Order: 1,
		Detail: record.AttackFacts{},
	}
}

func waitingEvents(t testing.TB, s *store.Store) []string {
	t.Helper()
	all, err := s.Outbox.Waiting(t.Context(), "acme")
	require.NoError(t, err)
	ids := []string{}
	for _, n := range all {
		require.Equal(t, event(n.ID, n.Subject), n)
		ids = append(ids, n.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestWhatAPollFoundIsStored(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other := w.openOwner(t), w.open(t)
		ctx := t.Context()
		r, err := s.Attacks.Load(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, record.PollState{Attacks: map[string]record.AttackState{}}, r)

		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{LastGood: noon, Attacks: shownAll("x:1", "x:2"), Events: []record.Event{event("n1", "x:1")}}))
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{}))
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{LastGood: noon.Add(time.Minute), Attacks: shownAll("x:3"), Delete: []string{"x:2"}}))
		require.NoError(t, s.Outbox.Announce(ctx, event("n2", "")))
		r, err = other.Attacks.Load(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, record.PollState{LastGood: noon.Add(time.Minute), Attacks: shownAll("x:1", "x:3")}, r)
		require.Equal(t, []string{"n1", "n2"}, waitingEvents(t, other))

		got, ok, err := other.Attacks.AttackState(ctx, "acme", record.AttackID("acme", "x:3"))
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, shown("x:3"), got)
		_, ok, err = other.Attacks.AttackState(ctx, "acme", record.AttackID("acme", "x:2"))
		require.NoError(t, err)
		require.False(t, ok)
		states, err := other.Attacks.StatesOf(ctx, "acme", []string{record.AttackID("acme", "x:2"), record.AttackID("acme", "x:3")})
		require.NoError(t, err)
		require.Equal(t, map[string]record.AttackState{record.AttackID("acme", "x:3"): shown("x:3")}, states)
		require.Empty(t, must(other.Attacks.Load(ctx, "other"))(t).Attacks, "accounts share nothing")
	})
}

// An account that can't be read must not look like one that was never polled: everything would be posted again.
func TestWhatCannotBeReadIsNotDeleted(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		for _, key := range []string{"{a:acme}:attacks", "{a:acme}:last_good"} {
			require.NoError(t, w.rdb.FlushAll(ctx).Err())
			require.NoError(t, w.rdb.Set(ctx, key, "rubbish", 0).Err())
			require.Error(t, failure(s.Attacks.Load(ctx, "acme")), key)
		}
		for _, read := range []string{"attacks", "outbox", "changes"} {
			require.NoError(t, w.rdb.HSet(ctx, "{a:bad}:"+read, "x", "rubbish").Err())
		}
		_, _, shownErr := s.Attacks.AttackState(ctx, "bad", "x")
		_, statesErr := s.Attacks.StatesOf(ctx, "bad", []string{"x"})
		_, findErr := s.Attacks.FindAttacks(ctx, "bad", "")
		_, waitingErr := s.Outbox.Waiting(ctx, "bad")
		_, changesErr := s.Ledger.Changes(ctx, "bad")
		_, loadErr := s.Attacks.Load(ctx, "bad")
		for i, err := range []error{shownErr, statesErr, findErr, waitingErr, changesErr, loadErr} {
			require.NoError(t, err, i)
		}
		require.Equal(t, []string{"{a:bad}:attacks x", "{a:bad}:changes x", "{a:bad}:outbox x"}, s.Damaged(ctx, []string{"bad"}))
	})
}

// The connection breaks in the middle of the script, at each of its writes in turn.
func TestAPollIsStoredWholeOrNotAtAll(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		net, direct := w.newWire(t), w.open(t)
		s := net.openPatiently(t, store.Config{})
		owning(t, s)
		before := record.PollUpdate{LastGood: noon, Attacks: shownAll("x:1"), Events: []record.Event{event("n0", "x:1"), event("n1", "x:1")}}
		require.NoError(t, s.Attacks.Save(ctx, "acme", before))
		recordPlace(t, s, event("n0", "x:1"), "C1", "1.1")
		for _, word := range []string{"{a:acme}:last_good", "{a:acme}:attacks", "{a:acme}:cards", "{a:acme}:triage", `"id":"n2"`} {
			atWord, done := cutAt(word)
			net.SetFilters(atWord, nil)
			err := s.Attacks.Save(ctx, "acme", record.PollUpdate{
				LastGood: noon.Add(time.Hour), Attacks: shownAll("x:2"), Events: []record.Event{event("n2", "x:2")}, Delete: []string{"x:1"},
			})
			require.Error(t, err, word)
			await(t, done)
			net.SetFilters(nil, nil)
			r, err := direct.Attacks.Load(ctx, "acme")
			require.NoError(t, err)
			require.Equal(t, record.PollState{LastGood: noon, Attacks: shownAll("x:1")}, r, word)
			require.Equal(t, []string{"n1"}, waitingEvents(t, direct), word)
			require.Equal(t, "1.1", must(direct.Cards.Card(ctx, "acme", record.AttackID("acme", "x:1")))(t).TS, word)
		}
	})
}

// Redis can't be kept busy for as long as it takes to write so many down. The connection breaks in the middle of it.
func TestVeryManyAttacksAreStoredWithTheirEvents(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net, ctx := w.newWire(t), t.Context()
		s := net.openPatiently(t, store.Config{})
		owning(t, s)
		const many = 1500
		u := record.PollUpdate{LastGood: noon, Attacks: map[string]record.AttackState{}, Events: []record.Event{event("first", "")}}
		for i := range many {
			id := fmt.Sprintf("x:%d", i)
			u.Attacks[id] = shown(id)
			u.Events = append(u.Events, event("n"+id, id))
		}
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Delete: []string{"none"}})) // the script is known from here on
		net.cutSaving(3)
		require.Error(t, s.Attacks.Save(ctx, "acme", u))
		net.SetFilters(nil, nil)
		direct := w.open(t)
		m, err := direct.Attacks.Load(ctx, "acme")
		require.NoError(t, err)
		require.True(t, m.LastGood.IsZero())
		require.Greater(t, len(m.Attacks), 0)
		require.Less(t, len(m.Attacks), many)
		var want []string
		for id := range m.Attacks {
			want = append(want, "n"+id)
		}
		require.ElementsMatch(t, want, waitingEvents(t, direct))

		require.Eventually(t, func() bool { return s.Attacks.Save(ctx, "acme", u) == nil }, patience, 100*time.Millisecond)
		m, err = direct.Attacks.Load(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, record.PollState{LastGood: noon, Attacks: u.Attacks}, m)
		require.Len(t, waitingEvents(t, direct), many+1)
	})
}

// recordPlace records where the message of an event is, for the first time.
func recordPlace(t testing.TB, s *store.Store, n record.Event, channel, ts string) {
	t.Helper()
	require.False(t, must(s.Outbox.Notified(t.Context(), n, channel, ts, channel != ""))(t))
}

// requireTrying begins to notify of an event: it is the first attempt, or one was made before, or it was notified
// already, at that place.
func requireTrying(t testing.TB, s *store.Store, id string, now, wantFirst time.Time, want string) (at record.Place) {
	t.Helper()
	begun, err := s.Outbox.BeginNotify(t.Context(), "acme", id, now)
	require.NoError(t, err)
	require.Equal(t, record.Attempt{First: wantFirst, Again: want != "first", Notified: want == "notified", At: begun.At}, begun)
	return begun.At
}

func TestAnEventIsBegunAndNotified(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.openOwner(t), w.open(t), t.Context()
		attack := record.AttackID("acme", "x:1")
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll("x:1"), Events: []record.Event{event("n1", "x:1"), event("n2", "x:1")}}))
		requireTrying(t, s, "n1", noon, noon, "first")
		requireTrying(t, other, "n1", noon.Add(time.Minute), noon, "again")
		requireTrying(t, s, "n2", noon, noon, "first")

		at, err := s.Cards.Card(ctx, "acme", attack)
		require.NoError(t, err)
		require.Zero(t, at)
		recordPlace(t, s, event("n1", "x:1"), "C1", "1700000000.000100")
		require.Equal(t, []string{"n2"}, waitingEvents(t, other))
		recordPlace(t, s, event("n2", "x:1"), "", "")
		require.Empty(t, waitingEvents(t, other))
		at, err = other.Cards.Card(ctx, "acme", attack)
		require.NoError(t, err)
		require.Equal(t, record.Place{Channel: "C1", TS: "1700000000.000100", Delivery: "n1"}, at, "notifying without a place leaves the card where it is")
		places, err := other.Cards.CardsOf(ctx, "acme", "a0000000", attack)
		require.NoError(t, err)
		require.Equal(t, map[string]record.Place{attack: {Channel: "C1", TS: "1700000000.000100", Delivery: "n1"}}, places)
		for place, want := range map[string]string{"acme C1": attack, "acme C2": "", "beta C1": ""} {
			account, channel, _ := strings.Cut(place, " ")
			require.Equal(t, want, must(other.Cards.AttackAt(ctx, account, channel, "1700000000.000100"))(t), place)
		}
		there := record.Place{Channel: "C1", TS: "1700000000.000100"}
		require.Equal(t, there, requireTrying(t, s, "n1", noon.Add(time.Hour), noon.Add(time.Hour), "notified"))
		require.Equal(t, there, requireTrying(t, s, record.CardDelivery("acme", "x:1"), noon.Add(time.Hour), noon.Add(time.Hour), "notified"), "its card")
		require.Zero(t, requireTrying(t, other, "n2", noon.Add(time.Hour), noon.Add(time.Hour), "notified"), "by no message of its own")

		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Delete: []string{"x:1"}}))
		require.Zero(t, must(other.Cards.Card(ctx, "acme", attack))(t))
	})
}

func TestAttacksAreFoundByTheBeginningOfTheirID(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.openOwner(t), t.Context()
		var ids []string
		for i := range 1200 { // more than one page of the scan, and no small hash
			ids = append(ids, fmt.Sprintf("x:%d", i))
		}
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll(ids...)}))
		all, err := s.Attacks.FindAttacks(ctx, "acme", "a")
		require.NoError(t, err)
		require.Len(t, all, len(ids))
		id := record.AttackID("acme", "x:7")
		require.Equal(t, shown("x:7").Attack, all[id])
		want := map[string]apiclient.Attack{}
		for other, attack := range all {
			if strings.HasPrefix(other, id[:3]) {
				want[other] = attack
			}
		}
		require.Equal(t, want, must(s.Attacks.FindAttacks(ctx, "acme", id[:3]))(t))
		for _, pattern := range []string{"*", "a*", "a?", "?", "[a]", "[^b]", `\a`, `a\`, id + "*", id + "?"} {
			require.Empty(t, must(s.Attacks.FindAttacks(ctx, "acme", pattern))(t), pattern)
		}
		require.NoError(t, w.rdb.HSet(ctx, "{a:acme}:attacks", `a*[?]\z`, `{"attack":{"id":"odd"}}`).Err())
		require.Len(t, must(s.Attacks.FindAttacks(ctx, "acme", `a*[?]\`))(t), 1)
	})
}

func TestACardThatBecomesStaleWhileItIsDrawnIsDrawnAgain(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.open(t), w.open(t), t.Context()
		marks := func() map[string]record.RedrawMark {
			all, err := other.Cards.Stale(ctx, "acme")
			require.NoError(t, err)
			return all
		}
		require.Empty(t, marks())
		require.NoError(t, s.Cards.MarkStale(ctx, "acme", "a1", record.UrgentState))
		require.NoError(t, s.Cards.MarkStale(ctx, "acme", "a2", record.UrgentState))
		old := marks()["a1"]
		require.NoError(t, s.Cards.MarkStale(ctx, "acme", "a1", record.UrgentState))
		require.NoError(t, s.Cards.Redrawn(ctx, "acme", "a1", old))
		require.Contains(t, marks(), "a1", "it became stale after the mark that was drawn")
		current := marks()["a1"]
		require.NoError(t, s.Cards.Redrawn(ctx, "acme", "a1", current))
		require.NotContains(t, marks(), "a1")
		require.Contains(t, marks(), "a2")

		require.NoError(t, s.Cards.MarkStale(ctx, "acme", "a1", record.UrgentState))
		for _, drawn := range []record.RedrawMark{old, current} {
			require.NoError(t, s.Cards.Redrawn(ctx, "acme", "a1", drawn))
			require.Contains(t, marks(), "a1", "a slow redraw for an earlier mark deletes no later one")
		}
	})
}

// BeginCard is Details and BeginNotify in one; a server that doesn't know the script gets it.
func TestACardIsBegunWithItsFacts(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.openOwner(t), w.open(t), t.Context()
		attack := record.AttackID("acme", "x:1")
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll("x:1"), Events: []record.Event{event("n1", "x:1"), event("n2", "x:1")}}))
		for _, want := range []record.Attempt{{First: noon}, {First: noon, Again: true}} {
			details, begun, err := s.Cards.BeginCard(ctx, event("n1", "x:1"), noon)
			require.NoError(t, err)
			require.Equal(t, want, begun)
			require.Equal(t, shown("x:1"), details.State)
			require.Equal(t, must(other.Cards.Details(ctx, "acme", attack, nil))(t), details)
		}
		requireTrying(t, other, "n1", noon.Add(time.Minute), noon, "again")
		recordPlace(t, s, event("n1", "x:1"), "C1", "1.1")
		details, begun, err := s.Cards.BeginCard(ctx, event("n1", "x:1"), noon)
		require.NoError(t, err)
		require.True(t, begun.Notified)
		require.Equal(t, record.Place{Channel: "C1", TS: "1.1", Delivery: "n1"}, details.Card)

		require.NoError(t, w.rdb.Del(ctx, "{a:acme}:lease").Err())
		_, _, err = s.Cards.BeginCard(ctx, event("n2", "x:1"), noon)
		require.ErrorContains(t, err, "lease lost")
		requireTrying(t, other, "n2", noon, noon, "first")
	})
}
