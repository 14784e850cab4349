package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Markdown is a history as Markdown.
func Markdown(c *call.Call, h History) string {
	d := &text.Document{Zone: c.Zone}
	head(c, d, h)
	d.Heading(2, text.New("What happened"))
	for _, m := range timeline(c, h) {
		d.Item(text.New(m.at, " ", m.text), m.below...)
	}
	inPlace(c, d, h)
	whoDidWhat(d, h)
	d.Heading(2, text.New("What is not known"))
	for _, t := range notKnown(h) {
		d.Item(t)
	}
	return d.Out.String()
}

// head is what it was and how bad.
func head(c *call.Call, d *text.Document, h History) {
	a, attack := c.Account, h.Attack
	kind := "Attack"
	if attack.Incident() {
		kind = "INCIDENT"
	}
	if h.Storm != nil {
		stormHead(c, d, *h.Storm)
	} else {
		d.Heading(1, text.Newf("%v `%v`: %v on %v",
			kind, h.ID, words.TypeName(text.Field(attack.Type)), a.AppName(attack.App)))
		d.Item(text.Newf("Where: `%v`%v", words.Where(attack), words.Part(attack)))
		d.Item(text.Newf("Account: `%v`; the service's id: `%v`",
			h.Account, text.Sanitize(cmp.Or(attack.ID, "unknown"), text.MaxPath)))
	}
	d.Item(text.Newf("How bad: *%v*; threat as the service rates it: %v", words.StatusName(attack), attack.Threat))
	if h.Storm == nil {
		d.Item(outcome(c, h))
	}
	read := text.New("when they were read is unknown")
	if !h.ReadAt.IsZero() {
		read = text.Newf("read %v, %v", h.ReadAt, words.Ago(h.ReadAt, h.At))
	}
	d.Item(text.Newf("Figures (%v): %v",
		read, figures(attack)), text.Newf("First hit: %v; last hit: %v", stamp(attack.First), stamp(attack.Last)),
		allSources(attack))
	if h.away == nil {
		d.Item(triage(h.Triage))
	}
	for _, s := range h.Outages {
		d.Item(words.Outage(s))
	}
	d.Item(text.Newf("Put together %v; times are those of %v", h.At, c.Zone.String()))
}

// stormHead is what a storm was: what it grouped, and what is behind it.
func stormHead(c *call.Call, d *text.Document, row call.StormRow) {
	s := row.Storm
	d.Heading(1, text.Newf("Storm `%v`: %v on %v, %v",
		row.ID, text.Count(s.Grouped, "attack"), words.Applications(s, c.Account),
		words.StormState(words.OfStorm(row, record.Outage{}).State, s)))
	d.Item(text.Newf("Account: `%v`; one card for all of them, because %v", row.Account, words.NoOwnCards(s)))
	d.Item(words.Cause(s, c.PolicyNow()))
	for _, line := range words.Tallies(s, c.Account, c.PolicyNow(), row.Attack.SourceCount) {
		d.Item(line)
	}
	if s.UnblockedCount > 0 {
		var unblocked text.Lines
		for _, one := range s.Unblocked {
			unblocked = append(unblocked, words.Attack(c.Account, one, c.Now))
		}
		d.Item(text.New("Get through: ", text.Number(s.UnblockedCount)), unblocked...)
	}
	d.Item(text.New(besideStorm(s), ", each with its own report"))
}

// stamp is a moment, "unknown" if it is none.
func stamp(t time.Time) text.Text {
	if t.IsZero() {
		return text.New("unknown")
	}
	return text.New(t)
}

// outcome says whether the attack worked, as far as that is known.
func outcome(c *call.Call, h History) text.Text {
	if h.Attack.Incident() {
		return worked(h.Attack)
	}
	if h.Attack.FalsePositive() {
		return text.New("It is marked as a false positive at the service")
	}
	if len(h.Modes) == 0 {
		return text.New("The service registered no incident")
	}
	var modes text.Lines
	for _, m := range h.Modes {
		modes = append(modes, m.Text(c.Account, h.At))
	}
	return text.New("The service registered no incident, which says little. ", text.Join(modes, ". "))
}

