package bot

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// workVersion is the version of stored requests. A replica reads every version up to its own.
const workVersion = 1

// request is a line that a user typed or clicked, with where to answer. It is stored as JSON.
type request struct {
	Version     int             `json:"version,omitempty"`
	Invocation  call.Invocation `json:"invocation"`
	Channel     string          `json:"channel,omitempty"`
	MessageTS   string          `json:"message_ts,omitempty"` // of the message with the button
	Thread      string          `json:"thread,omitempty"`     // the thread that the line was written in
	Ephemeral   bool            `json:"ephemeral,omitempty"`  // the message with the button is ephemeral, so the answer replaces it
	ResponseURL string          `json:"response_url,omitempty"`
	Trigger     string          `json:"trigger,omitempty"` // opens one view within three seconds
	View        string          `json:"view,omitempty"`    // the modal that it was made in: the answer replaces it
	Home        bool            `json:"home,omitempty"`    // it was clicked in the user's Home tab, and is answered there

	names []string // of its delivery
}

// ingress makes requests of deliveries.
type ingress struct {
	cfg        *Config
	background *background
	queue      *queue
	answers    *answers
	forms      *forms
}

// slashCommand is what is needed of a slash command.
type slashCommand struct {
	Text        string `json:"text"`
	User        string `json:"user_id"`
	UserName    string `json:"user_name"`
	Team        string `json:"team_id"`
	Channel     string `json:"channel_id"`
	ResponseURL string `json:"response_url"`
	Trigger     string `json:"trigger_id"`
}

// command handles a slash command.
func (in *ingress) command(ctx context.Context, d delivery, c slashCommand) {
	req := request{
		Channel: c.Channel, ResponseURL: c.ResponseURL, Trigger: c.Trigger, names: d.names,
		Invocation: call.Invocation{
			ID: d.names[0], At: d.at, Account: in.accountIn(c.Channel),
			Actor: record.Actor{ID: c.User, Team: c.Team, Name: c.UserName, Via: record.ViaSlash},
		},
	}
	in.take(ctx, req, typed(c.Text))
}

// take parses a line. A read-only line runs in the background; a change is stored before it is acknowledged.
func (in *ingress) take(ctx context.Context, req request, text string) {
	line, err := grammar.Parse(text)
	if err != nil {
		in.background.once(req, func(ctx context.Context) {
			in.answers.answer(ctx, req, in.answers.resultMessage(req, call.Result{}, err))
		})
		return
	}
	req.Invocation.Line = line
	if req.Trigger != "" && req.View == "" && in.cfg.Verbs.Missing(line, req.Invocation.Attack) {
		in.forms.openForm(req, text)
		return
	}
	if in.cfg.Verbs.Changes(line) {
		in.accept(ctx, req)
		return
	}
	in.background.once(req, func(ctx context.Context) { in.answers.carryOut(ctx, req) })
}

// acceptTimeout bounds what is done before a delivery is acknowledged. Slack waits three seconds.
const acceptTimeout = 2 * time.Second

// reply answers a request without running a line.
func (in *ingress) reply(req request, words text.Text) {
	in.background.once(req, func(ctx context.Context) { in.answers.answer(ctx, req, card.Lines([]text.Text{words}, nil)) })
}

// accept stores a change before the request is acknowledged, so that no acknowledged click is lost.
func (in *ingress) accept(ctx context.Context, req request) {
	err := in.queue.add(ctx, req)
	if err == nil {
		return
	}
	words := in.queue.notAdded(req, err)
	in.background.start(req, func(ctx context.Context) { in.answers.answer(ctx, req, card.Lines([]text.Text{words}, nil)) })
}
