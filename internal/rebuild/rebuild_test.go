package rebuild_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/rebuild"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// input is what was found of acme, whose channel for notices is C1.
func input(found bot.Found) rebuild.Input {
	return rebuild.Input{Account: &call.Account{Name: "acme", Channel: "C1"}, Channels: []string{"C1", "C2"}, Epoch: "1 e", Found: found, Now: noon}
}

// rebuiltIn is what each event says, by its channel.
func rebuiltIn(t *testing.T, r store.Rebuilt) map[string]record.Payload {
	t.Helper()
	all, ids := map[string]record.Payload{}, map[string]bool{}
	for _, e := range r.Events {
		require.Equal(t, []any{"acme", record.StoreRebuilt, noon}, []any{e.Account, e.Kind, e.At})
		all[e.Channel], ids[e.ID] = e.Payload, true
	}
	require.Len(t, ids, len(r.Events), "each is delivered once")
	return all
}

// denial is a denial that was posted, and holds for a time.
func denial(id, channel string, holds time.Duration) bot.FoundChange {
	steps := []record.Step{{Kind: record.AddEntry, Entry: &apiclient.IPRule{ID: 7}, Sent: true, Done: true, ID: 7}}
	return bot.FoundChange{Channel: channel, Change: record.Change{ID: id, Account: "acme", State: record.StateDone, At: noon.Add(-time.Hour), Until: noon.Add(holds), Steps: steps}}
}

func TestEachChannelIsNotifiedOfARebuild(t *testing.T) {
	t.Parallel()
	card := bot.FoundCard{CardMetadata: record.CardMetadata{AttackID: "x:1", Channel: "C2", Quiet: true}, TS: "1.1"}
	listed := apiclient.IPRule{ID: 9, List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix("203.0.113.9/32"), Apps: []int{apiclient.AllApps}, Reason: "wafbot c00000009 by Ann (U0ANN)", Created: noon.Add(-time.Minute), Expires: noon.Add(time.Hour)}
	for name, tt := range map[string]struct {
		found   bot.Found
		entries []apiclient.IPRule
		noLists bool
		want    map[string]record.Payload
	}{
		"a first start": {want: map[string]record.Payload{}},
		"no channel can be read": {
			found: bot.Found{Unreadable: true, Unread: []string{"C1", "C2"}},
			want:  map[string]record.Payload{"C1": record.RebuildFacts{Unreadable: true}},
		},
		"the first start's message alone": {
			found: bot.Found{Began: noon.Add(-time.Hour)},
			want:  map[string]record.Payload{"C1": record.RebuildFacts{}, "C2": record.RebuildFacts{}},
		},
		"cards and changes, each in its channel": {
			found: bot.Found{Cards: map[string]bot.FoundCard{"a1": card}, Changes: map[string]bot.FoundChange{
				"c1": denial("c1", "C1", time.Hour), "c2": denial("c2", "C2", time.Hour), "c3": denial("c3", "C2", -time.Minute),
			}},
			want: map[string]record.Payload{"C1": record.RebuildFacts{InForce: 1}, "C2": record.RebuildFacts{Cards: 1, InForce: 1}},
		},
		"what concerns no channel is said once": {
			found:   bot.Found{Changes: map[string]bot.FoundChange{"c1": {Channel: "C2", Change: record.Change{ID: "c1", Account: "acme", State: record.StateDone, At: noon}}}},
			entries: []apiclient.IPRule{listed},
			want:    map[string]record.Payload{"C1": record.RebuildFacts{Listed: 1, Unknown: []string{"c1"}}, "C2": record.RebuildFacts{}},
		},
		"a channel that can't be read gets no message": {
			found: bot.Found{Began: noon, Unread: []string{"C2"}}, noLists: true,
			want: map[string]record.Payload{"C1": record.RebuildFacts{NoLists: true, Unread: []string{"C2"}}},
		},
	} {
		in := input(tt.found)
		in.Entries, in.NoLists = tt.entries, tt.noLists
		require.Equal(t, tt.want, rebuiltIn(t, rebuild.State(in)), name)
	}
}

func TestTheStateThatBegins(t *testing.T) {
	t.Parallel()
	require.Equal(t, store.Rebuilt{Epoch: "1 e"}, rebuild.State(input(bot.Found{})), "a first start: its first poll notifies")

	began := noon.Add(-24 * time.Hour)
	r := rebuild.State(input(bot.Found{
		Began: began, Changes: map[string]bot.FoundChange{"c1": denial("c1", "C1", time.Hour)},
		Cards: map[string]bot.FoundCard{"a1": {CardMetadata: record.CardMetadata{AttackID: "x:1", Channel: "C2", Quiet: true}, TS: "1.1"}},
	}))
	require.Equal(t, []any{noon, began}, []any{r.At, r.FirstStart})
	require.Equal(t, []store.Card{{Attack: "a1", Channel: "C2", TS: "1.1"}}, r.Cards)
	require.True(t, r.Attacks["x:1"].Rebuilt)
	require.Equal(t, "c1", r.Changes[0].ID)
}
