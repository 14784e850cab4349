package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// bounded is a day of an account whose things end: attacks leave the lookback, changes and requests ended long ago,
// work is done. One replica does it.
type bounded struct {
	*world
	s    *store.Store
	jobs <-chan job
}

// day goes by.
func (b *bounded) day(t *testing.T, n int) {
	t.Helper()
	b.attacks(t, n)
	b.people(t, n)
	ctx := t.Context()
	from := noon.AddDate(0, 0, n)
	require.NoError(t, b.s.Attacks.Save(ctx, "acme", record.PollUpdate{Outage: &record.Outage{From: from}, Cap: &record.Cap{Edge: from}}))
	require.NoError(t, b.s.Attacks.Save(ctx, "acme", record.PollUpdate{Outage: &record.Outage{}, Gap: &record.Outage{From: from, Until: from.Add(time.Hour)}, LastGood: from}))
	for range 150 { // more than a node of a stream holds, which Redis deletes whole
		_, err := b.s.Audit.Append(ctx, record.AuditEntry{Account: "acme", At: time.Now(), Outcome: "refused"})
		require.NoError(t, err)
	}
	accept(t, b.s, fmt.Sprintf("d%d", n))
	require.NoError(t, await(t, b.jobs).Done(ctx))
}

// attacks come, get cards, are redrawn and talked about, and go. One is gone before it has its card: Slack was away.
func (b *bounded) attacks(t *testing.T, n int) {
	t.Helper()
	ctx := t.Context()
	var gone []string
	for i := range 5 {
		id := fmt.Sprintf("x:%d-%d", n, i)
		attack, e := record.AttackID("acme", id), event(fmt.Sprintf("n%d-%d", n, i), id)
		require.NoError(t, b.s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll(id), Evidence: evidenceOf(id), Events: []record.Event{e}}))
		require.NoError(t, failure(b.s.Outbox.BeginNotify(ctx, "acme", e.ID, noon)))
		recordPlace(t, b.s, e, "C1", fmt.Sprintf("%d.%d", n, i))
		drafted(t, b.s, func(d *store.Draft) error {
			return saved(d.Save(ctx, record.Saves{Triage: map[string]record.Triage{attack: spoken()}}))
		})
		require.NoError(t, b.s.Triage.SavePage(ctx, "acme", record.Page{ID: "p" + id, Attack: attack, State: record.PageCalling}))
		require.NoError(t, b.s.Triage.DropPage(ctx, "acme", attack))
		gone = append(gone, id)
	}
	require.Len(t, must(b.s.Cards.Stale(ctx, "acme"))(t), 5)
	late := fmt.Sprintf("x:%d-late", n)
	waits := event("n"+late, late)
	require.NoError(t, b.s.Attacks.Save(ctx, "acme", record.PollUpdate{Attacks: shownAll(late), Events: []record.Event{waits}}))
	require.NoError(t, b.s.Attacks.Save(ctx, "acme", record.PollUpdate{Delete: append(gone, late)}))
	require.NoError(t, failure(b.s.Outbox.BeginNotify(ctx, "acme", waits.ID, noon)))
	recordPlace(t, b.s, waits, "C1", fmt.Sprintf("%d.late", n))
}

