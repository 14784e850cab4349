package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
)

// loading is what the bot opens at once, and form what it puts in its place.
const (
	loading = `{"type":"modal","title":{"type":"plain_text","text":"Deny"},"close":{"type":"plain_text","text":"Leave"},
		"blocks":[{"type":"section","text":{"type":"mrkdwn","text":"One moment"}}]}`
	form = `{"type":"modal","title":{"type":"plain_text","text":"Deny"},"submit":{"type":"plain_text","text":"Deny it"},"close":{"type":"plain_text","text":"Leave"},"blocks":[
		{"type":"section","block_id":"what","text":{"type":"mrkdwn","text":"*first* <https://example.com|card> &lt;b&gt;"},"accessory":{"type":"button","action_id":"look","text":{"type":"plain_text","text":"Look again"}}},
		{"type":"input","block_id":"why","label":{"type":"plain_text","text":"Reason"},"hint":{"type":"plain_text","text":"One line."},"element":{"type":"plain_text_input","action_id":"text","multiline":true}},
		{"type":"input","block_id":"long","label":{"type":"plain_text","text":"How long"},"element":{"type":"static_select","action_id":"for","options":[{"text":{"type":"plain_text","text":"1 hour"},"value":"1h"},{"text":{"type":"plain_text","text":"4 hours"},"value":"4h"}]}},
		{"type":"input","block_id":"apps","optional":true,"label":{"type":"plain_text","text":"Applications"},"element":{"type":"multi_static_select","action_id":"apps","options":[{"text":{"type":"plain_text","text":"<i>Shop</i>"},"value":"4"},{"text":{"type":"plain_text","text":"Legacy"},"value":"7"}]}},
		{"type":"input","block_id":"list","optional":true,"label":{"type":"plain_text","text":"List"},"element":{"type":"radio_buttons","action_id":"list","options":[{"text":{"type":"plain_text","text":"Deny"},"value":"black"},{"text":{"type":"plain_text","text":"Gray"},"value":"gray"}]}},
		{"type":"input","block_id":"also","optional":true,"label":{"type":"plain_text","text":"Also"},"element":{"type":"checkboxes","action_id":"also","options":[{"text":{"type":"plain_text","text":"Do it anyway"},"value":"anyway"}]}},
		{"type":"input","block_id":"who","optional":true,"label":{"type":"plain_text","text":"Hand over to"},"element":{"type":"users_select","action_id":"who"}}]}`
	homeTab = `{"type":"home","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"Nothing burns"}},
		{"type":"actions","elements":[{"type":"button","action_id":"form","text":{"type":"plain_text","text":"Deny…"}}]}]}`
)

// interactive is a bot that publishes, opens, updates and refuses; what was submitted comes over the channel.
func interactive(c client) (http.Handler, <-chan string) {
	submitted := make(chan string, 9)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var sent struct {
			Type      string
			Challenge string
			Event     struct{ User string }
			TriggerID string `json:"trigger_id"`
			Actions   []struct {
				ActionID string `json:"action_id"`
			}
			View struct {
				ID    string
				State struct{ Values json.RawMessage }
			}
		}
		body := r.FormValue("payload")
		if body == "" {
			raw, _ := io.ReadAll(r.Body)
			body = string(raw)
		}
		_ = json.Unmarshal([]byte(body), &sent)
		switch {
		case sent.Challenge != "":
			_, _ = io.WriteString(rw, sent.Challenge)
		case sent.Event.User != "":
			c.call("views.publish", `{"user_id":"`+sent.Event.User+`","view":`+homeTab+`}`)
		case sent.Type == "view_submission":
			submitted <- string(sent.View.State.Values)
			_, _ = io.WriteString(rw, `{"response_action":"errors","errors":{"why":"Say <b>more</b>."}}`)
		case sent.Type == "block_actions" && sent.Actions[0].ActionID == "look":
			c.call("views.update", `{"view_id":"`+sent.View.ID+`","view":`+strings.Replace(form, "*first*", "*second*", 1)+`}`)
		case sent.Type == "block_actions":
			view := c.call("views.open", `{"trigger_id":"`+sent.TriggerID+`","view":`+loading+`}`)["view"].(map[string]any)
			c.call("views.update", `{"view_id":"`+view["id"].(string)+`","view":`+form+`}`)
		}
	}), submitted
}

// TestModalsAndHomeInABrowser is what a visitor does with what a bot shows him alone.
func TestModalsAndHomeInABrowser(t *testing.T) {
	full.Only(t)
	t.Parallel()
	c := quiet(t)
	bot, submitted := interactive(c)
	receiver := httptest.NewServer(bot)
	t.Cleanup(receiver.Close)
	c.post("/sandbox/deliver", `{"url":"`+receiver.URL+`"}`)
	p := openTab(t, c.w.URL()+"/#user=ann&channel=@home&account=acme")

	p.wait(`one("home").innerText.includes("Nothing burns")`)
	p.press(`button"][@data-action="form`)
	p.wait(`all("field").length === 6`)
	p.do(chromedp.SendKeys(testid("field")+`[@data-field="text"]`, "half of"))
	p.press(`modal-submit`)
	p.wait(`all("field-error").length === 1 && document.activeElement.dataset.field === "for"`)
	p.press(`button"][@data-action="look`)
	p.wait(`one("modal").innerText.includes("second") && !one("modal").querySelector("b, i")`)
	p.wait(`document.querySelector('[data-field="text"]').value === "half of"`) // although the view is another
	p.evaluate(`document.querySelector('[data-field="for"]').value = "4h"; document.querySelector('[data-field="who"]').value = "U0ROB0002"`)
	for _, choice := range []string{"4", "gray", "anyway"} {
		p.do(chromedp.Click(`//input[@value="`+choice+`"]`, chromedp.NodeVisible))
	}
	p.press(`modal-submit`)
	option := func(text, value string) string {
		return `{"text":{"type":"plain_text","text":"` + text + `"},"value":"` + value + `"}`
	}
	require.JSONEq(t, `{"why":{"text":{"type":"plain_text_input","value":"half of"}},"long":{"for":{"type":"static_select","selected_option":`+option("4 hours", "4h")+`}},
		"apps":{"apps":{"type":"multi_static_select","selected_options":[`+option("<i>Shop</i>", "4")+`]}},"list":{"list":{"type":"radio_buttons","selected_option":`+option("Gray", "gray")+`}},
		"also":{"also":{"type":"checkboxes","selected_options":[`+option("Do it anyway", "anyway")+`]}},"who":{"who":{"type":"users_select","selected_user":"U0ROB0002"}}}`, <-submitted)
	p.wait(`one("field-error")?.innerText === "Say <b>more</b>." && document.activeElement.dataset.field === "text"`)
	p.screenshot("modal")
	p.do(chromedp.EmulateViewport(390, 844))
	p.screenshot("modal-phone")
	p.press(`modal-close`)
	p.wait(`!one("modal").open`)
	p.screenshot("home-phone")
}

