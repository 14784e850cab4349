package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// stormy is an update with a storm that grouped two attacks, one of which has a card by now, and an attack beside it.
func stormy() record.PollUpdate {
	u := record.PollUpdate{LastGood: noon, Attacks: shownAll("x:1", "x:2", "x:3", "storm:C1:1", "storm:C1:2")}
	for id, change := range map[string]func(s *record.AttackState){
		"x:1": func(s *record.AttackState) { s.StormID, s.OwnCard = "storm:C1:1", true },
		"x:2": func(s *record.AttackState) { s.StormID, s.Attack.Last = "storm:C1:1", noon.Add(time.Hour) },
		"storm:C1:1": func(s *record.AttackState) {
			s.Storm = &record.Storm{Over: 10, Began: noon, Grouped: 2, OwnCards: 1, Status: map[apiclient.Status]int{apiclient.StatusPartly: 2}}
		},
		"storm:C1:2": func(s *record.AttackState) { s.Storm, s.Quiet = &record.Storm{Began: noon.Add(time.Minute)}, true },
	} {
		s := u.Attacks[id]
		change(&s)
		u.Attacks[id] = s
	}
	return u
}

func TestStormsAndWhatTheyGrouped(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.openOwner(t), w.open(t), t.Context()
		u := stormy()
		require.NoError(t, s.Attacks.Save(ctx, "acme", u))
		storms, err := other.Attacks.Storms(ctx, "acme")
		require.NoError(t, err)
		one, two := record.AttackID("acme", "storm:C1:1"), record.AttackID("acme", "storm:C1:2")
		require.Equal(t, []record.StormSeen{
			{KnownAttack: record.KnownAttack{ID: two, Attack: u.Attacks["storm:C1:2"].Attack}, Storm: record.Storm{Began: noon.Add(time.Minute)}, SeenAt: noon, Quiet: true},
			{KnownAttack: record.KnownAttack{ID: one, Attack: u.Attacks["storm:C1:1"].Attack}, Storm: *u.Attacks["storm:C1:1"].Storm, SeenAt: noon},
		}, storms)
		grouped, err := other.Attacks.Grouped(ctx, "acme", one)
		require.NoError(t, err)
		require.Equal(t, []record.StormSeen{
			{KnownAttack: record.KnownAttack{ID: record.AttackID("acme", "x:2"), Attack: u.Attacks["x:2"].Attack}, SeenAt: noon},
			{KnownAttack: record.KnownAttack{ID: record.AttackID("acme", "x:1"), Attack: u.Attacks["x:1"].Attack}, SeenAt: noon, Own: true},
		}, grouped)
		for _, account := range []string{"acme", "other"} {
			require.Empty(t, must(other.Attacks.Grouped(ctx, account, two))(t), account)
		}
		require.Len(t, must(other.Attacks.FindAttacks(ctx, "acme", "s"))(t), 2)

		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Delete: []string{"storm:C1:1", "x:1", "x:2"}}))
		require.Len(t, must(other.Attacks.Storms(ctx, "acme"))(t), 1)
	})
}

// The connection breaks in the middle of saving a storm of very many attacks: those that are saved have their storm,
// which is notified, and incidents come before it. Those that aren't come again.
func TestAStormIsStoredBeforeWhatItGroups(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		net, ctx := w.newWire(t), t.Context()
		s := net.openPatiently(t, store.Config{})
		owning(t, s)
		const many, storm = 1500, "storm:C1:1"
		u := record.PollUpdate{LastGood: noon, Attacks: shownAll("x:incident", storm), Events: []record.Event{event("incident", "x:incident"), event("storm", storm)}}
		for i := range many {
			one := shown(fmt.Sprint("x:", i))
			one.StormID = storm
			u.Attacks[one.Attack.ID] = one
		}
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Delete: []string{"none"}})) // the script is known from here on
		net.cutSaving(2)
		require.Error(t, s.Attacks.Save(ctx, "acme", u))
		net.SetFilters(nil, nil)
		direct := w.open(t)
		m, err := direct.Attacks.Load(ctx, "acme")
		require.NoError(t, err)
		require.Less(t, len(m.Attacks), many)
		require.Contains(t, m.Attacks, storm)
		require.Equal(t, []string{"incident", "storm"}, waitingEvents(t, direct))
	})
}
