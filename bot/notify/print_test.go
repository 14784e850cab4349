package notify

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
)

// printed are the events that a replica wrote, by their ids, with how often each was written.
func printed(t *testing.T, out *bytes.Buffer) map[string]int {
	t.Helper()
	all := map[string]int{}
	for line := range strings.Lines(out.String()) {
		require.NotContains(t, line, "\u202e", "what turns the direction is escaped")
		var p struct {
			Event struct{ Kind string }
			ID    string
		}
		require.NoError(t, json.Unmarshal([]byte(line), &p))
		all[p.Event.Kind+" "+p.ID]++
	}
	return all
}

func line(e record.Event) string { return e.Kind.Name() + " " + e.Print().ID }

// A replica posts a card and dies before it records that: what it printed by then, its successor prints again, with the
// same ids.
func TestAnEventIsPrintedBeforeItIsPosted(t *testing.T) {
	t.Parallel()
	hostile := through
	hostile.Path = "/\u202etxt.exe"
	state := record.AttackState{Attack: hostile, Revision: 1, Notified: true, Channel: "C1"}
	e := began()
	e.Attack, e.Detail = &state, record.AttackFacts{Suppressed: true}
	var first, second bytes.Buffer
	at := ""
	owningWith(t, func(string, string) string {
		if at == "" {
			at = first.String()
		}
		return posts
	}, func(cfg *Config, b *box) {
		b.holds(state)
		cfg.Lines = &first
	}, func(n *Notifier, _ *choosy) {
		n.queue("acme").add([]record.Event{e})
		after(3 * time.Second)
	})
	require.Contains(t, at, e.Print().ID, "it stands there when Slack gets the message")
	require.Equal(t, map[string]int{line(e): 1}, printed(t, &first), "however often it is tried")

	owningWith(t, takesAll, func(cfg *Config, b *box) {
		b.holds(state)
		b.announce(e)
		cfg.Lines = &second
	}, func(*Notifier, *choosy) { after(time.Minute) })
	require.Equal(t, printed(t, &first), printed(t, &second))
}

// What says nothing of its own is printed, too: what another replica stored and a newer message takes off the outbox
// unread, and what only redraws a card.
func TestWhatIsSupersededIsPrinted(t *testing.T) {
	t.Parallel()
	newest := waits("worse", record.Worsened, 3)
	grew, figures := waits("grew", record.Grew, 2), waits("figures", record.Grew, 3)
	var out bytes.Buffer
	owningWith(t, takesAll, func(cfg *Config, b *box) {
		cfg.Lines = &out
		b.announce(newest, grew)
		b.holds(record.AttackState{Attack: through, Revision: 3, Notified: true, Channel: "C1"})
	}, func(n *Notifier, _ *choosy) {
		n.queue("acme").add([]record.Event{figures})
		after(time.Minute)
	})
	require.Equal(t, map[string]int{line(newest): 1, line(grew): 1, line(figures): 1}, printed(t, &out))
}
