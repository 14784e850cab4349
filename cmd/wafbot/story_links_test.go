package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// clicker clicks and types for a while and counts what was acknowledged.
type clicker struct {
	acked map[string]bool // texts of notes
	asked int             // clicks of a viewer, each of which is answered
	lost  []string        // what was not acknowledged: Slack said so to the person
}

// TestClicksWhileLinksAreRenewed has Slack renew one link after another while people click and type.
func TestClicksWhileLinksAreRenewed(t *testing.T) {
	t.Parallel()
	renewals := full.Of(2, 4)
	playOver(t, aRedis(t), workspace.IngressSocket, unpaced, func(t *testing.T, w *world) {
		const attacks = 8 // an attack takes a hundred notes
		var ids []string
		for range attacks {
			w.attack(injection())
		}
		w.until("cards", func() bool { return len(w.cards("#waf")) == attacks })
		for _, c := range w.cards("#waf") {
			ids = append(ids, factsOf(c).Payload.Attack)
		}
		card := w.cards("#waf")[0]

		due, clicks := time.NewTicker(time.Second), time.NewTicker(100*time.Millisecond)
		defer due.Stop()
		defer clicks.Stop()
		c := clicker{acked: map[string]bool{}}
		var lock sync.Mutex
		var busy sync.WaitGroup
		for n, renewed := 0, 0; renewed < renewals; {
			select {
			case <-due.C: // one after the other is replaced, and ends as soon after the notice as Slack says
				var stay []string
				for _, l := range w.Slack.Links() {
					if !l.Warned {
						stay = append(stay, l.ID)
					}
				}
				if len(stay) == 2 {
					renewed++
					require.NoError(t, w.Slack.Refresh(10*time.Second, stay[0]))
				}
			case <-clicks.C:
				n++
				busy.Go(func() {
					d, note := w.someClick(n, ids, card)
					lock.Lock()
					defer lock.Unlock()
					switch {
					case d.Status != http.StatusOK:
						c.lost = append(c.lost, d.Warning+d.Err)
					case note != "":
						c.acked[note] = true
					default:
						c.asked++
					}
				})
			}
		}
		busy.Wait()
		require.Empty(t, c.lost, "a link that ends with notice loses nothing")
		require.NotEmpty(t, c.acked)
		w.until("an answer to every click", func() bool { return len(w.ephemerals("vic", "deny needs the role responder")) >= c.asked })
		require.Len(t, w.ephemerals("vic"), c.asked, "one answer each")
		w.requireNotes(c.acked, ids)

		opens := w.called("apps.connections.open")
		require.GreaterOrEqual(t, opens, renewals)
		require.LessOrEqual(t, opens, renewals+4, "as many as were renewed, and the first two")
		t.Logf("%d links renewed, %d opened, %d notes and %d clicks acknowledged", renewals, opens, len(c.acked), c.asked)
	})
}

// mostRefused are the clicks that are refused at most: more than 20 an hour are counted, and not answered.
const mostRefused = 18

// someClick types a note, or clicks what is refused.
func (w *world) someClick(n int, ids []string, card workspace.Message) (d workspace.Delivery, note string) {
	if n%2 == 0 || n > 2*mostRefused {
		note = fmt.Sprintf("note number %d", n)
		d, _ = w.Slack.Command(w.t.Context(), workspace.Command{User: "rob", Channel: "#waf", Text: fmt.Sprintf("note attack=%s %q", ids[n/2%len(ids)], note)})
		return d, note
	}
	d, _ = w.Slack.Click(w.t.Context(), workspace.Click{User: "vic", Channel: card.Channel, TS: card.TS, Button: "Deny " + attacker})
	return d, ""
}

// requireNotes waits until every acknowledged note is written down, and holds that each is once.
func (w *world) requireNotes(acked map[string]bool, ids []string) {
	w.t.Helper()
	opened, err := store.Open(store.Config{Address: address.Options{URL: w.redis.url}})
	require.NoError(w.t, err)
	defer opened.Close()
	require.EventuallyWithT(w.t, func(t *assert.CollectT) {
		var written []string
		for _, id := range ids {
			c, err := opened.Triage.TriageOf(w.t.Context(), "acme", id)
			require.NoError(t, err)
			for _, n := range c.Notes {
				written = append(written, n.Text)
			}
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(acked)), written)
	}, patience, 100*time.Millisecond)
}

// An admin switches Socket Mode off in the app's settings, and on again.
func TestSocketModeIsSwitchedOff(t *testing.T) {
	overOne(t, workspace.IngressSocket, rough, func(t *testing.T, w *world) {
		w.Slack.SetSocketMode(false)
		w.until("the reason is logged", func() bool {
			return w.journal.has("socket mode", "link_disabled") && w.journal.has("socket_mode_not_enabled", "switch it on")
		})
		status, body := w.get("/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, body, "nothing can be received: open link: socket_mode_not_enabled; switch it on")
		status, _ = w.get("/healthz")
		require.Equal(t, http.StatusOK, status, "cards are still posted")
		w.attack(injection())
		w.card(attacker)

		w.Slack.SetSocketMode(true)
		w.until("links", func() bool { return len(w.Slack.Links()) == 2 })
		w.types("vic", "status")
		w.ephemeral("vic", "Status of acme", "Going on: 1 attack")
		status, _ = w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
	})
}
