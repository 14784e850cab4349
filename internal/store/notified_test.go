package store_test

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// Two replicas post the same thing, because one of them was paused: one message stays, the other is deleted.
func TestADoubleMessageIsNoticed(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		a, b, ctx := w.openOwner(t), w.open(t), t.Context()
		require.NoError(t, a.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll("x:1")}))
		for i := range 20 {
			id := fmt.Sprint("n", i)
			n := event(id, "x:1")
			require.NoError(t, a.Outbox.Announce(ctx, n))
			requireTrying(t, a, id, noon, noon, "first")
			requireTrying(t, b, id, noon.Add(time.Minute), noon, "again")
			var doubles atomic.Int64
			var both sync.WaitGroup
			for ts, s := range map[string]*store.Store{"1.1": a, "2.2": b} {
				both.Go(func() {
					double, err := s.Outbox.Notified(ctx, n, "C1", ts, true)
					if err != nil || double {
						doubles.Add(1)
					}
				})
			}
			both.Wait()
			require.EqualValues(t, 1, doubles.Load())
			require.Empty(t, waitingEvents(t, a))
			at, err := a.Cards.Card(ctx, "acme", record.AttackID("acme", "x:1"))
			require.NoError(t, err)
			require.Equal(t, record.AttackID("acme", "x:1"), must(a.Cards.AttackAt(ctx, "acme", "C1", at.TS))(t))
			requireTrying(t, b, id, noon.Add(time.Hour), noon.Add(time.Hour), "notified")
			double, err := b.Outbox.Notified(ctx, n, "C1", at.TS, true)
			require.NoError(t, err)
			require.False(t, double, "what is recorded there may be recorded again")
		}
	})
}

// The place is recorded, but the answer doesn't arrive. The next attempt learns that its message is the one.
func TestWhoseRecordWasUnansweredRecordsItAgain(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net, other, ctx := w.newWire(t), w.openOwner(t), t.Context()
		s, n := net.open(t), event("n1", "x:1")
		require.NoError(t, other.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll("x:1")}))
		recordPlace(t, other, event("n0", "x:1"), "C1", "0.0") // the script is known from here on
		require.NoError(t, s.Outbox.Announce(ctx, n))
		requireTrying(t, s, "n1", noon, noon, "first")
		net.SetFilters(nil, func(chunk []byte) ([]byte, bool) { return nil, !bytes.Contains(chunk, []byte("C1 1.1")) })
		require.Error(t, failure(s.Outbox.Notified(ctx, n, "C1", "1.1", true)))
		net.SetFilters(nil, nil)
		require.True(t, must(other.Outbox.Notified(ctx, n, "C1", "2.2", true))(t))
		recordPlace(t, s, n, "C1", "1.1")
		require.Equal(t, "1.1", must(s.Cards.Card(ctx, "acme", record.AttackID("acme", "x:1")))(t).TS)
	})
}

func TestAnEventWithoutAMessageOfItsOwnIsNoDouble(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		for _, n := range []record.Event{event("n1", "x:1"), event("n2", "x:1")} {
			require.NoError(t, s.Outbox.Announce(ctx, n))
		}
		recordPlace(t, s, event("n1", "x:1"), "", "")
		recordPlace(t, s, event("n1", "x:1"), "C1", "1.1") // it was shown in another's meanwhile: both may stay
		require.False(t, must(s.Outbox.Notified(ctx, event("n2", "x:1"), "C1", "2.2", false))(t))
		require.False(t, must(s.Outbox.Notified(ctx, event("n2", "x:1"), "", "", false))(t))
		require.Zero(t, must(s.Cards.Card(ctx, "acme", record.AttackID("acme", "x:1")))(t), "a reply is no card")
	})
}

// What a replica posted before Redis was emptied is read back from the channel; its record comes too late and changes
// nothing.
func TestADeliveryThatRedisLostIsNotRecorded(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		require.NoError(t, s.Outbox.Announce(ctx, event("n1", "x:1")))
		requireTrying(t, s, "n1", noon, noon, "first")
		require.NoError(t, w.rdb.FlushAll(ctx).Err())
		recordPlace(t, s, event("n1", "x:1"), "C1", "1.1")
		require.Empty(t, w.keys(t))
		requireTrying(t, s, "n1", noon.Add(time.Hour), noon.Add(time.Hour), "first")
		recordPlace(t, s, event("n1", "x:1"), "C1", "2.2")
	})
}

