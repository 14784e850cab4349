package bot

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/text"
)

// reply answers, in the background, a request that no line was run for.
func (b *Bot) reply(req request, words text.Text) {
	b.once(req, func(ctx context.Context) { b.answer(ctx, req, card.Lines([]text.Text{words}, nil)) })
}

// resultMessage is what a person is told of what came of a request.
func (b *Bot) resultMessage(req request, res commands.Result, err error) card.Message {
	var refused *refusal.Refusal
	switch {
	case err == nil:
		return card.Answer(res, req.View != "")
	case errors.Is(err, refusal.ErrUsage) && errors.As(err, &refused) && b.cfg.Runner.Fillable(req.Invocation.Line):
		return card.FormOffer(refused, b.cfg.Runner.InThread(req.Invocation.Line, req.Invocation.Attack))
	case errors.As(err, &refused) && errors.Is(err, refusal.ErrAsk):
		return card.Ask(refused)
	}
	words, ref := commands.ForPeople(req.Invocation, err)
	if ref != "" {
		b.cfg.Log.Error("carry out request", "reference", ref, "user", req.Invocation.Actor.ID, "line", req.Invocation.Line.String(), "err", err)
	}
	return card.Lines([]text.Text{words}, nil)
}

// failedInThread tells in the thread of the card, with a mention, that a change failed at the service before it was begun: an answer that only one
// person sees for a moment is easily missed. Of one that was written down its announcement tells.
func (b *Bot) failedInThread(ctx context.Context, req request, err error) {
	thread := cmp.Or(req.Thread, req.MessageTS)
	if !errors.Is(err, refusal.ErrService) || errors.Is(err, refusal.ErrTold) || thread == "" || req.Ephemeral || !b.cfg.Runner.Changes(req.Invocation.Line) {
		return
	}
	words, _ := commands.ForPeople(req.Invocation, err)
	msg := card.Lines([]text.Text{text.New(text.User(req.Invocation.Actor.ID), " ", words)}, nil)
	if err := b.cfg.Notifier.Post(ctx, notify.Post{Channel: req.Channel, Thread: thread, Delivery: "failed " + req.Invocation.ID, Account: req.Invocation.Line.Keys["account"], Message: msg}); err != nil {
		b.cfg.Log.Error("reply in thread", "channel", req.Channel, "err", err)
	}
}

// answer sends a message to the one who asked, however often it fails for a reason that may pass, until the context ends.
func (b *Bot) answer(ctx context.Context, req request, msg card.Message) {
	b.answerUntil(ctx, ctx, req, msg)
}

// answerUntil is answer that doesn't try again when more has ended. It reports whether there is nothing left to try.
func (b *Bot) answerUntil(ctx, more context.Context, req request, msg card.Message) bool {
	const most = 30 * time.Second
	for try := 0; ; try++ {
		wait, again := b.send(ctx, req, msg)
		if !again {
			return true
		}
		if delay.Sleep(more, max(wait, delay.Backoff(try, time.Second, most))) != nil {
			return false
		}
	}
}

// send uses the request's response address as given; where there is none, or it has ended, the person gets an ephemeral message. What was
// clicked in a Home tab has neither: the tab is drawn anew, with the answer on top. It reports whether it failed for a reason that may pass, and
// how long Slack wants to be left alone then.
func (b *Bot) send(ctx context.Context, req request, msg card.Message) (wait time.Duration, again bool) {
	if req.View != "" && b.forms.answerView(ctx, req, msg) {
		if req.Home {
			b.homes.drawHome(ctx, req) // behind the view
		}
		return 0, false
	}
	err := errNoAddress
	switch {
	case req.Home:
		err = b.homes.publishHome(ctx, req, msg.Blocks)
	case req.ResponseURL != "":
		err = b.cfg.Slack.Respond(ctx, req.ResponseURL, &slack.WebhookMessage{
			Text: msg.Text, Blocks: &slack.Blocks{BlockSet: msg.Blocks}, ResponseType: slack.ResponseTypeEphemeral, ReplaceOriginal: req.Ephemeral,
		})
	}
	if err != nil && req.Channel != "" && req.Invocation.Actor.ID != "" {
		err = b.cfg.Slack.Ephemeral(ctx, slackconn.Place{Channel: req.Channel, Thread: req.Thread}, req.Invocation.Actor.ID, msg.Options()...)
	}
	if err == nil {
		return 0, false
	}
	b.cfg.Log.Warn("answer request", "user", req.Invocation.Actor.ID, "err", err)
	v, wait := slackconn.Judge(err)
	return wait, v == slackconn.NotSent || v == slackconn.Doubtful
}

var errNoAddress = errors.New("no response address")

// answerView puts an answer in the place of the view that the request was made in (views.update). It reports whether it is shown: a view may
// have been closed meanwhile.
func (f *forms) answerView(ctx context.Context, req request, msg card.Message) bool {
	v, err := card.AnswerView(msg, req.meta())
	if err == nil {
		err = f.bot.cfg.Slack.UpdateView(ctx, req.View, v)
	}
	if err != nil && slackconn.ErrorName(err) != "not_found" {
		f.bot.cfg.Log.Warn("answer in view", "user", req.Invocation.Actor.ID, "err", slackconn.Detailed(err))
	}
	return err == nil
}
