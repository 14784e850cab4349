package commands

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// job is a call on its way through the Runner.
type job struct {
	*executor
	*call.Call
	changes  bool // it asks for a change, at the service or in the store
	basis    record.Basis
	draft    *store.Draft    // of what follows from the basis
	ahead    string          // the attack for which they were read while the line was checked: they serve once; "": they weren't
	aheadErr error           // of that
	claim    *store.Claim    // of what is carried out now; nil: nothing is
	old      bool            // what is carried out now was asked too long ago to be sent if it wasn't yet
	lost     []record.Change // as they were when they couldn't be saved, because their claim was lost
}

// named is the account as the line names it; "": it doesn't.
func (c *job) named() string { return c.Invocation.Line.Keys["account"] }

// serviceNow is the time by the clock of the account's service.
func (c *job) serviceNow() time.Time { return c.now(c.Account.Name) }

// passTurn lets the same person's next line be planned: what this one changes is stored as begun.
func (c *job) passTurn() {
	if c.Begun != nil {
		c.Begun()
	}
}

// outlive is a context for what must be stored even when the caller has gone: what was sent, and what was decided.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

// settled begins a draft and does something with it, until that doesn't have to be planned again.
func (c *job) settled(ctx context.Context, do func() error) error {
	defer recordLost(ctx, c)
	for try := 0; ; try++ {
		err := c.begin(ctx)
		if err == nil {
			err = do()
		}
		if !refusal.PlansAgain(err) {
			return err
		}
		if err := c.await(ctx, err, try); err != nil {
			return err
		}
	}
}

// store writes what holds whatever else was written meanwhile, on what is stored of the account, and of an attack if it
// is about one. It outlives the request. A failure is only logged.
func (c *job) store(ctx context.Context, what, attack string, save func(ctx context.Context) error) {
	ctx, cancel := outlive(ctx)
	defer cancel()
	err := store.ErrChanged
	if attack == "" || attack == c.basis.Attack {
		err = save(ctx)
	}
	for refusal.PlansAgain(err) {
		if err = c.beginOn(ctx, cmp.Or(attack, c.basis.Attack)); err == nil {
			err = save(ctx)
		}
	}
	if err != nil {
		c.Log.ErrorContext(ctx, what, "account", c.Account.Name, "err", err)
	}
}

// write stores what a command writes, and records it.
func write(ctx context.Context, c *job) (res call.Result, err error) {
	if approval.Late(c.Call) {
		return res, approval.TooLate(c.Call)
	}
	c.load(ctx, c.Call, whileCallLasts, c.Cmd.Needs)
	res, err = c.Cmd.Write(c.Call)
	if err != nil {
		return res, refusal.FromService(err)
	}
	if err := notInHand(c, protects(c, res.Saves)); err != nil {
		return res, err
	}
	if err := saveWrites(ctx, c, res.Saves); err != nil {
		return res, refusal.Away(err)
	}
	res.Account, res.AttackID = c.Account.Name, c.AttackID()
	recordWrite(ctx, c, res)
	return res, nil
}

// protects are the ranges that a command begins to protect, as targets: it must say whether they are denied.
func protects(c *job, s record.Saves) (targets []record.Target) {
	if s.Protected == nil {
		return nil
	}
	for _, p := range *s.Protected {
		same := func(known record.Protected) bool { return known.Range == p.Range }
		if !slices.ContainsFunc(c.Context.Protected, same) {
			targets = append(targets, record.RangeTarget(p.Range))
		}
	}
	return targets
}

// notInHand refuses targets for now that overlap with those of a change whose outcome isn't known.
func notInHand(c *job, targets []record.Target) error {
	for _, ch := range c.Changes {
		if ch.State == record.StateBegun && record.Overlap(ch.Targets(), targets) {
			return &refusal.InHand{Change: ch}
		}
	}
	return nil
}

// saveWrites stores what a command writes.
func saveWrites(ctx context.Context, c *job, s record.Saves) error {
	for i := range s.Events {
		s.Events[i].Request = c.RequestID()
	}
	if _, err := c.draft.Save(ctx, s); err != nil {
		return err
	}
	if len(s.Triage) > 0 {
		c.Notifier.Redraw(c.Account.Name)
	}
	if len(s.Events) > 0 {
		c.Notifier.Notify(c.Account.Name, s.Events)
	}
	return nil
}
