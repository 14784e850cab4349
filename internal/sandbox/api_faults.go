package sandbox

import (
	"net/http"
	"sync"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// faultKind is a line of the fault menu.
type faultKind struct {
	Kind string `json:"kind"`
	Does string `json:"does"`
}

func slackFaults() []faultKind {
	return []faultKind{
		{"ratelimited", "answers 429"},
		{"ratelimited_posted", "posts, then answers 429"},
		{"500", "answers 500"},
		{"500_posted", "posts, then answers 500"},
		{"timeout", "never answers"},
		{"timeout_posted", "posts, then never answers"},
		{"archived", "the channel is archived"},
		{"missing_scope", "the token lacks a scope"},
		{"token_revoked", "the token was revoked"},
		{"edit_window_closed", "messages can't be edited any more: the workspace's setting"},
		{"lost_click", "clicks, commands and events never arrive at the bot"},
		{"duplicate_delivery", "every click, command and event arrives twice"},
	}
}

func serviceFaults() []faultKind {
	return []faultKind{
		{"status:500", "answers 500"},
		{"status:429", "answers 429; retry_after adds the header"},
		{"status:423", "rules are locked"},
		{"status:403", "the token lacks a permission"},
		{"unauthenticated", "the token is refused"},
		{"inner:500", "answers 200 with a refusal inside"},
		{"html", "a proxy answers 502 with a page"},
		{"hang", "never answers"},
		{"reset", "resets the connection"},
		{"slow", "carries out, answers after 3 s"},
		{"cut", "carries out, breaks off in the answer"},
		{"500_applied", "carries out, then answers 500"},
		{"reset_applied", "carries out, then resets the connection"},
		{"lagging", "lists what was written until 10 s ago"},
		{"mode_replaced", "with a new mode, removes the others for the same requests"},
		{"mode_kept", "with a new mode, keeps the others: the last written holds"},
		{"endless", "lists attacks without end"},
		{"foreign", "answers for another account; every makes it one answer of so many"},
	}
}

// faultAPI is the part of the control API that sets faults.
type faultAPI struct {
	*World

	setting sync.Mutex
	set     []workspace.Fault // of Slack, since the last clear
}

func (w *faultAPI) routes() []route {
	return []route{
		{Method: "GET", Path: "/sandbox/faults", Does: "the menu of both sides, and what is set", handle: w.getFaults},
		{Method: "POST", Path: "/sandbox/faults/slack", Does: "make Slack misbehave; any other kind is Slack's error of that name", Body: workspace.Fault{Method: "chat.postMessage", Kind: "500_posted", Times: 1}, handle: w.postSlackFault},
		{Method: "POST", Path: "/sandbox/faults/service", Does: "make the service misbehave", Body: waf.Fault{Account: "acme", Endpoint: "POST /v4/ip_rules", Kind: "status:429", RetryAfter: "2", Times: 3}, handle: w.postServiceFault},
		{Method: "POST", Path: "/sandbox/faults/clear", Does: "end all faults of both sides", Body: struct{}{}, handle: w.postClearFaults},
	}
}

func (w *faultAPI) getFaults(*http.Request) (any, error) {
	return map[string]any{
		"menu": map[string][]faultKind{"slack": slackFaults(), "service": serviceFaults()},
		"set":  map[string]any{"slack": w.slackFaultsSet(), "service": w.WAF.Faults()},
	}, nil
}

// slackFaultsSet lists the faults set since the last clear, also used up ones.
func (w *faultAPI) slackFaultsSet() []workspace.Fault {
	w.setting.Lock()
	defer w.setting.Unlock()
	return append([]workspace.Fault{}, w.set...)
}

func (w *faultAPI) postSlackFault(req *http.Request) (any, error) {
	fault, err := read[workspace.Fault](req)
	if err != nil {
		return nil, err
	}
	if fault.Kind == "" || fault.Times < 0 {
		return nil, refuse(http.StatusBadRequest, "give a kind of GET /sandbox/faults, and times of 0 or more")
	}
	w.Slack.SetFault(fault)
	w.setting.Lock()
	defer w.setting.Unlock()
	w.set = append(w.set, fault)
	return struct{}{}, nil
}

func (w *faultAPI) postServiceFault(req *http.Request) (any, error) {
	fault, err := read[waf.Fault](req)
	if err != nil {
		return nil, err
	}
	return struct{}{}, w.WAF.SetFault(fault)
}

func (w *faultAPI) postClearFaults(req *http.Request) (any, error) {
	if _, err := read[struct{}](req); err != nil {
		return nil, err
	}
	w.WAF.ClearFaults()
	w.Slack.ClearFaults()
	w.setting.Lock()
	defer w.setting.Unlock()
	w.set = nil
	return struct{}{}, nil
}
