package sandbox

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// deliveriesKept is how many deliveries can be replayed.
const deliveriesKept = 200

// delivery is a click, command or submission that the workspace sent to the bot, with its number.
type delivery struct {
	id int
	workspace.Delivery
}

// deliveryView is the result of a delivery.
type deliveryView struct {
	ID     int               `json:"id,omitempty"`   // of a click or command, for a replay
	Type   string            `json:"type"`           // interactive, slash_commands or events_api
	Via    workspace.Ingress `json:"via"`            // http or socket; "": nothing was sent
	Path   string            `json:"path,omitempty"` // of a request
	Link   string            `json:"link,omitempty"` // that carried the envelope
	Acked  bool              `json:"acked"`          // acknowledged in time
	Status int               `json:"status"`         // of the answer, 200 for an acknowledged envelope; 0: no answer
	Body   string            `json:"body"`           // of the answer
	TookMS int64             `json:"took_ms"`
	// Warning is what Slack shows the person whose click or command failed; "" when it didn't.
	Warning     string `json:"warning"`
	Error       string `json:"error"` // why there was no answer
	ResponseURL string `json:"response_url"`
	Sent        string `json:"sent"` // the body of the request as signed, or the envelope
	// Twin is what went over a link at the same time, with ingress both.
	Twin *deliveryView `json:"twin,omitempty"`
}

type deliverBody struct {
	URL string `json:"url"`
}

type clickBody struct {
	User    string `json:"user"`
	Channel string `json:"channel,omitempty"` // with ts, of the message
	TS      string `json:"ts,omitempty"`
	Button  string `json:"button"`
	Cancel  bool   `json:"cancel,omitempty"`

	View   string         `json:"view,omitempty"`   // instead of channel and ts: its id, or modal or home
	Values map[string]any `json:"values,omitempty"` // what is filled in or chosen before
}

type commandBody struct {
	User    string `json:"user"`
	Channel string `json:"channel"`
	Text    string `json:"text"` // without the command itself
}

// deliveryAPI is the part of the control API for what is delivered to the bot.
type deliveryAPI struct {
	slackAPI

	keeping    sync.Mutex
	deliveries []delivery
}

func (w *deliveryAPI) routes() []route {
	return []route{
		{Method: "POST", Path: "/sandbox/deliver", Does: "the bot's base address, where signed requests go; empty: nowhere, the bot opens Socket Mode links", Body: deliverBody{"http://127.0.0.1:8080"}, handle: w.postDeliver},
		{Method: "POST", Path: "/sandbox/slack/click", Does: "click a button or an option of a menu by its label, action_id or value, in a message or in a view; cancel answers no when asked to confirm", Body: clickBody{User: "ann", Channel: "#waf", TS: "1795000000.000100", Button: "I'm on it"}, handle: w.postClick},
		{Method: "POST", Path: "/sandbox/slack/command", Does: "a slash command", Body: commandBody{"rob", "#waf", "status"}, handle: w.postCommand},
		{Method: "GET", Path: "/sandbox/slack/deliveries", Does: "the last 200 clicks, commands and submissions delivered to the bot", handle: w.getDeliveries},
		{Method: "POST", Path: "/sandbox/slack/deliveries/{id}/replay", Does: "deliver the same signed bytes again", Body: struct{}{}, handle: w.postReplay},
		{Method: "POST", Path: "/sandbox/slack/deliveries/{id}/forge", Does: "deliver the same body with a wrong signature", Body: struct{}{}, handle: w.postForge},
		{Method: "POST", Path: "/sandbox/slack/verify_url", Does: "send url_verification, as Slack does when an address for events is set", Body: struct{}{}, handle: w.postVerifyURL},
		{Method: "POST", Path: "/sandbox/slack/ssl_check", Does: "send ssl_check, as Slack does to see the certificate of a command's address", Body: struct{}{}, handle: w.postCheckSSL},
	}
}

func newDeliveryView(id int, d workspace.Delivery) deliveryView {
	view := deliveryView{
		ID: id, Type: d.Type, Via: d.Via, Path: d.Path, Link: d.Link, Acked: d.Acked, Status: d.Status, Body: d.Body, TookMS: d.Took.Milliseconds(),
		Warning: d.Warning, Error: d.Err, ResponseURL: d.ResponseURL, Sent: d.EnvelopeBody,
	}
	if d.Twin != nil {
		twin := newDeliveryView(0, *d.Twin)
		view.Twin = &twin
	}
	return view
}

// keep numbers a delivery and keeps it for a replay.
func (w *deliveryAPI) keep(sent workspace.Delivery) deliveryView {
	w.keeping.Lock()
	defer w.keeping.Unlock()
	kept := delivery{id: 1, Delivery: sent}
	if n := len(w.deliveries); n > 0 {
		kept.id = w.deliveries[n-1].id + 1
	}
	w.deliveries = append(w.deliveries, kept)
	if over := len(w.deliveries) - deliveriesKept; over > 0 {
		w.deliveries = w.deliveries[over:]
	}
	return newDeliveryView(kept.id, sent)
}

