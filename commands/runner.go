package commands

import (
	"context"
	"errors"
	"sync"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
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
		return call.Result{}, err
	}
	if err := r.admit(ctx, c); err != nil {
		return call.Result{}, r.refuse(ctx, c, err)
	}
	if err := r.findAttack(ctx, c); err != nil {
		return call.Result{}, err // nothing was asked for yet that could be recorded
	}
	if err := requireRights(c); err != nil { // the attack may be of another account
		return call.Result{}, r.refuse(ctx, c, err)
	}
	if err := checkArguments(c); err != nil {
		return call.Result{}, err
	}
	if !c.changes {
		return r.read(ctx, c)
	}
	if c.Ask && c.Cmd.Write != nil {
		return call.Result{}, nil // what speaks against it is said when it is done
	}
	if err := guard(c); err != nil {
		return call.Result{}, r.recorder.recordRefusal(ctx, c.Call, err)
	}
	res, err = r.carryOut(ctx, c)
	return res, r.recorder.recordRefusal(ctx, c.Call, err)
}

// admit authorises the person who asks, and reads meanwhile what the change goes by.
func (r *Runner) admit(ctx context.Context, c *job) error {
	attack, _ := c.attackTyped()
	if attack = record.FoldID(attack); !c.changes || c.Account == nil || attack != "" && !record.IsAttackID(attack) {
		return r.authorise(ctx, c)
	}
	a := &ahead{account: c.Account.Name, attack: attack}
	var reading sync.WaitGroup
	reading.Go(func() {
		a.err = delay.Try(r.cfg.Log, "what a change goes by", func() (err error) {
			a.basis, a.draft, err = r.cfg.Store.Ledger.Begin(ctx, a.account, a.attack, !r.cfg.Rebuilds(a.account))
			return err
		})
	})
	err := r.authorise(ctx, c)
	reading.Wait()
	c.ahead = a
	return err
}

// refuse records that a person may not. While Slack doesn't say who the person is, what this very delivery has begun is
// not refused: it may be done, and is gone on with once Slack does.
func (r *Runner) refuse(ctx context.Context, c *job, err error) error {
	if c.Unsure && c.ahead != nil {
		if begun, _ := c.begunOf(c.ahead.account, c.ahead.basis.Changes); len(begun) > 0 {
			return &refusal.Refusal{Kind: refusal.ErrAway, Cause: err, Text: text.New("this was begun, and Slack doesn't say just now who you are. Look at ", text.Code("status"), " before you try it again")}
		}
	}
	return r.recorder.recordRefusal(ctx, c.Call, err)
}

// lookUp finds the command of a request and, as far as the request or its place says, the account.
func (r *Runner) lookUp(inv call.Invocation) (*job, error) {
	cmd, err := r.command(&inv.Line)
	if err != nil {
		return nil, err
	}
	c := &call.Call{
		Setup: r.cfg.Setup, Facts: &call.Facts{}, Invocation: inv, Cmd: cmd, Line: inv.Line.With("account", ""),
		Account: r.accountOf(inv.Line.Keys["account"], inv.Account), Policy: policy.Policy{Policy: config.Default[config.Policy]()},
	}
	r.cfg.tellTime(c, r.cfg.Clocks.Now())
	return &job{changes: cmd.DoesChange(inv.Line), Call: c}, nil
}

// command finds a line's command; an unknown one does nothing and has no arguments. What is typed becomes what is
// meant, as an alias the command's name, before anything compares, stores or audits the line.
func (r *Runner) command(l *record.Line) (*call.Command, error) {
	cmd, err := call.LookUp(r.cfg.Commands, l.Name)
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
func (r *Runner) accountOf(named, place string) *config.Account {
	switch {
	case named != "":
		return r.accounts[named]
	case len(r.cfg.Accounts) == 1:
		return r.cfg.Accounts[0]
	}
	return r.accounts[place]
}

// findAttack finds the attack that a line is about. That the one in whose thread it was asked is gone matters only
// where an attack is required.
func (r *Runner) findAttack(ctx context.Context, c *job) error {
	var typed string
	if typed, c.Implied = c.attackTyped(); typed == "" {
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
func checkArguments(c *job) error {
	if c.Account == nil && !c.Cmd.AnyAccount {
		return c.Cmd.Misuse(text.New("Missing: ", text.Code("account="), ", one of: ", call.AccountNames(c.Accounts)))
	}
	var err error
	c.Line, err = c.Cmd.Check(c.Line, c.Account)
	return err
}

// read answers a line that changes nothing.
func (r *Runner) read(ctx context.Context, c *job) (call.Result, error) {
	if c.Cmd.ReadTrail != nil && len(c.Line.Words) > 0 {
		r.cfg.tellTime(c.Call, r.cfg.Clocks.Now())
		return c.Cmd.ReadTrail(ctx, c.Call, r.cfg.Store.Audit)
	}
	r.loader.load(ctx, c.Call, accountPatience, c.Cmd.Needs)
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
func (r *Runner) carryOut(ctx context.Context, c *job) (res call.Result, err error) {
	do := r.change
	switch {
	case c.Cmd.Write != nil:
		do = r.write
	case c.Cmd.Decide != nil:
		do = r.decide
	}
	err = r.executor.settled(ctx, c, func() error {
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
	return refusal.Guarded(text.New("changes are switched off (", text.Code("policy.changes: off"), ")"))
}
