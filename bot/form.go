package bot

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// renderWithin bounds reading what a view shows. The rest of readTimeout is for reporting a failure in the view.
const renderWithin = readTimeout - 30*time.Second

// openForm opens the form for an incomplete line, in a new view or in place of the view that asked for it.
func (in *ingress) openForm(req request, text string) {
	itself := func(line record.Line) record.Line { return line }
	in.showView(req, text, itself, func(ctx context.Context, line record.Line) (slack.ModalViewRequest, error) {
		inv := req.Invocation
		inv.Line = line
		form, err := in.Runner.Form(ctx, inv)
		if err != nil {
			return slack.ModalViewRequest{}, err
		}
		if !form.Lacks() && !in.Verbs.Changes(line) { // as report: there is nothing to fill in
			res, err := in.Runner.Do(ctx, inv)
			return card.AnswerView(in.resultMessage(req, res, err), req.meta())
		}
		return card.FormView(form, req.meta())
	})
}

// drawing makes the view of a line.
type drawing func(ctx context.Context, line record.Line) (slack.ModalViewRequest, error)

// showView shows a loading view at once, because the trigger expires in three seconds, and then the view. Who is surely
// refused what needs is answered without one.
func (in *ingress) showView(req request, words string, needs func(line record.Line) record.Line, draw drawing) {
	line, err := grammar.Parse(words)
	in.once(req, func(ctx context.Context) *reply {
		id := req.View
		if id == "" {
			var failed *reply
			ask := req
			if ask.Line = needs(line); err == nil && in.refuses(ctx, ask) {
				if refused := in.Runner.May(ctx, ask.Invocation); refused != nil {
					return in.replyTo(ask, call.Result{}, refusal.WithOutcome(refused))
				}
			}
			if id, failed = in.openLoading(ctx, req, words); id == "" {
				return failed
			}
		}
		var v slack.ModalViewRequest
		if err == nil {
			drawing, cancel := context.WithTimeout(ctx, renderWithin)
			v, err = draw(drawing, line)
			cancel()
		}
		if err != nil {
			v, err = card.AnswerView(in.resultMessage(req, call.Result{}, err), req.meta())
		}
		if err == nil {
			err = in.updateView(ctx, id, v)
		}
		if err == nil || slackconn.ErrorName(err) == "not_found" { // the view was closed
			return nil
		}
		in.Log.ErrorContext(ctx, "draw view", "user", req.Actor.ID, "err", slackconn.Detailed(err))
		req.View = id // else it would stay a loading view
		return &reply{req, say("The form could not be shown. Without a form it is ", text.Code(words))}
	})
}

// updateTries is how often an update of a view is tried: a user waits for it.
const updateTries = 3

// updateView replaces a view (views.update) and retries transient failures.
func (in *ingress) updateView(ctx context.Context, id string, v slack.ModalViewRequest) error {
	for try := 1; ; try++ {
		err := in.Slack.UpdateView(ctx, id, v)
		if err == nil || slackconn.ErrorName(err) == "not_found" || try == updateTries {
			return err
		}
		if wait, again := slackconn.Again(err); !again || delay.Sleep(ctx, max(wait, time.Second)) != nil {
			return err
		}
	}
}

// openLoading opens a loading view (views.open). If it can't be opened there is no id, and unless the same click was
// delivered twice, what to answer.
func (in *ingress) openLoading(ctx context.Context, req request, words string) (id string, failed *reply) {
	v, err := card.LoadingView(req.meta())
	if err == nil {
		if id, err = in.Slack.OpenView(ctx, req.Trigger, v); err == nil {
			return id, nil
		}
	}
	if slackconn.ErrorName(err) == "exchanged_trigger_id" {
		return "", nil
	}
	in.Log.WarnContext(ctx, "open view", "user", req.Actor.ID, "err", slackconn.Detailed(err))
	return "", &reply{req, say("The form could not be opened in time. Click or type it again; without a form it is ",
		text.Code(words))}
}

// askInView asks the question before a change in a view (views.open), if the click's trigger is still valid. It reports
// whether it is shown.
func (in *ingress) askInView(ctx context.Context, req request, r *refusal.Refusal) bool {
	if req.Trigger == "" || req.View != "" || in.Clocks.Now().Sub(req.At) > triggerGood {
		return false
	}
	m := req.meta()
	m.Asked = in.Clocks.Now()
	v, err := card.AskView(r, m)
	if err == nil {
		_, err = in.Slack.OpenView(ctx, req.Trigger, v)
	}
	if err != nil {
		in.Log.InfoContext(ctx, "ask in a message instead of a view", "user", req.Actor.ID, "err", slackconn.Detailed(err))
	}
	return err == nil
}

// triggerGood is how long a trigger is used, of the three seconds that Slack allows.
const triggerGood = 2500 * time.Millisecond

// openMore lists what else who asks may do about an attack.
func (in *ingress) openMore(req request, text string) {
	in.showView(req, text, readsAttack, func(ctx context.Context, line record.Line) (slack.ModalViewRequest, error) {
		account := line.Keys["account"]
		if account == "" || len(line.Words) == 0 {
			return slack.ModalViewRequest{}, fmt.Errorf("list more: no attack in %q", line.String())
		}
		read := req.Invocation
		read.Line = readsAttack(line)
		if err := in.Runner.May(ctx, read); err != nil {
			return slack.ModalViewRequest{}, err
		}
		s, known, err := in.Notifier.Drawn(ctx, account, line.Words[0])
		if err != nil {
			return slack.ModalViewRequest{}, refusal.Away(err)
		}
		if !known {
			return slack.ModalViewRequest{}, fmt.Errorf("list more: attack %s isn't known", line.Words[0])
		}
		groups, left := in.permitted(ctx, req, s)
		return card.MoreView(words.Line(s, efficacy.Headline(s)), groups, left, req.meta())
	})
}

// readsAttack is the line that shows the attack of a menu: who may not run it gets no menu.
func readsAttack(line record.Line) record.Line {
	return record.Line{Name: "attack", Words: line.Words[:min(1, len(line.Words))]}.With("account", line.Keys["account"])
}

// permitted is what else can be done about an attack, as far as who asks may do it, and in words what is left out.
func (in *ingress) permitted(ctx context.Context, req request, s call.Situation) (groups []advice.Group,
	left text.Text) {
	groups = advice.More(s)
	var lines []record.Line
	for _, g := range groups {
		for _, do := range g.Do {
			lines = append(lines, do.Line)
		}
	}
	may, left := in.Runner.Permitted(ctx, req.Invocation, s.Account.Name, lines)
	for i, g := range groups {
		groups[i].Do = slices.DeleteFunc(g.Do, func(call.Suggestion) bool {
			no := !may[0]
			may = may[1:]
			return no
		})
	}
	return slices.DeleteFunc(groups, func(g advice.Group) bool { return len(g.Do) == 0 }), left
}
