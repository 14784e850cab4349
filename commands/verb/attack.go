package verb

import (
	"errors"
	"slices"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func attackNeeds(c *call.Call) call.Needs {
	n := report.FreshNeeds(c)
	n.Entries, n.Rules, n.Changes, n.Efficacy, n.Context, n.Storms = call.AllLists, call.AllRules, true, true, true, true
	n.Triage, n.States = c.Attack.ID, []string{c.Attack.ID}
	return n
}

func readAttack(c *call.Call) (call.Result, error) {
	a := c.Account
	k, old := report.Fresh(c)
	_, noContext := c.Facts.Context.Get()
	res := call.Result{AttackID: k.ID, Account: a.Name}
	storm, isOne, err := report.Storm(c)
	if err != nil {
		return call.Result{}, err
	}
	said, noTriage := c.Facts.Triage.Get()
	row := c.AttackRow(k.Attack, said)
	now, noStates := situation(c, k)
	row.Ongoing = row.Ongoing || now.GoesOn
	res.Data = row
	var noStorms error
	if isOne {
		res.Lines = report.StormLines(c, storm)
	} else {
		if now.Quiet = !row.Ongoing; len(old) > 0 {
			now.Outage.From = c.Now
		}
		res.Lines.Add(words.Line(now, efficacy.Headline(now)))
		res.Lines = append(append(res.Lines, report.AttackLines(c, k)...), old...)
		var grouped text.Text
		if grouped, noStorms = report.StormOfLine(c); grouped != nil {
			res.Lines.Add(grouped)
		}
	}
	if err := errors.Join(noTriage, noStates, noContext, noStorms); err != nil { // reads go on without Redis
		res.Lines.Add("Who is on it and what was done is unknown: ", refusal.Store(err))
	}
	res.Lines = append(res.Lines, words.Triage(row.Triage)...)
	for _, ch := range slices.Backward(now.Changes) {
		res.Changes = append(res.Changes, ch)
		res.Lines.Add("• ", words.Row(ch, efficacy.Line(now, ch)))
	}
	if !isOne {
		res.Lines = append(res.Lines, report.Details(now)...)
	}
	// The newest first, and last of all: of a hundred notes a message of a chat holds some.
	for _, n := range slices.Backward(row.Triage.Notes) {
		res.Lines.Add(words.Note(n))
	}
	return res, nil
}

// situation is what is decided from about an attack. After an error it holds what could be read.
func situation(c *call.Call, k record.KnownAttack) (call.Situation, error) {
	changes, noChanges := c.Facts.Changes.Get()
	known, noEfficacy := c.Facts.Efficacy.Get()
	states, noStates := c.Facts.States.Get()
	s := call.Situation{
		Account: c.Account, Policy: c.PolicyNow(), ID: k.ID, Attack: k.Attack, Context: c.Context, Efficacy: known,
		Triage: c.Facts.Triage.Value, Now: c.Now,
	}.As(states[k.ID]).Made(changes)
	entries, noEntries := c.Facts.Entries.Get()
	rules, noRules := c.Facts.Rules.Get()
	if noEntries == nil && noRules == nil {
		s.Entries, s.Rules, s.ListsReadAt = entries, rules, c.Now
	}
	return s, errors.Join(noChanges, noEfficacy, noStates)
}
