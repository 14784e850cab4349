package commands

import (
	"cmp"
	"context"
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// job is a call on its way through the Runner.
type job struct {
	*call.Call
	changes bool   // it asks for a change, at the service or in the store
	ahead   *ahead // nil: it was used, or nothing was read
	basis   record.Basis
	draft   *store.Draft    // of what follows from the basis
	claim   *store.Claim    // of what is carried out now; nil: nothing is
	old     bool            // what is carried out now was asked too long ago to be sent if it wasn't yet
	lost    []record.Change // as they were when they couldn't be saved, because their claim was lost
}

// ahead is what a change goes by, read while it is looked up who asks: people wait for each round trip that follows
// another one.
type ahead struct {
	account, attack string // attack "": it is about none
	basis           record.Basis
	draft           *store.Draft
	err             error
}

// named is the account as the line names it; "": it doesn't.
func (c *job) named() string { return c.Invocation.Line.Keys["account"] }

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
func (x *executor) settled(ctx context.Context, c *job, do func() error) error {
	defer x.recorder.recordLost(ctx, c)
	for try := 0; ; try++ {
		err := x.begin(ctx, c)
		if err == nil {
			err = do()
		}
		if !refusal.PlansAgain(err) {
			return err
		}
		if err := x.await(ctx, c, err, try); err != nil {
			return err
		}
	}
}

// store writes what holds whatever else was written meanwhile, on what is stored of the account, and of an attack if it
// is about one.
func (x *executor) store(ctx context.Context, c *job, attack string, save func() error) error {
	for {
		err := store.ErrChanged
		if attack == "" || attack == c.basis.Attack {
			err = save()
		}
		if !refusal.PlansAgain(err) {
			return err
		}
		if err := x.loader.begin(ctx, c, cmp.Or(attack, c.basis.Attack)); err != nil {
			return err
		}
	}
}

// write stores what a command writes, and records it.
func (r *Runner) write(ctx context.Context, c *job) (call.Result, error) {
	if approval.Late(c.Call) {
		return call.Result{}, approval.TooLate(c.Call)
	}
	r.loader.load(ctx, c.Call, whileCallLasts, c.Cmd.Needs)
	res, err := c.Cmd.Write(c.Call)
	if err != nil {
		return call.Result{}, refusal.FromService(err)
	}
	if err := notInHand(c, protects(c, res.Saves)); err != nil {
		return call.Result{}, err
	}
	if err := r.saveWrites(ctx, c, res.Saves); err != nil {
		return call.Result{}, refusal.Away(err)
	}
	res.Account, res.AttackID = c.Account.Name, c.AttackID()
	r.recorder.recordWrite(ctx, c.Call, res)
	return res, nil
}

// protects are the ranges that a command begins to protect, as targets: it must say whether they are denied.
func protects(c *job, s call.Saves) (targets []record.Target) {
	if s.Protected == nil {
		return nil
	}
	known := map[netip.Prefix]bool{}
	for _, p := range c.Context.Protected {
		known[p.Range] = true
	}
	for _, p := range s.Protected.All {
		if !known[p.Range] {
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

// saveWrites stores what a command writes, one after another. The first error ends it.
func (r *Runner) saveWrites(ctx context.Context, c *job, s call.Saves) error {
	s.Events = c.ofRequest(s.Events...)
	if len(s.Triage) > 0 || s.Drill == nil && len(s.Events) > 0 {
		if err := c.draft.SaveTriage(ctx, s.Triage, s.Events...); err != nil {
			return err
		}
		r.cfg.Notifier.Redraw(c.Account.Name)
	}
	if s.Mutes != nil {
		if err := c.draft.SaveMutes(ctx, s.Mutes.All, s.Mutes.Stale...); err != nil {
			return err
		}
	}
	if s.Protected != nil {
		if err := c.draft.SaveProtected(ctx, s.Protected.All, s.Protected.Stale...); err != nil {
			return err
		}
	}
	if s.Drill != nil {
		if err := c.draft.SaveDrill(ctx, *s.Drill, s.Events...); err != nil {
			return err
		}
	}
	if len(s.Events) > 0 {
		r.cfg.Notifier.Notify(c.Account.Name, s.Events)
	}
	return nil
}