func (w *deliveryAPI) postDeliver(req *http.Request) (any, error) {
	body, err := read[deliverBody](req)
	if err != nil {
		return nil, err
	}
	if bot, err := url.Parse(body.URL); body.URL != "" && (err != nil || bot.Scheme != "http" && bot.Scheme != "https" || bot.Host == "") {
		return nil, refuse(http.StatusBadRequest, "give the url as http://host:port, or empty for Socket Mode alone")
	}
	w.DeliverTo(body.URL)
	if body.URL == "" {
		return map[string]any{"verified": false}, nil
	}
	if _, err := w.Slack.VerifyURL(req.Context()); err != nil {
		return nil, err
	}
	return map[string]any{"verified": w.Slack.Verified()}, nil
}

// needBot is an error that says what to do while no bot is connected.
func (w *deliveryAPI) needBot() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.deliver != "" || len(w.Slack.Links()) > 0:
		return nil
	case !w.Slack.SocketMode():
		return refuse(http.StatusConflict, "no bot is connected: Socket Mode is off, POST {\"on\":true} to /sandbox/slack/socket_mode")
	default:
		return refuse(http.StatusConflict, "no bot is connected: start one with the environment that the sandbox printed, "+
			"so that it opens a Socket Mode link, or POST the base address where it takes signed requests to /sandbox/deliver")
	}
}

// placeWithBot is the acting user and the channel. Without a connected bot the error says what to do.
func (w *deliveryAPI) placeWithBot(user, channel string) (workspace.User, workspace.Channel, error) {
	u, c, err := w.place(user, channel)
	if err == nil {
		err = w.needBot()
	}
	return u, c, err
}

func (w *deliveryAPI) postClick(req *http.Request) (any, error) {
	body, err := read[clickBody](req)
	if err != nil {
		return nil, err
	}
	var user workspace.User
	var channel workspace.Channel
	if body.View != "" {
		user, err = w.userWithBot(body.User)
	} else {
		user, channel, err = w.placeWithBot(body.User, body.Channel)
	}
	if err != nil {
		return nil, err
	}
	sent, err := w.Slack.Click(req.Context(), workspace.Click{
		User: user.ID, Channel: channel.ID, TS: body.TS, Button: body.Button, Cancel: body.Cancel, View: body.View, Values: body.Values,
	})
	return w.delivered(sent, err)
}

func (w *deliveryAPI) postCommand(req *http.Request) (any, error) {
	body, err := read[commandBody](req)
	if err != nil {
		return nil, err
	}
	user, channel, err := w.placeWithBot(body.User, body.Channel)
	if err != nil {
		return nil, err
	}
	sent, err := w.Slack.Command(req.Context(), workspace.Command{User: user.ID, Channel: channel.ID, Text: body.Text})
	return w.delivered(sent, err)
}

// delivered answers with the result of a delivery. One that was never sent (a dialog
// answered with no, a fault that loses clicks) is not kept.
func (w *deliveryAPI) delivered(sent workspace.Delivery, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return w.keptIfSent(sent), nil
}

func (w *deliveryAPI) keptIfSent(sent workspace.Delivery) deliveryView {
	if sent.Via == "" {
		return newDeliveryView(0, sent)
	}
	return w.keep(sent)
}

func (w *deliveryAPI) getDeliveries(*http.Request) (any, error) {
	w.keeping.Lock()
	defer w.keeping.Unlock()
	views := []deliveryView{}
	for _, d := range w.deliveries {
		views = append(views, newDeliveryView(d.id, d.Delivery))
	}
	return map[string]any{"deliveries": views}, nil
}

// kept finds the delivery that the request's path numbers.
func (w *deliveryAPI) kept(req *http.Request) (workspace.Delivery, error) {
	w.keeping.Lock()
	defer w.keeping.Unlock()
	for _, d := range w.deliveries {
		if strconv.Itoa(d.id) == req.PathValue("id") {
			return d.Delivery, nil
		}
	}
	return workspace.Delivery{}, refuse(http.StatusNotFound, "no delivery %q: GET /sandbox/slack/deliveries lists them", req.PathValue("id"))
}

func (w *deliveryAPI) postReplay(req *http.Request) (any, error) {
	earlier, err := w.kept(req)
	if err != nil {
		return nil, err
	}
	sent, err := w.Slack.Replay(req.Context(), earlier)
	return w.delivered(sent, err)
}

func (w *deliveryAPI) postVerifyURL(req *http.Request) (any, error) {
	return w.checked(req, w.Slack.VerifyURL)
}

func (w *deliveryAPI) postCheckSSL(req *http.Request) (any, error) {
	return w.checked(req, w.Slack.CheckSSL)
}

// checked answers with the result of a check of the bot's address, which only a bot that takes signed requests has.
func (w *deliveryAPI) checked(req *http.Request, check func(context.Context) (workspace.Delivery, error)) (any, error) {
	w.mu.Lock()
	address := w.deliver
	w.mu.Unlock()
	if address == "" {
		return nil, refuse(http.StatusConflict, "no address is set: POST the base address where the bot takes signed requests to /sandbox/deliver")
	}
	sent, err := check(req.Context())
	return w.delivered(sent, err)
}

func (w *deliveryAPI) postForge(req *http.Request) (any, error) {
	earlier, err := w.kept(req)
	if err != nil {
		return nil, err
	}
	sent, err := w.Slack.Forge(req.Context(), earlier)
	return w.delivered(sent, err)
}
