package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

func extend() *Command {
	return &Command{
		Name: "extend", Role: Responder,
		Summary: "let a change hold longer than it would",
		Args: []Arg{
			{Name: "change", Object: true, Required: true, Help: "the change's id, as c7k2m9xw4", Options: changesInForce},
			{Name: "for", Required: true, Help: "how much longer, from its present end: 30m, 4h, 7d", Label: "How much longer", Read: readDuration, Options: lengthsOrEver},
			argReason,
		},
		Example: "extend c7k2m9xw4 for=4h",
		Plan:    planExtend,
	}
}

func planExtend(ctx context.Context, c *Call) ([]Plan, error) {
	ch, err := c.changeTyped(c.Known)
	if err != nil {
		return nil, about(err, "change", "")
	}
	switch {
	case c.Actor.Via == ViaClock && c.Now.Before(ch.LookAt()):
		return nil, nothing(Say(ch.Does, " was prolonged meanwhile. Nothing was sent"))
	case ch.State == StateBegun:
		return nil, guarded(Say(ch.Does, " is still in hand: nobody knows yet whether it was done. Nothing was sent"))
	case !ch.InForce(c.Now):
		return nil, nothing(Say(ch.Does, " is over: ask for it anew. Nothing was sent"))
	case ch.Until.IsZero():
		return nil, nothing(Say(ch.Does, " has no end. Nothing was sent"))
	}
	length, err := parseDuration(c.Line.Keys["for"])
	if err != nil {
		return nil, err
	}
	until := end(ch.Until, length)
	// Shortly before its end it may be prolonged as it could be made anew at its end.
	if err := c.cfg.Policy.guardEnd(until, c.Now.Add(ch.lead())); err != nil {
		return nil, err
	}
	again, err := c.planAgain(ctx, ch, until)
	if err != nil {
		return nil, err
	}
	p := Plan{
		Line: Line{Name: "extend", Words: []string{ch.ID}}.With("for", durationText(length)).With("reason", c.Line.Keys["reason"]),
		Does: prolongText(length) + ": " + ch.Does, Until: until, Role: max(ch.Role, again.Role), Warnings: again.Warnings, Extends: ch.ID,
	}
	if c.Attack == nil && ch.AttackID != "" {
		c.Attack = &KnownAttack{ID: ch.AttackID}
	}
	if ch.mustBeEnded() {
		return []Plan{p}, c.rulesStand(ctx, ch)
	}
	p.When = entryWorks
	err = c.extendEntries(ctx, &p, ch)
	return []Plan{p}, err
}

func prolongText(length time.Duration) string {
	if length == never {
		return "Prolong for ever"
	}
	return "Prolong by " + HumanDuration(length)
}

// planAgain is the plan of the change's own line if it were to hold until then, for its guards and warnings:
// what may not be asked for so long by now is not prolonged either.
func (c *Call) planAgain(ctx context.Context, ch Change, until time.Time) (Plan, error) {
	cmd, err := c.lookUp(ch.Line.Name)
	if err != nil {
		return Plan{}, err
	}
	lasts := never
	if !until.IsZero() {
		lasts = min(until.Sub(c.Now).Truncate(time.Second), c.cfg.Policy.longest())
	}
	again := *c
	again.Cmd, again.Line = cmd, ch.Line.With("for", durationText(lasts))
	plans, err := cmd.Plan(ctx, &again)
	c.needs = again.needs
	if err != nil {
		return Plan{}, err
	}
	return plans[0], nil
}

// rulesStand refuses to prolong a change of whose rules one is not as wafbot left it. Of rules only wafbot knows the end: nothing is sent.
func (c *Call) rulesStand(ctx context.Context, ch Change) error {
	rules, err := collect(c.Account.API.Rules(ctx, apiclient.RuleFilter{}))
	if err != nil {
		return err
	}
	for _, s := range ch.Steps {
		if s.Kind == CreateRule && s.Done && !c.stands(rules, s) {
			return guarded(Say("somebody took away or changed rule ", Code(fmt.Sprint(ruleNow(c.Known, s.ID))), ": there is nothing to prolong. Nothing was done"))
		}
	}
	return nil
}

// extendEntries plans to send the entries again that are still as wafbot left them, with the later end and the same reason,
// so that they stay those of the change which made them.
func (c *Call) extendEntries(ctx context.Context, p *Plan, ch Change) error {
	entries, err := collect(c.Account.API.IPRules(ctx, apiclient.IPRuleFilter{}))
	if err != nil {
		return err
	}
	for _, s := range ch.Steps {
		if s.Kind != AddEntry || !s.Done {
			continue
		}
		i, changed := c.entryLeft(entries, ch, s)
		if changed != nil {
			p.Notes = append(p.Notes, changed)
			continue
		}
		longer := entries[i]
		if longer.Expires = p.Until; p.Until.IsZero() {
			longer.Expires = apiclient.Forever
		}
		// A longer extension whose outcome wafbot never learnt may have been made: nothing is shortened.
		if e := entries[i]; !e.Expires.IsZero() && lastsAsLong(e, longer) {
			p.Nothing = join(p.Nothing, Say(names(e), " is on the ", listName(e.List), untilText(e.Expires), " already"))
			continue
		}
		p.Steps = append(p.Steps, Step{Kind: AddEntry, Entry: &longer, Force: true, Before: []apiclient.IPRule{entries[i]}})
	}
	longer := len(p.Nothing) > 0
	if longer && (len(p.Steps) > 0 || c.Actor.Via == ViaClock) { // an attempt of the clock's that was never written down is now
		p.Notes, p.Nothing = append(p.Notes, p.Nothing), nil
	}
	if longer || len(p.Steps) > 0 {
		return nil
	}
	text := Say("there is nothing to prolong")
	for _, n := range p.Notes {
		text = Say(text, "; ", n)
	}
	return guarded(Say(text, ". Nothing was done"))
}

// prolonged moves the change's end, never to an earlier one.
func (c *Change) prolonged(until time.Time) {
	if !c.Until.IsZero() && (until.IsZero() || until.After(c.Until)) {
		c.Until = until
	}
}
