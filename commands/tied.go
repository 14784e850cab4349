package commands

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Power is a kind of change that the service allows or refuses.
type Power string

// The powers. A refused token has none of them.
const (
	PowerAll   Power = "change anything"
	PowerLists Power = "change IP lists"
	PowerModes Power = "switch modes"
	PowerRules Power = "change patches and other rules"
)

// Tied is a spell in which the service refuses changes to an account: because of wafbot's token, or of what it may do.
type Tied struct {
	Account  string    `json:"account"`
	Since    time.Time `json:"since"`          // of the first refusal; zero: there was no spell yet
	Until    time.Time `json:"until,omitzero"` // when the service took such a change again; zero: it goes on
	Revision int       `json:"revision"`       // counts what was written down of it
	Status   int       `json:"status"`         // HTTP status of the last refusal
	Lacks    []Power   `json:"lacks"`
	Refused  []Refused `json:"refused"` // what is not done, the oldest first
	More     int       `json:"more,omitempty"`
}

// Refused is a change that the service refused.
type Refused struct {
	Line  Line      `json:"line"` // canonical, without the account
	Does  string    `json:"does"`
	Ends  string    `json:"ends,omitempty"` // the change that it would have ended
	Half  bool      `json:"half,omitempty"` // some of it was done
	By    Actor     `json:"by"`
	At    time.Time `json:"at"`
	Steps []Step    `json:"steps,omitempty"` // what would have to be done by hand; none: not known
}

// Ties remembers each account's last spell.
type Ties interface {
	// Tied is the account's last spell; zero when there was none.
	Tied(ctx context.Context, account string) (Tied, error)
}

// maxRefused is how many refused changes a spell keeps; the others are counted.
const maxRefused = 5

// GoesOn reports whether the service still refuses, as far as is known.
func (t Tied) GoesOn() bool { return !t.Since.IsZero() && t.Until.IsZero() }

// lacks reports whether changes of that kind are refused.
func (t Tied) lacks(p Power) bool {
	return slices.Contains(t.Lacks, PowerAll) || slices.Contains(t.Lacks, p)
}

