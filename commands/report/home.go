package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Home is the overviews of accounts for one user. Status, the Home tab and hand-overs choose from its sections, so that
// all word a row alike.
type Home struct {
	Accounts []Overview
	Who      record.Actor
	Trouble  text.Lines // what is wrong beside the accounts
	Trend    call.Part  // of the accounts together; the zero Part where it wasn't asked for
	Now      time.Time  // of the call
}

// Policies says what the accounts' policies allow.
func (h Home) Policies() text.Text {
	return h.each(Overview.policy)
}

func (o Overview) policy() string {
	if o.NoStore {
		return policy.Away(o.Store)
	}
	return o.Policy.Describe()
}

// Roles are the user's.
func (h Home) Roles() text.Text {
	return h.each(func(o Overview) string { return o.Role.String() })
}

// each says something about the accounts: once if it is the same for all, else each with its accounts.
func (h Home) each(of func(o Overview) string) text.Text {
	said := map[string]string{}
	var names []string
	for _, o := range h.Accounts {
		said[o.Account], names = of(o), append(names, o.Account)
	}
	var lines text.Lines
	all := alike(names, func(x, y string) bool { return said[x] == said[y] })
	for _, accounts := range all {
		line := text.New(said[accounts[0]])
		if len(all) > 1 {
			line.Addf(" (%v)", text.Enumerate(accounts, call.ShortList, func(a string) text.Text { return text.New(a) }))
		}
		lines.Add(line)
	}
	return text.Join(lines, "; ")
}

// section is a part of an answer, and how it is cut where all of it must fit in one message.
type section struct {
	call.Part
	most  int         // rows
	where record.Line // shows the rest
}

// shown are the sections that have a title, each cut if it has to be.
func shown(cut bool, sections ...section) (parts []call.Part) {
	for _, s := range sections {
		if !cut {
			s.most = 0
		}
		if s.Title != nil {
			parts = append(parts, s.CutTo(s.most, s.where))
		}
	}
	return parts
}

// Parts are the sections of the accounts, the worst first. Cut, all blocks of a Home tab are under a hundred.
func (h Home) Parts(cut bool) []call.Part {
	where := h.where()
	waiting, unsettled, muted := h.listed()
	return shown(cut, section{h.ongoing(), 15, where}, section{waiting, 6, where}, section{unsettled, 6, where},
		section{h.modes(), 8, where}, section{h.inForce(), 15, where}, section{muted, 5, where}, section{h.Trend, 0, where},
		section{h.health(), maxHealth, where})
}

// How many accounts in trouble are named, and where many have the same, how many causes there are, with how many
// accounts of each.
const (
	maxHealth = 8
	maxCauses = 3
	maxNamed  = 3
)

// where is the line that shows the rest: the status of one account holds more than there is room for.
func (h Home) where() record.Line {
	if len(h.Accounts) == 1 {
		return record.Line{Name: "status", Flags: []string{"all"}}.With("account", h.Accounts[0].Account)
	}
	return record.Line{Name: "status"}.With("account", "NAME")
}

// PartLines are parts as lines, where there are no buttons. Pages cut the rows; nil: all are shown.
func PartLines(parts []call.Part, pages *call.Pager) (lines text.Lines) {
	for _, p := range parts {
		lines = append(lines, p.Title)
		if pages != nil {
			lines = append(lines, pages.Part(len(p.Rows), func(i int) text.Text { return p.Rows[i].Text })...)
			continue
		}
		for _, r := range p.Rows {
			lines.Add("• ", r.Text)
		}
		if p.More != nil {
			lines = append(lines, p.More)
		}
	}
	return lines
}

// counted is a part whose title ends with the number of its rows; without rows it is the zero Part.
func counted(title text.Sentence, rows []call.Row, values ...any) call.Part {
	if len(rows) == 0 {
		return call.Part{}
	}
	return call.Part{Title: text.New(text.Newf(title, values...), text.Number(len(rows))), Rows: rows}
}

