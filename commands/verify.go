package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How long wafbot waits between two checks of a call with unknown outcome, doubled each time, and for how long it
// checks. Until then a rule that isn't listed may still appear, and another call would make a second one.
const (
	firstPause  = 250 * time.Millisecond
	longestWait = 2 * time.Second
	verifyFor   = 35 * time.Second
)

// doubt is a step of unknown outcome while it is verified.
type doubt struct {
	*job
	change  *record.Change
	step    *record.Step
	refused error // of a later try: the first may have been carried out all the same
}

// verifyOrResend finds out what became of a step of unknown outcome: it looks until the step shows, and sends it again
// where that does no more than the first time. It fails with change.ErrOutcomeUnknown where that does not tell either.
func (c *job) verifyOrResend(ctx context.Context, ch *record.Change, step *record.Step) error {
	began, d := c.serviceNow(), &doubt{job: c, change: ch, step: step}
	step.SentAt = cmp.Or(step.SentAt, began)
	for try := 0; ; try++ {
		known, err := d.settle(ctx)
		switch {
		case known:
			return err
		case c.serviceNow().Sub(began) > verifyFor:
			return fmt.Errorf("%w: %w", change.ErrOutcomeUnknown, err)
		}
		if ended := c.Sleep(ctx, delay.Backoff(try, firstPause, longestWait)); ended != nil {
			return fmt.Errorf("%w: %w: %w", change.ErrOutcomeUnknown, ended, err)
		}
	}
}

// errNotListed is why a step is still of unknown outcome that does not show.
var errNotListed = errors.New("it is not listed yet")

// settle verifies the step once, and sends it again if it may. known: nothing more is to be learnt.
func (d *doubt) settle(ctx context.Context) (known bool, err error) {
	found, before, err := d.verify(ctx)
	age := d.serviceNow().Sub(d.step.SentAt)
	gone := age >= efficacy.ListedWithin && apiclient.KindOf(d.refused) != apiclient.Exists
	stopped := d.stopped(*d.change)
	switch {
	case err != nil:
		return false, fmt.Errorf("read back: %w", err)
	case found:
		return true, nil
	case d.refused != nil:
		return gone, d.refused
	case stopped != nil && gone:
		return true, stopped
	case stopped != nil, d.step.Kind == record.CreateRule && age < verifyFor:
		return false, errNotListed
	case !before:
		return true, fmt.Errorf("%w: %w", change.ErrOutcomeUnknown,
			&refusal.Refusal{Kind: refusal.ErrService,
				Text: text.Newf("the service did not answer, and what it was to take the place of is another by now: look with `lists`")})
	case d.step.Kind == record.CreateRule:
		return true, d.createAgain(ctx)
	}
	err = d.sendAgain(ctx)
	switch kind := apiclient.KindOf(err); {
	case err == nil:
		return true, nil
	case !errors.Is(err, change.ErrOutcomeUnknown) && kind != apiclient.Locked && kind != apiclient.RateLimited:
		d.refused = err
	}
	return false, err
}

// stopped is why what was sent may not be sent again; nil: it may.
func (c *job) stopped(ch record.Change) error {
	if c.old {
		return notDoneInTime(ch)
	}
	return c.switchedOff()
}

// switchedOff refuses to send more of what was begun when changes were on.
func (c *job) switchedOff() error {
	if c.Policy.ChangesNow() != config.ChangesOff {
		return nil
	}
	return refusal.Guarded("changes were switched off meanwhile (`policy.changes: off`): what was not done by then " +
		"is not sent")
}

// tooOld reports whether nothing of a change may be sent any more, as too much may have changed since. One that was
// done in part is still finished.
func tooOld(ch record.Change, now time.Time) bool {
	return now.Sub(ch.At) > approval.MaxAge && !ch.Partly()
}

func notDoneInTime(ch record.Change) error {
	return refusal.Guarded("it was asked at %v, over %v ago, and nothing of it was done. Ask again if it is still wanted",
		ch.At, text.Duration(approval.MaxAge))
}

// sendAgain makes the step's call once more.
func (d *doubt) sendAgain(ctx context.Context) error {
	one := []record.Step{*d.step}
	err := d.send(ctx, d.change.Account, one)
	*d.step = one[0]
	return err
}

// verify reads whether the step took effect, or else whether what it found before stands there still: nothing that it
// does not know is overwritten.
func (d *doubt) verify(ctx context.Context) (found, before bool, err error) {
	if d.step.Entry != nil {
		f := d.look(ctx, call.Needs{Entries: d.step.Entry.List})
		entries, err := f.Entries.Value, cmp.Or(f.Changes.Err, f.Entries.Err)
		changed := slices.ContainsFunc(d.step.Before, func(b apiclient.IPRule) bool {
			return !slices.ContainsFunc(entries, func(e apiclient.IPRule) bool { return efficacy.Unchanged(e, b) })
		})
		return err == nil && efficacy.EntryDone(entries, *d.change, d.step), !changed, err
	}
	rules, err := d.rules(ctx)
	return err == nil && efficacy.RuleDone(rules, d.step), true, err
}

// look reads a listing again, with what wafbot did lately.
func (d *doubt) look(ctx context.Context, n call.Needs) *call.Facts {
	c := &call.Call{}
	c.On(d.accounts[d.change.Account])
	d.need(ctx, c, n)
	return c.Facts
}

func (d *doubt) rules(ctx context.Context) ([]apiclient.Rule, error) {
	f := d.look(ctx, call.Needs{Rules: call.AllRules})
	return f.Rules.Value, cmp.Or(f.Changes.Err, f.Rules.Err)
}

// createAgain creates a rule once more that did not show, and deletes one of two if it was made twice: the first may
// have been on its way all the time. One that shows later still is deleted when the change is undone.
func (d *doubt) createAgain(ctx context.Context) error {
	d.step.Again, d.step.SentAt = true, d.serviceNow()
	if _, err := d.save(ctx, nil, nil, *d.change); err != nil {
		return err
	}
	if err := d.sendAgain(ctx); err != nil {
		return err
	}
	_ = d.Sleep(ctx, efficacy.ListedWithin) // after a stop the look fails by itself
	rules, err := d.rules(ctx)
	if err != nil { // the undo verifies again
		d.Log.WarnContext(ctx, "look whether a rule was made twice", "account", d.change.Account, "change", d.change.ID,
			"err", err)
	}
	for _, id := range efficacy.EqualRules(rules, *d.step.Rule) {
		if id == d.step.ID || slices.Contains(d.step.Equal, id) {
			continue
		}
		double := *d.step
		double.ID = id
		if err := deleteDouble(ctx, d.job, *d.change, double); err != nil { // the undo deletes it, too
			d.Log.WarnContext(ctx, "delete a rule that was made twice", "account", d.change.Account, "change", d.change.ID,
				"rule", id, "err", err)
		}
	}
	return nil
}
