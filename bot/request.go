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

// workVersion is the version of requests as they wait in the inbox. A replica reads every version up to its own.
const workVersion = 1

// request is a line that somebody typed or clicked, with where to answer. As JSON it is what waits in the inbox.
type request struct {
	Version     int             `json:"version,omitempty"`
	Invocation  call.Invocation `json:"invocation"`
	Channel     string          `json:"channel,omitempty"`
	MessageTS   string          `json:"message_ts,omitempty"` // of the message with the button
	Thread      string          `json:"thread,omitempty"`     // the thread that the line was written in
	Ephemeral   bool            `json:"ephemeral,omitempty"`  // the message with the button is shown to one person only, so the answer takes its place
	ResponseURL string          `json:"response_url,omitempty"`
	Trigger     string          `json:"trigger,omitempty"` // opens one view, within three seconds
	View        string          `json:"view,omitempty"`    // the modal that it was made in: the answer takes its place
	Home        bool            `json:"home,omitempty"`    // it was clicked in the person's Home tab, and is answered there

	names []string // of its delivery
}

// ingress makes a request of each delivery.
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

// command takes a slash command.
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

// take parses a line and sees to it that it is carried out: at once if it only reads, else written down before it is acknowledged.
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

// acceptTimeout bounds all that is done before a delivery is acknowledged, within Slack's three seconds.
const acceptTimeout = 2 * time.Second

// reply answers, in the background, a request that no line was run for.
func (in *ingress) reply(req request, words text.Text) {
	in.background.once(req, func(ctx context.Context) { in.answers.answer(ctx, req, card.Lines([]text.Text{words}, nil)) })
}

// accept writes a change down before the request is acknowledged, so that no acknowledged click is lost.
func (in *ingress) accept(ctx context.Context, req request) {
	err := in.queue.add(ctx, req)
	if err == nil {
		return
	}
	words := in.queue.notAdded(req, err)
	in.background.start(req, func(ctx context.Context) { in.answers.answer(ctx, req, card.Lines([]text.Text{words}, nil)) })
}
