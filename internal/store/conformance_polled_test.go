package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

func attack(id string, last time.Time) apiclient.Attack {
	return apiclient.Attack{ID: id, Type: "sqli", Path: "/login", First: last.Add(-time.Minute), Last: last, Hits: apiclient.Known(7)}
}

func testPolled(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	one, two := attack("x:1", at), attack("x:2", at)
	id := record.AttackID("acme", "x:1")
	evidence := record.Evidence{First: record.Observation{At: at, Attack: one.Brief()}, Late: true, CardAt: at}
	s.polled(t, polled{At: at, Attacks: []apiclient.Attack{one, two}, Evidence: map[string]record.Evidence{"x:1": evidence}})

	find := func(account, prefix string) map[string]apiclient.Attack {
		return must(s.Attacks.FindAttacks(ctx, account, prefix))(t)
	}
	require.Equal(t, map[string]apiclient.Attack{id: one, record.AttackID("acme", "x:2"): two}, find("acme", ""))
	require.Equal(t, map[string]apiclient.Attack{id: one}, find("acme", id))
	for _, none := range []string{"*", "?", id[:3] + "*", "[a]", "b", `\`} {
		require.Empty(t, find("acme", none), none)
	}
	require.Empty(t, find("other", ""))
	known, ok, err := s.Attacks.KnownAttack(ctx, "acme", id)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, one, known)
	for _, unknown := range [][2]string{{"acme", id[:4]}, {"acme", "a00000000"}, {"other", id}} {
		_, ok, err = s.Attacks.KnownAttack(ctx, unknown[0], unknown[1])
		require.NoError(t, err)
		require.False(t, ok, "%v", unknown)
	}

	seen, ok, err := s.Attacks.LastObservation(ctx, "acme", id)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, record.Observation{At: at, Attack: one.Brief()}, seen)
	kept, ok, err := s.Attacks.Evidence(ctx, "acme", id)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, evidence, kept)
	for _, unknown := range [][2]string{{"acme", ""}, {"acme", "a00000000"}, {"other", id}} {
		_, ok, err = s.Attacks.LastObservation(ctx, unknown[0], unknown[1])
		require.NoError(t, err)
		require.False(t, ok, "%v", unknown)
		_, ok, err = s.Attacks.Evidence(ctx, unknown[0], unknown[1])
		require.NoError(t, err)
		require.False(t, ok, "%v", unknown)
	}
}

func testOutages(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	outages := func(account string, since time.Time) []record.Outage {
		return must(s.Attacks.Outages(ctx, account, since))(t)
	}
	require.Empty(t, outages("acme", time.Time{}))
	first := record.Outage{From: at.Add(-5 * time.Hour), Until: at.Add(-4 * time.Hour), Why: "the service answers with errors"}
	second := record.Outage{From: at.Add(-3 * time.Hour), Until: at.Add(-2 * time.Hour)}
	open := record.Outage{From: at.Add(-time.Hour), Why: "no token"}
	for _, outage := range []record.Outage{second, first, open} {
		s.polled(t, polled{At: at, Outage: outage})
	}
	require.Equal(t, []record.Outage{first, second, open}, outages("acme", time.Time{}))
	require.Equal(t, []record.Outage{second, open}, outages("acme", first.Until.Add(time.Second)), "by their ends")
	require.Equal(t, []record.Outage{open}, outages("acme", at), "it goes on")
	require.Empty(t, outages("other", time.Time{}))
}

func testStorms(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	older, newer := attack(apiclient.OwnID+"C1:1", at), attack(apiclient.OwnID+"C1:2", at)
	early, late := attack("x:1", at), attack("x:2", at.Add(time.Minute))
	storms := map[string]record.Storm{
		older.ID: {Over: 10, Began: at, Grouped: 2, OwnCards: 1, Status: map[apiclient.Status]int{apiclient.StatusPartly: 2}}, newer.ID: {Began: at.Add(time.Minute)},
	}
	s.polled(t, polled{At: at, Attacks: []apiclient.Attack{older, newer, early, late}, Storms: storms, In: map[string]string{early.ID: older.ID, late.ID: older.ID}})
	known := func(a apiclient.Attack) record.KnownAttack {
		return record.KnownAttack{ID: record.AttackID("acme", a.ID), Attack: a}
	}
	require.Equal(t, []record.StormSeen{
		{KnownAttack: known(newer), Storm: storms[newer.ID], SeenAt: at}, {KnownAttack: known(older), Storm: storms[older.ID], SeenAt: at},
	}, must(s.Attacks.Storms(ctx, "acme"))(t))
	require.Equal(t, []record.StormSeen{{KnownAttack: known(late), SeenAt: at}, {KnownAttack: known(early), SeenAt: at}},
		must(s.Attacks.Grouped(ctx, "acme", known(older).ID))(t), "the latest hit first")
	require.Empty(t, must(s.Attacks.Grouped(ctx, "acme", known(newer).ID))(t))
	require.Empty(t, must(s.Attacks.Grouped(ctx, "other", known(older).ID))(t))
	require.Empty(t, must(s.Attacks.Storms(ctx, "other"))(t))
}
