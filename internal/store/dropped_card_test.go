package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
)

// An attack that a cap dropped is hit again within the hour for which the place of its card is stored: it has that card
// again, which is redrawn. Its next event is a reply under it.
func TestADroppedAttackFindsItsCard(t *testing.T) {
	onLiveCards(t, func(t *testing.T, l *live) {
		attack := record.AttackID("acme", "x:1")
		one := apiclient.Attack{ID: "x:1", Type: "sqli", Method: "GET", Path: "/1", First: noon, Last: time.Now(), Hits: apiclient.Known(1000)}
		saves := func(kind record.EventKind, id string, revision int) {
			one.Hits, one.Last = apiclient.Known(int64(1000*revision)), time.Now()
			n := record.Event{ID: id, Account: "acme", Kind: kind, Channel: "C1", At: time.Now(), Subject: one.ID, Order: revision, Detail: record.AttackFacts{}}
			u := record.PollUpdate{
				Attacks: map[string]record.AttackState{one.ID: {Attack: one, ObservedAt: time.Now(), Revision: revision, Notified: true, Channel: "C1"}},
				Events:  []record.Event{n},
			}
			require.NoError(t, l.store.Attacks.Save(t.Context(), "acme", u))
			l.notifier.Saved("acme", u)
			time.Sleep(10 * time.Second)
		}
		first := record.CardDelivery("acme", one.ID)
		saves(record.NewAttack, first, 1)
		card := l.card(attack)
		require.NoError(t, l.store.Attacks.Save(t.Context(), "acme", record.PollUpdate{Delete: []string{one.ID}}))
		time.Sleep(time.Duration(full.Of(3, 10)) * time.Minute)

		edits := len(l.way.edited())
		saves(record.NewAttack, first, 1)
		require.Equal(t, card, l.card(attack))
		require.Len(t, l.way.said(), 1, "there is one card")
		require.Len(t, l.way.edited(), edits+1)
		saves(record.Worsened, fmt.Sprint("worse ", one.ID), 2)
		require.Len(t, l.way.said(), 2)
		require.Equal(t, 1, l.way.saidOf("It got worse"))
		require.Empty(t, must(l.store.Outbox.Waiting(t.Context(), "acme"))(t))
	})
}

// What lies in the place of a card and is none gives way to the card's place, when that is recorded again.
func TestTheCardOfADamagedPlaceIsFoundAgain(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s := w.open(t)
		owning(t, s)
		ctx, n := t.Context(), event(record.CardDelivery("acme", "x:1"), "x:1")
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{LastGood: noon, Attacks: shownAll("x:1"), Events: []record.Event{n}}))
		require.NoError(t, failure(s.Outbox.Notified(ctx, n, "C1", "1.1", true)))
		attack := record.AttackID("acme", "x:1")
		for _, text := range []string{"garbage", "{", "null", "[1]", "-1"} {
			require.NoError(t, w.rdb.HSet(ctx, "{a:acme}:cards", attack, text).Err())
			require.NoError(t, failure(s.Outbox.Notified(ctx, n, "C1", "1.1", true)))
			require.Equal(t, record.Place{Channel: "C1", TS: "1.1"}, must(s.Cards.Card(ctx, "acme", attack))(t), text)
		}
	})
}
