package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

func TestAnOutageIsStored(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.openOwner(t), w.open(t), t.Context()
		outage := record.Outage{From: noon, Why: "the service can't be reached"}
		stored := func() record.Outage {
			r, err := other.Attacks.Load(ctx, "acme")
			require.NoError(t, err)
			return r.Outage
		}
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Outage: &outage, Events: []record.Event{event("n1", "")}}))
		require.Equal(t, outage, stored())
		require.Len(t, must(other.Outbox.Waiting(ctx, "acme"))(t), 1)
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{LastGood: noon, Stale: []string{"x:1"}}))
		require.Equal(t, outage, stored(), "nothing was said of it")
		file, err := other.Cards.Details(ctx, "acme", record.AttackID("acme", "x:1"), nil)
		require.NoError(t, err)
		require.Equal(t, record.Outage{From: noon, Why: outage.Why}, file.Outage)
		require.Equal(t, noon, file.LastGood)
		require.Contains(t, must(other.Cards.Stale(ctx, "acme"))(t), record.AttackID("acme", "x:1"), nil)
		require.Zero(t, must(other.Attacks.Load(ctx, "globex"))(t).Outage)
		require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{LastGood: noon, Outage: &record.Outage{}}))
		require.Zero(t, stored())
	})
}

// refused is a permission loss with something of everything.
func refused() record.PermissionLoss {
	return record.PermissionLoss{
		Account: "acme", Since: noon, Revision: 1, Status: 403, Lacks: []record.Permission{record.PermissionLists}, More: 1,
		Refused: []record.RefusedChange{{
			Line: record.Line{Name: "deny", Words: []string{"203.0.113.7"}}.With("for", "4h"), Does: "Deny 203.0.113.7", Ends: "c1", Half: true, At: noon,
			By:    record.Actor{ID: "U1", Name: "Rob", Via: record.ViaButton},
			Steps: []record.Step{{Kind: record.AddEntry, Entry: &apiclient.IPRule{List: apiclient.ListDeny, Apps: []int{0}, Expires: noon.Add(time.Hour)}}},
		}},
	}
}

func TestANoticeIsFoundAgain(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.open(t), w.open(t), t.Context()
		at := func(id string) []any {
			at, revision, err := other.Ledger.MessageAt(ctx, "acme", id)
			require.NoError(t, err)
			return []any{at, revision}
		}
		require.Equal(t, []any{record.Place{}, 0}, at("permission-1"))
		require.NoError(t, s.Ledger.SaveMessageAt(ctx, "acme", "permission-1", record.Place{Channel: "C1", TS: "17.000100"}, 3))
		require.Equal(t, []any{record.Place{Channel: "C1", TS: "17.000100"}, 3}, at("permission-1"))
		require.Equal(t, []any{record.Place{}, 0}, at("permission-2"), "another permission loss")
	})
}
