package verb

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func attacks() *call.Command {
	return &call.Command{
		Name: "attacks", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "the attacks of the last hour, the newest first",
		Args: []call.Arg{
			{Name: "since", Help: "how far back: 1h", Read: call.ReadDuration},
			{Name: "storm", Help: "only those that a storm groups, by its id, as on its card", Options: form.StormsGathered}, call.ArgPage,
		},
		Read: func(c *call.Call) (call.Result, error) {
			if c.Line.Keys["storm"] != "" {
				return report.ListGrouped(c)
			}
			return readListing(c, "attack", time.Hour, apiclient.AttackFilter{})
		},
	}
}

// readListing lists attacks, or incidents only, of all the accounts that the call is about.
func readListing(c *call.Call, what string, back time.Duration, f apiclient.AttackFilter) (call.Result, error) {
	var err error
	if f.From, err = report.Since(c, back); err != nil {
		return call.Result{}, err
	}
	res := call.Result{Account: c.OnlyAccount()}
	data, pages := []call.AttackRow{}, call.Pages(c, len(c.InScope))
	failed := 0
	for _, a := range c.InScope {
		all, err := c.Facts(a.Name).Attacks(f)
		if err != nil {
			err := refusal.FromService(fmt.Errorf("list attacks of %s: %w", a.Name, err))
			if failed++; failed == len(c.InScope) {
				return call.Result{}, err
			}
			words, _ := call.ForPeople(c.Invocation, err)
			res.Lines = append(res.Lines, text.New(text.Bold(a.Name), ": unknown: ", words))
			continue
		}
		res.Lines = append(res.Lines, text.New(text.Bold(a.Name), ": ", text.Count(len(all), what), " in the last ", text.Duration(c.Now.Sub(f.From))))
		res.Lines = append(res.Lines, report.AttackList(c, pages, a, all)...)
		for _, attack := range all {
			data = append(data, call.AttackRow{ID: record.AttackID(a.Name, attack.ID), Account: a.Name, Ongoing: c.Ongoing(a, attack), Attack: attack})
		}
	}
	res.Data = data
	return pages.Finish(res)
}

func incidents() *call.Command {
	return &call.Command{
		Name: "incidents", Role: record.Viewer, AnyAccount: true, Flags: []string{"all"},
		Summary: "the attacks that worked, the newest first",
		Args:    []call.Arg{{Name: "since", Help: "how far back: 24h", Read: call.ReadDuration}, call.ArgPage},
		Read: func(c *call.Call) (call.Result, error) {
			return readListing(c, "incident", 24*time.Hour, apiclient.AttackFilter{IncidentsOnly: true})
		},
	}
}

func attack() *call.Command {
	return &call.Command{
		Name: "attack", Role: record.Viewer,
		Summary: "one attack: what, from where, since when, and what was done",
		Args:    []call.Arg{{Name: "id", Object: true, Required: true, Help: "the attack's id, as on its card", Label: "Attack", Options: form.OngoingAttacks}},
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
		var gathered text.Text
		if gathered, noStorms = report.StormOfLine(c); gathered != nil {
			res.Lines = append(res.Lines, gathered)
		}
	}
	row := call.AttackRow{ID: k.ID, Account: a.Name, Ongoing: c.Ongoing(a, k.Attack), Attack: k.Attack}
	var noTriage error
	row.Triage, noTriage = c.Given().Triage(k.ID)
	changes, noChanges := c.Given().Changes()
	effects, noEffects := c.Given().Efficacy()
	res.Data = row
	if err := errors.Join(noTriage, noChanges, noContext, noStorms, noEffects); err != nil { // reads go on without Redis
		res.Lines = append(res.Lines, text.New("Who is on it and what was done is unknown: wafbot's store (Redis) can't be reached"))
	}
	res.Lines = append(res.Lines, describe.Triage(row.Triage)...)
	now := call.Situation{Account: a, ID: k.ID, Attack: k.Attack, Scene: c.Context, Known: changes, Effects: effects, Now: c.Now}
	for _, ch := range changes {
		if ch.AttackID == k.ID && ch.Parent() == "" {
			res.Lines = append(res.Lines, text.New("• ", describe.ChangeRow(ch, efficacy.Line(now, ch))))
			res.Changes = append(res.Changes, ch)
		}
	}
	// The newest first, and last of all: of a hundred notes a message of a chat holds some.
	for _, n := range slices.Backward(row.Triage.Notes) {
		res.Lines = append(res.Lines, describe.Note(n))
	}
	return res, nil
}
