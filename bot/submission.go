package bot

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Time for checking a form before it is acknowledged: first its fields, then the service's state. What takes longer is
// checked when the line is carried out. Both leave time to store the request within acceptTimeout.
const (
	formWithin  = 600 * time.Millisecond
	checkWithin = time.Second
)

// submittedWithin is how long a form is checked: an acknowledgement without an answer would close it, as if all were
// well.
const submittedWithin = 2200 * time.Millisecond

// submittedInTime handles a submission, and answers before Slack's timeout if that takes too long.
func (in *ingress) submittedInTime(ctx context.Context, p payload, d delivery) *slack.ViewSubmissionResponse {
	taken := make(chan *slack.ViewSubmissionResponse, 1)
	go func() {
		if !delay.Run(in.Log, "a form", func() { taken <- in.submitted(ctx, p, d) }) {
			taken <- in.pushAnswer(p.request(d), perhapsStored())
		}
	}()
	select {
	case answer := <-taken:
		return answer
	case <-time.After(submittedWithin):
		return in.pushAnswer(p.request(d), perhapsStored())
	}
}

// submitted handles a submission. Errors are shown at their fields. Warnings are asked in a view above the form, which
// keeps its fields. A valid line is stored before the form closes.
func (in *ingress) submitted(ctx context.Context, p payload, d delivery) *slack.ViewSubmissionResponse {
	req := p.request(d)
	ctx = req.within(ctx)
	req.View = "" // the view closes
	req.names = append(req.names, "view "+p.View.ID)
	req.Actor.Via = record.ViaForm
	var m card.ViewMeta
	err := json.Unmarshal([]byte(p.View.Meta), &m)
	if err == nil && m.Line != "" {
		req.Line, err = grammar.Parse(m.Line)
	}
	switch {
	case err != nil, m.Line == "", p.View.CallbackID != card.ViewForm && p.View.CallbackID != card.ViewAsk:
		in.Log.WarnContext(ctx, "unknown form", "kind", p.View.CallbackID, "user", req.Actor.ID, "err", err)
		return in.pushAnswer(req, say("This form is of another version of wafbot. Nothing was done: close it and open it again"))
	case p.View.CallbackID == card.ViewAsk:
		req.Anyway = !questionExpired(m.Asked, d.at)
		return in.acceptForm(ctx, req)
	}
	return in.checkForm(ctx, req, p.View.State.filled())
}

// questionValidFor is how long "do it anyway" accepts all warnings. Later the facts may have changed.
const questionValidFor = 10 * time.Minute

// questionExpired reports whether a question is too old; one without a time isn't.
func questionExpired(asked, now time.Time) bool {
	return !asked.IsZero() && now.Sub(asked) > questionValidFor
}

// checkForm finds errors and warnings, as far as time allows.
func (in *ingress) checkForm(ctx context.Context, req request,
	values map[string][]string) *slack.ViewSubmissionResponse {
	drawing, cancel := context.WithTimeout(ctx, formWithin)
	defer cancel()
	filled, err := in.Runner.Form(drawing, req.Invocation)
	if drawing.Err() != nil && err != nil {
		in.Log.WarnContext(ctx, "read form again", "user", req.Actor.ID, "err", err)
		return in.pushAnswer(req, say("Failed: the facts for the form could not be read in time. Send it again in a moment"))
	}
	if err != nil {
		return in.pushAnswer(req, in.resultMessage(req, call.Result{}, err))
	}
	if req.Line, err = form.Fill(filled, values); err != nil {
		return in.fieldErrors(req, filled, values, err)
	}
	if !in.Verbs.Changes(req.Line) {
		in.read(req, nil)
		return slack.NewClearViewSubmissionResponse()
	}
	checking, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	ask := req.Invocation
	ask.Ask = true
	res, err := in.Runner.Do(checking, ask)
	refused, is := errors.AsType[*refusal.Refusal](err)
	switch {
	case checking.Err() != nil: // it is checked again when it is carried out
	case is && errors.Is(err, refusal.ErrAsk):
		if len(refused.Warnings) > 0 {
			return in.pushAnyway(req, refused)
		}
	case err != nil:
		return in.fieldErrors(req, filled, values, err)
	case len(res.Lines) > 0: // a dry run, or there is nothing to do
		return in.pushAnswer(req, in.resultMessage(req, res, nil))
	}
	return in.acceptForm(ctx, req)
}

// fieldErrors shows an error at its field; one that is about no field, as that Redis is unreachable, above the form.
func (in *ingress) fieldErrors(req request, filled call.Form, values map[string][]string,
	err error) *slack.ViewSubmissionResponse {
	words, _ := call.ForPeople(req.Invocation, err)
	about, is := errors.AsType[*refusal.Refusal](err)
	switch {
	case !is:
		about = &refusal.Refusal{}
		in.resultMessage(req, call.Result{}, err) // it logs the error
	case len(about.Brief) > 0:
		words = about.Brief
	}
	field := form.FieldOf(filled, about, values)
	if _, shown := values[field]; !shown { // no such field, or an older form
		return in.pushAnswer(req, say(words))
	}
	return slack.NewErrorsViewSubmissionResponse(map[string]string{field: text.Sanitize(words.String(),
		card.MaxFieldHint)})
}

// acceptForm stores a form's change.
func (in *ingress) acceptForm(ctx context.Context, req request) *slack.ViewSubmissionResponse {
	if failed := in.store(ctx, req); failed != nil {
		return in.pushAnswer(req, *failed)
	}
	return slack.NewClearViewSubmissionResponse()
}

// pushAnyway asks the warnings above a form.
func (in *ingress) pushAnyway(req request, r *refusal.Refusal) *slack.ViewSubmissionResponse {
	m := req.meta()
	m.Asked = in.Clocks.Now()
	if answer := pushed(card.AskView(r, m)); answer != nil {
		return answer
	}
	return in.pushAnswer(req, say("There is something to ask about before that, and it is too long for it: fill in fewer at a time, or use wafbot's command line. Nothing was done"))
}

// maxPushed bounds the bytes of an acknowledgement: Slack silently drops one of 20 kB.
const maxPushed = 16_000

// pushAnswer shows an answer above the form; if it is too long, where the form was opened.
func (in *ingress) pushAnswer(req request, msg card.Message) *slack.ViewSubmissionResponse {
	if answer := pushed(card.AnswerView(msg, req.meta())); answer != nil {
		return answer
	}
	in.answerLater(req, msg)
	return slack.NewClearViewSubmissionResponse()
}

// pushed puts a view above the form; nil: it is too long.
func pushed(v slack.ModalViewRequest, err error) *slack.ViewSubmissionResponse {
	if words, _ := json.Marshal(v); err != nil || len(words) > maxPushed {
		return nil
	}
	return slack.NewPushViewSubmissionResponse(&v)
}

// viewState are the values of a view's fields, by block and action.
type viewState struct {
	Values map[string]map[string]struct {
		Value    string `json:"value"`
		User     string `json:"selected_user"`
		Selected struct {
			Value string `json:"value"`
		} `json:"selected_option"`
		Many []struct {
			Value string `json:"value"`
		} `json:"selected_options"`
	} `json:"values"`
}

// filled are the values by field.
func (s viewState) filled() map[string][]string {
	all := map[string][]string{}
	for field, elements := range s.Values {
		e := elements[field]
		var values []string
		for _, value := range []string{e.Value, e.User, e.Selected.Value} {
			if value != "" {
				values = append(values, value)
			}
		}
		for _, o := range e.Many {
			values = append(values, o.Value)
		}
		all[field] = values
	}
	return all
}
