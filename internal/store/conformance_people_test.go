package store_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// mute is one that holds for an hour.
func mute(id string, at time.Time) record.Mute {
	return record.Mute{ID: id, Account: "acme", Type: "sqli", Until: at.Add(time.Hour), By: ann()}
}

func testTriage(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	said := record.Triage{
		Owner:   &record.Owner{ID: "U2", Name: "Bob", Since: at, By: ann(), From: "U1", Note: "n1"},
		Verdict: &record.Verdict{Is: "test", By: ann(), At: at},
		Notes:   []record.Note{{ID: "n1", By: ann(), At: at, Text: "ours:\n\"pen\" <test> \u202e"}},
	}
	one, two := record.AttackID("acme", "x:1"), record.AttackID("acme", "x:2")
	require.Equal(t, record.Triage{}, must(s.Triage.TriageOf(ctx, "acme", one))(t))
	require.Empty(t, must(s.Triage.Mutes(ctx, "acme"))(t))
	s.drafted(t, func(l *store.Draft) {
		require.NoError(t, saved(l.Save(ctx, record.Saves{Triage: map[string]record.Triage{one: said}})))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Triage: map[string]record.Triage{two: {Notes: said.Notes}}})))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Triage: map[string]record.Triage{two: said}})))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Mutes: &[]record.Mute{mute("m2", at), mute("m1", at)}, Stale: []string{one}})))
	})
	require.Equal(t, said, must(s.Triage.TriageOf(ctx, "acme", one))(t))
	require.Equal(t, map[string]record.Triage{one: said, two: said}, must(s.Triage.AllTriage(ctx, "acme"))(t))
	require.Equal(t, []record.Mute{mute("m2", at), mute("m1", at)}, must(s.Triage.Mutes(ctx, "acme"))(t), "as they were given")
	require.Equal(t, record.Triage{}, must(s.Triage.TriageOf(ctx, "other", one))(t))
	require.Empty(t, must(s.Triage.AllTriage(ctx, "other"))(t))
	require.Empty(t, must(s.Triage.Mutes(ctx, "other"))(t))
	s.drafted(t, func(l *store.Draft) { require.NoError(t, saved(l.Save(ctx, record.Saves{Mutes: &[]record.Mute{}}))) })
	require.Empty(t, must(s.Triage.Mutes(ctx, "acme"))(t))
}

func testContext(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	known := func(account string) record.AccountContext {
		return must(s.Triage.AccountContext(ctx, account))(t)
	}
	require.Equal(t, record.AccountContext{}, known("acme"))
	protected := []record.Protected{
		{ID: "p1", Range: netip.MustParsePrefix("203.0.113.0/24"), Name: "office", Deny: config.DenyNever, Reason: "ticket", By: ann(), At: at},
		{ID: "p2", Range: netip.MustParsePrefix("2001:db8::1/128"), Deny: config.DenyApproval},
	}
	counted := map[netip.Addr]record.SourceActivity{netip.MustParseAddr("203.0.113.7"): {Attacks: 13, Apps: 4}}
	s.polled(t, polled{At: at, Sources: counted})
	s.drafted(t, func(l *store.Draft) {
		require.NoError(t, saved(l.Save(ctx, record.Saves{Protected: &protected, Stale: []string{"a1", "a2"}})))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Locked: &at})))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Mutes: &[]record.Mute{mute("m1", at)}})))
	})
	require.Equal(t, record.AccountContext{Protected: protected, RulesLockedAt: at, Sources: counted, Mutes: []record.Mute{mute("m1", at)}}, known("acme"))
	require.Equal(t, record.AccountContext{}, known("other"))
	s.drafted(t, func(l *store.Draft) {
		require.NoError(t, saved(l.Save(ctx, record.Saves{Protected: new(protected[1:])})))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Locked: &time.Time{}})))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Mutes: &[]record.Mute{}})))
	})
	require.Equal(t, record.AccountContext{Protected: protected[1:], Sources: counted}, known("acme"))
}

