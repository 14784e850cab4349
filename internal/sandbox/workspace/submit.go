package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
	"github.com/wafbot/wafbot/internal/sandbox/delivery"
)

// trouble is what the client shows above a modal when the app's answer is invalid.
const trouble = "We had some trouble connecting. Try again?"

// Submission is a person's click on the submit button of a modal.
type Submission struct {
	User string `json:"user"` // name or id
	View string `json:"view"` // id; empty: the modal on top. No other can be submitted
	// Values are filled in before: each under the label, block id or action id of its input, or the only label that begins so. A text
	// or number for what is typed, an option's text or value, a name or id of people and channels, a list of these where several can
	// be chosen; empty: nothing. What isn't named stays as it is.
	Values map[string]any `json:"values,omitempty"`
}

// Outcome is what a person sees after a submission.
type Outcome string

// The outcomes there are.
const (
	OutcomeIncomplete Outcome = "incomplete" // the client found errors, nothing was sent
	OutcomeFailed     Outcome = "failed"     // a warning, and the modal stays
	OutcomeErrors     Outcome = "errors"     // the app found errors
	OutcomeClosed     Outcome = "closed"     // the modal is closed, the one beneath is visible again
	OutcomeCleared    Outcome = "cleared"    // all modals are closed
	OutcomeUpdated    Outcome = "updated"    // the modal was replaced
	OutcomePushed     Outcome = "pushed"     // another modal is on top
)

// Submitted is the result of a submission.
type Submitted struct {
	Delivery
	Outcome Outcome           `json:"outcome"`
	Errors  map[string]string `json:"errors,omitempty"` // what is wrong, by the label of the input
	View    *View             `json:"view"`             // the modal on top now; nil: none
}

// Submit fills in a modal, sends its view_submission payload, and applies the bot's acknowledgement.
func (w *Workspace) Submit(ctx context.Context, s Submission) (Submitted, error) {
	d, v, err := w.prepareSubmission(s)
	if err != nil {
		return Submitted{}, fmt.Errorf("submit modal: %w", err)
	}
	if d.Type == "" {
		return w.submitted(d, v, OutcomeIncomplete), nil
	}
	if d, err = w.deliver(ctx, d, ""); err != nil {
		return Submitted{}, err
	}
	counts := d.Counts()
	d.Warning = counts.Warning
	if d.Warning != "" {
		return w.submitted(d, v, OutcomeFailed), nil
	}
	outcome, err := w.answered(v, counts.Body)
	if err != nil {
		d.Warning = trouble + " (" + err.Error() + ")"
	}
	return w.submitted(d, v, outcome), nil
}

// prepareSubmission makes the payload. It returns a delivery without type when the client would not send it.
func (w *Workspace) prepareSubmission(s Submission) (Delivery, *openView, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, v, err := w.facing(s.User, s.View)
	switch {
	case err != nil:
		return Delivery{}, nil, err
	case v.Type != viewModal:
		return Delivery{}, nil, fmt.Errorf("a Home tab has no submit button")
	case v.object["submit"] == nil:
		return Delivery{}, nil, fmt.Errorf("this modal has no submit button")
	}
	if err := blockkit.Fill(v.state, v.fields(), s.Values, typedNames{w.people}); err != nil {
		return Delivery{}, nil, err
	}
	v.Errors = blockkit.Incomplete(v.fields(), v.state)
	w.notify()
	if len(v.Errors) > 0 {
		return Delivery{}, v, nil
	}
	payload := w.interaction("view_submission", u)
	payload["trigger_id"] = w.newTrigger(u.ID, v.ID)
	payload["view"], payload["response_urls"] = w.wireView(v), []string{}
	return Delivery{Type: delivery.TypeInteractive, Payload: marshal(payload)}, v, nil
}

// facing finds a person and a view that they see. Without a name it is the modal on top.
func (w *viewStore) facing(user, view string) (User, *openView, error) {
	u, ok := w.user(user)
	if !ok || u.Deleted {
		return User{}, nil, fmt.Errorf("no such user: %q", user)
	}
	if view == "" {
		view = viewModal
	}
	v, err := w.sees(u, view)
	return u, v, err
}

