package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// ingress makes requests of deliveries.
type ingress struct{ *requests }

// What Slack delivers, as Socket Mode names it.
const (
	kindCommand     = "slash_commands"
	kindInteraction = "interactive"
	kindEvent       = "events_api"
)

// Envelope handles a delivery over Socket Mode.
func (in *ingress) Envelope(ctx context.Context, id, kind string, payload []byte) *slack.ViewSubmissionResponse {
	return in.handle(ctx, kind, delivery{[]string{"envelope " + id}, in.Clocks.Now()}, payload)
}

// handle handles a delivery. Its result is sent with the acknowledgement; nil: none.
func (in *ingress) handle(ctx context.Context, kind string, d delivery, payload []byte) *slack.ViewSubmissionResponse {
	ctx, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	switch kind {
	case kindCommand:
		in.command(ctx, d, payload)
	case kindInteraction:
		return in.interaction(ctx, d, payload)
	case kindEvent:
		in.event(ctx, d, payload)
	default:
		in.log.warn(ctx, "unknown envelope", "type", kind)
	}
	return nil
}

// decode reads what Slack delivered. It reports whether that can be read.
func (in *ingress) decode(ctx context.Context, payload []byte, into any) bool {
	err := json.Unmarshal(payload, into)
	if err != nil {
		in.log.warn(ctx, "read delivery", "err", err)
	}
	return err == nil
}

// command handles a slash command.
func (in *ingress) command(ctx context.Context, d delivery, body []byte) {
	var fields map[string]any
	if !in.decode(ctx, body, &fields) {
		return
	}
	get := func(field string) string { text, _ := fields[field].(string); return text }
	if get("ssl_check") == "1" { // of Slack itself, which only wants the acknowledgement
		return
	}
	req := d.request("command", get("trigger_id"), record.Actor{
		ID: get("user_id"), Team: cmp.Or(get("team_id"), "unknown"), Name: get("user_name"), Via: record.ViaSlash,
	})
	req.Channel, req.ResponseURL = get("channel_id"), get("response_url")
	req.Account = in.accountIn(req.Channel)
	if in.foreign(ctx, get("api_app_id")) {
		in.reply(req, ofAnotherApp())
		return
	}
	in.take(ctx, req, typed(get("text")))
}

// take parses a line. A read-only line runs in the background; a change is stored before it is acknowledged.
func (in *ingress) take(ctx context.Context, req request, text string) {
	line, err := grammar.Parse(text)
	if err == nil {
		req.Line = line
	}
	switch {
	case err != nil:
		in.read(req, err)
	case req.Trigger != "" && req.View == "" && in.Verbs.Missing(line, req.Attack):
		in.openForm(req, text)
	case in.Verbs.Changes(line):
		if failed := in.store(ctx, req); failed != nil {
			in.answerLater(req, *failed)
		}
	default:
		in.read(req, nil)
	}
}

// accountIn is the account of a channel; "" if none or several have it.
func (in *ingress) accountIn(channel string) string {
	name := ""
	for _, a := range in.Accounts {
		if a.Channel != channel {
			continue
		}
		if name != "" {
			return ""
		}
		name = a.Name
	}
	return name
}

// payload is what is needed of an interaction. It is not slack-go's type, which refuses the whole click for one unknown
// block.
type payload struct {
	Type string `json:"type"`
	App  string `json:"api_app_id"`
	User struct {
		ID       string `json:"id"`
		Username string `json:"username"`
		Name     string `json:"name"`
		TeamID   string `json:"team_id"`
	} `json:"user"`
	Team    identified `json:"team"`
	Trigger string     `json:"trigger_id"`
	View    struct {
		ID         string    `json:"id"`
		Type       string    `json:"type"` // modal or home
		CallbackID string    `json:"callback_id"`
		Meta       string    `json:"private_metadata"`
		State      viewState `json:"state"`
	} `json:"view"`
	Channel   identified `json:"channel"`
	Container struct {
		MessageTS   string `json:"message_ts"`
		ThreadTS    string `json:"thread_ts"`
		ChannelID   string `json:"channel_id"`
		IsEphemeral bool   `json:"is_ephemeral"`
	} `json:"container"`
	Actions []struct {
		ActionID string `json:"action_id"`
		Value    string `json:"value"`
	} `json:"actions"`
	ResponseURL string `json:"response_url"`
}

// identified is something of Slack's; only its id is needed.
type identified struct {
	ID string `json:"id"`
}

// interaction handles a click or a submission. Its result is sent with the acknowledgement; nil: none.
func (in *ingress) interaction(ctx context.Context, d delivery, body []byte) *slack.ViewSubmissionResponse {
	var p payload
	if !in.decode(ctx, body, &p) {
		return nil
	}
	switch foreign, submission := in.foreign(ctx, p.App), p.Type == "view_submission"; {
	case foreign && submission:
		return in.pushAnswer(p.request(d), ofAnotherApp())
	case foreign:
		in.reply(p.request(d), ofAnotherApp())
	case submission:
		return in.submittedInTime(ctx, p, d)
	default:
		in.click(ctx, p, d)
	}
	return nil
}

func (in *ingress) click(ctx context.Context, p payload, d delivery) {
	req := p.request(d)
	if req.View == "" {
		req.Account = in.accountIn(req.Channel)
	}
	if p.Type != "block_actions" || len(p.Actions) == 0 {
		in.unknown(req, p.Type)
		return
	}
	action := p.Actions[0]
	kind, _, _ := strings.Cut(action.ActionID, ":")
	switch kind {
	case card.ActionDo, card.ActionAnyway:
		req.Warned = true
		req.Anyway = kind == card.ActionAnyway && !questionExpired(slackconn.ParseTS(req.MessageTS), in.Clocks.Now())
		in.take(ctx, req, action.Value)
	case card.ActionForm:
		in.openForm(req, action.Value)
	case card.ActionMore:
		in.openMore(req, action.Value)
	case card.ActionCancel:
		req.Ephemeral = true // the answer replaces the question
		in.reply(req, say("Cancelled. Nothing was done"))
	case card.ActionRefresh:
		in.reply(req, card.Message{})
	case card.ActionLink: // the client has opened the address already
	default:
		in.unknown(req, action.ActionID)
	}
}

// request is where a click came from. In a shared channel the user's team may differ from the message's workspace.
func (p payload) request(d delivery) request {
	req := d.request(p.Type, p.Trigger, record.Actor{
		ID: p.User.ID, Team: cmp.Or(p.User.TeamID, p.Team.ID), Name: cmp.Or(p.User.Username, p.User.Name),
		Via: record.ViaButton,
	})
	at := p.Container
	req.Channel, req.MessageTS, req.Thread = cmp.Or(p.Channel.ID, at.ChannelID), at.MessageTS, at.ThreadTS
	req.Ephemeral, req.ResponseURL, req.Home = at.IsEphemeral, p.ResponseURL, p.View.Type == "home"
	if p.View.Type == "modal" {
		req.inView(p.View.ID, p.View.Meta)
	}
	return req
}

// unknown answers a button that this version doesn't know: old messages keep their buttons.
func (in *ingress) unknown(req request, action string) {
	in.log.warn(req.within(context.Background()), "unknown action", "action", action, "user", req.Actor.ID)
	in.reply(req, say("This message is out of date: its button does nothing any more. ", text.Code(in.Command+" status"),
		" shows what is going on, ",
		text.Code(in.Command+" help"), " what can be typed"))
}
