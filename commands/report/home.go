package report

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Home is what one person's Home tab shows: the overviews of all accounts by what matters, whichever account it is about.
type Home struct {
	Accounts []Overview
	Who      record.Actor
	Role     record.Role
	Policy   policy.Policy
	Trouble  []text.Text // what is wrong beside the accounts
	Now      time.Time
}

// How many rows of each kind a Home tab shows, so that all its blocks are under a hundred.
const (
	homeOngoing = 15
	homeWaiting = 6
	homeModes   = 8
	homeInForce = 15
	homeMuted   = 5
	homeHealth  = 8
)

// Parts are the parts of the tab, the worst first. Only buttons that the person may use are in it.
func (h Home) Parts() []call.Part {
	switched, rest := h.inForceParts()
	parts := []call.Part{
		h.ongoingPart().CutTo(homeOngoing, h.where()), h.waitingPart().CutTo(homeWaiting, h.where()), switched.CutTo(homeModes, h.where()),
		rest.CutTo(homeInForce, h.where()), h.mutedPart().CutTo(homeMuted, h.where()), h.healthPart().CutTo(homeHealth, h.where()),
	}
	return slices.DeleteFunc(parts, func(p call.Part) bool { return p.Title == nil })
}

// row is a line about something of an account, which is named where there are several.
func (h Home) row(o Overview, words text.Text, do ...call.Suggestion) call.Row {
	if len(h.Accounts) > 1 {
		words = text.New(text.Bold(o.Account), " ", words)
	}
	if h.Role < record.Responder {
		do = nil
	}
	return call.Row{Text: words, Do: do}
}

// where the rest is: one account's status holds more than there is room for.
func (h Home) where() record.Line {
	if len(h.Accounts) == 1 {
		return record.Line{Name: "status", Flags: []string{"all"}}.With("account", h.Accounts[0].Account)
	}
	return record.Line{Name: "status"}.With("account", "NAME")
}

// ongoing is an attack and the overview that it is in.
type ongoing struct {
	of  Overview
	row call.AttackRow
}

func (h Home) ongoingPart() call.Part {
	var all []ongoing
	var p call.Part
	incidents, unknown := 0, 0
	for _, o := range h.Accounts {
		if o.Fault != "" {
			unknown++
			p.Rows = append(p.Rows, call.Row{Text: o.ongoingHead()})
		}
		for _, row := range o.Ongoing {
			all = append(all, ongoing{o, row})
			if row.Attack.Incident() {
				incidents++
			}
		}
	}
	p.Rows = p.Rows[:min(homeHealth, len(p.Rows))]
	slices.SortStableFunc(all, func(x, y ongoing) int { return describe.WorstFirst(x.row.Attack, y.row.Attack) })
	storms := h.stormRows()
	p.Rows = append(p.Rows, storms...)
	for _, b := range all {
		p.Rows = append(p.Rows, h.attackRow(b.of, b.row))
	}
	switch {
	case len(all)+len(storms) > 0:
		p.Title = text.New(text.Bold("Going on: "+text.Count(len(all), "attack")), ", ", text.Count(incidents, "incident"), " among them")
		if len(storms) > 0 {
			p.Title = text.New(p.Title, ", ", text.Count(len(storms), "storm"))
		}
	case unknown > 0:
		p.Title = text.New(text.Bold("Going on: unknown"))
	default:
		p.Title = text.New(text.Bold("Nothing is going on"), " (no hit in the last ", text.Duration(h.quietFor()), ")")
	}
	if unknown > 0 && unknown < len(h.Accounts) {
		p.Title = text.New(p.Title, ", and what goes on is unknown of ", text.Count(unknown, "account"))
	}
	return p
}

// quietFor is how long nothing was hit where nothing is going on.
func (h Home) quietFor() (least time.Duration) {
	for _, o := range h.Accounts {
		if least == 0 || o.Of.OngoingFor < least {
			least = o.Of.OngoingFor
		}
	}
	return least
}

// stormRows are the storms of all accounts that go on.
func (h Home) stormRows() (rows []call.Row) {
	for _, o := range h.Accounts {
		for _, row := range o.Storms {
			var claim []call.Suggestion
			if row.Triage.Owner == nil {
				claim = append(claim, advice.Acknowledge(call.Situation{Account: o.Of, ID: row.ID}))
			}
			rows = append(rows, h.row(o, o.stormRow(row, h.Now), claim...))
		}
	}
	return rows
}

