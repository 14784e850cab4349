package card

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

func TestEmptiedNoticesFit(t *testing.T) {
	t.Parallel()
	for _, facts := range []record.RebuildFacts{
		{}, {Unreadable: true}, {Cards: 12, InForce: 3, Listed: 2, NoLists: true, Unknown: []string{"c7k2m9xw4"}, Unread: []string{"C0BOARD04"}},
	} {
		msg := StoreRebuilt(&config.Account{Name: "acme"}, facts)
		requireFits(t, msg)
		for _, markup := range markupOf(t, msg.Blocks) {
			for line := range strings.Lines(markup) {
				requireHarmless(t, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	require.Contains(t, StoreRebuilt(&config.Account{Name: "acme"}, record.RebuildFacts{}).Text, "was emptied")
}

// What a message carries fits into what Slack takes, whatever a change is.
func TestChangeMessagesFit(t *testing.T) {
	t.Parallel()
	for _, ch := range append(everyState(), patched()) {
		msg, _, _ := ChangeSettled(ch, record.Change{}, "", nil)
		msg = msg.WithDelivery(ch.Account, ch.ID+":"+string(ch.State))
		requireFits(t, msg)
		require.Equal(t, MetaChange, msg.Metadata.EventType)
	}
	prolonged, ch := patched(), denied()
	ch.Extends, ch.Steps = prolonged.ID, nil
	msg, _, _ := ChangeSettled(ch, prolonged, "", nil)
	require.Equal(t, prolonged.ID, msg.Metadata.EventPayload["c"])
}