// powers are what steps need.
func powers(steps []Step) (all []Power) {
	for _, s := range steps {
		p := PowerRules
		switch {
		case s.Entry != nil:
			p = PowerLists
		case s.Rule.Type == apiclient.RuleMode:
			p = PowerModes
		}
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// tiesHands reports whether the service refused because of wafbot's token. Of what was perhaps done nothing is known yet.
func tiesHands(fault error) bool {
	kind := apiclient.KindOf(fault)
	return (kind == apiclient.Unauthenticated || kind == apiclient.Forbidden) && !errors.Is(fault, errUnknown)
}

// tie writes down that the service refuses the change because of wafbot's token, so that the account's people are told what is not done. Further
// refusals belong to the same spell.
func (r *Runner) tie(ctx context.Context, c *Call, fault error, what Refused) {
	if !tiesHands(fault) || r.cfg.Policy.Changes != ChangesOn {
		return
	}
	t, err := r.cfg.Ties.Tied(ctx, c.Account.Name)
	if err != nil {
		r.cfg.Log.Error("write down a refused change", "account", c.Account.Name, "err", err)
		return
	}
	if !t.GoesOn() {
		t = Tied{Account: c.Account.Name, Since: c.Now}
	}
	lacks := powers(what.Steps)
	e, _ := asAPI(fault)
	if e.Kind == apiclient.Unauthenticated || len(lacks) == 0 {
		lacks = []Power{PowerAll}
	}
	lacks = slices.DeleteFunc(lacks, t.lacks)
	i := slices.IndexFunc(t.Refused, func(was Refused) bool { return was.Line.String() == what.Line.String() })
	switch {
	case i >= 0 && what.By.Via == ViaClock && len(lacks) == 0:
		return // it is tried each minute
	case i >= 0:
		t.Refused[i] = what
	case len(t.Refused) < maxRefused:
		t.Refused = append(t.Refused, what)
	default:
		t.More++
	}
	t.Lacks, t.Status = append(t.Lacks, lacks...), e.Status
	r.saveTied(ctx, c, t)
}

// untie ends the spell, or a part of it, when the service has taken a change.
func (r *Runner) untie(ctx context.Context, c *Call, ch Change) {
	if len(ch.Steps) == 0 {
		return
	}
	t, err := r.cfg.Ties.Tied(ctx, ch.Account)
	if err != nil {
		r.cfg.Log.Error("look whether changes were refused", "account", ch.Account, "err", err)
		return
	}
	granted := append(powers(ch.Steps), PowerAll)
	left := slices.DeleteFunc(slices.Clone(t.Lacks), func(p Power) bool { return slices.Contains(granted, p) })
	if !t.GoesOn() || len(left) == len(t.Lacks) {
		return
	}
	t.Lacks = left
	t.Refused = slices.DeleteFunc(t.Refused, func(was Refused) bool { return effect(was.Line) == ch.Effect })
	if len(left) == 0 {
		t.Until = r.cfg.Now()
	}
	r.saveTied(ctx, c, t)
}

// refused is what became of a change whose step the service refused.
func (c Change) refused() Refused {
	left := slices.DeleteFunc(slices.Clone(c.Steps), func(s Step) bool { return s.Done })
	return Refused{Line: c.Line, Does: c.Does, Ends: c.Undoes, Half: c.partly(), By: c.Actor, At: c.At, Steps: left}
}

// saveTied outlives the request, as what was refused or done must be told.
func (r *Runner) saveTied(ctx context.Context, c *Call, t Tied) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	t.Revision++
	if err := c.lock.SaveTied(ctx, t); err != nil {
		r.cfg.Log.Error("write down a refused change", "account", t.Account, "err", err)
	}
}

// tiePlan is tie for a change that could not even be planned, because the service lets wafbot read nothing: what it would have sent is what
// there is to do if nothing stands there yet.
func (r *Runner) tiePlan(ctx context.Context, c *Call, fault error) {
	if !tiesHands(fault) {
		return
	}
	for _, what := range r.wanted(ctx, c) {
		what.By, what.At = c.Actor, c.Now
		r.tie(ctx, c, fault, what)
	}
}

func (r *Runner) wanted(ctx context.Context, c *Call) []Refused {
	if c.Cmd.Name == "undo" {
		ch, err := c.changeTyped(c.Known)
		if err != nil {
			return nil
		}
		return []Refused{c.refusedUndo(ch.ID)}
	}
	account, blind := *c.Account, *c
	account.API, blind.Account = unreadable{account.API}, &account
	plans, err := c.Cmd.Plan(ctx, &blind)
	if err != nil || len(plans) == 0 {
		return []Refused{{Line: c.Line, Does: c.Line.String()}}
	}
	var all []Refused
	for _, p := range plans {
		all = append(all, Refused{Line: p.Line, Does: p.Does, Steps: r.newChange(c, "", p).Steps})
	}
	return all
}

// refusedUndo is the undo of a change that could not be planned.
func (c *Call) refusedUndo(id string) Refused {
	what := Refused{Line: Line{Name: "undo", Words: []string{id}}, Ends: id, By: c.Actor, At: c.Now}
	if i := slices.IndexFunc(c.Known, func(ch Change) bool { return ch.ID == id }); i >= 0 {
		what.Does, what.Steps = undoOf(c.Known[i]), backwards(c.Known[i])
	}
	return what
}

// backwards are the steps that take back what a change did, as far as wafbot knows without a look.
func backwards(ch Change) (steps []Step) {
	opposite := map[StepKind]StepKind{AddEntry: DeleteEntry, DeleteEntry: AddEntry, CreateRule: DeleteRule, DeleteRule: CreateRule}
	for _, s := range slices.Backward(ch.Steps) {
		if !s.Done {
			continue
		}
		back := Step{Kind: opposite[s.Kind]}
		if s.Entry != nil {
			entry := *s.Entry
			entry.ID = max(entry.ID, s.ID)
			back.Entry = &entry
		} else {
			rule := *s.Rule
			rule.ID = max(rule.ID, s.ID)
			back.Rule = &rule
		}
		steps = append(steps, back)
	}
	return steps
}
