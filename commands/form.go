package commands

import (
	"context"
	"slices"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/internal/record"
)

// Changes reports whether a line asks for a change, so that it must be stored before it is acknowledged.
// A line with an unknown verb changes nothing.
func (r *Runner) Changes(l record.Line) bool {
	cmd, _ := r.command(&l)
	return cmd.DoesChange(l)
}

// Confirms reports whether a person at a terminal is asked to confirm a line: one that changes the service.
func (r *Runner) Confirms(l record.Line) bool {
	cmd, _ := r.command(&l)
	return cmd.Plan != nil && cmd.DoesChange(l)
}

// Missing reports whether a line leaves out what it must have, so that a form asks for it; attack is the one in whose
// thread it was typed, "" for none. An unknown verb misses nothing.
func (r *Runner) Missing(l record.Line, attack string) bool {
	l = r.InThread(l, attack)
	cmd, _ := r.command(&l)
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

// InThread is a line as it is meant in the thread of an attack's card, written so that it means the same elsewhere;
// attack may be "".
func (r *Runner) InThread(l record.Line, attack string) record.Line {
	cmd, _ := r.command(&l)
	if attack == "" || !cmd.ImpliesAttack() || call.AttackNamed(cmd, l) != "" {
		return l
	}
	return call.WithAttack(cmd, l, attack)
}

// Fillable reports whether there is something to fill in for a line.
func (r *Runner) Fillable(l record.Line) bool {
	cmd, _ := r.command(&l)
	return slices.ContainsFunc(cmd.Args, func(arg call.Arg) bool { return arg.Name != call.ArgPage.Name })
}

// Form is what a person fills in to make the invocation's line whole, with what it says already filled in. A person who
// may not run the line gets no form.
func (r *Runner) Form(ctx context.Context, inv call.Invocation) (f call.Form, err error) {
	c, err := r.lookUp(inv)
	if err != nil {
		return f, err
	}
	c.changes = c.Cmd.CanChange() // a form never only shows, as the line may
	err = authorise(ctx, c)
	if err == nil {
		err = approval.RequireRole(c.Call, formRole(c.Cmd))
	}
	if err != nil {
		return f, c.recordRefusal(ctx, err)
	}
	if err := requireNotOff(c); err != nil {
		return f, err
	}
	c.Line = r.InThread(inv.Line, inv.Attack)
	if named := call.AttackNamed(c.Cmd, c.Line); named != "" {
		if err := findAttackTyped(ctx, c, named); err != nil {
			return f, err
		}
		if err := requireRights(c); err != nil { // the attack may be of another account
			return f, c.recordRefusal(ctx, err)
		}
		c.Line = call.WithAttack(c.Cmd, c.Line, c.Attack.ID)
	}
	c.load(ctx, c.Call, formPatience, form.Needs(c.Call))
	return form.Form(c.Call), nil
}
