package sandbox

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

type linkBody struct {
	Link string `json:"link"` // its id; "": all
}

type refreshBody struct {
	Link  string `json:"link"`  // its id; "": all
	After string `json:"after"` // between warning and end; "": 10s
}

type switchBody struct {
	On *bool `json:"on"`
}

type ingressBody struct {
	Ingress workspace.Ingress `json:"ingress"`
}

// eventView is an event that was sent to the bot.
type eventView struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Channel  string          `json:"channel"`
	Done     bool            `json:"done"` // acknowledged, or given up
	Attempts []deliveryView  `json:"attempts"`
	Payload  json.RawMessage `json:"payload"`
}

func (w *deliveryAPI) linkRoutes() []route {
	off := false
	return []route{
		{Method: "GET", Path: "/sandbox/slack/links", Does: "the bot's open Socket Mode links, and the way that deliveries go", handle: w.getLinks},
		{Method: "POST", Path: "/sandbox/slack/links/refresh", Does: "warn a link, or all, and close it later, as Slack does every few hours", Body: refreshBody{"", "10s"}, handle: w.postRefresh},
		{Method: "POST", Path: "/sandbox/slack/links/cut", Does: "close a link, or all, without a close frame", Body: linkBody{"L1"}, handle: w.postCut},
		{Method: "POST", Path: "/sandbox/slack/socket_mode", Does: "switch Socket Mode off, which ends all links, or on again", Body: switchBody{&off}, handle: w.postSocketMode},
		{Method: "POST", Path: "/sandbox/slack/ingress", Does: "the way of deliveries: http, socket, either in turn, both at once; empty: http if an address is set", Body: ingressBody{workspace.IngressBoth}, handle: w.postIngress},
		{Method: "GET", Path: "/sandbox/slack/events", Does: "the last 1,000 events sent to the bot, with each attempt", handle: w.getEvents},
	}
}

func (w *deliveryAPI) getLinks(*http.Request) (any, error) {
	return map[string]any{"links": w.Slack.Links(), "socket_mode": w.Slack.SocketMode(), "ingress": w.Slack.Ingress()}, nil
}

// named is the ids of a body that names one link or means all.
func named(link string) []string {
	if link == "" {
		return nil
	}
	return []string{link}
}

// noLink turns an unknown link into an error that says what to do.
func noLink(err error) error {
	if err != nil {
		return refuse(http.StatusNotFound, "%v: GET /sandbox/slack/links lists them", err)
	}
	return nil
}

func (w *deliveryAPI) postRefresh(req *http.Request) (any, error) {
	body, err := read[refreshBody](req)
	if err != nil {
		return nil, err
	}
	var after time.Duration
	if body.After != "" {
		if after, err = time.ParseDuration(body.After); err != nil || after <= 0 {
			return nil, refuse(http.StatusBadRequest, "give after as a duration like 10s")
		}
	}
	return struct{}{}, noLink(w.Slack.Refresh(after, named(body.Link)...))
}

func (w *deliveryAPI) postCut(req *http.Request) (any, error) {
	body, err := read[linkBody](req)
	if err != nil {
		return nil, err
	}
	return struct{}{}, noLink(w.Slack.CutLinks(named(body.Link)...))
}

func (w *deliveryAPI) postSocketMode(req *http.Request) (any, error) {
	body, err := read[switchBody](req)
	if err != nil {
		return nil, err
	}
	if body.On == nil {
		return nil, refuse(http.StatusBadRequest, "give on as true or false")
	}
	w.Slack.SetSocketMode(*body.On)
	return struct{}{}, nil
}

func (w *deliveryAPI) postIngress(req *http.Request) (any, error) {
	body, err := read[ingressBody](req)
	if err != nil {
		return nil, err
	}
	return struct{}{}, w.Slack.SetIngress(body.Ingress)
}

func (w *deliveryAPI) getEvents(*http.Request) (any, error) {
	views := []eventView{}
	for _, e := range w.Slack.Events() {
		view := eventView{ID: e.ID, Type: e.Type, Channel: e.Channel, Done: e.Done, Attempts: []deliveryView{}, Payload: e.Payload}
		for _, d := range e.Attempts {
			view.Attempts = append(view.Attempts, newDeliveryView(0, d))
		}
		views = append(views, view)
	}
	return map[string]any{"events": views}, nil
}
