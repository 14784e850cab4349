package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// What a form is checked with before it is acknowledged: first what it holds, then what the service says. What takes longer is found out when
// it is carried out. Together they leave time to write it down, within acceptTimeout.
const (
	formWithin  = 600 * time.Millisecond
	checkWithin = time.Second
)

// drawWithin bounds finding out what a view shows, of readTimeout: what went wrong must still be said in it.
const renderWithin = readTimeout - 30*time.Second

// meta is what a view carries of the request that opens it.
func (r request) meta() card.ViewMeta {
	m := card.ViewMeta{Attack: r.Invocation.Attack, Account: r.Invocation.Account, Channel: r.Channel, Thread: r.Thread, Answer: r.ResponseURL, Home: r.Home}
	if m.Thread == "" && !r.Ephemeral {
		m.Thread = r.MessageTS
	}
	return m
}

// inView makes it a request that was made in a view, which carries where it was opened.
func (r *request) inView(id, meta string) {
	var m card.ViewMeta
	_ = json.Unmarshal([]byte(meta), &m) // one of an older version carries nothing
	r.View, r.Channel, r.Thread, r.ResponseURL, r.Ephemeral, r.Home = id, m.Channel, m.Thread, m.Answer, false, m.Home
	r.Invocation.Account, r.Invocation.Attack = m.Account, m.Attack
}

// forms opens modals and takes what is filled into them.
type forms struct {
	cfg        *Config
	background *background
	queue      *queue
	answers    *answers
	attacks    attacks
}

// attacks are what *More…* and forms are about.
type attacks interface {
	// Situation is what is decided from about an attack; known is false for one that was forgotten, or not seen again since the store was rebuilt.
	Situation(ctx context.Context, account, attack string) (s call.Situation, known bool, err error)
}

// openForm opens the form for a line, as far as it is known, in a view of its own or in the place of the view that it was asked for in.
func (f *forms) openForm(req request, text string) {
	f.showView(req, text, func(ctx context.Context, line record.Line) (slack.ModalViewRequest, error) {
		inv := req.Invocation
		inv.Line = line
		form, err := f.cfg.Runner.Form(ctx, inv)
		if err != nil {
			return slack.ModalViewRequest{}, err
		}
		if !form.Lacks() && !f.cfg.Verbs.Changes(line) { // as a report: there is nothing to fill in
			res, err := f.cfg.Runner.Do(ctx, inv)
			return card.AnswerView(f.answers.resultMessage(req, res, err), req.meta())
		}
		return card.FormView(form, req.meta())
	})
}

// openMore lists what else can be done about an attack.
func (f *forms) openMore(req request, text string) {
	f.showView(req, text, func(ctx context.Context, line record.Line) (slack.ModalViewRequest, error) {
		account := line.Keys["account"]
		if account == "" || len(line.Words) == 0 {
			return slack.ModalViewRequest{}, fmt.Errorf("list more: no attack in %q", line.String())
		}
		s, known, err := f.attacks.Situation(ctx, account, line.Words[0])
		if err != nil {
			return slack.ModalViewRequest{}, refusal.Away(err)
		}
		if !known {
			return slack.ModalViewRequest{}, fmt.Errorf("list more: attack %s isn't known", line.Words[0])
		}
		return card.MoreView(advice.SituationLine(s), advice.More(s), req.meta())
	})
}

// opens shows a view: at once that it is looked for, because what opens it is good for three seconds only, and when it is drawn the view itself.
func (f *forms) showView(req request, words string, draw func(ctx context.Context, line record.Line) (slack.ModalViewRequest, error)) {
	line, err := grammar.Parse(words)
	f.background.once(req, func(ctx context.Context) {
		id := req.View
		if id == "" {
			var gone bool
			if id, gone = f.openLoading(ctx, req, words); gone {
				return
			}
		}
		var v slack.ModalViewRequest
		if err == nil {
			drawing, cancel := context.WithTimeout(ctx, renderWithin)
			v, err = draw(drawing, line)
			cancel()
		}
		if err != nil {
			v, err = card.AnswerView(f.answers.resultMessage(req, call.Result{}, err), req.meta())
		}
		if err == nil {
			err = f.updateView(ctx, id, v)
		}
		if err == nil || slackconn.ErrorName(err) == "not_found" { // it was closed meanwhile
			return
		}
		f.cfg.Log.Error("draw view", "user", req.Invocation.Actor.ID, "err", slackconn.Detailed(err))
		req.View = id // which else says for ever that wafbot looks
		f.answers.answer(ctx, req, card.Lines([]text.Text{text.New("The form could not be shown. Without a form it is ", text.Code(words))}, nil))
	})
}

