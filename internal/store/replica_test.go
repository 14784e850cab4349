package store_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// replica is one of those that share a Redis: it beats and owns its part of the accounts, over a wire of its own.
type replica struct {
	name  string
	store *store.Store
	net   *wire
	ended <-chan error
	more  context.CancelFunc
	run   context.CancelFunc
}

// stop stops the replica cleanly: what is in hand ends, then it gives up what it owns and takes leave.
func (r *replica) stop() { r.more() }

// kill ends the replica as far as Redis can see.
func (r *replica) kill() { r.net.Refuse() }

// hold is one time that a replica owns an account.
type hold struct {
	account    string
	replica    *replica
	held, more context.Context
	pending    <-chan store.Pending
	began      time.Time
	end        context.CancelFunc // what was in hand is done
}

func (h *hold) String() string { return h.replica.name + " owns " + h.account }

// watch sees what replicas own, and whether two ever own the same.
type watch struct {
	t        tester
	accounts []string

	busy         bool // what is begun has to be ended by the test
	asynchronous bool // leases may be lost with a server

	mu     sync.Mutex
	now    map[string]*hold // the last by account
	faults []string
	begun  chan *hold
}

func newWatch(t tester, accounts ...string) *watch {
	w := &watch{t: t, accounts: accounts, now: map[string]*hold{}, begun: make(chan *hold, 10_000)}
	t.Cleanup(func() { require.True(t, w.asynchronous || len(w.overlaps()) == 0, w.overlaps()) })
	return w
}

func (w *watch) overlaps() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.faults)
}

// start starts a replica on a store.
func (w *watch) start(name string, s *store.Store, net *wire) *replica {
	live, leave := context.WithCancel(context.Background())
	held, drop := context.WithCancel(live)
	more, stop := context.WithCancel(held)
	r := &replica{name: name, store: s, net: net, more: stop, run: drop}
	var g errgroup.Group
	g.Go(func() error {
		if err := s.Replicas.Beat(live); live.Err() == nil {
			drop()
			return err
		}
		return nil
	})
	g.Go(func() error {
		defer leave()
		_ = s.Replicas.Share(held, more, w.accounts, func(held, more context.Context, account string, pending <-chan store.Pending) {
			w.own(&hold{account: account, replica: r, held: held, more: more, pending: pending, began: time.Now()})
		})
		return nil
	})
	ended, done := make(chan error, 1), make(chan struct{})
	go func() { ended <- g.Wait(); close(done) }()
	r.ended = ended
	w.t.Cleanup(func() { drop(); <-done })
	return r
}

// own notes who owned the account when another replica began.
func (w *watch) own(h *hold) {
	work, end := context.WithCancel(h.more)
	if w.busy {
		work, end = context.WithCancel(h.held)
	}
	defer end()
	h.end = end
	w.mu.Lock()
	if before := w.now[h.account]; before != nil && before.held.Err() == nil {
		w.faults = append(w.faults, fmt.Sprintf("%s while %s", h, before))
	}
	w.now[h.account] = h
	w.mu.Unlock()
	w.begun <- h
	<-work.Done()
}

// holds are what is owned now, by account.
func (w *watch) holds() map[string]*hold {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]*hold{}
	for account, h := range w.now {
		if h.held.Err() == nil && h.more.Err() == nil {
			all[account] = h
		}
	}
	return all
}

// shares are how many accounts each replica owns, the most first.
func (w *watch) shares() []int {
	n := map[*replica]int{}
	for _, h := range w.holds() {
		n[h.replica]++
	}
	var all []int
	for _, some := range n {
		all = append(all, some)
	}
	slices.SortFunc(all, func(a, b int) int { return cmp.Compare(b, a) })
	return all
}

// settled waits until the accounts are shared out so, the most first.
func (w *watch) settled(shares ...int) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return slices.Equal(w.shares(), shares) }, patience, 10*time.Millisecond, "%v", shares)
}

// owning has a store own an account until the test ends.
func owning(t testing.TB, s *store.Store) *hold {
	t.Helper()
	w := newWatch(t, "acme")
	w.start("it", s, nil)
	return await(t, w.begun)
}

// openOwner is a replica's store that owns the account.
func (w *world) openOwner(t testing.TB) *store.Store {
	t.Helper()
	s := w.open(t)
	owning(t, s)
	return s
}

// draft begins a draft on the account, whose state is begun if it isn't.
func draft(t testing.TB, s *store.Store) *store.Draft {
	t.Helper()
	begin(t, s, "acme")
	_, d, err := s.Ledger.Begin(t.Context(), "acme", "", false)
	require.NoError(t, err)
	return d
}

// drafted does something as a draft on the account.
func drafted(t testing.TB, s *store.Store, do func(*store.Draft) error) {
	t.Helper()
	require.NoError(t, do(draft(t, s)))
}

// saveChange writes one change down.
func saveChange(ctx context.Context, d changeSaver, c record.Change) error {
	_, err := d.Save(ctx, record.Saves{Changes: change.Scheduled(c)})
	return err
}

// changeSaver is a draft or a claim.
type changeSaver interface {
	Save(ctx context.Context, s record.Saves) (n int64, err error)
}

// beginWith begins a state, unless that was done.
func beginWith(ctx context.Context, s *store.Store, account string, r store.Rebuilt) error {
	_, err := s.Ledger.Restore(ctx, account, r)
	return err
}

// One replica whose configuration switches all changes off stops them on all, until it is gone or dead; a process that
// doesn't beat asks.
func TestOneReplicaSwitchesChangesOff(t *testing.T) {
	onEachWaiting(t, func(t *testing.T, w *world) {
		one, asks := w.open(t), w.open(t)
		newWatch(t).start("one", one, nil)
		hears := func(off bool) {
			t.Helper()
			require.Eventually(t, func() bool { return one.Replicas.Off() == off }, patience, 20*time.Millisecond)
			require.NoError(t, asks.Replicas.Hear(t.Context()))
			require.Equal(t, off, asks.Replicas.Off())
		}
		hears(false)
		for _, end := range []func(*replica){(*replica).stop, (*replica).kill} {
			net := newWire(t, w.addr)
			off := newWatch(t).start("off", net.openWith(t, store.Config{Off: true}), net)
			hears(true)
			end(off)
			hears(false)
		}
	})
}
