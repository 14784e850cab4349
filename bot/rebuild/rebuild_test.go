package rebuild

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// rebuilt is acme's state as it begins with what was found. C1 is the channel for notices.
func rebuilt(f found, entries []apiclient.IPRule, noLists bool, posted ...record.Change) store.Rebuilt {
	time.Sleep(time.Until(noon)) // in a bubble
	r := &Rebuild{found: f, Config: Config{
		Account: &config.Account{Name: "acme", Channel: "C1"}, Channels: []string{"C1", "C2"}, Clocks: clock.New(),
	}}
	return r.state("1 e", Changes(r.Account, posted, Service{Entries: entries}, noon), noLists)
}

// rebuiltIn is what each event says, by its channel.
func rebuiltIn(t *testing.T, r store.Rebuilt) map[string]record.Detail {
	t.Helper()
	all, ids := map[string]record.Detail{}, map[string]bool{}
	for _, e := range r.Events {
		require.Equal(t, []any{"acme", record.StoreRebuilt, noon}, []any{e.Account, e.Kind, e.At})
		all[e.Channel], ids[e.ID] = e.Detail, true
	}
	require.Len(t, ids, len(r.Events), "each is delivered once")
	return all
}

// denial is a denial that was posted, and holds for a time.
func denial(id string, holds time.Duration) record.Change {
	steps := []record.Step{{Kind: record.AddEntry, Entry: &apiclient.IPRule{ID: 7}, Sent: true, Done: true, ID: 7}}
	return record.Change{ID: id, Account: "acme", State: record.StateDone, At: noon.Add(-time.Hour), Until: noon.Add(holds), Steps: steps}
}

// foundOf are cards, and changes by where they were posted.
func foundOf(began time.Time, cards map[string]foundCard, places map[string]string) found {
	f := newFound()
	f.began, f.places = began, places
	if cards != nil {
		f.cards = cards
	}
	for id := range places {
		f.changes[id] = &foundChange{}
	}
	return f
}

func TestEachChannelIsNotifiedOfARebuild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		card := map[string]foundCard{"a1": {CardMetadata: record.CardMetadata{AttackID: "x:1", Channel: "C2", Quiet: true}, ts: "1.1"}}
		listed := apiclient.IPRule{
			ID: 9, List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix("203.0.113.9/32"), Apps: []int{apiclient.AllApps},
			Reason: "wafbot c00000009 by Ann (U0ANN)", Created: noon.Add(-time.Minute), Expires: noon.Add(time.Hour),
		}
		unreadable, partly := newFound(), foundOf(noon, nil, nil)
		unreadable.unread, partly.unread = []string{"C1", "C2"}, []string{"C2"}
		for name, tt := range map[string]struct {
			found   found
			posted  []record.Change
			entries []apiclient.IPRule
			noLists bool
			want    map[string]record.Detail
		}{
			"a first start": {found: newFound(), want: map[string]record.Detail{}},
			"no channel can be read": {
				found: unreadable,
				want:  map[string]record.Detail{"C1": record.RebuildFacts{Unreadable: true}},
			},
			"the first start's message alone": {
				found: foundOf(noon.Add(-time.Hour), nil, nil),
				want:  map[string]record.Detail{"C1": record.RebuildFacts{}, "C2": record.RebuildFacts{}},
			},
			"cards and changes, each in its channel": {
				found:  foundOf(time.Time{}, card, map[string]string{"c1": "C1", "c2": "C2", "c3": "C2"}),
				posted: []record.Change{denial("c1", time.Hour), denial("c2", time.Hour), denial("c3", -time.Minute)},
				want:   map[string]record.Detail{"C1": record.RebuildFacts{InForce: 1}, "C2": record.RebuildFacts{Cards: 1, InForce: 1}},
			},
			"what concerns no channel is said once": {
				found:   foundOf(time.Time{}, nil, map[string]string{"c1": "C2"}),
				posted:  []record.Change{{ID: "c1", Account: "acme", State: record.StateDone, At: noon}},
				entries: []apiclient.IPRule{listed},
				want:    map[string]record.Detail{"C1": record.RebuildFacts{Listed: 1, Unknown: []string{"c1"}}, "C2": record.RebuildFacts{}},
			},
			"a channel that can't be read gets no message": {
				found: partly, noLists: true,
				want: map[string]record.Detail{"C1": record.RebuildFacts{NoLists: true, Unread: []string{"C2"}}},
			},
		} {
			require.Equal(t, tt.want, rebuiltIn(t, rebuilt(tt.found, tt.entries, tt.noLists, tt.posted...)), name)
		}
	})
}

func TestTheStateThatBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, store.Rebuilt{Epoch: "1 e"}, rebuilt(newFound(), nil, false), "a first start: its first poll notifies")

		began := noon.Add(-24 * time.Hour)
		card := map[string]foundCard{"a1": {CardMetadata: record.CardMetadata{AttackID: "x:1", Channel: "C2", Quiet: true}, ts: "1.1"}}
		b := rebuilt(foundOf(began, card, map[string]string{"c1": "C1"}), nil, false, denial("c1", time.Hour))
		require.Equal(t, []any{noon, began}, []any{b.At, b.FirstStart})
		require.Equal(t, []store.Card{{Attack: "a1", Channel: "C2", TS: "1.1"}}, b.Cards)
		require.True(t, b.Attacks["x:1"].Rebuilt)
		require.Equal(t, "c1", b.Changes[0].ID)
	})
}
