package card

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/policy"
)

// shutOut is an entry by which a user denies a range.
func shutOut(of string) apiclient.IPRule {
	return apiclient.IPRule{
		ID: 4711, List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix(of), Apps: []int{apiclient.AllApps},
		Expires: now.Add(8 * time.Hour), Reason: "Kim Park: attacks from here all morning",
	}
}

// ownDenied has a user deny the own CDN.
func ownDenied(c *Card) {
	c.Situation.Entries = append(c.Situation.Entries, shutOut("192.0.2.0/24"))
}

// Customers who are shut out matter more than the attack: it is the first thing on the card, with the first button.
func TestWhatIsOwnAndDeniedStandsFirst(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"own-cdn-denied", "storm-own-cdn-denied"} {
		cards := situations()
		maps.Copy(cards, storms())
		m := Render(cards[name])
		require.Contains(t, m.Blocks[0].(*slack.SectionBlock).Text.Text, "*our CDN IS DENIED* until", name)
		require.Equal(t, "Take our CDN off the list", labelsOf(m)[0], name)
		require.Equal(t, "remove 4711 account=acme attack="+cards[name].Situation.ID, buttonsOf(m.Blocks)[0].Value, name)
		require.NotContains(t, m.plain("/waf"), "never denies it", name)
	}
	off := situations()["own-cdn-denied"]
	off.Situation.Policy.Changes = policy.ChangesOff
	require.NotContains(t, labelsOf(Render(off)), "Take our CDN off the list")
	require.Contains(t, Render(off).plain("/waf"), "in the service's console")
}

// On a phone what is far down isn't seen: the buttons stand before what was done.
func TestTheButtonsStandBeforeLongLists(t *testing.T) {
	t.Parallel()
	row := func(m Message) int {
		return slices.IndexFunc(m.Blocks, func(b slack.Block) bool { return b.BlockType() == slack.MBTAction })
	}
	before, after := Render(situations()["incident"]), Render(situations()["denied-and-patched"])
	require.Equal(t, row(before), row(after), "they don't move away from under a thumb")
	require.Less(t, row(after), len(after.Blocks)-1, "and what was done stands below")
	require.Contains(t, after.Blocks[2].(*slack.SectionBlock).Text.Text, "*Done so far, below:* deny accepted · patch accepted\n")
	require.Equal(t, 1, row(Render(storms()["storm"])), "what it is and who is on it")
}

func labelsOf(m Message) (all []string) {
	for _, b := range buttonsOf(m.Blocks) {
		all = append(all, b.Text.Text)
	}
	return all
}
