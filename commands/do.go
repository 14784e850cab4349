package commands

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Changes reports whether a line asks for a change, so that it must be written down before it is acknowledged.
// A line with an unknown verb changes nothing.
func (r *Runner) Changes(l record.Line) bool {
	cmd, err := r.lookUp(&l)
	return err == nil && cmd.DoesChange(l)
}

// Confirms reports whether a line asks for a change of the service, which whoever types it at a terminal is asked to confirm.
func (r *Runner) Confirms(l record.Line) bool {
	cmd, err := r.lookUp(&l)
	return err == nil && cmd.Plan != nil && cmd.DoesChange(l)
}

// Do carries out a request: look up, check arguments, authorise, guard, claim, run, record.
// An error that wraps a Refusal is for the person who asked; others are faults.
func (r *Runner) Do(ctx context.Context, inv call.Invocation) (call.Result, error) {
	cmd, err := r.lookUp(&inv.Line)
	if err != nil {
		return call.Result{}, err
	}
	invoked := &call.Call{Setup: r.setup, Loaded: call.NewFacts(), Invocation: inv, Cmd: cmd, Now: r.cfg.Now(), Account: r.accountOf(inv)}
	changes := cmd.DoesChange(inv.Line)
	if err := r.authorise(ctx, invoked, changes); err != nil {
		r.recordRefusal(ctx, invoked, err)
		return call.Result{}, err
	}
	if err := r.resolve(ctx, invoked); err != nil {
		return call.Result{}, err
	}
	if !changes && cmd.ReadTrail != nil && len(invoked.Line.Words) > 0 {
		return cmd.ReadTrail(ctx, invoked, r.cfg.Audit)
	}
	if !changes {
		invoked.Loaded.Patience = accountPatience
		return withFacts(ctx, r, invoked, cmd.Read)
	}
	res, err := r.act(ctx, &job{Call: invoked})
	if err != nil {
		r.recordRefusal(ctx, invoked, err)
	}
	return res, err
}

// lookUp finds a line's command. An alias in the line becomes the command's name, before anything compares, stores or audits the line.
func (r *Runner) lookUp(l *record.Line) (*call.Command, error) {
	cmd, err := call.LookUp(r.setup.Commands, l.Name)
	if err == nil {
		l.Name = cmd.Name
	}
	return cmd, err
}

// authorise checks the one who asks, on every path, against his role now.
func (r *Runner) authorise(ctx context.Context, c *call.Call, changes bool) error {
	s := r.rights(ctx, c.Actor)
	c.Role, c.Group, c.Could, c.Actor.Name = s.Role, s.Group, s.Could, s.Name
	if !changes {
		c.Role = max(s.Role, s.Was)
	}
	if s.Unsure && changes {
		return &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New("Slack doesn't say who you are just now, and without that nothing is changed. Try again in a moment")}
	}
	if c.Role == record.NoRole && c.Could == record.NoRole {
		return &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New("You have no role here: wafbot answers full members of its own workspace whom its configuration names")}
	}
	return approval.RequireRole(c, c.Cmd.Role)
}

// place is the account that a request names, else the one of the place where it was made, else the only one; nil if none of these.
func (r *Runner) accountOf(inv call.Invocation) *call.Account {
	name := inv.Account
	if named := inv.Line.Keys["account"]; named != "" {
		name = named
	} else if len(r.cfg.Accounts) == 1 {
		return r.cfg.Accounts[0]
	}
	if i := slices.IndexFunc(r.cfg.Accounts, func(a *call.Account) bool { return a.Name == name }); i >= 0 {
		return r.cfg.Accounts[i]
	}
	return nil
}

// resolve finds the attack that a line is about and brings the line into canonical form.
func (r *Runner) resolve(ctx context.Context, c *call.Call) error {
	line := c.Invocation.Line
	named := line.Keys["account"]
	line = line.With("account", "")
	c.InScope = r.cfg.Accounts
	if named != "" && c.Account == nil {
		return refusal.Usage(text.New(refusal.Typed(named), " is no account: ", call.AccountNames(r.cfg.Accounts)))
	}
	typed := call.AttackNamed(c.Cmd, line)
	arg, _ := c.Cmd.AttackArg()
	if c.Implied = typed == "" && c.Cmd.ImpliesAttack(); c.Implied {
		typed = c.Invocation.Attack
	}
	if typed != "" {
		err := r.findAttackTyped(ctx, c, typed, named != "")
		switch {
		case err == nil:
			line = call.WithAttack(c.Cmd, line, c.Attack.ID)
		case arg.Typed && errors.Is(err, refusal.ErrUsage) && record.IsAttackID(record.FoldID(typed)):
			line = call.WithAttack(c.Cmd, line, record.FoldID(typed)) // it is forgotten by now; what was done for it isn't
		case !c.Implied || arg.Required:
			return err
		}
	}
	if c.Account == nil && !c.Cmd.AnyAccount {
		return c.Cmd.Misuse(text.New("which account? Add ", text.Code("account="), " with one of: ", call.AccountNames(r.cfg.Accounts)))
	}
	if c.Account != nil {
		c.InScope = []*call.Account{c.Account}
	}
	checked, err := c.Cmd.Check(line, c.Account)
	if err != nil {
		return err
	}
	c.Line = checked
	return nil
}