// people change things, and what they did ends.
func (b *bounded) people(t *testing.T, n int) {
	t.Helper()
	ctx, long := t.Context(), time.Now().AddDate(0, 0, -40)
	ch := record.Change{ID: fmt.Sprintf("c%d", n), Account: "acme", State: record.StateBegun, At: long, Until: long.Add(time.Hour), CheckAt: long.Add(time.Hour), Steps: rule}
	_, c, err := draft(t, b.s).Claim(ctx, ch)
	require.NoError(t, err)
	require.NoError(t, b.s.Attacks.Save(ctx, "acme", record.PollUpdate{Judged: []record.Judgement{{Change: ch}}}))
	ch.State, ch.CheckAt = record.StateUndone, time.Time{}
	require.NoError(t, failure(c.Save(ctx, record.Saves{Changes: []record.Change{ch}})))
	c.Release(ctx)
	require.Empty(t, must(b.s.Ledger.Changes(ctx, "acme"))(t))

	q := waiting(fmt.Sprintf("r%d", n), long)
	q.State, q.Outcome, q.CheckAt = record.RequestRejected, "done", time.Time{}
	drafted(t, b.s, func(d *store.Draft) error { _, err := d.Save(ctx, record.Saves{Request: &q}); return err })
	require.NoError(t, b.s.Ledger.SaveMessageAt(ctx, "acme", q.ID, record.Place{Channel: "C1", TS: "1.1"}, 1))
	require.Empty(t, must(b.s.Ledger.Requests(ctx, "acme"))(t))

	drafted(t, b.s, func(d *store.Draft) error {
		return saved(d.Save(ctx, record.Saves{Mutes: &[]record.Mute{muteFor(time.Hour, typeMute)}}))
	})
	drafted(t, b.s, func(d *store.Draft) error {
		return saved(d.Save(ctx, record.Saves{Protected: &[]record.Protected{{ID: "p1"}}}))
	})
	drafted(t, b.s, func(d *store.Draft) error { return saved(d.Save(ctx, record.Saves{Loss: new(refused())})) })
	drafted(t, b.s, func(d *store.Draft) error {
		return saved(d.Save(ctx, record.Saves{Drill: &record.Drill{ID: fmt.Sprintf("d%d", n), Account: "acme"}}))
	})
	require.NoError(t, b.s.Ledger.SaveMessageAt(ctx, "acme", "permission-1", record.Place{Channel: "C1", TS: "1.1"}, n))
}

// endless are the keys without an end, with how much each holds.
func (b *bounded) endless(t *testing.T) map[string]int64 {
	t.Helper()
	ctx, all := t.Context(), map[string]int64{}
	keys := b.keys(t)
	slices.Sort(keys)
	for _, key := range keys {
		if ttl, err := b.rdb.PTTL(ctx, key).Result(); err != nil || ttl > 0 {
			require.NoError(t, err)
			continue
		}
		kind, err := b.rdb.Type(ctx, key).Result()
		require.NoError(t, err)
		switch kind {
		case "hash":
			all[key] = b.rdb.HLen(ctx, key).Val()
		case "stream":
			all[key] = b.rdb.XLen(ctx, key).Val()
		case "zset":
			all[key] = b.rdb.ZCard(ctx, key).Val()
		case "list":
			all[key] = b.rdb.LLen(ctx, key).Val()
		case "set":
			all[key] = b.rdb.SCard(ctx, key).Val()
		default:
			all[key] = 1
		}
	}
	return all
}

// What a day leaves behind is what the day before left: each key without an end holds one thing, or as much as its
// bound allows.
func TestNothingGrowsFromDayToDay(t *testing.T) {
	onEachWaiting(t, func(t *testing.T, w *world) {
		s := w.openWith(t, store.Config{AuditKeep: time.Nanosecond})
		owning(t, s)
		jobs, _, _ := worker(t, w.open(t))
		b := &bounded{w, s, jobs}
		for n := range 2 {
			b.day(t, n)
		}
		before := b.endless(t)
		for n := range full.Of(1, 3) {
			b.day(t, 2+n)
		}
		after := b.endless(t)
		for key, held := range after {
			if strings.HasSuffix(key, ":audit") {
				require.Less(t, held, int64(250))
				before[key] = held
			}
		}
		require.Equal(t, before, after)
		for key, held := range before {
			switch {
			case strings.HasSuffix(key, ":audit"):
				require.Positive(t, held)
			case strings.HasSuffix(key, ":stream"):
				require.Zero(t, held)
			default:
				require.EqualValues(t, 1, held, key)
			}
		}
	})
}