// row names its account where there are several, and loses the buttons that the user's role does not allow.
func (h Home) row(o Overview, words text.Text, do ...call.Suggestion) call.Row {
	if len(h.Accounts) > 1 {
		words = text.Lead(o.Account, " ", words)
	}
	if o.Role < record.Responder {
		do = nil
	}
	return call.Row{Text: words, Do: do}
}

// burning is an attack or storm that goes on, with what orders it among the others.
type burning struct {
	headline words.Headline
	hits     int64
	row      call.Row
}

// ongoing are first the accounts of which it is unknown what goes on, then the storms and attacks of all accounts, what
// burns first.
func (h Home) ongoing() (p call.Part) {
	var all []burning
	faults := map[string]string{}
	var storms, incidents int
	var quietFor time.Duration // the shortest of the accounts'
	for _, o := range h.Accounts {
		if o.Fault != "" {
			faults[o.Account] = o.Fault
		}
		storms += len(o.Storms)
		all = append(all, h.burning(o)...)
		quietFor = min(cmp.Or(quietFor, o.Of.OngoingFor), o.Of.OngoingFor)
	}
	slices.SortStableFunc(all, func(x, y burning) int {
		return cmp.Or(words.UrgentFirst(x.headline, y.headline), cmp.Compare(y.hits, x.hits))
	})
	p.Rows = rowsOf(unknownOf(faults))
	for _, one := range all {
		if p.Rows = append(p.Rows, one.row); one.headline.Incident {
			incidents++
		}
	}
	switch {
	case len(all) > storms:
		p.Title = text.Newf("*Going on: %v*, %v among them",
			text.Count(len(all)-storms, "attack"), text.Count(incidents, "incident"))
		if storms > 0 {
			p.Title.Add(", and ", text.Count(storms, "storm"))
		}
	case storms > 0:
		p.Title = text.Lead("Going on: " + text.Count(storms, "storm"))
	case len(faults) > 0:
		p.Title = text.Lead("Going on: unknown")
	default:
		p.Title = text.Newf("*Nothing is going on* (no hit in the last %v)", text.Duration(quietFor))
	}
	if n := len(faults); n > 0 && n < len(h.Accounts) {
		p.Title.Add(", and what goes on is unknown of ", text.Count(n, "account"))
	}
	return p
}

// rowsOf are lines as rows.
func rowsOf(lines text.Lines) (rows []call.Row) {
	for _, line := range lines {
		rows = append(rows, call.Row{Text: line})
	}
	return rows
}

// unknownOf says why it is unknown what goes on in accounts: a line for each cause, with a few of its accounts.
func unknownOf(faults map[string]string) (lines text.Lines) {
	all := alike(slices.Sorted(maps.Keys(faults)), func(x, y string) bool { return faults[x] == faults[y] })
	for _, accounts := range all[:min(maxCauses, len(all))] {
		names := text.Enumerate(accounts, maxNamed, func(a string) text.Text { return text.Lead(a) })
		lines.Add(names, ": what goes on is unknown: ", faults[accounts[0]])
	}
	return lines
}

// burning are an account's storms and attacks.
func (h Home) burning(o Overview) (all []burning) {
	for _, row := range o.Storms {
		one := burning{headline: words.OfStorm(row, o.unread()), hits: row.Attack.Hits.N}
		words := text.Newf("%v*%v* · %v storm · %v · %v, %v",
			words.CardLink(row.Card), words.StormState(one.headline.State, row.Storm), one.headline.Severity,
			words.Applications(row.Storm, o.Of), words.Counted(row.Storm), words.Active(row.Storm))
		one.row = h.triaged(o, row.ID, words, row.Triage, nil)
		all = append(all, one)
	}
	for _, row := range o.Ongoing {
		s := call.Situation{
			Account: o.Of, Policy: o.Policy, ID: row.ID, Attack: row.Attack, AccountChanges: o.InForce, Efficacy: o.Efficacy,
			Triage: row.Triage, Now: o.Now,
			Changes: slices.DeleteFunc(slices.Clone(o.InForce), func(ch record.Change) bool { return ch.AttackID != row.ID }),
		}.As(o.States[row.ID])
		one := burning{headline: efficacy.Headline(s), hits: row.Attack.Hits.N}
		one.row = h.triaged(o, row.ID, words.AttackRow(s, one.headline, words.CardLink(row.Card)), row.Triage,
			text.Newf(": `%v`",
				words.Where(row.Attack)))
		all = append(all, one)
	}
	return all
}