func (h Home) attackRow(o Overview, row call.AttackRow) call.Row {
	text := text.New(o.attackLine(row, h.Now), " · ", triage(row.Triage))
	if row.Triage.Owner != nil {
		return h.row(o, text)
	}
	return h.row(o, text, advice.Acknowledge(call.Situation{Account: o.Of, ID: row.ID}))
}

func (h Home) waitingPart() (p call.Part) {
	for _, o := range h.Accounts {
		for _, r := range o.Waiting {
			p.Rows = append(p.Rows, h.row(o, requestLine(r), advice.Approval(r, h.Who, h.Role)...))
		}
	}
	if len(p.Rows) > 0 {
		p.Title = text.New(text.Bold("Waiting for approval: "), text.Number(len(p.Rows)))
	}
	return p
}

// inForceParts are what wafbot did and what still holds, modes apart: everybody feels them. What should have ended stands first.
func (h Home) inForceParts() (switched, rest call.Part) {
	var unknown []call.Row
	for _, o := range h.Accounts {
		if o.NoStore {
			unknown = append(unknown, h.row(o, o.inForceHead()))
			continue
		}
		modes, others := o.modes()
		switched.Rows = append(switched.Rows, h.changeRows(o, modes)...)
		rest.Rows = append(rest.Rows, h.changeRows(o, others)...)
	}
	if len(switched.Rows) > 0 {
		switched.Title = text.New(text.Bold("Modes that have not returned: "), text.Number(len(switched.Rows)))
	}
	rest.Title = text.New(text.Bold("In force by wafbot: "), text.Number(len(rest.Rows)))
	switch {
	case len(unknown) == len(h.Accounts):
		rest.Title = text.New(text.Bold("In force by wafbot: unknown"))
	case len(unknown) > 0:
		rest.Title = text.New(rest.Title, ", and unknown of ", text.Count(len(unknown), "account"))
	}
	rest.Rows = append(unknown, rest.Rows...)
	return switched, rest
}

func (h Home) changeRows(o Overview, changes []record.Change) (rows []call.Row) {
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(x, y record.Change) int {
		switch {
		case x.Overdue(h.Now) == y.Overdue(h.Now):
			return 0
		case x.Overdue(h.Now):
			return -1
		}
		return 1
	})
	for _, ch := range changes {
		var do []call.Suggestion
		if undo, ok := advice.Undo(ch, h.Now); ok {
			do = append(do, undo)
		}
		rows = append(rows, h.row(o, o.changeLine(ch, h.Now), do...))
	}
	return rows
}

func (h Home) mutedPart() (p call.Part) {
	for _, o := range h.Accounts {
		for _, m := range o.Muted {
			p.Rows = append(p.Rows, h.row(o, describe.Mute(m)))
		}
	}
	if len(p.Rows) > 0 {
		p.Title = text.New(text.Bold("Muted, incidents excepted: "), text.Number(len(p.Rows)))
	}
	return p
}

// healthPart says what keeps wafbot from seeing or acting, and how long ago the others were looked at.
func (h Home) healthPart() (p call.Part) {
	var oldest time.Time
	well, unknown := 0, 0
	for _, line := range h.Trouble {
		p.Rows = append(p.Rows, call.Row{Text: line})
	}
	for _, o := range h.Accounts {
		trouble := o.troubleLines(h.Now)
		for _, line := range trouble {
			p.Rows = append(p.Rows, h.row(o, line))
		}
		switch {
		case o.Health == nil:
			unknown++
		case o.Health.Failing == "":
			well++
			if oldest.IsZero() || o.Health.LastGood.Before(oldest) {
				oldest = o.Health.LastGood
			}
		}
	}
	p.Title = text.New(text.Bold("Health: "), text.Number(well), " of ", text.Count(len(h.Accounts), "account"), " watched well")
	if well > 0 {
		p.Title = text.New(p.Title, ", last good poll ", describe.Ago(oldest, h.Now))
	}
	if unknown > 0 {
		p.Title = text.New(p.Title, "; not known of ", text.Number(unknown))
	}
	return p
}
