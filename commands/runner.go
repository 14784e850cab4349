package commands

import (
	"context"
	"errors"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Do carries out a request, however it came: look up → authorise → find the attack → check arguments → guard → plan → claim → carry out → record.
// What changes nothing is read and answered instead of the last five. An error that wraps a Refusal is for the person who asked; others are
// faults.
func (r *Runner) Do(ctx context.Context, inv call.Invocation) (call.Result, error) {
	c, err := r.lookUp(inv)
	if err != nil {
		return call.Result{}, err
	}
	if err := r.authorise(ctx, c); err != nil {
		return call.Result{}, r.recorder.recordRefusal(ctx, c.Call, err)
	}
	if err := r.findAttack(ctx, c); err != nil {
		return call.Result{}, err // nothing was asked for yet that could be recorded
	}
	if err := r.checkArguments(c); err != nil {
		return call.Result{}, err
	}
	if !c.changes {
		return r.read(ctx, c)
	}
	if c.Ask && c.Cmd.Write != nil {
		return call.Result{}, nil // what speaks against it is said when it is done
	}
	if err := r.guard(c); err != nil {
		return call.Result{}, r.recorder.recordRefusal(ctx, c.Call, err)
	}
	res, err := r.drafted(ctx, c, r.carryOut)
	return res, r.recorder.recordRefusal(ctx, c.Call, err)
}

// lookUp finds the command of a request and, as far as the request or its place says, the account.
func (r *Runner) lookUp(inv call.Invocation) (*job, error) {
	cmd, err := r.command(&inv.Line)
	if err != nil {
		return nil, err
	}
	c := &call.Call{
		Setup: r.cfg.Setup, Loaded: call.NewFacts(), Invocation: inv, Cmd: cmd, Line: inv.Line.With("account", ""),
		Account: r.accountOf(inv.Line.Keys["account"], inv.Account), InScope: r.cfg.Accounts,
	}
	r.cfg.tellTime(c)
	return &job{changes: cmd.DoesChange(inv.Line), Call: c}, nil
}

// command finds a line's command; an unknown one does nothing and has no arguments. An alias in the line becomes the command's name, before anything compares, stores or audits the line.
func (r *Runner) command(l *record.Line) (*call.Command, error) {
	cmd, err := call.LookUp(r.cfg.Commands, l.Name)
	if err == nil {
		l.Name = cmd.Name
	}
	return cmd, err
}

// accountOf is the account that a line names, else the only one, else the one of the place where it was asked; nil if none of these.
func (r *Runner) accountOf(named, place string) *call.Account {
	switch {
	case named != "":
		return r.accounts[named]
	case len(r.cfg.Accounts) == 1:
		return r.cfg.Accounts[0]
	}
	return r.accounts[place]
}

// authorise checks the person who asks, on every path, against the role that the person has now.
func (r *Runner) authorise(ctx context.Context, c *job) error {
	c.Rights = r.loader.rights(ctx, c.Actor)
	c.Actor.Name = c.Rights.Name
	if !c.changes {
		c.Role = max(c.Role, c.Was)
	}
	if c.Unsure && c.changes {
		return refusal.Denied(text.New("Slack doesn't say who you are just now, and without that nothing is changed. Try again in a moment"))
	}
	if c.None() {
		return refusal.Denied(text.New("You have no role here: wafbot answers full members of its own workspace whom its configuration names"))
	}
	return approval.RequireRole(c.Call, c.Cmd.Role)
}

// Refuses reports whether a line that changes something is surely refused for who asks it. Where Slack doesn't say who that is, it isn't sure.
func (r *Runner) Refuses(ctx context.Context, inv call.Invocation) bool {
	c, err := r.lookUp(inv)
	return err == nil && c.changes && r.authorise(ctx, c) != nil && !c.Unsure && c.Could == record.NoRole
}

// findAttack finds the attack that a line is about. That the one in whose thread it was asked is gone matters only where an attack is required.
func (r *Runner) findAttack(ctx context.Context, c *job) error {
	if named := c.named(); named != "" && c.Account == nil {
		return refusal.Usage(text.New(refusal.Typed(named), " is no account: ", call.AccountNames(r.cfg.Accounts)))
	}
	typed := call.AttackNamed(c.Cmd, c.Line)
	if c.Implied = typed == "" && c.Cmd.ImpliesAttack(); c.Implied {
		typed = c.Invocation.Attack
	}
	if typed == "" {
		return nil
	}
	arg, _ := c.Cmd.AttackArg()
	err := r.findAttackTyped(ctx, c, typed)
	switch {
	case err == nil:
		c.Line = call.WithAttack(c.Cmd, c.Line, c.Attack.ID)
	case arg.Typed && errors.Is(err, refusal.ErrUsage) && record.IsAttackID(record.FoldID(typed)):
		c.Line = call.WithAttack(c.Cmd, c.Line, record.FoldID(typed)) // it is no longer stored; what was done for it is
	case !c.Implied || arg.Required:
		return err
	}
	return nil
}

// checkArguments brings the line into canonical form.
func (r *Runner) checkArguments(c *job) error {
	if c.Account == nil && !c.Cmd.AnyAccount {
		return c.Cmd.Misuse(text.New("which account? Add ", text.Code("account="), " with one of: ", call.AccountNames(r.cfg.Accounts)))
	}
	if c.Account != nil {
		c.InScope = []*call.Account{c.Account}
	}
	var err error
	c.Line, err = c.Cmd.Check(c.Line, c.Account)
	return err
}

// read answers a line that changes nothing.
func (r *Runner) read(ctx context.Context, c *job) (call.Result, error) {
	if c.Cmd.ReadTrail != nil && len(c.Line.Words) > 0 {
		return c.Cmd.ReadTrail(ctx, c.Call, r.cfg.Audit)
	}
	c.Loaded.Patience = accountPatience
	return withFacts(ctx, r.loader, c.Call, c.Cmd.Read)
}

// guard refuses what the configuration rules out, before anything is read. What depends on the service or the store is guarded when it is planned.
func (r *Runner) guard(c *job) error {
	if c.ID == "" {
		return errors.New("a request that changes something has no delivery id")
	}
	return requireNotOff(c)
}

// carryOut does what a line asks for, on what was stored when its draft was begun: it writes to the store, decides an approval request, or changes the service.
func (r *Runner) carryOut(ctx context.Context, c *job) (call.Result, error) {
	switch {
	case c.Cmd.Write != nil:
		return r.write(ctx, c)
	case c.Cmd.Decide != nil:
		return r.decide(ctx, c)
	}
	return r.change(ctx, c)
}

// requireNotOff refuses all changes of the service where the configuration switches them off.
func requireNotOff(c *job) error {
	if c.Cmd.Plan == nil || c.Policy.Changes != policy.ChangesOff {
		return nil
	}
	return refusal.Guarded(text.New("changes are switched off (", text.Code("policy.changes: off"), "). Nothing was done"))
}