func testPermissions(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	require.Equal(t, record.PermissionLoss{}, must(s.Ledger.PermissionLoss(ctx, "acme"))(t))
	loss := record.PermissionLoss{Account: "acme", Since: at, Revision: 1, Status: 403, Lacks: []record.Permission{record.PermissionLists},
		Refused: []record.RefusedChange{{Line: record.Line{Name: "deny", Words: []string{"203.0.113.7"}}, Does: "Deny 203.0.113.7", By: ann(), At: at}}}
	for range 2 { // the second is in the place of the first
		s.drafted(t, func(l *store.Draft) { require.NoError(t, saved(l.Save(ctx, record.Saves{Loss: &loss}))) })
		require.Equal(t, loss, must(s.Ledger.PermissionLoss(ctx, "acme"))(t))
		loss.Until, loss.Revision = at.Add(time.Minute), 2
	}
	require.Equal(t, record.PermissionLoss{}, must(s.Ledger.PermissionLoss(ctx, "other"))(t))
}

func testBasis(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	attack := record.AttackID("acme", "x:1")
	basis := func(attack string) record.Basis {
		b, _, err := s.Ledger.Begin(ctx, "acme", attack)
		require.NoError(t, err)
		return b
	}
	nothing := basis(attack)
	require.Empty(t, nothing.Changes)
	nothing.Changes = nil
	require.Equal(t, record.Basis{Attack: attack}, nothing)
	known := apiclient.Attack{ID: "x:1", Type: "sqli", Hits: apiclient.Known(7)}
	s.polled(t, polled{At: at, Attacks: []apiclient.Attack{known}})
	loss := record.PermissionLoss{Account: "acme", Since: at, Revision: 1, Status: 403}
	said := record.Triage{Owner: &record.Owner{ID: "U2", Name: "Bob", Since: at, By: ann()}}
	s.save(t, record.Change{ID: "c1", Account: "acme", AttackID: attack, At: at, State: record.StateDone, Until: at.Add(time.Hour)})
	s.drafted(t, func(l *store.Draft) {
		require.NoError(t, saved(l.Save(ctx, record.Saves{Loss: &loss})))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Triage: map[string]record.Triage{attack: said}})))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Locked: &at})))
	})
	whole := basis(attack)
	seen, ok, err := s.Attacks.LastObservation(ctx, "acme", attack)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, record.Basis{
		Changes: must(s.Ledger.Changes(ctx, "acme"))(t), Context: record.AccountContext{RulesLockedAt: at}, Loss: loss, Attack: attack, Known: known, Triage: said, Observed: seen,
	}, whole)
	require.Len(t, whole.Changes, 1)
	whole.Attack, whole.Known, whole.Triage, whole.Observed = "", apiclient.Attack{}, record.Triage{}, record.Observation{}
	require.Equal(t, whole, basis(""), "of a change that is about no attack")
}

func testDrills(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	require.NoError(t, s.Replicas.Hear(ctx))
	living, heard := s.Replicas.Living()
	require.True(t, heard)
	require.Equal(t, 1, living)
	require.Equal(t, record.Drill{}, must(s.Triage.Drill(ctx, "acme"))(t))
	d := record.Drill{
		ID: "d1", Account: "acme", By: ann(), At: at, Page: true, Cards: []record.DrillCard{{Channel: "C1", Mention: "S1", Pager: "everything"}},
	}
	for range 2 { // the second is in the place of the first
		s.drafted(t, func(l *store.Draft) { require.NoError(t, saved(l.Save(ctx, record.Saves{Drill: &d}))) })
		require.Equal(t, d, must(s.Triage.Drill(ctx, "acme"))(t))
		by := ann()
		d.Cards[0].By, d.Cards[0].After = &by, time.Minute
	}
	require.Equal(t, record.Drill{}, must(s.Triage.Drill(ctx, "other"))(t))
}

func testEfficacy(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	found := func(account string) map[string]record.Efficacy {
		return must(s.Ledger.Efficacy(ctx, account))(t)
	}
	require.Empty(t, found("acme"))
	ch := record.Change{ID: "c1", Account: "acme", AttackID: "a1", State: record.StateDone, At: at}
	seen := record.Efficacy{
		Parts: map[string]record.Traffic{"203.0.113.7": {Stopped: record.Tally{N: 10, First: at, Last: at.Add(time.Minute)}}}, Finding: record.Working, At: at.Add(time.Hour),
	}
	without := record.Judgement{Change: record.Change{ID: "c2", Account: "acme"}, Efficacy: record.Efficacy{Finding: record.NotWorking}}
	require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Judged: []record.Judgement{{Change: ch, Efficacy: record.Efficacy{Finding: record.NotYet}}, without}}))
	require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Judged: []record.Judgement{{Change: ch, Efficacy: seen}}}))
	require.Equal(t, map[string]record.Efficacy{"c1": seen, "c2": without.Efficacy}, found("acme"))
	require.Empty(t, found("other"))
}