// A card that has a successor is marked, to become a link; what an earlier version kept of it is a place, too.
func TestACardThatMoves(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx, attack := w.openOwner(t), t.Context(), record.AttackID("acme", "x:1")
		require.NoError(t, w.rdb.HSet(ctx, "{a:acme}:cards", attack, "C1 1.1").Err())
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll("x:1")}))
		n := event("n2", "x:1")
		require.NoError(t, s.Outbox.Announce(ctx, n))
		requireTrying(t, s, "n2", noon, noon, "first")
		for range 2 { // the answer of the first is lost
			require.False(t, must(s.Outbox.Notified(ctx, n, "C2", "2.2", true))(t))
		}
		file, err := s.Cards.Details(ctx, "acme", attack, nil)
		require.NoError(t, err)
		require.Equal(t, record.Place{Channel: "C2", TS: "2.2", Delivery: "n2"}, file.Card)
		at, err := s.Cards.Card(ctx, "acme", attack)
		require.NoError(t, err)
		require.Equal(t, "C2 2.2", at.Channel+" "+at.TS)
		places, err := s.Cards.CardsOf(ctx, "acme", attack)
		require.NoError(t, err)
		require.Equal(t, map[string]record.Place{attack: {Channel: "C2", TS: "2.2", Delivery: "n2"}}, places)
		marks, err := s.Cards.Stale(ctx, "acme")
		require.NoError(t, err)
		require.Len(t, marks, 1)
		former := attack + " C1 1.1"
		require.Equal(t, record.UrgentState, marks[former].Urgency)
		require.NoError(t, s.Cards.Redrawn(ctx, "acme", former, marks[former]))
		require.Empty(t, must(s.Cards.Stale(ctx, "acme"))(t))
	})
}

// A card that is gone is reposted in its own place only: where the attack has another one by then, what was posted is
// deleted.
func TestACardThatIsGoneHasOneSuccessor(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx, a := w.openOwner(t), t.Context(), shown("x:1").Attack
		attack := record.AttackID("acme", "x:1")
		require.NoError(t, w.rdb.HSet(ctx, "{a:acme}:cards", attack, "C1 1.1").Err())
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll("x:1")}))
		lost := record.NewCardLost("acme", record.AttackState{Attack: a}, record.Place{Channel: "C1", TS: "1.1"}, false, noon)
		again, stands := record.Reposted(lost.ID)
		require.True(t, again)
		require.False(t, stands)
		require.Equal(t, lost.ID, record.NewCardLost("acme", record.AttackState{Attack: a}, record.Place{Channel: "C1", TS: "1.1"}, false, noon.Add(time.Hour)).ID, "whichever replica finds out, and when")
		requireTrying(t, s, lost.ID, noon, noon, "first")
		recordPlace(t, s, lost, "C1", "2.2")
		require.False(t, must(s.Outbox.Notified(ctx, lost, "C1", "2.2", true))(t))

		late := record.NewCardLost("acme", record.AttackState{Attack: a}, record.Place{Channel: "C1", TS: "0.9"}, false, noon)
		requireTrying(t, s, late.ID, noon, noon, "first")
		require.True(t, must(s.Outbox.Notified(ctx, late, "C1", "3.3", true))(t))
		file, err := s.Cards.Details(ctx, "acme", attack, nil)
		require.NoError(t, err)
		require.Equal(t, record.Place{Channel: "C1", TS: "2.2", Delivery: lost.ID}, file.Card)
		marks, err := s.Cards.Stale(ctx, "acme")
		require.NoError(t, err)
		require.Empty(t, marks, "nothing is left of what is gone")

		stuck := record.NewCardLost("acme", record.AttackState{Attack: a}, record.Place{Channel: "C1", TS: "2.2"}, true, noon)
		requireTrying(t, s, stuck.ID, noon, noon, "first")
		recordPlace(t, s, stuck, "C1", "4.4")
		require.False(t, must(s.Outbox.Notified(ctx, stuck, "C1", "4.4", true))(t))
		marks, err = s.Cards.Stale(ctx, "acme")
		require.NoError(t, err)
		require.Contains(t, marks, attack+" C1 2.2", "what can't be edited still stands")
	})
}
