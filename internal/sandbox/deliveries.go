package sandbox

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// deliveriesKept is how many deliveries can be replayed.
const deliveriesKept = 200

// delivery is a click, command or submission that the workspace sent to the bot, under a number of its own.
type delivery struct {
	id int
	workspace.Delivery
}

// deliveryView is what became of a delivery.
type deliveryView struct {
	ID     int               `json:"id,omitempty"`   // of a click or command, for a replay
	Type   string            `json:"type"`           // interactive, slash_commands or events_api
	Via    workspace.Ingress `json:"via"`            // http or socket; "": nothing was sent
	Path   string            `json:"path,omitempty"` // of a request
	Link   string            `json:"link,omitempty"` // that an envelope went over
	Acked  bool              `json:"acked"`          // acknowledged in time
	Status int               `json:"status"`         // of the answer, 200 for an acknowledged envelope; 0: no answer
	Body   string            `json:"body"`           // of the answer
	TookMS int64             `json:"took_ms"`
	// Warning is what Slack shows the person whose click or command failed; "" when it didn't.
	Warning     string `json:"warning"`
	Error       string `json:"error"` // why there was no answer
	ResponseURL string `json:"response_url"`
	Sent        string `json:"sent"` // the body of the request as signed, or the envelope
	// Twin is what went over a link beside the request, when deliveries go both ways.
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
	Values map[string]any `json:"values,omitempty"` // what is filled in there before
}

type commandBody struct {
	User    string `json:"user"`
	Channel string `json:"channel"`
	Text    string `json:"text"` // without the command itself
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

// keep numbers a delivery and remembers it for a replay.
func (w *World) keep(sent workspace.Delivery) deliveryView {
	w.mu.Lock()
	defer w.mu.Unlock()
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

func (w *World) postDeliver(req *http.Request) (any, error) {
	body, err := read[deliverBody](req)
	if err != nil {
		return nil, err
	}
	if bot, err := url.Parse(body.URL); body.URL != "" && (err != nil || bot.Scheme != "http" && bot.Scheme != "https" || bot.Host == "") {
		return nil, refuse(http.StatusBadRequest, "give the url as http://host:port, or empty for Socket Mode alone")
	}
	w.DeliverTo(body.URL)
	return struct{}{}, nil
}

// needBot says what to do while no bot is connected.
func (w *World) needBot() error {
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

// placeWithBot is who clicks or types where; without a connected bot, what to do about that.
func (w *World) placeWithBot(user, channel string) (workspace.User, workspace.Channel, error) {
	u, c, err := w.place(user, channel)
	if err == nil {
		err = w.needBot()
	}
	return u, c, err
}

func (w *World) postClick(req *http.Request) (any, error) {
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

func (w *World) postCommand(req *http.Request) (any, error) {
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

// delivered answers with what became of a delivery. One that was never sent (a dialog
// answered with no, a fault that loses clicks) is answered but not kept.
func (w *World) delivered(sent workspace.Delivery, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return w.keptIfSent(sent), nil
}

func (w *World) keptIfSent(sent workspace.Delivery) deliveryView {
	if sent.Via == "" {
		return newDeliveryView(0, sent)
	}
	return w.keep(sent)
}

func (w *World) getDeliveries(*http.Request) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	views := []deliveryView{}
	for _, d := range w.deliveries {
		views = append(views, newDeliveryView(d.id, d.Delivery))
	}
	return map[string]any{"deliveries": views}, nil
}

// kept finds the delivery that the request's path numbers.
func (w *World) kept(req *http.Request) (workspace.Delivery, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.deliveries {
		if strconv.Itoa(d.id) == req.PathValue("id") {
			return d.Delivery, nil
		}
	}
	return workspace.Delivery{}, refuse(http.StatusNotFound, "no delivery %q: GET /sandbox/slack/deliveries lists them", req.PathValue("id"))
}

func (w *World) postReplay(req *http.Request) (any, error) {
	earlier, err := w.kept(req)
	if err != nil {
		return nil, err
	}
	sent, err := w.Slack.Replay(req.Context(), earlier)
	return w.delivered(sent, err)
}

func (w *World) postForge(req *http.Request) (any, error) {
	earlier, err := w.kept(req)
	if err != nil {
		return nil, err
	}
	sent, err := w.Slack.Forge(req.Context(), earlier)
	return w.delivered(sent, err)
}
