package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
)

// Only the account's owner writes pages down: a replica that lost it would else call, or end a call, for what another replica knows better.
func TestPages(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s, other := w.open(t), w.open(t)
		page := record.Page{ID: "p1", Attack: "a1", Route: "kind incident", Since: noon, Severity: "critical", State: record.PageCalling}
		require.Error(t, other.Triage.SavePage(ctx, "acme", page), "it doesn't own the account")
		owning(t, s)
		require.Zero(t, must(s.Triage.Page(ctx, "acme", "a1"))(t))
		require.NoError(t, s.Triage.SavePage(ctx, "acme", page, pagerUnreachable("p1")))
		page.TakenAt, page.State = noon.Add(time.Minute), record.PageEnding
		require.NoError(t, s.Triage.SavePage(ctx, "acme", page))
		require.Error(t, other.Triage.DropPage(ctx, "acme", "a1"))

		require.Equal(t, page, must(other.Triage.Page(ctx, "acme", "a1"))(t))
		require.Equal(t, map[string]record.Page{"a1": page}, must(other.Triage.Pages(ctx, "acme"))(t))
		require.Contains(t, must(other.Cards.Stale(ctx, "acme"))(t), "a1", "its card shows it")
		require.Len(t, must(other.Outbox.Waiting(ctx, "acme"))(t), 1)
		require.NoError(t, s.Triage.DropPage(ctx, "acme", "a1"))
		require.Empty(t, must(s.Triage.Pages(ctx, "acme"))(t))
	})
}

func pagerUnreachable(page string) record.Event {
	return record.Event{ID: page, Account: "acme", Kind: record.PagerUnreachable, Channel: "C1", At: time.Now().UTC(), Detail: record.PagerFault{Route: "kind incident", Why: "away"}}
}
