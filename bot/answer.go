package bot

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxDraws is how many Home tabs are read and published at a time.
const maxDraws = 8

// say is an answer of one line.
func say(parts ...any) card.Message { return card.Lines(text.Lines{text.New(parts...)}) }

// resultMessage is the answer to a request.
func (r *requests) resultMessage(req request, res call.Result, err error) card.Message {
	refused, is := errors.AsType[*refusal.Refusal](err)
	switch {
	case err == nil:
		return card.Answer(res, req.View != "")
	case is && errors.Is(err, refusal.ErrUsage) && r.Verbs.Fillable(req.Line):
		return card.FormOffer(refused, r.Verbs.InThread(req.Line, req.Attack))
	case is && errors.Is(err, refusal.ErrAsk):
		return card.Ask(refused)
	case is:
		return card.Refused(refused)
	}
	words, fault := call.ForPeople(req.Invocation, err)
	if fault {
		r.Log.ErrorContext(req.within(context.Background()), "carry out request", "user", req.Actor.ID, "line",
			text.Cut(req.Line.String(), maxLogged), "err", err)
	}
	return say(words)
}

// answer sends a message to who asked. It retries transient failures until one of the contexts ends, and begins no try
// after more has. It reports whether there is nothing left to try.
func (r *requests) answer(ctx, more context.Context, req request, msg card.Message) bool {
	if req.Actor.Via == record.ViaPager {
		return true // it reads none
	}
	const most = 30 * time.Second
	for try := 0; ; try++ {
		wait, again := r.send(ctx, req, msg)
		if !again {
			return true
		}
		if delay.Sleep(more, max(wait, delay.Backoff(try, time.Second, most))) != nil || ctx.Err() != nil {
			return false
		}
	}
}

// send shows the answer in the view that the request was made in, which may be closed. Else it uses the request's
// response URL. If there is none, or it has expired, it sends an ephemeral message. A click in a Home tab has neither:
// the tab is redrawn with the answer on top. again reports a transient failure, and wait how long Slack asks to wait.
func (r *requests) send(ctx context.Context, req request, msg card.Message) (wait time.Duration, again bool) {
	err := errNoAddress
	if req.View != "" {
		if err = r.answerView(ctx, req, msg); err == nil {
			if req.Home {
				if err := r.publishHome(ctx, req, nil); err != nil { // behind the view
					r.Log.WarnContext(ctx, "draw home tab", "user", req.Actor.ID, "err", err)
				}
			}
			return 0, false
		}
	}
	switch {
	case req.Home:
		err = r.publishHome(ctx, req, msg.Blocks)
	case req.ResponseURL != "":
		err = r.Slack.Respond(ctx, req.ResponseURL, &slack.WebhookMessage{
			Text: msg.Text, Blocks: &slack.Blocks{BlockSet: msg.Blocks}, ResponseType: slack.ResponseTypeEphemeral,
			ReplaceOriginal: req.Ephemeral,
		})
	}
	if err != nil && req.Channel != "" && req.Actor.ID != "" {
		err = r.Slack.Ephemeral(ctx, slackconn.Place{Channel: req.Channel, Thread: req.Thread}, req.Actor.ID,
			msg.Options()...)
	}
	if err == nil {
		return 0, false
	}
	r.log.warn(ctx, "answer request", "user", req.Actor.ID, "err", err)
	if errors.Is(err, errNoAddress) {
		return 0, false
	}
	return slackconn.Again(err)
}

// errNoAddress says that a delivery names no place for an answer, as some kinds of Slack's don't.
var errNoAddress = errors.New("no response URL, no channel with a user, no view")

// answerView replaces the view that the request was made in by the answer (views.update).
func (r *requests) answerView(ctx context.Context, req request, msg card.Message) error {
	v, err := card.AnswerView(msg, req.meta())
	if err == nil {
		err = r.Slack.UpdateView(ctx, req.View, v)
	}
	if err != nil && slackconn.ErrorName(err) != "not_found" {
		r.log.warn(ctx, "answer in view", "user", req.Actor.ID, "err", slackconn.Detailed(err))
	}
	return err
}

// publishHome draws the Home tab of who asks (views.publish), with an answer on top, when there is room. The role is
// checked as for a typed status.
func (r *requests) publishHome(ctx context.Context, req request, answer []slack.Block) error {
	select {
	case r.draws <- struct{}{}:
		defer func() { <-r.draws }()
	case <-ctx.Done():
		return ctx.Err()
	}
	blocks := r.home(ctx, req)
	if len(answer) > 0 {
		blocks = slices.Concat(answer, []slack.Block{slack.NewDividerBlock()}, blocks)
	}
	view := slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: card.Renumber(blocks)}}
	return r.Slack.PublishHome(ctx, req.Actor.ID, view)
}

// home are the blocks of a user's Home tab.
func (r *requests) home(ctx context.Context, req request) []slack.Block {
	inv := req.Invocation
	inv.Line, inv.Account = record.Line{Name: "status"}, ""
	res, err := r.Runner.Do(ctx, inv)
	if home, ok := res.Home.(*report.Home); err == nil && ok {
		return card.Home(*home)
	}
	if refused, ok := errors.AsType[*refusal.Refusal](err); ok && errors.Is(err, refusal.ErrDenied) {
		return card.HomeUnavailable(refused.All())
	}
	text, _ := call.ForPeople(inv, err)
	r.Log.ErrorContext(ctx, "read home tab", "user", inv.Actor.ID, "err", err)
	return card.HomeUnavailable(text)
}
