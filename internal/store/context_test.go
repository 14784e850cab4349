package store_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

func contextOf(t testing.TB, s *store.Store, account string) record.AccountContext {
	t.Helper()
	context, err := s.Triage.AccountContext(t.Context(), account)
	require.NoError(t, err)
	return context
}

// What one replica writes down of an account, every other reads at once.
func TestAnAccountsContextIsShared(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.openOwner(t), w.open(t), t.Context()
		require.Equal(t, record.AccountContext{}, contextOf(t, other, "acme"))
		protected := []record.Protected{
			{ID: "p1", Range: netip.MustParsePrefix("203.0.113.0/24"), Name: "office", Deny: config.DenyNever, Reason: "ticket", By: record.Actor{ID: "U1", Name: "Ann"}, At: noon},
			{ID: "p2", Range: netip.MustParsePrefix("2001:db8::1/128"), Deny: config.DenyApproval},
		}
		l := draft(t, s)
		require.NoError(t, saved(l.Save(ctx, record.Saves{Protected: &protected, Stale: []string{"a1", "a2"}})))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Locked: &noon})))
		source := netip.MustParseAddr("203.0.113.7")
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Sources: map[netip.Addr]record.SourceActivity{source: {Attacks: 13, Apps: 4}}}))
		require.Equal(t, record.AccountContext{Protected: protected, RulesLockedAt: noon, Sources: map[netip.Addr]record.SourceActivity{source: {Attacks: 13, Apps: 4}}}, contextOf(t, other, "acme"))
		require.Equal(t, record.AccountContext{}, contextOf(t, other, "other"), "accounts share nothing")
		marks, err := other.Cards.Stale(ctx, "acme")
		require.NoError(t, err)
		require.Contains(t, marks, "a1", "its card shows it")
		require.Contains(t, marks, "a2")

		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{LastGood: noon}))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Locked: &time.Time{}})))
		require.NoError(t, saved(l.Save(ctx, record.Saves{Protected: new(protected[1:])})))
		context := contextOf(t, other, "acme")
		require.Equal(t, protected[1:], context.Protected)
		require.Zero(t, context.RulesLockedAt)
		require.Len(t, context.Sources, 1, "as it was")
	})
}

// A mark changes for all replicas, and only that of whom it is about.
func TestPeopleMarks(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.open(t), w.open(t), t.Context()
		mark := func(of string) string {
			mark, err := other.Slack.PeopleMark(ctx, of)
			require.NoError(t, err)
			return mark
		}
		require.Empty(t, mark("U1"))
		require.NoError(t, s.Slack.PeopleChanged(ctx, "U1"))
		first := mark("U1")
		require.NotEmpty(t, first)
		require.NoError(t, s.Slack.PeopleChanged(ctx, "U1"))
		require.NotEqual(t, first, mark("U1"))
		require.Empty(t, mark("groups"))
	})
}
