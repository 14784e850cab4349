package card

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
)

// limits are how much of a screen a card takes at most.
type limits struct {
	characters int
	phone      int // rows of text in a phone's column; below them two rows of buttons
	desktop    int // rows of text
}

// limitsOf are those of a golden card.
func limitsOf(name string, c drawing) limits {
	switch {
	case len(c.done()) > 0, c.Triage.Verdict != nil:
		return limits{480, 16, 9}
	case name == "storm-own-cdn-denied": // customers are shut out, which matters more than the storm
		return limits{450, 14, 9}
	case c.Situation.Storm != nil:
		return limits{350, 12, 8}
	}
	return limits{350, 12, 7}
}

// limited are the golden cards but for those of hostile text, which may be as wide as it likes.
func limited() map[string]drawing {
	cards := situations()
	maps.DeleteFunc(cards, func(name string, _ drawing) bool { return strings.HasSuffix(name, "hostile") })
	return cards
}

func TestCardsAreShort(t *testing.T) {
	t.Parallel()
	for name, c := range limited() {
		requireShort(t, name, limitsOf(name, c), c.render())
	}
}

// Also where every name is as long as it likes, and the moments are of another day.
func TestTheLongestCardsAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Extra-long", 20)
	for _, status := range []string{"monitored", "blocked", ""} {
		for _, quiet := range []bool{false, true} {
			c := attackCard(func(a *apiclient.Attack) {
				a.Type, a.VulnID, a.BlockStatus = long, long, status
				a.Path, a.Domain = "/"+long, long+".example.com"
				a.Sources = []apiclient.Source{{IP: netip.MustParseAddr("2001:db8:1234:5678:9abc:def0:1234:5670"), Hits: known(99_999_999)}}
				a.SourceCount, a.Hits = known(4_123), known(123_456_789)
			})
			s := &c.Situation
			s.Account = &config.Account{Name: long, Applications: map[int]config.Application{4: {Name: long}}}
			s.Policy.Changes, s.Policy.Sources = config.ChangesDryRun, named(long, "2001:db8::/32")
			c.SharedChannel, c.Quiet = true, quiet
			c.Triage = annasTriage()
			c.Triage.Owner.Name = long
			c = headed(c)
			s.Now = now.AddDate(0, 1, 0)
			requireShort(t, "longest", limitsOf("longest", c), c.render())
		}
	}
}

// requireShort fails for a card of too many characters or buttons, or whose texts are too long for a phone.
func requireShort(t require.TestingT, name string, most limits, m Message) {
	text, _, _ := strings.Cut(seenAs(m), "\n[")
	require.LessOrEqual(t, length(strings.TrimSpace(text)), most.characters, "%s:\n%s", name, text)
	require.LessOrEqual(t, length(m.Text), maxNotice, name)
	buttons := buttonsOf(m.Blocks)
	require.LessOrEqual(t, len(buttons), mostButtons, name)
	for _, b := range buttons {
		require.LessOrEqual(t, length(b.Text.Text), 24, name)
		if b.Confirm != nil {
			require.LessOrEqual(t, length(b.Confirm.Title.Text), 24, name)
			require.LessOrEqual(t, length(b.Confirm.Text.Text), maxDialogText, name)
		}
	}
}

// slackCSS is how Slack sets a message. Lato and Arial are as wide as each other, about; where neither is, DejaVu's
// condensed cut is a little wider.
const slackCSS = `body { margin: 0; font: 15px/22px Lato, Arial, "Liberation Sans", "DejaVu Sans"; font-stretch: condensed; }
.text { overflow-wrap: anywhere; white-space: pre-wrap; } .context { font-size: 12px; line-height: 18px; }
code { font: 12px/1.5 Menlo, "Liberation Mono", "DejaVu Sans Mono"; padding: 2px 3px 1px; border: 1px solid; }
.buttons { display: flex; flex-wrap: wrap; gap: 0 8px; } .buttons b { height: 36px; padding: 0 12px; font-size: 13px; line-height: 36px; white-space: nowrap; }`

var boldToken, codeToken = regexp.MustCompile(`\*([^*\n]*)\*`), regexp.MustCompile("`([^`\n]*)`")

// htmlOf is a message as Slack draws it, in about.
func htmlOf(m Message) string {
	var out strings.Builder
	drawn := func(class, markup string) {
		lines := codeToken.ReplaceAllString(boldToken.ReplaceAllString(markup, "\x01$1\x02"), "\x03$1\x04")
		out.WriteString(`<div class="` + class + `">` + strings.NewReplacer("\x01", "<b>", "\x02", "</b>", "\x03", "<code>", "\x04", "</code>").Replace(html.EscapeString(readAs(lines))) + "</div>")
	}
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case *slack.SectionBlock:
			drawn("text", b.Text.Text)
		case *slack.ContextBlock:
			drawn("text context", b.ContextElements.Elements[0].(*slack.TextBlockObject).Text)
		case *slack.ActionBlock:
			out.WriteString(`<div class="buttons">`)
			for _, button := range buttonsOf([]slack.Block{b}) {
				fmt.Fprintf(&out, "<b>%s</b>", html.EscapeString(button.Text.Text))
			}
			out.WriteString("</div>")
		}
	}
	return out.String()
}

// countRows is the script that counts each card's rows of text and of buttons.
const countRows = `Object.fromEntries([...document.querySelectorAll("article")].map(a => [a.id, [
	[...a.querySelectorAll(".text")].reduce((n, e) => n + Math.round(e.offsetHeight / (e.classList.contains("context") ? 18 : 22)), 0),
	[...a.querySelectorAll(".buttons")].reduce((n, e) => n + e.offsetHeight / 36, 0)]]))`

func TestCardsTakeFewRows(t *testing.T) {
	full.Only(t)
	t.Parallel()
	cards := limited()
	for _, width := range []int{318, 640} {
		var page strings.Builder
		fmt.Fprintf(&page, "<style>%s article { width: %dpx; }</style>", slackCSS, width)
		for _, name := range slices.Sorted(maps.Keys(cards)) {
			fmt.Fprintf(&page, `<article id="%s">%s</article>`, name, htmlOf(cards[name].render()))
		}
		for name, rows := range measured(t, page.String()) {
			most := limitsOf(name, cards[name])
			text, buttons := most.desktop, 1.0
			if width == 318 {
				text, buttons = most.phone, 2
			}
			t.Logf("%d px, %s: %v rows of text, %v of buttons", width, name, rows[0], rows[1])
			require.LessOrEqual(t, rows[0], float64(text), "%s at %d px", name, width)
			require.LessOrEqual(t, rows[1], buttons, "%s at %d px", name, width)
		}
	}
}

// measured is what countRows finds on a page.
func measured(t *testing.T, page string) (rows map[string][2]float64) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs chromium")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	ctx, end := chromedp.NewExecAllocator(ctx, chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun)
	t.Cleanup(end)
	ctx, stop := chromedp.NewContext(ctx)
	t.Cleanup(stop)
	rows, err = chromedp.Run(ctx, chromedp.Evaluate[map[string][2]float64](fmt.Sprintf("document.documentElement.innerHTML = %s; %s", quoted(t, page), countRows)))
	require.NoError(t, err)
	return rows
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	return string(raw)
}