// updateTries is how often a view is drawn before it is given up: somebody looks at it, and waits.
const updateTries = 3

// updateView puts a view in the place of another one (views.update), again if that fails for a reason that may pass.
func (f *forms) updateView(ctx context.Context, id string, v slack.ModalViewRequest) error {
	for try := 1; ; try++ {
		err := f.cfg.Slack.UpdateView(ctx, id, v)
		if err == nil || slackconn.ErrorName(err) == "not_found" || try == updateTries {
			return err
		}
		if why, wait := slackconn.Judge(err); why != slackconn.NotSent && why != slackconn.Doubtful || delay.Sleep(ctx, max(wait, time.Second)) != nil {
			return err
		}
	}
}

// openLooking opens a view that says that wafbot looks (views.open). gone tells that there is none; then that is said.
func (f *forms) openLoading(ctx context.Context, req request, words string) (id string, gone bool) {
	v, err := card.LoadingView(req.meta())
	if err == nil {
		if id, err = f.cfg.Slack.OpenView(ctx, req.Trigger, v); err == nil {
			return id, false
		}
	}
	if slackconn.ErrorName(err) != "exchanged_trigger_id" { // else the same click came twice
		f.cfg.Log.Warn("open view", "user", req.Invocation.Actor.ID, "err", slackconn.Detailed(err))
		f.answers.answer(ctx, req, card.Lines([]text.Text{text.New("The form could not be opened in time. Click or type it again; without a form it is ", text.Code(words))}, nil))
	}
	return "", true
}

// askInView shows the question before a change in a view (views.open), where the click is still good for one. It reports whether it is shown.
func (f *forms) askInView(ctx context.Context, req request, r *refusal.Refusal) bool {
	if req.Trigger == "" || req.View != "" || f.cfg.Now().Sub(req.Invocation.At) > triggerGood {
		return false
	}
	m := req.meta()
	m.Asked = f.cfg.Now()
	v, err := card.AskView(r, m)
	if err == nil {
		_, err = f.cfg.Slack.OpenView(ctx, req.Trigger, v)
	}
	if err != nil {
		f.cfg.Log.Info("ask in a message instead of a view", "user", req.Invocation.Actor.ID, "err", slackconn.Detailed(err))
	}
	return err == nil
}

// triggerGood is how long a click opens a view, of the three seconds that Slack allows.
const triggerGood = 2500 * time.Millisecond

// submittedWithin is how long a form is checked: an acknowledgement without an answer would close it, as if all were well.
const submittedWithin = 2200 * time.Millisecond

// submittedInTime takes a form, and says so when that takes longer than Slack waits.
func (f *forms) submittedInTime(ctx context.Context, p payload, d delivery) *slack.ViewSubmissionResponse {
	taken := make(chan *slack.ViewSubmissionResponse, 1)
	go func() { taken <- f.submitted(ctx, p, d) }()
	late := time.NewTimer(submittedWithin)
	defer late.Stop()
	select {
	case answer := <-taken:
		return answer
	case <-late.C:
		return f.pushAnswer(p.request(d), card.Lines([]text.Text{perhapsRecorded()}, nil))
	}
}

// submitted takes a form. What is wrong in it is told at the field that it is about; what speaks against it is asked above the form, where its
// fields are kept. What is right is written down before the form closes.
func (f *forms) submitted(ctx context.Context, p payload, d delivery) *slack.ViewSubmissionResponse {
	req := p.request(d)
	req.View = "" // it closes
	req.names = append(req.names, "view "+p.View.ID)
	req.Invocation.Actor.Via = record.ViaForm
	var m card.ViewMeta
	err := json.Unmarshal([]byte(p.View.Meta), &m)
	if err == nil && m.Line != "" {
		req.Invocation.Line, err = grammar.Parse(m.Line)
	}
	switch {
	case err != nil, m.Line == "", p.View.CallbackID != card.ViewForm && p.View.CallbackID != card.ViewAsk:
		f.cfg.Log.Warn("unknown form", "kind", p.View.CallbackID, "user", req.Invocation.Actor.ID, "err", err)
		return f.pushAnswer(req, card.Lines([]text.Text{text.New("This form is of another version of wafbot. Nothing was done: close it and open it again")}, nil))
	case p.View.CallbackID == card.ViewAsk:
		req.Invocation.Anyway = !questionExpired(m.Asked, d.at)
		return f.acceptForm(ctx, req)
	}
	return f.checkForm(ctx, req, p.View.State.filled())
}

// askedFor is how long "do it anyway" answers all that there is to ask: later the world is another one.
const questionValidFor = 10 * time.Minute

// outworn reports whether a question is that old; one of which the time isn't known isn't.
func questionExpired(asked, now time.Time) bool {
	return !asked.IsZero() && now.Sub(asked) > questionValidFor
}