// unread is the outage in which the account could not be read just now; zero if it was. Storms are stored, so they are
// shown all the same.
func (o Overview) unread() (unread record.Outage) {
	if o.Fault != "" {
		unread = record.Outage{From: o.Now, Why: o.Fault}
		if o.Health != nil {
			unread.From = cmp.Or(o.Health.Since, o.Now)
		}
	}
	return unread
}

// triaged is the row of an attack or storm, with its owner and verdict, its id, and what its attacker wrote last.
func (h Home) triaged(o Overview, id string, words text.Text, k record.Triage, written text.Text) call.Row {
	of := triage(k)
	if o.NoStore {
		of = text.New("who is on it is unknown")
	}
	words.Addf(" · %v · `%v`%v", of, id, written)
	if k.Owner != nil || o.NoStore {
		return h.row(o, words)
	}
	return h.row(o, words, advice.Acknowledge(call.Situation{Account: o.Of, ID: id}))
}

// triage names the owner of an attack or storm, and its verdict.
func triage(k record.Triage) text.Text {
	lines := words.Triage(k)
	if k.Owner == nil {
		lines = slices.Insert(lines, 0, words.Owner(nil))
	}
	return text.Join(lines, " · ")
}

// listed are the requests that wait, the changes whose outcome isn't known yet, and the mutes.
func (h Home) listed() (waiting, unsettled, muted call.Part) {
	var requests, changes, mutes []call.Row
	for _, o := range h.Accounts {
		for _, r := range o.Waiting {
			words := text.Newf("`%v` %v · asked by %v %v · until %v",
				r.ID, text.Sanitize(r.Does, text.MaxPath), text.Field(r.Asker.Name), r.At, r.Until)
			requests = append(requests, h.row(o, words, advice.Approval(r, h.Who, o.Role)...))
		}
		for _, ch := range o.Unsettled {
			changes = append(changes, h.row(o, words.Row(ch, nil)))
		}
		for _, m := range o.Muted {
			mutes = append(mutes, h.row(o, words.Mute(m)))
		}
	}
	return counted("*Waiting for approval: *", requests), counted("*Being carried out: *", changes),
		counted("*Muted, incidents excepted: *", mutes)
}

// modes are the switches that have not returned. They affect every visitor, so they stand apart.
func (h Home) modes() call.Part {
	return counted("*Modes that have not returned: *", h.changes(record.Change.SwitchesMode))
}

// inForce is what else of wafbot's still holds.
func (h Home) inForce() (p call.Part) {
	var unknown []call.Row
	n := 0
	for _, o := range h.Accounts {
		if n += len(o.InForce); o.NoStore {
			unknown = append(unknown, h.row(o, text.Newf("What is in force is unknown: wafbot's store (Redis) %v. So is what people did, and nothing can be changed meanwhile", o.Store)))
		}
	}
	rows := h.changes(func(ch record.Change) bool { return !ch.SwitchesMode() })
	switch {
	case len(unknown) == len(h.Accounts):
		p.Title = text.Lead("In force by wafbot: unknown")
	case n == 0:
		p.Title = text.Lead("Nothing of wafbot's is in force")
	case len(rows)+len(unknown) == 0: // only modes
		return p
	default:
		p.Title = text.Lead("In force by wafbot: ", text.Number(len(rows)))
	}
	if n := len(unknown); n > 0 && n < len(h.Accounts) {
		p.Title.Add(", and unknown of ", text.Count(n, "account"))
	}
	p.Rows = append(unknown, rows...)
	return p
}