// inPlace is what still holds, until when, and how it is undone.
func inPlace(c *call.Call, d *text.Document, h History) {
	d.Heading(2, text.New("Still in place"))
	s := call.Situation{Account: c.Account, ID: h.ID, Attack: h.Attack, Efficacy: h.Efficacy, Now: h.At}
	for _, ch := range h.InPlace {
		line := text.Lead(ch.Does, ", by ", text.Field(ch.Actor.Name))
		switch {
		case ch.Overdue(h.At):
			line.Addf(", though it should have ended %v: wafbot tries each minute", ch.Until)
		case ch.Until.IsZero():
			line.Add(", without an end")
		case ch.MustBeEnded():
			line.Add(", until wafbot undoes it ", ch.Until)
		default:
			line.Add(", until it ends by itself ", ch.Until)
		}
		if seen := efficacy.Line(s, ch); len(seen) > 0 && !ch.Overdue(h.At) {
			line.Add(". Now: ", seen)
		}
		d.Item(text.Newf("%v. `undo %v` undoes it", line, ch.ID))
	}
	for _, m := range h.Mutes {
		d.Item(text.Newf("Muted: %v. `unmute %v` ends it", words.Mute(m), m.ID))
	}
	switch {
	case h.away != nil:
		d.Item(text.New("Unknown, or not all of it: ", refusal.Store(h.away)))
	case len(h.InPlace)+len(h.Mutes) == 0:
		d.Item(text.New("Nothing of wafbot's for this attack"))
	}
}

// whoDidWhat is what each person asked, by the audit log.
func whoDidWhat(d *text.Document, h History) {
	type doing struct {
		who      record.Actor
		outcomes []string
		times    map[string]int      // by outcome
		verbs    map[string][]string // by outcome, each once
	}
	var people []*doing
	for _, e := range h.Entries {
		i := slices.IndexFunc(people, func(p *doing) bool { return p.who.Is(e.Actor) })
		if i < 0 {
			i, people = len(people), append(people, &doing{who: e.Actor, times: map[string]int{}, verbs: map[string][]string{}})
		}
		p := people[i]
		if p.times[e.Outcome]++; p.times[e.Outcome] == 1 {
			p.outcomes = append(p.outcomes, e.Outcome)
		}
		verb, _, _ := strings.Cut(e.Line, " ")
		if verb = text.Field(verb); !slices.Contains(p.verbs[e.Outcome], verb) {
			p.verbs[e.Outcome] = append(p.verbs[e.Outcome], verb)
		}
	}
	d.Heading(2, text.New("Who did what"))
	for _, p := range people {
		line := text.New(text.Field(p.who.Name))
		for i, outcome := range p.outcomes {
			between := ", "
			if i == 0 {
				between = ": "
			}
			line.Addf("%v%v %v (%v)", between, p.times[outcome], outcome, strings.Join(p.verbs[outcome], ", "))
		}
		d.Item(line)
	}
	if len(people) == 0 {
		d.Item(text.New("Nothing about this attack is in the audit log, as far as it is kept and can be read"))
	} else {
		d.Item(text.Newf("Audit entries of `%v`: %v",
			h.Account, text.Enumerate(h.Entries, maxNumbers, func(e record.AuditEntry) text.Text { return text.New(e.N) })))
	}
}

// maxNumbers is how many numbers of audit entries are written out.
const maxNumbers = 60

// notKnown says what a reader must not take for granted.
func notKnown(h History) text.Lines {
	all := text.Lines{
		text.New("How many hits there were exactly: the service counts samples, and late. Quiet means that no hit was seen, not that it is over"),
		text.New("What others did in the service's console, and what a node's own setting overrides"),
	}
	all = append(all, h.Unknown...)
	e := h.Evidence
	switch {
	case h.away != nil:
		all.Addf("What else wafbot saw and did, or a part of it: %v. What was done is also on wafbot's standard output",
			refusal.Store(h.away))
	case e == nil && len(h.Changes)+len(h.Entries) == 0 && h.Triage.Owner == nil:
		all.Add("How it looked at first: wafbot posted no card of it, and keeps that only of attacks with a card")
	case e == nil:
		all.Add("How it looked at first: that is not kept, because wafbot posted no card of it, its store was emptied, or it is over 30 days ago")
	case e.Late:
		all.Add("How it looked at first: wafbot's store was emptied since, or an earlier version did not keep it")
	}
	if n := len(h.Outages); n > 0 {
		all.Addf("What happened while it was not watched: %v %v, with their times above", n,
			text.Plural(int64(n), "outage"))
	}
	return all
}
