package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands"
)

// What a form is checked with before it is acknowledged: first what it holds, then what the service says. What takes longer is found out when
// it is carried out. Together they leave time to write it down, within acceptTimeout.
const (
	formWithin = 600 * time.Millisecond
	lookWithin = time.Second
)

// meta is what a view carries of the request that opens it.
func (r request) meta() viewMeta {
	m := viewMeta{Attack: r.Invocation.Attack, Account: r.Invocation.Account, Channel: r.Channel, Thread: r.Thread, Answer: r.ResponseURL, Home: r.Home}
	if m.Thread == "" && !r.Ephemeral {
		m.Thread = r.MessageTS
	}
	return m
}

// inView makes it a request that was made in a view, which carries where it was opened.
func (r *request) inView(id, meta string) {
	var m viewMeta
	_ = json.Unmarshal([]byte(meta), &m) // one of an older version carries nothing
	r.View, r.Channel, r.Thread, r.ResponseURL, r.Ephemeral, r.Home = id, m.Channel, m.Thread, m.Answer, false, m.Home
	r.Invocation.Account, r.Invocation.Attack = m.Account, m.Attack
}

// openForm opens the form for a line, as far as it is known, in a view of its own or in the place of the view that it was asked for in.
func (b *Bot) openForm(req request, text string) {
	b.opens(req, text, func(ctx context.Context, line commands.Line) (slack.ModalViewRequest, error) {
		inv := req.Invocation
		inv.Line = line
		form, err := b.cfg.Runner.Form(ctx, inv)
		if err != nil {
			return slack.ModalViewRequest{}, err
		}
		if !form.Lacks() && !b.cfg.Runner.Changes(line) { // as a report: there is nothing to fill in
			res, err := b.cfg.Runner.Do(ctx, inv)
			return renderAnswer(b.resultMessage(req, res, err), req.meta())
		}
		return renderForm(form, req.meta())
	})
}

// openMore lists what else can be done about an attack.
func (b *Bot) openMore(req request, text string) {
	b.opens(req, text, func(ctx context.Context, line commands.Line) (slack.ModalViewRequest, error) {
		a, ok := b.account(line.Keys["account"])
		if !ok || len(line.Words) == 0 {
			return slack.ModalViewRequest{}, fmt.Errorf("list more: no attack in %q", line.String())
		}
		shown, known, err := b.cfg.Memory.Shown(ctx, a.Name, line.Words[0])
		if err != nil {
			return slack.ModalViewRequest{}, commands.Away(err)
		}
		if !known || shown.Recalled {
			return slack.ModalViewRequest{}, fmt.Errorf("list more: attack %s isn't known", line.Words[0])
		}
		done, err := b.done(ctx, a.Name, line.Words[0])
		if err != nil {
			return slack.ModalViewRequest{}, commands.Away(err)
		}
		c := b.card(ctx, a, facts{done: done, attack: shown.Attack, at: shown.SeenAt, quiet: shown.Quiet, mention: shown.Mention})
		return renderMore(commands.AttackLine(a.Account, shown.Attack, b.cfg.Now()), commands.More(c.Situation), req.meta())
	})
}

// opens shows a view: at once that it is looked for, because what opens it is good for three seconds only, and when it is drawn the view itself.
func (b *Bot) opens(req request, text string, draw func(ctx context.Context, line commands.Line) (slack.ModalViewRequest, error)) {
	line, err := commands.Parse(text)
	b.once(req, func(ctx context.Context) {
		id := req.View
		if id == "" {
			var gone bool
			if id, gone = b.openLooking(ctx, req, text); gone {
				return
			}
		}
		var v slack.ModalViewRequest
		if err == nil {
			v, err = draw(ctx, line)
		}
		if err != nil {
			v, err = renderAnswer(b.resultMessage(req, commands.Result{}, err), req.meta())
		}
		if err == nil {
			_, err = b.cfg.Slack.api.UpdateViewContext(ctx, v, "", "", id)
		}
		if err != nil && errorName(err) != "not_found" { // else it was closed meanwhile
			b.cfg.Log.Error("draw view", "user", req.Invocation.Actor.ID, "err", inWords(err))
		}
	})
}

// openLooking opens a view that says that wafbot looks (views.open). gone tells that there is none; then that is said.
func (b *Bot) openLooking(ctx context.Context, req request, text string) (id string, gone bool) {
	v, err := renderLooking(req.meta())
	if err == nil {
		var opened *slack.ViewResponse
		if opened, err = b.cfg.Slack.api.OpenViewContext(ctx, req.Trigger, v); err == nil {
			return opened.ID, false
		}
	}
	if errorName(err) != "exchanged_trigger_id" { // else the same click came twice
		b.cfg.Log.Warn("open view", "user", req.Invocation.Actor.ID, "err", inWords(err))
		b.answer(ctx, req, linesMessage([]commands.Text{commands.Say("The form could not be opened in time. Click or type it again; without a form it is ", commands.Code(text))}, nil))
	}
	return "", true
}

// askInView shows the question before a change in a view (views.open), where the click is still good for one. It reports whether it is shown.
func (b *Bot) askInView(ctx context.Context, req request, r *commands.Refusal) bool {
	if req.Trigger == "" || req.View != "" || b.cfg.Now().Sub(req.Invocation.At) > triggerGood {
		return false
	}
	v, err := renderAnyway(r, req.meta())
	if err == nil {
		_, err = b.cfg.Slack.api.OpenViewContext(ctx, req.Trigger, v)
	}
	if err != nil {
		b.cfg.Log.Info("ask in a message instead of a view", "user", req.Invocation.Actor.ID, "err", inWords(err))
	}
	return err == nil
}

