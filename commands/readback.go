package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// lookAgain reads back what a call of unknown outcome did, at once and after each wait; never found, it is sent once more, unless it was asked too long ago.
func (r *Runner) lookAgain(ctx context.Context, c *job, ch *record.Change, step *record.Step) error {
	for _, wait := range []time.Duration{0, r.cfg.ReadBack[0], r.cfg.ReadBack[1]} {
		if err := delay.Sleep(ctx, wait); err != nil {
			return fmt.Errorf("%w: %w", errUnknown, err)
		}
		found, err := r.verify(ctx, r.cfg.Services[c.Account.Name], *ch, step)
		if err != nil {
			return fmt.Errorf("%w: read back: %w", errUnknown, err)
		}
		if found {
			return nil
		}
	}
	if c.Now.Sub(ch.At) > stale && !ch.Partly() {
		return refusal.Guarded(text.New("it was asked at ", ch.At, ", over ", text.HumanDuration(stale), " ago, and nothing of it was done. Ask again if it is still wanted"))
	}
	step.Again = true
	if _, err := c.save(ctx, nil, *ch); err != nil {
		return err
	}
	if err := send(ctx, r.cfg.Services[c.Account.Name], step); err != nil {
		return err
	}
	return r.dropDouble(ctx, c, *ch, step)
}

// dropDouble takes back a rule that was sent twice and made twice: the first may have been on its way all the time. One that shows later still
// is taken back with the change.
func (r *Runner) dropDouble(ctx context.Context, c *job, ch record.Change, step *record.Step) error {
	if step.Kind != record.CreateRule {
		return nil
	}
	_ = delay.Sleep(ctx, r.cfg.ReadBack[1]) // after a stop the look fails by itself
	ids, err := equalRules(ctx, r.cfg.Services[c.Account.Name], *step.Rule)
	if err != nil { // the undo looks again
		r.cfg.Log.Warn("look whether a rule was made twice", "account", ch.Account, "change", ch.ID, "err", err)
		ids = nil
	}
	for _, id := range ids {
		if id == step.ID || slices.Contains(step.Equal, id) {
			continue
		}
		double := *step
		double.ID = id
		if err := r.takeBack(ctx, c, ch, double); err != nil {
			return err
		}
	}
	return nil
}

// verify reads the listings that tell whether a step that was sent took effect.
func (r *Runner) verify(ctx context.Context, s Service, ch record.Change, step *record.Step) (bool, error) {
	switch step.Kind {
	case record.AddEntry, record.DeleteEntry:
		entries, err := collect(s.IPRules(ctx, apiclient.IPRuleFilter{List: step.Entry.List}))
		return err == nil && entryStepTookEffect(entries, ch, step), err
	case record.CreateRule:
		rules, err := collect(s.Rules(ctx, apiclient.RuleFilter{}))
		return err == nil && ruleStepTookEffect(rules, step), err
	}
	return false, nil // deleting a rule again does no harm
}

// entryStepTookEffect reports whether a step on the lists took effect, and notes the id of the entry that it made.
func entryStepTookEffect(entries []apiclient.IPRule, ch record.Change, step *record.Step) bool {
	if step.Kind == record.DeleteEntry {
		return !slices.ContainsFunc(entries, func(e apiclient.IPRule) bool { return unchanged(e, *step.Entry) })
	}
	i := slices.IndexFunc(entries, func(e apiclient.IPRule) bool {
		return ours(e, ch, *step) && (namedBy(e, ch) || lastsAsLong(e, *step.Entry))
	})
	if i >= 0 {
		step.ID = entries[i].ID
	}
	return i >= 0
}

// ruleStepTookEffect reports whether the rule of a step was created, and notes its id.
func ruleStepTookEffect(rules []apiclient.Rule, step *record.Step) bool {
	ids := idsOfEqual(rules, *step.Rule)
	i := slices.IndexFunc(ids, func(id int64) bool { return !slices.Contains(step.Equal, id) })
	if i >= 0 {
		step.ID = ids[i]
	}
	return i >= 0
}

// ours reports whether an entry is the one that the step made: by its reason, which begins with the change's id,
// or, of one that was put back or prolonged, is the one it had before.
func ours(e apiclient.IPRule, ch record.Change, step record.Step) bool {
	return sameSource(e, *step.Entry) && (namedBy(e, ch) || e.Reason == step.Entry.Reason)
}

// namedBy reports whether an entry's reason names the change.
func namedBy(e apiclient.IPRule, ch record.Change) bool {
	return strings.HasPrefix(e.Reason, reasonPrefix(ch.ID))
}

// lastsAsLong reports whether an entry ends no earlier than the other. One whose end the service does not tell counts.
func lastsAsLong(e, want apiclient.IPRule) bool {
	return e.Expires.IsZero() || !e.Expires.Before(want.Expires)
}

// unchanged reports whether an entry still is what it was: the service keeps the number of one that somebody overwrites.
func unchanged(e, was apiclient.IPRule) bool {
	return e.ID == was.ID && sameEntry(e, was) && e.Reason == was.Reason && e.Expires.Equal(was.Expires)
}

// sameSource reports whether two entries are for the same sources on the same list.
func sameSource(a, b apiclient.IPRule) bool {
	if a.List != b.List || a.Kind != b.Kind || a.Subnet != b.Subnet || len(a.Values) != len(b.Values) {
		return false
	}
	return !slices.ContainsFunc(a.Values, func(v string) bool {
		return !slices.ContainsFunc(b.Values, func(w string) bool { return strings.EqualFold(v, w) })
	})
}

// sameEntry reports whether two entries are for the same sources and applications, so that one overwrites the other.
func sameEntry(a, b apiclient.IPRule) bool {
	return sameSource(a, b) && holdsFor(a.Apps, b.Apps) && holdsFor(b.Apps, a.Apps)
}

// equalRules are the ids of the rules that do the same.
func equalRules(ctx context.Context, s Service, want apiclient.Rule) ([]int64, error) {
	rules, err := collect(s.Rules(ctx, apiclient.RuleFilter{}))
	return idsOfEqual(rules, want), err
}

func idsOfEqual(rules []apiclient.Rule, want apiclient.Rule) []int64 {
	var ids []int64
	for _, rule := range rules {
		if apiclient.SameRule(rule, want) {
			ids = append(ids, rule.ID)
		}
	}
	return ids
}
