package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// workVersion is the version of requests as they wait in the inbox. A replica reads every version up to its own.
const workVersion = 1

// request is a line that somebody typed or clicked, with where to answer. As JSON it is what waits in the inbox.
type request struct {
	Version     int                 `json:"version,omitempty"`
	Invocation  commands.Invocation `json:"invocation"`
	Channel     string              `json:"channel,omitempty"`
	MessageTS   string              `json:"message_ts,omitempty"` // of the message with the button
	Thread      string              `json:"thread,omitempty"`     // the thread that the line was written in
	Ephemeral   bool                `json:"ephemeral,omitempty"`  // the message with the button is shown to one person only, so the answer takes its place
	ResponseURL string              `json:"response_url,omitempty"`
	Trigger     string              `json:"trigger,omitempty"` // opens one view, within three seconds
	View        string              `json:"view,omitempty"`    // the modal that it was made in: the answer takes its place
	Home        bool                `json:"home,omitempty"`    // it was clicked in the person's Home tab, and is answered there

	names []string // of its delivery
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
func (b *Bot) command(ctx context.Context, d delivery, c slashCommand) {
	req := request{
		Channel: c.Channel, ResponseURL: c.ResponseURL, Trigger: c.Trigger, names: d.names,
		Invocation: commands.Invocation{
			ID: d.names[0], At: d.at, Account: b.accountIn(c.Channel),
			Actor: record.Actor{ID: c.User, Team: c.Team, Name: c.UserName, Via: record.ViaSlash},
		},
	}
	b.take(ctx, req, typed(c.Text))
}

// take parses a line and sees to it that it is carried out: at once if it only reads, else written down before it is acknowledged.
func (b *Bot) take(ctx context.Context, req request, text string) {
	line, err := grammar.Parse(text)
	if err != nil {
		b.once(req, func(ctx context.Context) {
			b.answer(ctx, req, b.resultMessage(req, commands.Result{}, err))
		})
		return
	}
	req.Invocation.Line = line
	if req.Trigger != "" && req.View == "" && b.cfg.Runner.Missing(line, req.Invocation.Attack) {
		b.forms.openForm(req, text)
		return
	}
	if b.cfg.Runner.Changes(line) {
		b.accept(ctx, req)
		return
	}
	b.once(req, func(ctx context.Context) { b.carryOut(ctx, req) })
}

// acceptTimeout bounds all that is done before a delivery is acknowledged, within Slack's three seconds.
const acceptTimeout = 2 * time.Second

// accept writes a change down before the request is acknowledged, so that no acknowledged click is lost.
func (b *Bot) accept(ctx context.Context, req request) {
	err := b.writeDown(ctx, req)
	if err == nil {
		return
	}
	words := b.notWritten(req, err)
	b.inBackground(req, func(ctx context.Context) { b.answer(ctx, req, card.Lines([]text.Text{words}, nil)) })
}

// writeDown puts a request among the work that any replica carries out, unless it is there already.
func (b *Bot) writeDown(ctx context.Context, req request) error {
	req.Version = workVersion
	work, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	_, err = b.cfg.Inbox.Accept(ctx, work, req.names...)
	return err
}

// notWritten says that a request could not be written down, or perhaps not.
func (b *Bot) notWritten(req request, err error) text.Text {
	b.cfg.Log.Error("accept request", "user", req.Invocation.Actor.ID, "line", req.Invocation.Line.String(), "err", err)
	if slackconn.DialFailed(err) || commands.RefusedByMemory(err) {
		return commands.Away(err).Text
	}
	return perhapsRecorded()
}

func perhapsRecorded() text.Text {
	return text.New("perhaps not recorded: wafbot's memory (Redis) did not answer in time. If nothing has changed in 30 s, click or type it again: it is never done twice")
}

// readTimeout bounds looking an answer up and sending it.
const readTimeout = 90 * time.Second

// inBackground goes on after the request was acknowledged.
func (b *Bot) inBackground(req request, do func(ctx context.Context)) {
	started := b.reads.start(func() {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		do(ctx)
	})
	if !started {
		b.cfg.Log.Warn("too many requests at once", "user", req.Invocation.Actor.ID)
		b.metrics.overload.Inc()
	}
}

// once does in the background what changes nothing, for a delivery that comes for the first time. Where that can't be told it is done, too.
func (b *Bot) once(req request, do func(ctx context.Context)) {
	b.inBackground(req, func(ctx context.Context) {
		if fresh, err := b.cfg.Inbox.First(ctx, req.names...); fresh || err != nil {
			do(ctx)
		}
	})
}

// carryOut runs a request that only reads, and answers it.
func (b *Bot) carryOut(ctx context.Context, req request) {
	res, err := b.cfg.Runner.Do(ctx, req.Invocation)
	b.answer(ctx, req, b.resultMessage(req, res, err))
}
