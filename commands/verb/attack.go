package verb

import (
	"errors"
	"slices"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func attack() *call.Command {
	return &call.Command{
		Name: "attack", Role: record.Viewer,
		Summary: "one attack: what, from where, since when, and what was done",
		Args:    []call.Arg{{Name: "id", Object: true, Required: true, Help: "the attack's id, as on its card", Label: "Attack", Options: form.OngoingAttacks}},
		Needs:   []call.Fact{call.FactEntries, call.FactRules},
		Read:    readAttack,
	}
}

func readAttack(c *call.Call) (call.Result, error) {
	a := c.Account
	k, old := report.Fresh(c)
	noContext := c.LoadContext()
	res := call.Result{AttackID: k.ID, Account: a.Name}
	storm, isOne, err := report.Storm(c)
	var noStorms error
	if err != nil {
		return call.Result{}, err
	}
	if isOne {
		res.Lines = report.StormLines(c, storm)
	} else {
		res.Lines = append(report.AttackLines(c, k), old...)
		var grouped text.Text
		if grouped, noStorms = report.StormOfLine(c); grouped != nil {
			res.Lines = append(res.Lines, grouped)
		}
	}
	said, noTriage := c.Given().Triage(k.ID)
	row := call.NewAttackRow(a, k.Attack, said)
	row.Ongoing = c.Ongoing(a, k.Attack)
	changes, noChanges := c.Given().Changes()
	known, noEfficacy := c.Given().Efficacy()
	res.Data = row
	if err := errors.Join(noTriage, noChanges, noContext, noStorms, noEfficacy); err != nil { // reads go on without Redis
		res.Lines = append(res.Lines, text.New("Who is on it and what was done is unknown: wafbot's store (Redis) can't be reached"))
	}
	res.Lines = append(res.Lines, describe.Triage(row.Triage)...)
	now := call.Situation{Account: a, Policy: c.PolicyNow(), ID: k.ID, Attack: k.Attack, Context: c.Context, AccountChanges: changes, Efficacy: known, Now: c.Now}
	for _, ch := range changes {
		if ch.AttackID == k.ID && ch.Parent() == "" {
			now.Changes = slices.Insert(now.Changes, 0, ch)
			res.Lines = append(res.Lines, text.New("• ", describe.Row(ch, efficacy.Line(now, ch))))
			res.Changes = append(res.Changes, ch)
		}
	}
	if !isOne {
		res.Lines = append(res.Lines, report.Details(c, now)...)
	}
	// The newest first, and last of all: of a hundred notes a message of a chat holds some.
	for _, n := range slices.Backward(row.Triage.Notes) {
		res.Lines = append(res.Lines, describe.Note(n))
	}
	return res, nil
}
