//go:build pictures

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var picturesIn = flag.String("pictures", "", "the folder to write the pictures to")

// TestPictures plays the first quarter of an hour with the demo, and takes the documentation's pictures on the way: each for a desk and a phone, by day and
// by night.
func TestPictures(t *testing.T) {
	require.NotEmpty(t, *picturesIn, "run make pictures")
	require.NoError(t, os.MkdirAll(*picturesIn, 0o755))
	program := start(t, nil, "demo", "--listen", ":0")
	p := openPage(t, program.line(t)+"/")

	const incident = `cardOf("203.0.113.7")`
	card := func(source, label string) string {
		return `//*[@data-testid="message"][.//*[@data-testid="button"]][contains(.,"` + source + `")]//*[@data-testid="button"][starts-with(normalize-space(.),"` + label + `")]`
	}
	p.wait("the card of the incident", incident+` && rate("203.0.113.7", "through") > 0`)
	p.picture("incident", incident)

	p.press(testid("user-vic"))
	p.ask(card("203.0.113.7", "Deny"))
	p.confirm("Deny 203.0.113.7")
	p.wait("a viewer learns who may", `saying("needs the role responder").length > 0`)
	p.picture("refused", `saying("needs the role responder").at(-1)`)

	p.press(testid("user-rob"))
	p.ask(card("203.0.113.7", "Deny"))
	p.picture("deny", `document.getElementById("confirm")`)
	p.confirm("Deny 203.0.113.7")
	p.wait("the denial is seen to work", incident+`.innerText.includes("working")`)
	p.ask(card("203.0.113.7", "Patch"))
	p.picture("patch", `document.getElementById("confirm")`)
	p.press(testid("confirm-ok"))
	p.wait("the patch is seen to work", incident+`.innerText.includes("STOPPED")`)
	p.picture("stopped", incident)

	p.press(card("203.0.113.7", "More"))
	p.wait("what else there is", `document.getElementById("modal").open && !document.getElementById("modal").innerText.includes("Loading")`)
	p.picture("more", `document.getElementById("modal-body").firstElementChild`)
	p.press(testid("modal-close"))
	p.wait("the form is closed", `!document.getElementById("modal").open`)
	p.press(card("203.0.113.7", "Undo"))
	p.wait("the form", `document.getElementById("modal-submit").innerText === "Undo"`)
	p.picture("undo", `document.getElementById("modal-body").firstElementChild`)
	p.press(testid("modal-close"))
	p.wait("the form is closed", `!document.getElementById("modal").open`)

	p.says("/waf deny country:FR")
	p.wait("a request for approval", `saying("Approve").length > 0`)
	p.press(testid("user-ann"))
	p.picture("approval", `saying("Approve").at(-1)`)

	p.press(testid("user-rob"))
	p.says("/waf status")
	const status = `saying("Status of acme").at(-1)`
	p.wait("the answer", status+` !== undefined`)
	p.picture("status", status)

	p.plays("storm")
	p.wait("the card of the storm", `cardOf("storm") !== undefined`)
	p.wait("all of it is counted", `cardOf("storm").innerText.includes("100 attacks")`)
	p.picture("storm", `cardOf("storm")`)

	p.press(`//*[@data-testid="channel"][@data-channel="@home"]`)
	p.wait("the Home tab", `document.getElementById("home").innerText.includes("Shop")`)
	p.picture("home", `document.getElementById("home").firstElementChild`)
	p.press(`//*[@data-testid="channel"][@data-channel="waf"]`)

	p.plays("service_away")
	p.wait("wafbot says that it can't see", `saying("unreachable").length > 0 && `+incident+`.innerText.includes("unreachable")`)
	p.picture("unreachable", incident)
	require.Equal(t, exitDone, program.stop().code)
}

// says sends a line as the chosen user.
func (p *page) says(line string) {
	p.t.Helper()
	p.do("type "+line, chromedp.SendKeys(testid("composer"), line))
	p.press(testid("send"))
}

// plays starts a scenario.
func (p *page) plays(scenario string) {
	p.t.Helper()
	p.runs(`fetch("/sandbox/scenarios/` + scenario + `", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" })`)
}

func (p *page) runs(script string) {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Evaluate[any](script))
	require.NoError(p.t, err, script)
}

// picture keeps what is seen at a desk and on a phone, by day and by night, with what the script finds in view.
func (p *page) picture(name, of string) {
	p.t.Helper()
	for _, width := range []int64{1440, 390} {
		for _, scheme := range []string{"light", "dark"} {
			p.emulate(width, map[int64]int64{1440: 900, 390: 844}[width], scheme)
			p.runs(`document.activeElement.blur()`)
			p.wait(name, `(() => {
				const node = `+of+`;
				node.scrollIntoView({ block: node.offsetHeight > innerHeight / 2 ? "start" : "center" }); // a long one from its first line on
				const seen = node.getBoundingClientRect();
				return seen.bottom > 0 && seen.top < innerHeight;
			})()`)
			picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
			require.NoError(p.t, err)
			require.NoError(p.t, os.WriteFile(filepath.Join(*picturesIn, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), picture, 0o644))
		}
	}
	p.emulate(1440, 900, "light")
}
