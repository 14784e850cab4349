package bot

import (
	"cmp"
	"context"
	"errors"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands"
)

// answer sends the result of a request to the one who asked.
func (b *Bot) answer(ctx context.Context, req request, lines []commands.Text) {
	b.send(ctx, req, linesMessage(lines, nil), req.Ephemeral)
}

// reply answers, in the background, a request that no line was run for.
func (b *Bot) reply(req request, text commands.Text) {
	b.once(req, func(ctx context.Context) { b.answer(ctx, req, []commands.Text{text}) })
}

// answerError tells a person what was refused or failed. What failed at the service is also told in the thread of the card, with a mention:
// an answer that only one person sees for a moment is easily missed.
func (b *Bot) answerError(ctx context.Context, req request, err error) {
	var refusal *commands.Refusal
	if errors.As(err, &refusal) && errors.Is(err, commands.ErrAsk) {
		b.send(ctx, req, renderAsk(refusal), req.Ephemeral)
		return
	}
	text, ref := commands.ForPeople(req.Invocation, err)
	if ref != "" {
		b.cfg.Log.Error("carry out request", "reference", ref, "user", req.Invocation.Actor.ID, "line", req.Invocation.Line.String(), "err", err)
	}
	b.answer(ctx, req, []commands.Text{text})
	thread := cmp.Or(req.Thread, req.MessageTS)
	if errors.Is(err, commands.ErrService) && thread != "" && !req.Ephemeral && b.cfg.Runner.Changes(req.Invocation.Line) {
		lines := []commands.Text{commands.Say(commands.User(req.Invocation.Actor.ID), " ", text)}
		msg := linesMessage(lines, nil)
		if err := b.post(ctx, postCall{Channel: req.Channel, Thread: thread, Delivery: "failed " + req.Invocation.ID, Account: req.Invocation.Line.Keys["account"], Message: msg}); err != nil {
			b.cfg.Log.Error("reply in thread", "channel", req.Channel, "err", err)
		}
	}
}

// send uses the request's response address as given; where there is none, or it has ended, the person gets an ephemeral message.
func (b *Bot) send(ctx context.Context, req request, msg Message, replace bool) {
	err := errNoAddress
	if req.ResponseURL != "" {
		err = b.cfg.Slack.respond(ctx, req.ResponseURL, &slack.WebhookMessage{
			Text: msg.Text, Blocks: &slack.Blocks{BlockSet: msg.Blocks}, ResponseType: slack.ResponseTypeEphemeral, ReplaceOriginal: replace,
		})
	}
	if err != nil && req.Channel != "" && req.Invocation.Actor.ID != "" {
		err = b.cfg.Slack.whisper(ctx, req, msg)
	}
	if err != nil {
		b.cfg.Log.Warn("answer request", "user", req.Invocation.Actor.ID, "err", err)
	}
}

var errNoAddress = errors.New("no response address")
