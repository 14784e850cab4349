package store_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// spoken is a case with something of everything.
func spoken() record.Triage {
	rob := record.Actor{ID: "U1", Team: "T1", Name: "Rob", Via: record.ViaButton}
	return record.Triage{
		Owner:   &record.Owner{ID: "U2", Name: "Ann", Since: noon, By: rob, From: "U1", Note: "n1"},
		Verdict: &record.Verdict{Is: "test", By: rob, At: noon},
		Notes:   []record.Note{{ID: "n1", By: rob, At: noon, Text: "ours:\n\"pen\" <test> \u202e"}},
	}
}

func muteFor(d time.Duration, what func(m *record.Mute)) record.Mute {
	m := record.Mute{ID: "m1", Account: "acme", Until: time.Now().Add(d).UTC(), By: record.Actor{ID: "U1", Name: "Rob"}}
	what(&m)
	return m
}

func sourceMute(m *record.Mute) { m.Source, m.App = netip.MustParsePrefix("203.0.113.0/24"), -1 }
func typeMute(m *record.Mute)   { m.ID, m.Type = "m2", "sqli" }

func mutesOf(t testing.TB, s *store.Store, account string) []record.Mute {
	t.Helper()
	all, err := s.Triage.Mutes(t.Context(), account)
	require.NoError(t, err)
	return all
}

func TestTriageIsDeletedWithItsAttack(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.openOwner(t), w.open(t), t.Context()
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll("x:1", "x:2")}))
		one, two := record.AttackID("acme", "x:1"), record.AttackID("acme", "x:2")
		both := map[string]record.Triage{one: spoken(), two: spoken()}
		require.NoError(t, saved(draft(t, s).Save(ctx, record.Saves{Triage: both})))
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Delete: []string{"x:1"}}))
		require.Equal(t, map[string]record.Triage{two: spoken()}, must(other.Triage.AllTriage(ctx, "acme"))(t))
	})
}

// An extension of what was done for an attack that is deleted by now acknowledges it once more: that goes when the next
// one is deleted.
func TestTriageOfADeletedAttackDoesNotStay(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.openOwner(t), t.Context()
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll("x:1", "x:2", "x:3")}))
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Delete: []string{"x:1"}}))
		late, stays := record.AttackID("acme", "x:1"), record.AttackID("acme", "x:3")
		require.NoError(t, saved(draft(t, s).Save(ctx, record.Saves{Triage: map[string]record.Triage{late: spoken(), stays: spoken()}})))
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Delete: []string{"x:2"}}))
		require.Equal(t, map[string]record.Triage{stays: spoken()}, must(s.Triage.AllTriage(ctx, "acme"))(t))
	})
}

func TestMutesEnd(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.open(t), w.open(t), t.Context()
		require.Empty(t, mutesOf(t, s, "acme"))
		long, short := muteFor(time.Hour, sourceMute), muteFor(time.Minute, typeMute)
		l := draft(t, s)
		require.NoError(t, saved(l.Save(ctx, record.Saves{Mutes: &[]record.Mute{short, long}})))
		require.Equal(t, []record.Mute{short, long}, mutesOf(t, other, "acme"))
		require.Empty(t, mutesOf(t, other, "other"))
		left, err := w.rdb.TTL(ctx, "{a:acme}:mutes").Result()
		require.NoError(t, err)
		require.Greater(t, left, 59*time.Minute, "as long as the longest")
		require.LessOrEqual(t, left, time.Hour+2*time.Second)
		require.NoError(t, saved(l.Save(ctx, record.Saves{Mutes: &[]record.Mute{short}})))
		require.Equal(t, []record.Mute{short}, mutesOf(t, other, "acme"))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Mutes: &[]record.Mute{}})))
		require.Empty(t, mutesOf(t, other, "acme"))
		require.NotContains(t, w.keys(t), "{a:acme}:mutes")
	})
}

func TestTriageThatCannotBeReadIsSetAside(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, ctx := w.open(t), t.Context()
		require.NoError(t, w.rdb.HSet(ctx, "{a:bad}:triage", "x", "rubbish").Err())
		require.NoError(t, w.rdb.Set(ctx, "{a:bad}:mutes", "rubbish", 0).Err())
		_, caseErr := s.Triage.TriageOf(ctx, "bad", "x")
		_, casesErr := s.Triage.AllTriage(ctx, "bad")
		_, mutesErr := s.Triage.Mutes(ctx, "bad")
		for i, err := range []error{caseErr, casesErr, mutesErr} {
			require.NoError(t, err, i)
		}
		require.Equal(t, []string{"{a:bad}:mutes", "{a:bad}:triage x"}, s.Damaged(ctx, []string{"bad"}))
	})
}
