package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// noters write notes as one person until they are stopped.
type noters struct {
	w     *world
	ids   []string // of the attacks, which take turns
	stop  func()
	busy  sync.WaitGroup
	mu    sync.Mutex
	acked map[string]bool
	lost  int
	why   []string // of the lost ones
}

// mayWait is how many of a person's notes may wait before the writers do: of more than 64 the bot says that it doesn't
// take them.
const mayWait = 48

// Pauses of writers. In a long story unhurried ones don't write as many notes as its attacks keep, a hundred each.
const (
	hurried   = 10 * time.Millisecond
	unhurried = 200 * time.Millisecond
)

// notes has four writers write notes about some attacks, each with so long a pause; each note is another.
func (w *world) notes(ids []string, pause time.Duration) *noters {
	end := make(chan struct{})
	n := &noters{w: w, ids: ids, stop: sync.OnceFunc(func() { close(end) }), acked: map[string]bool{}}
	for writer := range 4 {
		n.busy.Go(func() {
			for i := 0; ; {
				select {
				case <-end:
					return
				case <-time.After(pause):
				}
				if acked, _ := n.written(); acked-len(w.ephemerals("rob")) <= mayWait {
					n.write(i, fmt.Sprintf("note %d of writer %d", i, writer))
					i++
				}
			}
		})
	}
	return n
}

func (n *noters) write(i int, note string) {
	d, err := n.w.Slack.Command(n.w.t.Context(), workspace.Command{
		User: "rob", Channel: "#waf", Text: fmt.Sprintf("note attack=%s %q", n.ids[i%len(n.ids)], note),
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil && d.Status == http.StatusOK {
		n.acked[note] = true
		return
	}
	n.lost++
	d.Payload = nil
	n.why = append(n.why, fmt.Sprintf("%+v %v", d, err))
}

func (n *noters) written() (acked, lost int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.acked), n.lost
}

// manyAttacks begins attacks and returns the ids on their cards: one takes a hundred notes.
func (w *world) manyAttacks(n int) (ids []string) {
	w.t.Helper()
	for range n {
		w.attack(injection())
	}
	w.until("cards", func() bool { return len(w.cards("#waf")) == n })
	for _, c := range w.cards("#waf") {
		ids = append(ids, factsOf(c).Payload.Attack)
	}
	return ids
}

// Whatever was acknowledged before, during and after a stop is done once; what was not, was not.
func TestAStopUnderClicks(t *testing.T) {
	overLinks(t, unpaced, func(t *testing.T, w *world) {
		ids := w.manyAttacks(8)
		n := w.notes(ids, hurried)
		for _, acked := range []int{20, 40, 60} {
			w.until("notes", func() bool { got, _ := n.written(); return got >= acked })
			w.stop()
			_, before := n.written()
			n.write(0, "a note that nobody takes") // the writers may be waiting for answers
			_, lost := n.written()
			require.Greater(t, lost, before)
			w.start()
		}
		n.stop()
		n.busy.Wait()
		w.requireNotes(n.acked, ids)
	})
}

// Two replicas receive over links of their own; when one ends, the other goes on alone, and takes the lead.
func TestTwoReplicasOverLinks(t *testing.T) {
	overOne(t, workspace.IngressSocket, asItIs, func(t *testing.T, w *world) {
		ids := w.manyAttacks(2)
		first := w.stop
		w.start()
		defer w.stop()
		w.until("links of both", func() bool { return len(w.Slack.Links()) == 4 })
		n := w.notes(ids, hurried)
		w.until("notes over all links", func() bool {
			for _, l := range w.Slack.Links() {
				if l.Acked < 3 {
					return false
				}
			}
			return true
		})
		n.stop()
		n.busy.Wait()
		_, lost := n.written()
		require.Zero(t, lost)

		first()
		w.until("links of the other", func() bool { return len(w.Slack.Links()) == 2 })
		w.types("rob", fmt.Sprintf("note attack=%s %q", ids[0], "the last one"))
		n.acked["the last one"] = true
		w.requireNotes(n.acked, ids)
	})
}

// Links that were opened while Redis was away are counted as soon as it is back, and a spare one is opened then.
func TestLinksOpenedWithoutRedis(t *testing.T) {
	t.Parallel()
	w := newWorld(t, aRedis(t), workspace.IngressSocket)
	w.redis.away()
	w.starts()
	w.until("a link that the bot has heard of", func() bool {
		_, body := w.get("/readyz")
		return strings.Contains(body, `"ingress":{"socket mode":"ok`)
	})
	w.types("rob", "deny 198.51.100.9")
	w.ephemeral("rob", "not done: wafbot's store (Redis) can't be reached")
	require.Len(t, w.Slack.Links(), 1)

	w.redis.back()
	w.until("the spare link", func() bool { return len(w.Slack.Links()) == 2 })
	opened, err := store.Open(store.Config{Address: address.Options{URL: w.redis.url}})
	require.NoError(t, err)
	defer opened.Close()
	require.Eventually(t, func() bool {
		third, err := opened.Slack.TakeLink(t.Context(), "third", 2)
		return err == nil && !third
	}, patience, 100*time.Millisecond, "both are counted")
}

// A rolling update: each of two replicas is stopped in turn, and a new one starts in its place, while attacks come and
// people act.
func TestARollingUpdate(t *testing.T) {
	both := func(w *world) {
		cfg, err := demoConfig(w.World)
		require.NoError(t, err)
		globex := cfg.Accounts[1]
		globex.Routes = []config.Route{{}} // all attacks get a card, also those that are blocked
		w.cfg.Accounts = append(w.cfg.Accounts, globex)
		unpaced(w)
	}
	overOne(t, workspace.IngressSocket, both, func(t *testing.T, w *world) {
		oldest := w.stop
		w.start()
		acked := 0
		for round := range 4 {
			w.until("links of both", func() bool { return len(w.Slack.Links()) == 4 })
			for _, account := range []string{"acme", "globex"} {
				spec := injection()
				spec.Account = account
				w.attack(spec)
			}
			next := w.stop
			var stopping sync.WaitGroup
			stopping.Go(oldest)
			for n := range 10 {
				d, err := w.Slack.Command(t.Context(), workspace.Command{User: "rob", Channel: "#waf", Text: fmt.Sprintf("deny 198.51.100.%d", 10*round+n)})
				require.NoError(t, err)
				if d.Acked {
					acked++
				}
			}
			stopping.Wait()
			w.start()
			oldest = next
		}
		w.until("cards", func() bool { return len(w.cards("#waf")) >= 4 && len(w.cards("#waf-globex")) >= 4 })
		w.until("denials", func() bool { return len(w.entries("acme")) >= acked })
		w.polls(4)
		oldest()
		require.Len(t, w.cards("#waf"), 4)
		require.Len(t, w.cards("#waf-globex"), 4)
		require.Len(t, w.entries("acme"), acked)
		require.Len(t, w.sent(), acked)
		require.Greater(t, acked, 20)
	})
}