// submitted is the result that is visible after a submission.
func (w *Workspace) submitted(d Delivery, v *openView, outcome Outcome) Submitted {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Submitted{Delivery: d, Outcome: outcome, View: w.shownOrNil(w.top(v.User))}
	if outcome == OutcomeIncomplete || outcome == OutcomeErrors {
		s.Errors = map[string]string{}
		for _, f := range v.fields() {
			if problem := v.Errors[f.BlockID]; problem != "" {
				s.Errors[f.Label] = problem
			}
		}
	}
	return s
}

// submissionAnswer is the content of an acknowledgement of a submission.
type submissionAnswer struct {
	Action string            `json:"response_action"`
	Errors map[string]string `json:"errors"`
	View   json.RawMessage   `json:"view"`
}

// answered applies the acknowledgement of a submission. It returns an error for an invalid one.
func (w *Workspace) answered(v *openView, body string) (Outcome, error) {
	var said submissionAnswer
	if strings.TrimSpace(body) != "" {
		if err := json.Unmarshal([]byte(body), &said); err != nil {
			return OutcomeFailed, fmt.Errorf("the app's answer is no JSON object of Slack's: %w", err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.viewByID(v.ID) == nil {
		return OutcomeClosed, nil // closed meanwhile
	}
	switch said.Action {
	case "":
		if body := compact(body); body != nil && string(body) != "{}" {
			return OutcomeFailed, fmt.Errorf("the app's answer has no response_action")
		}
		w.dropViews([]*openView{v})
		return OutcomeClosed, nil
	case "clear":
		w.dropViews(w.stack(v.User))
		return OutcomeCleared, nil
	case "errors":
		return w.showErrors(v, said.Errors)
	case "update", "push":
		return w.showAnswer(v, said)
	}
	return OutcomeFailed, fmt.Errorf("no such response_action: %q", said.Action)
}

// showErrors shows the app's errors at the inputs they name.
func (w *Workspace) showErrors(v *openView, wrong map[string]string) (Outcome, error) {
	inputs := map[string]bool{}
	for _, f := range v.fields() {
		inputs[f.BlockID] = inputs[f.BlockID] || f.Input
	}
	if len(wrong) == 0 {
		return OutcomeFailed, fmt.Errorf("response_action errors without errors")
	}
	for _, block := range slices.Sorted(maps.Keys(wrong)) {
		if !inputs[block] || wrong[block] == "" {
			return OutcomeFailed, fmt.Errorf("errors need the block_id of an input and a text, and %q is none or has none", block)
		}
	}
	v.Errors = wrong
	w.notify()
	return OutcomeErrors, nil
}

// showAnswer shows the view of an acknowledgement, in place of the submitted one or on top of it.
func (w *Workspace) showAnswer(v *openView, said submissionAnswer) (Outcome, error) {
	next, err := w.checkedView(string(said.View), viewModal)
	if err != nil {
		return OutcomeFailed, fmt.Errorf("the view of the app's answer was refused: %s", explained(err))
	}
	except := v.ID
	if said.Action == "push" {
		except = ""
	}
	if w.externalIDTaken(next.ExternalID, except) {
		return OutcomeFailed, fmt.Errorf("the view of the app's answer was refused: duplicate_external_id")
	}
	if said.Action == "update" {
		w.replaceView(v, next)
		return OutcomeUpdated, nil
	}
	if len(w.stack(v.User)) == maxStack {
		return OutcomeFailed, fmt.Errorf("the view of the app's answer was refused: push_limit_reached")
	}
	w.putOnTop(next, v.User)
	return OutcomePushed, nil
}

// explained is the text of a refusal with all errors.
func explained(err error) string {
	var refused *refusal
	if !errors.As(err, &refused) || refused.extra["errors"] == nil {
		return err.Error()
	}
	return fmt.Sprintf("%s: %v", refused.name, refused.extra["errors"])
}
