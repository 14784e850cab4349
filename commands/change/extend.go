package change

import (
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// PlanExtend plans to move the end of the change that the line names.
func PlanExtend(c *call.Call) ([]call.Plan, error) {
	ch, err := ByLine(c)
	if err != nil {
		return nil, refusal.About(err, "change", "")
	}
	switch {
	case c.Actor.Via == record.ViaClock && c.Now.Before(CheckAt(ch)):
		return nil, extendedMeanwhile(ch)
	case ch.State == record.StateBegun:
		return nil, &refusal.InHand{Change: ch}
	case !ch.InForce(c.Now):
		return nil, refusal.Nothing("%v is over: ask for it again", ch.Does)
	case ch.Until.IsZero():
		return nil, refusal.Nothing("%v has no end", ch.Does)
	}
	length, err := grammar.ParseDuration(c.Line.Keys["for"])
	until := End(ch.Until, length)
	if err == nil { // shortly before its end it may be prolonged by as much as at its end
		err = c.Policy.GuardEnd(until, c.Now.Add(leadOf(ch)))
	}
	if err != nil {
		return nil, err
	}
	again, err := planLonger(c, ch, until)
	if err != nil {
		return nil, err
	}
	by := "by " + text.Duration(length)
	if length == grammar.Never {
		by = "forever"
	}
	p := call.Plan{
		Line: record.LineOf("", "extend", ch.ID).With("for", grammar.DurationText(length)).
			With("reason", c.Line.Keys["reason"]),
		Does: "Extend " + by + ": " + ch.Does, Until: until, Role: max(ch.Role, again.Role),
		Warnings: again.Warnings, Extends: ch.ID,
	}
	takeAttack(c, ch)
	if ch.MustBeEnded() {
		err = rulesStand(c, ch)
	} else {
		p.When = words.EntryWorks
		err = extendEntries(c, &p, ch)
	}
	return []call.Plan{p}, err
}

// ExtendNeeds are the facts that extending the change needs: where it stands now.
func ExtendNeeds(c *call.Call) call.Needs {
	ch, err := standing(c, c.Line.Words[0])
	switch {
	case err != nil:
		return call.Needs{}
	case ch.MustBeEnded():
		return call.Needs{Rules: call.AllRules}
	}
	return call.Needs{Entries: call.AllLists}
}

// planLonger is the plan of the change's own line if it were to hold until then, for its guards and warnings:
// what may not be asked for so long by now is not prolonged either.
func planLonger(c *call.Call, ch record.Change, until time.Time) (p call.Plan, err error) {
	cmd, err := call.LookUp(c.Commands, ch.Line.Name)
	if err != nil {
		return p, err
	}
	lasts := grammar.Never
	if !until.IsZero() {
		lasts = min(until.Sub(c.Now).Truncate(time.Second), c.Policy.LongestDuration)
	}
	again := *c
	again.Cmd, again.Line = cmd, ch.Line.With("for", grammar.DurationText(lasts))
	plans, err := cmd.Plan(&again)
	c.Needs = again.Needs
	if err != nil {
		return p, err
	}
	return plans[0], nil
}

// rulesStand refuses to prolong a change if one of its rules isn't as wafbot left it. Only wafbot knows when rules end,
// so nothing is sent.
func rulesStand(c *call.Call, ch record.Change) error {
	rules, err := c.Facts.Rules.Get()
	if err != nil {
		return err
	}
	for _, s := range ch.Did(record.CreateRule) {
		if !ruleStands(c, rules, s) {
			return refusal.Guarded("rule `%v` was deleted or changed: there is nothing to extend",
				efficacy.CurrentRule(c.Changes, s.ID))
		}
	}
	return nil
}

// extendEntries plans to send the entries again that are still as wafbot left them, with the later end and the same
// reason, so that they stay those of the change which made them.
func extendEntries(c *call.Call, p *call.Plan, ch record.Change) error {
	entries, err := c.Facts.Entries.Get()
	if err != nil {
		return err
	}
	for _, s := range ch.Did(record.AddEntry) {
		left, changed := entriesLeft(c, entries, ch, s)
		if changed != nil {
			p.Notes.Add(changed)
		}
		for _, e := range left {
			longer := e
			longer.Expires = endOfEntry(p.Until)
			// A longer extension whose outcome wafbot never learnt may have been made: nothing is shortened.
			if !e.Expires.IsZero() && efficacy.LastsAsLong(e, longer) {
				addNothing(p, words.Sources(e), " is on the ", words.ListName(e.List), words.Until(e.Expires), " already")
				continue
			}
			p.Steps = append(p.Steps, record.Step{Kind: record.AddEntry, Entry: &longer, Force: true,
				Before: []apiclient.IPRule{e}})
		}
	}
	switch {
	case len(p.Steps)+len(p.Nothing) == 0:
		words := text.Join(append([]text.Text{text.New("there is nothing to extend")}, p.Notes...), "; ")
		return refusal.Guarded("%v", words)
	case len(p.Nothing) > 0 && (len(p.Steps) > 0 || c.Actor.Via == record.ViaClock): // an attempt of the clock's that was never stored is now
		p.Notes, p.Nothing = append(p.Notes, p.Nothing), nil
	}
	return nil
}
