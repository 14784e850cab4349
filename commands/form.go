package commands

import (
	"context"
	"slices"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
)

// Missing reports whether a line leaves out what it must have, so that a form asks for it; attack is the one in whose thread it was typed, "" for
// none. An unknown verb misses nothing.
func (r *Runner) Missing(l record.Line, attack string) bool {
	cmd, err := r.lookUp(&l)
	if err != nil {
		return false
	}
	l = r.InThread(l, attack)
	if cmd.Missing != nil && cmd.Missing(l) {
		return true
	}
	words := len(l.Words)
	for _, arg := range cmd.Args {
		switch {
		case arg.Object && words > 0:
			words--
		case arg.Required && (arg.Object || l.Keys[arg.Name] == ""):
			return true
		}
	}
	return false
}

// InThread is a line as it is meant in the thread of an attack's card, written so that it means the same elsewhere; attack may be "".
func (r *Runner) InThread(l record.Line, attack string) record.Line {
	cmd, err := r.lookUp(&l)
	if err != nil || attack == "" || !cmd.ImpliesAttack() || call.AttackNamed(cmd, l) != "" {
		return l
	}
	return call.WithAttack(cmd, l, attack)
}

// Fillable reports whether there is something to fill in for a line.
func (r *Runner) Fillable(l record.Line) bool {
	cmd, err := r.lookUp(&l)
	return err == nil && slices.ContainsFunc(cmd.Args, func(arg call.Arg) bool { return arg.Name != call.ArgPage.Name })
}

// Form is what a person fills in to make the invocation's line whole, with what it says already filled in. Who may not run the line gets no form.
func (r *Runner) Form(ctx context.Context, inv call.Invocation) (call.Form, error) {
	cmd, err := r.lookUp(&inv.Line)
	if err != nil {
		return call.Form{}, err
	}
	c := &call.Call{Setup: r.setup, Loaded: call.NewFacts(), Invocation: inv, Cmd: cmd, Line: inv.Line, Now: r.cfg.Now(), Account: r.accountOf(inv), InScope: r.cfg.Accounts}
	err = r.authorise(ctx, c, cmd.Plan != nil || cmd.Write != nil || cmd.Decide != nil)
	if err == nil && cmd.Plan != nil {
		err = approval.RequireRole(c, record.Responder) // a form never only shows, as the line may
	}
	if err != nil {
		r.recordRefusal(ctx, c, err)
		return call.Form{}, err
	}
	if cmd.Plan != nil && r.cfg.Policy.Changes == policy.ChangesOff {
		return call.Form{}, changesAreOff()
	}
	if err := r.findAttack(ctx, c); err != nil {
		return call.Form{}, err
	}
	c.Loaded.Patience = formPatience
	return withFacts(ctx, r, c, func(c *call.Call) (call.Form, error) { return form.Form(c), nil })
}

// findAttack finds the attack that the line names, or in whose thread it is; that it names none is no error.
func (r *Runner) findAttack(ctx context.Context, c *call.Call) error {
	typed := call.AttackNamed(c.Cmd, c.Line)
	if typed == "" && c.Cmd.ImpliesAttack() {
		typed = c.Invocation.Attack
	}
	if typed == "" {
		return nil
	}
	if err := r.findAttackTyped(ctx, c, typed, c.Line.Keys["account"] != ""); err != nil {
		return err
	}
	c.Line = call.WithAttack(c.Cmd, c.Line, c.Attack.ID)
	return nil
}
