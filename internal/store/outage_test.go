package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

func TestASpellOfBlindnessIsRemembered(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.openTending(t), w.open(t), t.Context()
		spell := record.Outage{From: noon, Why: "the service can't be reached"}
		blind := func() record.Outage {
			r, err := other.Load(ctx, "acme")
			require.NoError(t, err)
			return r.Blind
		}
		require.NoError(t, s.Remember(ctx, "acme", poller.Update{Blind: &spell, Events: []record.Event{news("n1", "")}}))
		require.Equal(t, spell, blind())
		untold, err := other.Untold(ctx, "acme")
		require.NoError(t, err)
		require.Len(t, untold, 1)
		require.NoError(t, s.Remember(ctx, "acme", poller.Update{LastGood: noon, Outdated: []string{"x:1"}}))
		require.Equal(t, spell, blind(), "nothing was said of it")
		file, err := other.File(ctx, "acme", record.AttackID("acme", "x:1"))
		require.NoError(t, err)
		require.Equal(t, record.Outage{From: noon, Why: spell.Why}, file.Blind)
		require.Equal(t, noon, file.Good)
		marks, err := other.ToRedraw(ctx, "acme")
		require.NoError(t, err)
		require.Contains(t, marks, record.AttackID("acme", "x:1"))
		r, err := other.Load(ctx, "globex")
		require.NoError(t, err)
		require.Zero(t, r.Blind)
		require.NoError(t, s.Remember(ctx, "acme", poller.Update{LastGood: noon, Blind: &record.Outage{}}))
		require.Zero(t, blind())
	})
}

// refused is a spell with something of everything.
func refused() record.PermissionLoss {
	return record.PermissionLoss{
		Account: "acme", Since: noon, Revision: 1, Status: 403, Lacks: []record.Permission{record.PowerLists}, More: 1,
		Refused: []record.RefusedChange{{
			Line: record.Line{Name: "deny", Words: []string{"203.0.113.7"}}.With("for", "4h"), Does: "Deny 203.0.113.7", Ends: "c1", Half: true, At: noon,
			By:    record.Actor{ID: "U1", Name: "Rob", Via: record.ViaButton},
			Steps: []record.Step{{Kind: record.AddEntry, Entry: &apiclient.IPRule{List: apiclient.ListDeny, Apps: []int{0}, Expires: noon.Add(time.Hour)}}},
		}},
	}
}

func TestRefusedChangesAreRememberedWithTheirNews(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.open(t), w.open(t), t.Context()
		none, err := s.Tied(ctx, "acme")
		require.NoError(t, err)
		require.Zero(t, none)
		locked(t, s, func(l commands.Lock) error { return l.SaveTied(ctx, refused(), news("tied-1", "")) })
		got, err := other.Tied(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, refused(), got)
		none, err = other.Tied(ctx, "globex")
		require.NoError(t, err)
		require.Zero(t, none)
		untold, err := other.Untold(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, "tied-1", untold[0].ID)
	})
}

func TestANoticeIsFoundAgain(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		s, other, ctx := w.open(t), w.open(t), t.Context()
		at := func(id string) []any {
			channel, ts, revision, err := other.NoticeAt(ctx, "acme", id)
			require.NoError(t, err)
			return []any{channel, ts, revision}
		}
		require.Equal(t, []any{"", "", 0}, at("tied-1"))
		require.NoError(t, s.Noticed(ctx, "acme", "tied-1", "C1", "17.000100", 3))
		require.Equal(t, []any{"C1", "17.000100", 3}, at("tied-1"))
		require.Equal(t, []any{"", "", 0}, at("tied-2"), "another spell")
	})
}
