package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// How long a change waits before it looks again whether what it touches is free, doubled each time.
const (
	claimPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// resaveEvery is how often it is tried to store what was sent after its claim was lost.
const resaveEvery = 500 * time.Millisecond

// begin begins a draft on what is stored now, to which is added what this call did before it lost its claim. Nobody
// else knows of that where Redis was emptied, so it waits for it as long as the call may last.
func (c *job) begin(ctx context.Context) error {
	for {
		err := c.beginOn(ctx, c.AttackID())
		switch {
		case len(c.lost) == 0:
			return err
		case err == nil:
			return reconcile(ctx, c)
		case delay.Sleep(ctx, resaveEvery) != nil:
			return change.Unsaved(c.lost[0], err)
		}
	}
}

// await waits until something can be planned again. What nobody carries out any more is settled.
func (c *job) await(ctx context.Context, cause error, try int) error {
	inHand, waits := errors.AsType[*refusal.InHand](cause)
	if !waits {
		c.Log.DebugContext(ctx, "plan again", "account", c.Account.Name, "line", c.Line.String(), "err", cause)
		return nil
	}
	switch err := c.settleAbandoned(ctx, inHand.Change); {
	case refusal.PlansAgain(err):
		return nil
	case !errors.Is(err, store.ErrClaimed):
		return err
	}
	return delay.Sleep(ctx, delay.Backoff(try, claimPause, longestPause))
}

// take claims a change of this very request, waits for that if need be, and gives it as it is stored then; as it was if
// it isn't stored any more.
func (c *job) take(ctx context.Context, ch record.Change) (held context.Context, now record.Change, err error) {
	c.passTurn()
	for try := 0; ; try++ {
		held, claim, err := c.Store.Ledger.Resume(ctx, ch, !c.Rebuilds(ch.Account))
		switch {
		case err == nil:
			if err := c.beginOn(ctx, c.AttackID()); err != nil {
				claim.Release(ctx)
				return nil, ch, err
			}
			c.claim = claim
			if i := record.IndexChange(c.Changes, ch.ID); i >= 0 {
				return held, c.Changes[i], nil
			}
			ch.State, ch.Fault = record.StateBegun, "" // Redis was emptied in between
			return held, ch, nil
		case !errors.Is(err, store.ErrClaimed):
			return nil, ch, refusal.Away(err)
		}
		if err := delay.Sleep(ctx, delay.Backoff(try, claimPause, longestPause)); err != nil {
			return nil, ch, err
		}
	}
}

// settleAbandoned finds out what became of a change that was begun, and of those that were claimed with it, if nobody
// carries them out any more. One that was done in part is finished; of others nothing is sent: who wants it asks again.
// It fails with store.ErrClaimed while somebody carries them out, and with store.ErrLost where somebody else may by
// now.
func (x *executor) settleAbandoned(ctx context.Context, ch record.Change) (err error) {
	held, claim, err := x.Store.Ledger.Resume(ctx, ch, !x.Rebuilds(ch.Account))
	switch {
	case errors.Is(err, store.ErrClaimed):
		return err
	case err != nil:
		return refusal.Away(err)
	}
	defer claim.Release(ctx)
	defer func() { // before the claim is released
		if err != nil && held.Err() != nil && ctx.Err() == nil {
			err = store.ErrLost // neither Redis nor the service is away
		}
	}()
	own := x.clockJob(held, ch.Account)
	own.claim = claim
	if err := own.beginOn(held, ch.AttackID); err != nil {
		return err
	}
	for _, left := range own.Changes {
		if left.State != record.StateBegun || left.ClaimedAs() != ch.ClaimedAs() {
			continue // it was settled meanwhile, or isn't of this claim
		}
		fault := own.verifyAbandoned(held, &left)
		switch {
		case errors.Is(fault, change.ErrOutcomeUnknown):
			return refusal.FromService(fault)
		case left.Partly():
			_, err = own.carryOutSteps(held, left, false)
		default:
			own.settle(held, &left, fault)
			err = own.saveOutcome(held, left)
		}
		if refusal.PlansAgain(err) || errors.Is(err, refusal.ErrAway) {
			return err
		}
	}
	return nil
}

// verifyAbandoned looks which steps of a change were done, for as long as one may show still. It fails with
// change.ErrOutcomeUnknown if that can't be read, and otherwise says what was not done.
func (c *job) verifyAbandoned(ctx context.Context, ch *record.Change) (fault error) {
	for i := range ch.Steps {
		s := &ch.Steps[i]
		if s.Done {
			continue
		}
		for s.Sent {
			done, _, err := (&doubt{job: c, change: ch, step: s}).verify(ctx)
			if s.Done = done; err != nil {
				return fmt.Errorf("%w: read back: %w", change.ErrOutcomeUnknown, err)
			}
			shows := s.SentAt.Add(verifyFor)
			if s.Done || !c.serviceNow().Before(shows) {
				break
			}
			if err := c.Sleep(ctx, min(shows.Sub(c.serviceNow()), longestWait)); err != nil {
				return fmt.Errorf("%w: %w", change.ErrOutcomeUnknown, err)
			}
		}
		if !s.Done {
			fault = refusal.Guarded("it was begun at %v and cut short: the service lists nothing of it. Ask again if it is "+
				"still wanted", ch.At)
		}
	}
	return fault
}

// reconcile brings together what this call did and couldn't store, because it lost its claim, with what is stored by
// now: another replica may have taken the request over, and then it verified before it sent anything again.
func reconcile(ctx context.Context, c *job) error {
	for len(c.lost) > 0 {
		mine := c.lost[0]
		held, written, err := c.take(ctx, mine)
		if err != nil {
			return change.Unsaved(mine, err)
		}
		err = reconcileChange(held, c, written, mine)
		c.claim.Release(ctx)
		if err != nil {
			return change.Unsaved(mine, err)
		}
		c.lost = c.lost[1:]
	}
	return c.beginOn(ctx, c.AttackID())
}

// reconcileChange takes over what this call knows of a change, and deletes rules that it made beside those that are
// stored.
func reconcileChange(ctx context.Context, c *job, written, mine record.Change) error {
	for n, did := range mine.Steps {
		switch was := &written.Steps[n]; {
		case !did.Done: // nothing is known of it
		case !was.Done:
			*was = did
		case did.Kind == record.CreateRule && did.ID != was.ID:
			if err := deleteDouble(ctx, c, written, did); err != nil {
				return err
			}
		}
	}
	if written.State != record.StateBegun {
		return nil
	}
	written.Fault = ""
	_, err := c.save(ctx, nil, nil, written)
	return err
}

// deleteDouble deletes a rule that was made a second time.
func deleteDouble(ctx context.Context, c *job, ch record.Change, made record.Step) error {
	if err := c.switchedOff(); err != nil {
		return err
	}
	if err := change.IgnoreNotFound(c.Services[c.Account.Name].DeleteRule(ctx, made.ID)); err != nil {
		return err
	}
	double := *made.Rule
	double.ID = made.ID
	e := c.AuditEntry("done")
	e.Line, e.Change, e.Attack = ch.Line.String(), ch.ID, ch.AttackID
	e.After = []string{words.Step(record.Step{Kind: record.DeleteRule, Rule: &double})}
	e.Why = "it was made twice: this one is undone, the other one stays"
	c.record(ctx, e)
	return nil
}