// TestMessagesInABrowser is what a visitor sees of messages that call, age, link to each other and are deleted.
func TestMessagesInABrowser(t *testing.T) {
	full.Only(t)
	t.Parallel()
	c := quiet(t)
	say := func(body string) string { return c.call("chat.postMessage", body)["ts"].(string) }
	began := time.Now().Add(-3 * time.Hour).Unix()
	card := say(fmt.Sprintf(`{"channel":"C0WAF0001","text":"INCIDENT: %s","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"<@U0ANN0001> <!date^%d^since {ago}|?> <!date^%d^{date_num}|?> <!here>"}}]}`, strings.Repeat("x", 200), began, began))
	reply := say(`{"channel":"C0WAF0001","text":"worse","thread_ts":"` + card + `"}`)
	say(`{"channel":"C0WAF0001","text":"broadcast","thread_ts":"` + card + `","reply_broadcast":true}`)
	say(`{"channel":"C0WAF0002","text":"see <https://acme.slack.com/archives/C0WAF0001/p` + strings.ReplaceAll(reply, ".", "") + `|that reply>"}`)
	p := openTab(t, c.w.URL()+"/#user=ann&channel=waf-globex&account=acme")

	p.wait(`all("phone-notice").map((n) => n.dataset.why).join() === ",thread,thread,mention"`)
	p.wait(`[...one("phone-list").lastChild.querySelector(".phone-text").textContent].length === "wafbot: ".length + 121`)
	p.evaluate(`new MutationObserver(() => { window.found ||= document.querySelector('[data-testid="reply"].found') }).observe(document.body, {subtree: true, childList: true, attributes: true})`)
	p.do(chromedp.Click(`//a[text()="that reply"]`, chromedp.NodeVisible))
	p.wait(`window.found && one("messages").innerText.includes("since 3 hours ago " + new Date(` + fmt.Sprint(began) + `000).toLocaleDateString("sv"))`)
	p.wait(`document.querySelector(".mention.me").innerText === "@ann" && document.querySelector(".mention.everyone").innerText === "@here"`)
	p.evaluate(`document.querySelector("[data-format]").dataset.when = new Date(Date.now() - 7200000).toISOString()`)
	p.wait(`one("messages").innerText.includes("since 2 hours ago")`)
	p.press(`delete`)
	p.press(`confirm-ok`)
	p.wait(`one("tombstone")?.innerText.includes("This message was deleted.") && all("reply").length === 2`)
	p.screenshot("messages")
	c.post("/sandbox/scenarios/storm", `{}`)
	c.post("/sandbox/scenarios/own_cdn_denied", `{}`)
	p.wait(`one("mark")?.innerText === "deny 192.0.2.0/24" && document.querySelector("#attacks").innerText.includes("and 95 more")`)
	p.screenshot("storm")
}

func testid(id string) string { return `//*[@data-testid="` + id + `"]` }

// tab is a tab of a browser.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func openTab(t *testing.T, address string) tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	require.NoError(t, err, "run make tools, or go test -short")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*patience)
	ctx, end := chromedp.NewExecAllocator(ctx, chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("disable-background-networking", true))
	ctx, leave := chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(func() {
		leave()
		end()
		cancel()
	})
	p := tab{t, ctx}
	p.do(chromedp.EmulateViewport(1440, 900), chromedp.Navigate(address))
	return p
}

func (p tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, steps...))
}

func (p tab) press(id string) {
	p.t.Helper()
	p.do(chromedp.ScrollIntoView(testid(id)), chromedp.Click(testid(id), chromedp.NodeVisible))
}

func (p tab) evaluate(script string) {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Evaluate[any](script))
	require.NoError(p.t, err)
}

// wait polls a predicate in the page.
func (p tab) wait(predicate string) {
	p.t.Helper()
	const seen = `const all = (id) => [...document.querySelectorAll('[data-testid="' + id + '"]')]; const one = (id) => all(id)[0];`
	_, err := chromedp.Run(p.ctx, chromedp.PollFunction[bool](`() => {`+seen+`return `+predicate+`}`, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(patience)))
	require.NoError(p.t, err, "never: %s", predicate)
}

// screenshot keeps what is seen, in $WAFBOT_SCREENSHOTS if that is set.
func (p tab) screenshot(name string) {
	p.t.Helper()
	folder := os.Getenv("WAFBOT_SCREENSHOTS")
	if folder == "" {
		folder = p.t.ArtifactDir()
	}
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o600))
}
