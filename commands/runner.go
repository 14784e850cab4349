package commands

import (
	"cmp"
	"context"
	"errors"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Do carries out a request, however it came: look up → authorise → find the attack → check arguments → guard → plan →
// claim → carry out → record. What changes nothing is read and answered instead of the last five. An error that wraps a
// Refusal is for the person who asked; others are faults. An answer to a person begins with its outcome.
func (r *Runner) Do(ctx context.Context, inv call.Invocation) (res call.Result, err error) {
	ctx = record.WithRequest(ctx, inv.RequestID())
	if inv.Actor.Via != record.ViaClock { // which reads no answer
		defer func() { res, err = res.WithOutcome(), refusal.WithOutcome(err) }()
	}
	c, err := r.lookUp(inv)
	if err != nil {
		return res, err
	}
	if err := authorise(ctx, c); err != nil {
		return res, refuse(ctx, c, err)
	}
	if err := findAttack(ctx, c); err != nil {
		return res, err // nothing was asked for yet that could be recorded
	}
	if err := requireRights(c); err != nil { // the attack may be of another account
		return res, refuse(ctx, c, err)
	}
	if err := checkArguments(c); err != nil {
		return res, err
	}
	if !c.changes {
		return answer(ctx, c)
	}
	if c.Ask && c.Cmd.Write != nil {
		return res, nil // a refusal is said when it is done
	}
	if err := guard(c); err != nil {
		return res, c.recordRefusal(ctx, err)
	}
	res, err = carryOut(ctx, c)
	return res, c.recordRefusal(ctx, err)
}

// refuse records that a person may not. While Slack doesn't say who the person is, what this very delivery has begun
// isn't refused: it may be done, and is resumed once Slack answers.
func refuse(ctx context.Context, c *job, err error) error {
	if at := c.accountOf(c.Invocation); at != nil && c.Unsure && c.changes {
		known, _ := c.Store.Ledger.Changes(ctx, at.Name)
		if begun, _ := c.begun(at.Name, known); len(begun) > 0 {
			return &refusal.Refusal{Kind: refusal.ErrAway, Cause: err,
				Text: text.Newf("this was begun, and Slack doesn't say just now who you are. Look at `status` before you try it again")}
		}
	}
	return c.recordRefusal(ctx, err)
}

// lookUp finds the command of a request and, as far as the request or its place says, the account.
func (x *executor) lookUp(inv call.Invocation) (*job, error) {
	cmd, err := x.command(&inv.Line)
	if err != nil {
		return nil, err
	}
	c := &call.Call{
		Setup: x.Setup, Facts: &call.Facts{}, Invocation: inv, Cmd: cmd, Line: inv.Line.With("account", ""),
		Account: x.accountOf(inv), Policy: policy.Policy{Policy: config.Default[config.Policy]()},
	}
	x.tellTime(c)
	return &job{executor: x, changes: cmd.DoesChange(inv.Line), Call: c}, nil
}

// command finds a line's command; an unknown one does nothing and has no arguments. What is typed becomes what is
// meant, as an alias the command's name, before anything compares, stores or audits the line.
func (x *executor) command(l *record.Line) (*call.Command, error) {
	cmd, err := call.LookUp(x.Commands, l.Name)
	if err != nil {
		return cmd, err
	}
	understood, err := cmd.Understand(*l)
	if err != nil {
		return &call.Command{}, err
	}
	*l = understood
	return cmd, nil
}

// accountOf is the account that a line names, else the only one, else the one of the place where it was asked; nil if
// none of these.
func (x *executor) accountOf(inv call.Invocation) *config.Account {
	named := inv.Line.Keys["account"]
	if named == "" && len(x.Accounts) == 1 {
		return x.Accounts[0]
	}
	return x.accounts[cmp.Or(named, inv.Account)]
}

// findAttack finds the attack that a line is about. That the one in whose thread it was asked is gone matters only
// where an attack is required.
func findAttack(ctx context.Context, c *job) error {
	typed := call.AttackNamed(c.Cmd, c.Line)
	if c.Implied = typed == "" && c.Cmd.ImpliesAttack(); c.Implied {
		typed = c.Invocation.Attack
	}
	if typed == "" {
		return nil
	}
	arg, _ := c.Cmd.AttackArg()
	id := record.FoldID(typed)
	if c.changes && c.draft == nil && c.Account != nil && record.IsAttackID(id) {
		c.ahead, c.aheadErr = id, c.beginOn(ctx, id)
	}
	if known := c.basis.Known; known.ID != "" && c.basis.Attack == id { // it has that whole id, so nothing else is meant
		c.Attack = &record.KnownAttack{ID: id, Attack: known}
		c.Line = call.WithAttack(c.Cmd, c.Line, id)
		return nil
	}
	err := findAttackTyped(ctx, c, typed)
	switch {
	case err == nil:
		c.Line = call.WithAttack(c.Cmd, c.Line, c.Attack.ID)
	case arg.Typed && errors.Is(err, refusal.ErrUsage) && record.IsAttackID(id):
		c.Line = call.WithAttack(c.Cmd, c.Line, id) // it is no longer stored; what was done for it is
	case !c.Implied || arg.Required:
		return err
	}
	return nil
}

// checkArguments brings the line into canonical form.
func checkArguments(c *job) error {
	if c.Account == nil && !c.Cmd.AnyAccount {
		return c.Cmd.Misuse("Missing: `account=`, one of: %v", call.AccountNames(c.Accounts))
	}
	var err error
	c.Line, err = c.Cmd.Check(c.Line, c.Account)
	return err
}

// answer answers a line that changes nothing.
func answer(ctx context.Context, c *job) (call.Result, error) {
	if c.Cmd.ReadTrail != nil && len(c.Line.Words) > 0 {
		c.tellTime(c.Call)
		return c.Cmd.ReadTrail(ctx, c.Call, c.Store.Audit)
	}
	c.load(ctx, c.Call, accountPatience, c.Cmd.Needs)
	return c.Cmd.Read(c.Call)
}

// guard refuses what the configuration rules out, before anything is read. What depends on the service or the store is
// guarded when it is planned.
func guard(c *job) error {
	if c.ID == "" {
		return errors.New("a request that changes something has no delivery id")
	}
	return requireNotOff(c)
}

// carryOut does what a line asks for: it writes to the store, decides an approval request, or changes the service. It
// does so on what is stored now, and again as long as that is not what it was: somebody else wrote meanwhile, or
// carries out what it touches, or this process lost its claim, because it was paused or Redis was away for too long.
func carryOut(ctx context.Context, c *job) (res call.Result, err error) {
	do := changeService
	switch {
	case c.Cmd.Write != nil:
		do = write
	case c.Cmd.Decide != nil:
		do = decide
	}
	err = c.settled(ctx, func() error {
		res, err = do(ctx, c)
		return err
	})
	return res, err
}

// requireNotOff refuses all changes of the service where the configuration switches them off.
func requireNotOff(c *job) error {
	if c.Cmd.Plan == nil || c.Policy.ChangesNow() != config.ChangesOff {
		return nil
	}
	return refusal.Guarded("changes are switched off (`policy.changes: off`)")
}