// changes are the changes in force that are wanted: of each account first those that should have ended.
func (h Home) changes(wanted func(record.Change) bool) (rows []call.Row) {
	for _, o := range h.Accounts {
		for _, overdue := range []bool{true, false} {
			for _, ch := range o.InForce {
				if ch.Overdue(o.Now) == overdue && wanted(ch) {
					rows = append(rows, h.row(o, o.changeLine(ch), advice.Undo(ch, o.Now)...))
				}
			}
		}
	}
	return rows
}

// changeLine is a change in force, its efficacy first: rows are cut.
func (o Overview) changeLine(ch record.Change) text.Text {
	row := words.Row(ch, nil)
	s := call.Situation{Account: o.Of, Efficacy: o.Efficacy, Now: o.Now}
	if seen := efficacy.Brief(s, ch); len(seen) > 0 && ch.State == record.StateDone {
		row = text.Newf("%v %v · %v", words.ChangeID(ch), seen, words.Span(ch))
	}
	switch {
	case ch.Overdue(o.Now):
		return text.Lead("Should have ended, and is tried each minute: ", row)
	case ch.SwitchesMode() && !ch.Until.IsZero():
		return text.New(row, " · returns by itself")
	}
	return row
}

// health says what keeps wafbot from seeing or acting, and how old the oldest good poll of the other accounts is.
func (h Home) health() (p call.Part) {
	var oldest Overview // the one that was last polled well the longest time ago
	well, unknown := 0, 0
	p.Rows = rowsOf(h.Trouble)
	for _, o := range h.Accounts {
		for _, line := range o.trouble() {
			p.Rows = append(p.Rows, h.row(o, line))
		}
		switch {
		case o.Health == nil:
			unknown++
		case o.Health.Failing == "" && len(o.Damaged) == 0:
			well++
			if oldest.Health == nil || o.age() > oldest.age() {
				oldest = o
			}
		}
	}
	p.Title = text.Newf("*Health: *%v of %v watched well", text.Number(well), text.Count(len(h.Accounts), "account"))
	if well > 0 {
		p.Title.Add(", last good poll ", words.Ago(oldest.Health.LastGood, oldest.Now))
	}
	if unknown > 0 {
		p.Title.Add("; not known of ", text.Number(unknown))
	}
	return p
}

// age is how long ago the last good poll was.
func (o Overview) age() time.Duration { return o.Now.Sub(o.Health.LastGood) }

// trouble says what keeps wafbot from watching the account or from changing it.
func (o Overview) trouble() (lines text.Lines) {
	if h := o.Health; h != nil {
		if h.Failing != "" {
			line := text.Newf("*WAF API unreachable: *%v; last good poll %v", h.Failing, words.Ago(h.LastGood, o.Now))
			if !h.Since.IsZero() {
				line.Add("; so since ", h.Since)
			}
			lines = append(lines, line)
		}
		if h.Capped != "" {
			lines.Addf("*Not all attacks are watched: *%v", h.Capped)
		}
		if h.TooLong != "" {
			lines.Addf("*Skipped, as it is too long to be read: *%v", h.TooLong)
		}
	}
	for _, name := range o.Damaged {
		line := text.Newf("*Damaged in Redis, and set aside: *`%v`", text.Sanitize(name, text.MaxPath))
		if _, id, ok := strings.Cut(name, ":changes "); ok {
			line.Addf(". Whether change `%v` is in force is unknown, and wafbot can't end it: look at `lists` and `rules`",
				text.Field(id))
		}
		lines = append(lines, line)
	}
	if t := o.PermissionLoss; t != nil {
		lines.Addf("*WAF permission lost: *the service doesn't let wafbot %v, since %v", t.Cannot(), t.Since)
	}
	return lines
}