// act carries out a line that changes something, at the service or in wafbot's own memory.
func (r *Runner) act(ctx context.Context, c *job) (call.Result, error) {
	switch {
	case c.Cmd.Write != nil && c.Ask:
		return call.Result{}, nil // whatever speaks against it is told when it is done
	case c.Cmd.Write != nil:
		return r.locked(ctx, c, r.write)
	case c.Cmd.Decide != nil:
		return r.locked(ctx, c, r.decide)
	case r.cfg.Policy.Changes == policy.ChangesOff:
		return call.Result{}, changesAreOff()
	}
	return r.locked(ctx, c, r.change)
}

func changesAreOff() error {
	return refusal.Guarded(text.New("changes are switched off (", text.Code("policy.changes: off"), "). Nothing was done"))
}

// ready reads, under the account's lock, what a change goes by, and what this call did before it lost the lock.
func (r *Runner) loadLocked(held context.Context, c *job) (err error) {
	if c.Changes, err = r.cfg.Ledger.Changes(held, c.Account.Name); err != nil {
		return refusal.Away(err)
	}
	c.Loaded = call.NewFacts()
	r.load(held, c.Loaded, []call.Need{{Account: c.Account.Name, Fact: call.FactContext}})
	if err := c.LoadContext(); err != nil {
		return refusal.Away(err)
	}
	return r.reconcile(held, c)
}

// change plans and carries out under the account's lock, so that what the plan saw still holds when it is done.
func (r *Runner) change(held context.Context, c *job) (call.Result, error) {
	if err := r.loadLocked(held, c); err != nil {
		return call.Result{}, err
	}
	mine, whole := r.begun(c)
	late := approval.Late(c.Call)
	if whole || late && len(mine) > 0 {
		return r.resumeAll(held, c, mine, whole)
	}
	if late {
		if res, ok := r.askedBefore(held, c); ok {
			return res, nil
		}
		return call.Result{}, approval.TooLate(c.Call)
	}
	c.Needs = nil // of an attempt before
	plans, err := withFacts(held, r, c.Call, c.Cmd.Plan)
	r.noteUnplanned(held, c, err)
	if err != nil && len(mine) == 0 {
		err = refusal.NotBegun(err)
	}
	if err != nil {
		return call.Result{}, refusal.FromService(err)
	}
	for _, p := range plans {
		if err := approval.RequireRole(c.Call, p.Role); err != nil {
			return call.Result{}, err
		}
	}
	if err := approval.RequireConfirmation(c.Call, plans); err != nil {
		return call.Result{}, err
	}
	if needsRequest(c.Call, plans) {
		return r.askApproval(held, c, plans)
	}
	res, err := r.carryOutPlans(held, c, plans)
	if res.Outcome == "dry_run" && len(c.Needs) > 0 {
		res.Lines = append(res.Lines, approval.Note(c.Call))
	}
	return res, err
}

// again answers a request that came before: what it began is finished, what is done is only told.
func (r *Runner) resumeAll(ctx context.Context, c *job, mine []record.Change, whole bool) (call.Result, error) {
	res := call.Result{Account: c.Account.Name, AttackID: mine[0].AttackID}
	for _, ch := range mine {
		if err := r.resume(ctx, c, ch, &res); err != nil {
			return res, err
		}
	}
	switch {
	case !whole && c.Cmd.Parts == 0:
		res.Lines = append(res.Lines, text.New("It was asked over ", text.HumanDuration(approval.MaxAge), " ago: what was not begun by then was not done"))
	case !whole:
		res.Lines = append(res.Lines, text.New("The rest was asked over ", text.HumanDuration(approval.MaxAge), " ago and not begun: it was not done"))
	}
	return res, nil
}

// begun are the changes that this very delivery made before: after a crash it goes on with them instead of planning anew. whole tells that
// there are no others; of a line that takes back many only a new plan tells, which finds those that were begun by their ids.
func (r *Runner) begun(c *job) (mine []record.Change, whole bool) {
	parts := max(c.Cmd.Parts, 1)
	for part := range parts {
		id := record.ChangeID(c.Account.Name, c.ID, strconv.Itoa(part))
		if i := slices.IndexFunc(c.Changes, func(ch record.Change) bool { return ch.ID == id }); i >= 0 {
			mine = append(mine, c.Changes[i])
		}
	}
	whole = len(mine) == parts
	for _, ch := range c.Changes {
		if ch.Undoes != "" && ch.ID == record.ChangeID(c.Account.Name, c.ID, ch.Undoes) {
			mine = append(mine, ch)
		}
	}
	return mine, whole
}
