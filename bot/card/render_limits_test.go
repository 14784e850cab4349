package card

import (
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func TestRenderOfNothing(t *testing.T) {
	t.Parallel()
	msg := drawing{}.render()
	requireFits(t, msg)
	require.Contains(t, strings.Join(markupOf(t, msg.Blocks), "\n"), "unknown hits")
}

func TestACardOfVeryMuch(t *testing.T) {
	t.Parallel()
	for _, text := range full.Some(4, seeds()) {
		c := hostile(text)
		c.Situation.Changes = append(c.Situation.Changes, manyChanges(full.Of(60, 200))...)
		for range 500 { // more are cut all the same
			c.Situation.Attack.Sources = append(c.Situation.Attack.Sources, apiclient.Source{IP: netip.MustParseAddr("2001:db8::1"), Hits: known(math.MaxInt64), Country: text})
		}
		msg := c.render()
		requireFits(t, msg)
	}
}

func TestCardButtonsCarryTheirLines(t *testing.T) {
	t.Parallel()
	c := incident()
	c.Situation.Changes = []record.Change{patched()}
	c.Situation.Attack.App = known(apiclient.DefaultApp)
	lines := map[string]string{}
	for _, b := range buttonsOf(c.render().Blocks) {
		kind, _, _ := strings.Cut(b.ActionID, ":")
		if kind == ActionDo {
			line, err := grammar.Parse(b.Value)
			require.NoError(t, err)
			require.Equal(t, b.Value, line.String())
			require.Equal(t, line.Name != "ack", b.Confirm != nil, "%s acts on a click, so a dialog asks, unless nothing can go wrong", b.Text.Text)
			lines[b.Text.Text] = b.Value
			continue
		}
		if kind == ActionMore {
			require.Equal(t, "attack "+c.Situation.ID+" account=acme", b.Value)
			continue
		}
		require.Equal(t, ActionForm, kind)
		lines[b.Text.Text] = b.Value
	}
	id := c.Situation.ID
	require.Equal(t, map[string]string{
		"Deny 203.0.113.7": "deny 203.0.113.7 account=acme attack=" + id + " for=4h", "Block mode": "mode app:default block account=acme attack=" + id + " for=2h",
		"Acknowledge": "ack account=acme attack=" + id, "Undo…": "undo c4p8t2rz1 account=acme",
	}, lines)
}

func TestTooLongForAButton(t *testing.T) {
	t.Parallel()
	c := incident()
	c.Situation.Account.Name = strings.Repeat("x", maxValue)
	msg := c.render()
	requireFits(t, msg)
	for _, b := range buttonsOf(msg.Blocks) {
		require.Equal(t, ActionLink+":", b.ActionID[:len(ActionLink)+1])
	}
	require.Contains(t, strings.Join(markupOf(t, msg.Blocks), "\n"), "There is no room for a button *Deny 203.0.113.7*: type `deny 203.0.113.7 ")
}

func TestLinksThatNoBrowserOpensAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"javascript:alert(1)", "//x", "wiki", "https://", "https://x/\x7f", "https://x/" + strings.Repeat("a", maxURL)} {
		var maker buttonMaker
		require.Nil(t, maker.link(text.Link{Label: "Runbook", URL: address}), address)
	}
}

func TestNotificationIsShort(t *testing.T) {
	t.Parallel()
	for name, c := range situations() {
		if !strings.HasSuffix(name, "hostile") { // what formats gets back-quotes
			require.LessOrEqual(t, length(c.render().Text), maxNotice, name)
		}
	}
}

func TestRenderIsPure(t *testing.T) {
	t.Parallel()
	for name, c := range situations() {
		require.Equal(t, c.render(), c.render(), name)
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range full.Some(8, seeds("sqli", "2024")) {
		f.Add(s, int64(1530), uint8(3), uint8(12), uint8(0))
		f.Add(s, int64(-1), uint8(0), uint8(0), uint8(0x7f))
		f.Add(s, int64(800), uint8(200), uint8(4), uint8(0x80))
		f.Add(s, int64(-1), uint8(0), uint8(0), uint8(0xff))
	}
	f.Fuzz(func(t *testing.T, text string, hits int64, sources, changes, flags uint8) {
		c := hostile(text)
		s := &c.Situation
		flag := func(bit int) bool { return flags&(1<<bit) != 0 }
		s.Attack.Hits = apiclient.Figure{N: hits, Known: !flag(0)}
		s.Attack.SourceCount = apiclient.Figure{N: hits, Known: !flag(1)}
		for i := range sources {
			s.Attack.Sources = append(s.Attack.Sources, apiclient.Source{IP: netip.AddrFrom4([4]byte{203, 0, 113, i}), Hits: known(hits * int64(i)), Country: text})
		}
		for range changes {
			s.Changes = append(s.Changes, s.Changes[0], denied())
		}
		if flag(2) {
			s.Attack.VulnID = ""
		}
		if flag(3) {
			s.Attack.Type, s.Attack.BlockStatus, s.Entries = "sqli", "monitored", nil
		}
		if flag(4) {
			s.Now, s.Attack.Last, s.ListsReadAt = time.Time{}, time.Time{}, time.Time{}
		}
		if flag(5) {
			s.Policy.Changes = text
		}
		c.Quiet = flag(6)
		if flag(7) {
			c.Situation = hostileStorm(text).Situation
			s.Storm.Grouped, s.Storm.SharedBy, s.Storm.UnblockedCount, s.Storm.Hits = int(hits), int(sources), int(changes), hits
			if flag(0) {
				s.Storm.Source, s.Storm.Place = netip.Addr{}, "POST "+text
			}
			if flag(1) {
				s.Storm.Ended, s.Storm.CaughtUp = now, true
			}
		}
		msg := c.render()
		requireFits(t, msg)
		requireHarmless(t, msg.Text)
		for _, markup := range markupOf(t, msg.Blocks) {
			for line := range strings.SplitSeq(markup, "\n") {
				requireHarmless(t, line)
			}
		}
		requireHarmlessViews(t, c, text)
	})
}

// requireHarmlessViews holds what opens from a card to what Slack takes and shows.
func requireHarmlessViews(t *testing.T, c drawing, text string) {
	t.Helper()
	s := c.Situation
	more, tooLong := MoreView(words.Line(s, c.Headline), advice.More(s), nil, ViewMeta{Account: text})
	filled, longer := FormView(hostileForm(text), ViewMeta{})
	for _, v := range []struct {
		view slack.ModalViewRequest
		err  error
	}{{more, tooLong}, {filled, longer}} {
		if v.err != nil {
			continue // an account's name is the operator's own
		}
		requireView(t, v.view)
		for _, markup := range markupOf(t, v.view.Blocks.BlockSet) {
			for line := range strings.SplitSeq(markup, "\n") {
				requireHarmless(t, line)
			}
		}
	}
}