// checkForm finds out what is wrong with a form, or speaks against it, as far as that can be told in time.
func (f *forms) checkForm(ctx context.Context, req request, values map[string][]string) *slack.ViewSubmissionResponse {
	drawing, cancel := context.WithTimeout(ctx, formWithin)
	defer cancel()
	filled, err := f.cfg.Runner.Form(drawing, req.Invocation)
	if drawing.Err() != nil && err != nil {
		f.cfg.Log.Warn("read form again", "user", req.Invocation.Actor.ID, "err", err)
		return f.pushAnswer(req, card.Lines([]text.Text{text.New("Not done: what the form is about could not be looked up in time. Send it again in a moment")}, nil))
	}
	if err != nil {
		return f.pushAnswer(req, f.answers.resultMessage(req, call.Result{}, err))
	}
	if req.Invocation.Line, err = form.Fill(filled, values); err != nil {
		return f.fieldErrors(req, filled, values, err)
	}
	if !f.cfg.Verbs.Changes(req.Invocation.Line) {
		f.background.once(req, func(ctx context.Context) { f.answers.carryOut(ctx, req) })
		return slack.NewClearViewSubmissionResponse()
	}
	looking, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	ask := req.Invocation
	ask.Ask = true
	res, err := f.cfg.Runner.Do(looking, ask)
	var refused *refusal.Refusal
	switch {
	case looking.Err() != nil: // whoever carries it out looks himself
	case errors.As(err, &refused) && errors.Is(err, refusal.ErrAsk):
		if len(refused.Warnings) > 0 {
			return f.pushAnyway(req, refused)
		}
	case err != nil:
		return f.fieldErrors(req, filled, values, err)
	case len(res.Lines) > 0: // a rehearsal, or there is nothing to do
		return f.pushAnswer(req, f.answers.resultMessage(req, res, nil))
	}
	return f.acceptForm(ctx, req)
}

// wrong tells what is wrong with a form at the field that it is about; what is about none, as that Redis is away, above the form.
func (f *forms) fieldErrors(req request, filled call.Form, values map[string][]string, err error) *slack.ViewSubmissionResponse {
	var refused *refusal.Refusal
	words, _ := call.ForPeople(req.Invocation, err)
	about := &refusal.Refusal{}
	if errors.As(err, &refused) {
		about = refused
		if len(refused.Brief) > 0 {
			words = refused.Brief
		}
	} else {
		f.answers.resultMessage(req, call.Result{}, err) // which logs it
	}
	field := form.FieldOf(filled, about, values)
	if _, shown := values[field]; !shown { // or the form was drawn when it had no such field
		return f.pushAnswer(req, card.Lines([]text.Text{words}, nil))
	}
	return slack.NewErrorsViewSubmissionResponse(map[string]string{field: text.Sanitize(words.String(), card.MaxFieldHint)})
}

// acceptForm writes a form's change down.
func (f *forms) acceptForm(ctx context.Context, req request) *slack.ViewSubmissionResponse {
	if err := f.queue.add(ctx, req); err != nil {
		return f.pushAnswer(req, card.Lines([]text.Text{f.queue.notAdded(req, err)}, nil))
	}
	return slack.NewClearViewSubmissionResponse()
}

// pushAnyway asks above a form.
func (f *forms) pushAnyway(req request, r *refusal.Refusal) *slack.ViewSubmissionResponse {
	m := req.meta()
	m.Asked = f.cfg.Now()
	v, err := card.AskView(r, m)
	if words, _ := json.Marshal(v); err != nil || len(words) > maxPushed {
		tooLong := text.New("There is something to ask about before that, and it is too long for it: fill in fewer at a time, or use wafbot's command line. Nothing was done")
		return f.pushAnswer(req, card.Lines([]text.Text{tooLong}, nil))
	}
	return slack.NewPushViewSubmissionResponse(&v)
}

// maxPushed is how many bytes go with an acknowledgement: Slack drops one of 20 kB without a word.
const maxPushed = 16_000

// pushed shows an answer above the form; one that is too long for that where the form was opened.
func (f *forms) pushAnswer(req request, msg card.Message) *slack.ViewSubmissionResponse {
	v, err := card.AnswerView(msg, req.meta())
	text, _ := json.Marshal(v)
	if err != nil || len(text) > maxPushed {
		f.background.start(req, func(ctx context.Context) { f.answers.answer(ctx, req, msg) })
		return slack.NewClearViewSubmissionResponse()
	}
	return slack.NewPushViewSubmissionResponse(&v)
}

// viewState is what was filled into a view's fields, by block and action.
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

// filled is what was filled in, by field.
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
