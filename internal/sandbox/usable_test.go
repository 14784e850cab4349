package sandbox_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/sandbox"
)

const aCard = `{"channel":"C0WAF0001","text":"NOT BLOCKED","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"NOT BLOCKED, and so much more about it that its first line is broken where the room for the tools of a message begins"}},
	{"type":"context","elements":[{"type":"mrkdwn","text":"a1b2c3d4e"}]},
	{"type":"actions","elements":[{"type":"button","action_id":"deny","text":{"type":"plain_text","text":"Deny"},"confirm":{"title":{"type":"plain_text","text":"Deny?"},"text":{"type":"plain_text","text":"All of it"},"confirm":{"type":"plain_text","text":"Deny"},"deny":{"type":"plain_text","text":"Cancel"}}}]}]}`

// TestThePageIsUsable is what a newcomer reads first, and what a visitor with a keyboard, a phone or weak eyes needs.
func TestThePageIsUsable(t *testing.T) {
	full.Only(t)
	t.Parallel()
	c := client{t, run(t, sandbox.Config{Quiet: true, Speed: 12})}
	c.call("chat.postMessage", aCard)
	newest := c.call("chat.postMessage", aCard)["ts"].(string)
	c.call("chat.postMessage", `{"channel":"C0WAF0001","text":"calls <@U0ROB0002>"}`)
	p := openTab(t, c.w.URL())

	p.wait(`one("lead").innerText.startsWith("wafbot brings each attack on your cloud WAF to Slack") && one("lead").innerText.includes("time runs 12 times faster")`)
	p.wait(`one("user-rob").getAttribute("aria-pressed") === "true" && all("message").length === 3`)
	p.screenshot("first")

	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)) // the first that a keyboard reaches
	p.wait(`document.activeElement.dataset.ts === "` + newest + `"`)
	p.wait(`getComputedStyle(all("message")[0].querySelector(".tools")).opacity === "0" && getComputedStyle(all("message")[1].querySelector(".tools")).opacity === "1"`)
	p.wait(toolsCover + ` === ""`)

	p.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	p.wait(`document.getElementById("confirm").open`)
	c.call("chat.update", `{"ts":"`+newest+`",`+aCard[1:])
	p.wait(`all("message")[1].signature.includes('"edited":1')`) // the button that had the focus is another now
	p.do(chromedp.KeyEvent(kb.Escape))
	p.wait(`!document.getElementById("confirm").open && document.activeElement.innerText === "Deny" && document.activeElement.closest("[data-ts]")?.dataset.ts === "` + newest + `"`)

	p.do(chromedp.SendKeys(testid("composer"), "/waf deny 203.0.113.7"), chromedp.Reload())
	p.wait(`one("composer").value === "/waf deny 203.0.113.7" && all("message").length === 3`)
	p.evaluate(`for (const panel of document.querySelectorAll("details")) panel.open = true`)
	c.post("/sandbox/scenarios/injection", `{}`)
	p.wait(`all("attack").length > 0 && all("phone-notice").some((n) => !n.dataset.why) && all("phone-notice").some((n) => n.dataset.why)`)
	for _, width := range []int64{1440, 390} {
		for _, scheme := range []string{"light", "dark"} {
			p.emulate(width, 900, scheme)
			for _, side := range []string{"slack", "service"} {
				p.evaluate(`document.body.dataset.side = "` + side + `"`)
				p.requireNone("too faint", tooFaint)
				p.requireNone("too small to hit", tooSmall)
				p.requireNone(fmt.Sprint("covered by the tools of a message at ", width), toolsCover)
				p.screenshot("usable-" + scheme)
			}
		}
	}
}

// toolsCover is the text that the tools of any message cover; empty: nothing.
const toolsCover = `[...document.querySelectorAll(".messages .tools")].flatMap((node) => {
	const tools = node.getBoundingClientRect();
	const covers = (box) => box.left < tools.right && tools.left < box.right && box.top < tools.bottom && tools.top < box.bottom;
	const walker = document.createTreeWalker(document.querySelector(".messages"), NodeFilter.SHOW_TEXT);
	const covered = [];
	while (walker.nextNode()) {
		const range = document.createRange();
		range.selectNodeContents(walker.currentNode);
		if ([...range.getClientRects()].some(covers)) covered.push(walker.currentNode.data);
	}
	return covered;
}).join("; ")`

// tooSmall are the controls that are less than 24 pixels high or wide; those within a sentence may be.
const tooSmall = `[...document.querySelectorAll("button, select, summary, input, textarea, [role=tab]")].filter((node) => {
	const { width, height } = (node.closest("label") ?? node).getBoundingClientRect();
	return node.checkVisibility() && (width < 24 || height < 24);
}).map((node) => (node.innerText || node.id || node.className) + " " + JSON.stringify(node.getBoundingClientRect())).join("; ")`

// tooFaint are the texts whose contrast to what is behind them is under 4.5.
const tooFaint = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgba = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
	const over = ([r, g, b, a], under) => [r, g, b].map((v, i) => v * a / 255 + under[i] * (1 - a / 255));
	const behind = (node) => node ? over(rgba(getComputedStyle(node).backgroundColor), behind(node.parentElement)) : [255, 255, 255];
	const light = (color) => color.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const faint = [];
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const node = walker.currentNode.parentElement;
		if (!walker.currentNode.data.trim() || !node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || node.closest("option, .hidden, .skip, :disabled")) continue;
		let opacity = 1;
		for (let up = node; up; up = up.parentElement) opacity *= getComputedStyle(up).opacity;
		const back = behind(node);
		const [r, g, b, a] = rgba(getComputedStyle(node).color);
		const [x, y] = [light(over([r, g, b, a * opacity], back)), light(back)];
		const contrast = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
		if (contrast < 4.5) faint.push(walker.currentNode.data.trim().slice(0, 40) + " (" + node.className + ") " + contrast.toFixed(2));
	}
	return [...new Set(faint)].join("; ");
})()`

// requireNone fails for what a script names.
func (p tab) requireNone(what, script string) {
	p.t.Helper()
	found, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](script))
	require.NoError(p.t, err)
	require.Empty(p.t, found, what)
}

// emulate changes the window and the scheme of colours.
func (p tab) emulate(width, height int64, scheme string) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, height), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	}))
}