// triggerGood is how long a click opens a view, of the three seconds that Slack allows.
const triggerGood = 2500 * time.Millisecond

// submitted takes a form. What is wrong in it is told at the field that it is about; what speaks against it is asked above the form, where its
// fields are kept. What is right is written down before the form closes.
func (b *Bot) submitted(ctx context.Context, p payload, d delivery) *slack.ViewSubmissionResponse {
	req := p.request(d)
	req.View = "" // it closes
	req.names = append(req.names, "view "+p.View.ID)
	req.Invocation.Actor.Via = commands.ViaForm
	var m viewMeta
	line, err := commands.Line{}, json.Unmarshal([]byte(p.View.Meta), &m)
	if err == nil {
		line, err = commands.Parse(m.Line)
	}
	req.Invocation.Line = line
	switch {
	case err != nil:
		b.cfg.Log.Warn("read form", "kind", p.View.CallbackID, "err", err)
		return b.pushed(req, b.resultMessage(req, commands.Result{}, err))
	case p.View.CallbackID == viewAnyway:
		req.Invocation.Anyway = true
		return b.acceptForm(ctx, req, "")
	case p.View.CallbackID != viewForm:
		b.outdated(req, p.View.CallbackID)
		return nil
	}
	return b.checkForm(ctx, req, p.View.State.filled())
}

// checkForm finds out what is wrong with a form, or speaks against it, as far as that can be told in time.
func (b *Bot) checkForm(ctx context.Context, req request, values map[string][]string) *slack.ViewSubmissionResponse {
	drawing, cancel := context.WithTimeout(ctx, formWithin)
	defer cancel()
	form, err := b.cfg.Runner.Form(drawing, req.Invocation)
	if err != nil {
		return b.pushed(req, b.resultMessage(req, commands.Result{}, err))
	}
	if req.Invocation.Line, err = form.Fill(values); err != nil {
		return b.wrong(req, form, values, err)
	}
	if !b.cfg.Runner.Changes(req.Invocation.Line) {
		b.once(req, func(ctx context.Context) { b.carryOut(ctx, req) })
		return slack.NewClearViewSubmissionResponse()
	}
	looking, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	ask := req.Invocation
	ask.Ask = true
	res, err := b.cfg.Runner.Do(looking, ask)
	var refusal *commands.Refusal
	switch {
	case looking.Err() != nil: // whoever carries it out looks himself
	case errors.As(err, &refusal) && errors.Is(err, commands.ErrAsk):
		if len(refusal.Plan.Warnings) > 0 {
			return b.pushAnyway(req, form, refusal)
		}
	case err != nil:
		return b.wrong(req, form, values, err)
	case len(res.Lines) > 0: // a rehearsal, or there is nothing to do
		return b.pushed(req, b.resultMessage(req, res, nil))
	}
	return b.acceptForm(ctx, req, form.FieldOf(&commands.Refusal{}, nil))
}

// wrong tells what is wrong with a form at the field that it is about.
func (b *Bot) wrong(req request, form commands.Form, values map[string][]string, err error) *slack.ViewSubmissionResponse {
	var refusal *commands.Refusal
	text, _ := commands.ForPeople(req.Invocation, err)
	about := &commands.Refusal{}
	if errors.As(err, &refusal) {
		about = refusal
		if len(refusal.Brief) > 0 {
			text = refusal.Brief
		}
	} else {
		b.resultMessage(req, commands.Result{}, err) // which logs it
	}
	field := form.FieldOf(about, values)
	if field == "" {
		return b.pushed(req, linesMessage([]commands.Text{text}, nil))
	}
	return slack.NewErrorsViewSubmissionResponse(map[string]string{field: commands.Visible(text.String(), maxFieldHint)})
}

// acceptForm writes a form's change down. field is where it is told that this can't be done; "" where the view has none.
func (b *Bot) acceptForm(ctx context.Context, req request, field string) *slack.ViewSubmissionResponse {
	err := b.writeDown(ctx, req)
	switch {
	case err == nil:
		return slack.NewClearViewSubmissionResponse()
	case field != "":
		return slack.NewErrorsViewSubmissionResponse(map[string]string{field: b.notWritten(req, err).String()})
	}
	return b.pushed(req, linesMessage([]commands.Text{b.notWritten(req, err)}, nil))
}

// pushAnyway asks above a form.
func (b *Bot) pushAnyway(req request, form commands.Form, r *commands.Refusal) *slack.ViewSubmissionResponse {
	v, err := renderAnyway(r, req.meta())
	if err != nil {
		tooLong := commands.Say("there is something to ask about before that, and it is too long for it: fill in fewer at a time, or use wafbot's command line")
		return slack.NewErrorsViewSubmissionResponse(map[string]string{form.FieldOf(r, nil): tooLong.String()})
	}
	return slack.NewPushViewSubmissionResponse(&v)
}

// maxPushed is how many bytes go with an acknowledgement: Slack drops one of 20 kB without a word.
const maxPushed = 16_000

// pushed shows an answer above the form; one that is too long for that where the form was opened.
func (b *Bot) pushed(req request, msg Message) *slack.ViewSubmissionResponse {
	v, err := renderAnswer(msg, req.meta())
	text, _ := json.Marshal(v)
	if err != nil || len(text) > maxPushed {
		b.inBackground(req, func(ctx context.Context) { b.answer(ctx, req, msg) })
		return slack.NewClearViewSubmissionResponse()
	}
	return slack.NewPushViewSubmissionResponse(&v)
}
