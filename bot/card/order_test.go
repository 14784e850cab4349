package card

import (
	"maps"
	"net/netip"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/config"
)

// shutOut is an entry by which a user denies a range.
func shutOut(of string) apiclient.IPRule {
	return apiclient.IPRule{
		ID: 4711, List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix(of), Apps: []int{apiclient.AllApps},
		Expires: now.Add(8 * time.Hour), Reason: "Kim Park: attacks from here all morning",
	}
}

// ownDenied has a user deny the own CDN.
func ownDenied(c *drawing) {
	c.Situation.Entries = append(c.Situation.Entries, shutOut("192.0.2.0/24"))
	c.Situation.Others = efficacy.Others(c.Situation, 0)
}

// Customers who are shut out matter more than the attack: it is the first thing on the card, with the first button.
func TestWhatIsOwnAndDeniedStandsFirst(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"own-cdn-denied", "storm-own-cdn-denied"} {
		cards := situations()
		maps.Copy(cards, storms())
		m := cards[name].render()
		require.Contains(t, m.Blocks[0].(*slack.SectionBlock).Text.Text, "*our CDN IS DENIED* until", name)
		require.Equal(t, "End deny of our CDN", labelsOf(m)[0], name)
		require.Equal(t, "remove 4711 account=acme attack="+cards[name].Situation.ID, buttonsOf(m.Blocks)[0].Value, name)
		require.NotContains(t, m.plain("/waf"), "never denies it", name)
	}
	off := situations()["own-cdn-denied"]
	off.Situation.Policy.Changes = config.ChangesOff
	require.NotContains(t, labelsOf(off.render()), "End deny of our CDN")
	require.Contains(t, off.render().plain("/waf"), "in the service's console")
}

func labelsOf(m Message) (all []string) {
	for _, b := range buttonsOf(m.Blocks) {
		all = append(all, b.Text.Text)
	}
	return all
}
