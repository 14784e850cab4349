package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
)

// TestDemoInABrowser is a newcomer's first minute with the demo: what he may not do, what he may, and what comes of it.
func TestDemoInABrowser(t *testing.T) {
	full.Only(t)
	t.Parallel()
	program := start(t, nil, "demo", "--listen", ":0", "--speed", "60")
	p := openPage(t, program.line(t)+"/#user=vic&channel=waf&account=acme")

	const card = `//*[@data-testid="message"][contains(.,"critical incident")][contains(.,"203.0.113.7")]`
	const deny = card + `//*[@data-testid="button"][starts-with(normalize-space(.),"Deny")][not(contains(.,"patch"))]`
	const undo = card + `//*[@data-testid="button"][normalize-space(.)="Undo…"]`
	p.wait("the attack gets through", `rate("203.0.113.7", "through") > 0 && rate("198.51.100.4", "through") > 0`)

	p.ask(deny)
	p.confirm("Deny 203.0.113.7")
	p.wait("a viewer learns who may", `messages().some((m) => /Only visible to you/.test(m) && /needs the role responder/.test(m))`)
	p.wait("nothing was put on a list", `rows("lists") === 0`)
	p.screenshot("viewer")

	p.press(testid("user-rob"))
	p.wait("what only Vic sees is gone", `!messages().some((m) => /Only visible to you/.test(m))`)
	p.ask(deny)
	p.screenshot("confirm")
	p.confirm("Deny 203.0.113.7")
	p.wait("the entry is on the list", `rows("lists") === 1`)
	p.wait("the card says who did it", `messages().some((m) => /critical incident/.test(m) && /Rob Diaz/.test(m) && /Undo/.test(m))`)
	p.wait("the source is stopped and keeps trying", `rate("203.0.113.7", "through") === 0 && rate("203.0.113.7", "blocked") > 0`)
	p.wait("the others go on", `rate("198.51.100.4", "through") > 0 && rate("198.51.100.4", "blocked") === 0`)
	p.screenshot("denied")
	p.emulate(390, 844, "light")
	p.screenshot("phone")
	p.press(testid("tab-service"))
	p.screenshot("phone-service")
	p.press(testid("tab-slack"))
	p.emulate(1440, 900, "dark")
	p.screenshot("dark")

	p.press(undo)
	p.wait("the form", `document.getElementById("modal-submit").innerText === "Undo"`)
	p.press(`//*[@id="modal-submit"]`)
	p.wait("the entry is off the list", `rows("lists") === 0`)
	p.wait("the source gets through again", `rate("203.0.113.7", "through") > 0`)
	p.wait("the card says that it was undone", `messages().some((m) => /Undo of: Deny 203.0.113.7/.test(m))`)
	p.screenshot("undone")
	require.Equal(t, exitDone, program.stop().code)
}

func testid(id string) string { return `//*[@data-testid="` + id + `"]` }

// page is a tab of a browser that shows the demo. All of its waiting is done by the page.
type page struct {
	t   *testing.T
	ctx context.Context
}

// seen is what the page's predicates are written with.
const seen = `
	const all = (id) => [...document.querySelectorAll('[data-testid="' + id + '"]')];
	const saying = (words) => all("message").filter((node) => node.innerText.includes(words));
	const cardOf = (words) => saying(words).findLast((node) => node.querySelector('[data-testid="button"]'));
	const messages = () => all("message").map((node) => node.innerText);
	const rows = (list) => all(list + "-row").filter((node) => !node.classList.contains("gone")).length;
	const rate = (source, what) => Number(all("source").find((node) => node.dataset.source === source)?.dataset[what] ?? NaN);
`

func openPage(t *testing.T, address string) *page {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 4*patience)
	ctx, close := chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(browser(t)), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true))
	ctx, leave := chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(func() {
		leave()
		close()
		cancel()
	})
	p := &page{t, ctx}
	p.do("open the page", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(address))
	return p
}

// browser is the path of a Chromium.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no Chromium: run make tools, or go test -short")
	return ""
}

func (p *page) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.screenshot("failed")
		p.t.Fatalf("%s: %v\n%s", what, err, p.text())
	}
}

// press clicks what the XPath finds. A card that is redrawn under the mouse is looked for again, as a person would.
func (p *page) press(path string) {
	p.t.Helper()
	var err error
	for range 10 {
		ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
		err = chromedp.Do(ctx, chromedp.ScrollIntoView(path), chromedp.Click(path, chromedp.NodeVisible))
		cancel()
		if err == nil {
			return
		}
	}
	p.screenshot("failed")
	p.t.Fatalf("press %s: %v\n%s", path, err, p.text())
}

const asked = `document.getElementById("confirm").open`

// ask presses a button until its dialog is there: what moves under the mouse, as a new message comes, is pressed again,
// as a person would.
func (p *page) ask(path string) {
	p.t.Helper()
	for range 10 {
		p.press(path)
		ctx, cancel := context.WithTimeout(p.ctx, 3*time.Second)
		_, err := chromedp.Run(ctx, chromedp.PollFunction[bool](`() => `+asked, chromedp.WithPollingInterval(50*time.Millisecond)))
		cancel()
		if err == nil {
			return
		}
	}
	p.wait("a question", asked)
}

// confirm says yes in the dialog, which must be about the right thing.
func (p *page) confirm(about string) {
	p.t.Helper()
	p.wait("asks about "+about, fmt.Sprintf(asked+` && document.getElementById("confirm").innerText.includes(%q)`, about))
	p.press(testid("confirm-ok"))
}

// wait polls a predicate in the page.
func (p *page) wait(what, predicate string) {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.PollFunction[bool](`() => {`+seen+`return `+predicate+`}`, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(patience)))
	if err != nil {
		p.screenshot("failed")
		p.t.Fatalf("never: %s: %v\n%s", what, err, p.text())
	}
}

// text is all that the page shows.
func (p *page) text() string {
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// emulate changes the window and the scheme of colours.
func (p *page) emulate(width, height int64, scheme string) {
	p.t.Helper()
	p.do("change the window", chromedp.EmulateViewport(width, height), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// screenshot keeps what is seen, in $WAFBOT_SCREENSHOTS if that is set.
func (p *page) screenshot(name string) {
	p.t.Helper()
	folder := os.Getenv("WAFBOT_SCREENSHOTS")
	if folder == "" {
		folder = p.t.ArtifactDir()
	}
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o600))
}
