package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

// document is a history as Markdown.
func (c *Call) document(h history) string {
	d := &document{zone: c.cfg.Zone}
	c.head(d, h)
	d.heading(2, Say("What happened"))
	for _, m := range c.timeline(h) {
		d.item(Say(m.at, " ", m.text), m.below...)
	}
	c.inPlace(d, h)
	whoDidWhat(d, h)
	d.heading(2, Say("What is not known"))
	for _, t := range c.notKnown(h) {
		d.item(t)
	}
	return d.out.String()
}

// head is what it was and how bad.
func (c *Call) head(d *document, h history) {
	a, attack := c.Account, h.Attack
	kind := "Attack"
	if attack.Incident() {
		kind = "INCIDENT"
	}
	if h.Storm != nil {
		c.stormHead(d, *h.Storm)
	} else {
		d.heading(1, Say(kind, " ", Code(h.ID), ": ", TypeName(Visible(attack.Type, maxField)), " on ", a.AppName(attack.App)))
		d.item(Say("Where: ", Code(Where(attack)), partText(attack)))
		d.item(Say("Account: ", Code(h.Account), "; the service's id: ", Code(Visible(cmp.Or(attack.ID, "unknown"), maxPath))))
	}
	d.item(Say("How bad: ", Bold(StatusName(attack)), "; threat as the service rates it: ", attack.Threat))
	if h.Storm == nil {
		d.item(c.worked(h))
	}
	read := Say("when they were read is unknown")
	if !h.ReadAt.IsZero() {
		read = Say("read ", h.ReadAt, ", ", ago(h.ReadAt, h.At))
	}
	d.item(Say("Figures (", read, "): ", figures(attack)), Say("First hit: ", stamp(attack.First), "; last hit: ", stamp(attack.Last)), sourcesLine(attack))
	owner := Text(nil)
	for _, l := range caseLines(h.Case) {
		owner = append(owner, Say(". ", l)...)
	}
	if h.Case.Owner == nil {
		owner = Say(". ", OwnerLine(nil), owner)
	}
	if !h.away {
		d.item(owner[1:])
	}
	for _, s := range h.Blind {
		d.item(Say(Bold("wafbot was blind"), " ", s.text()))
	}
	d.item(Say("Put together ", h.At, "; times are those of ", c.cfg.Zone.String()))
}

// stormHead is what a storm was: what it gathered, and what is behind it.
func (c *Call) stormHead(d *document, row StormRow) {
	s := row.Storm
	d.heading(1, Say("STORM ", Code(row.ID), ": ", count(s.Gathered, "attack"), " on ", s.On(c.Account), ", ", s.Blocking()))
	d.item(Say("Account: ", Code(row.Account), "; one card for all of them, because ", s.Why()))
	d.item(s.Cause(c.policy()))
	for _, line := range s.Tallies(c.Account, c.policy(), row.Attack.SourceCount) {
		d.item(line)
	}
	var odd []Text
	for _, one := range s.Odd {
		odd = append(odd, AttackLine(c.Account, one, c.Now))
	}
	if s.OddCount > 0 {
		d.item(Say("Odd ones out (they get through beside it): ", number(s.OddCount)), odd...)
	}
	d.item(Say("Cards of their own: ", number(s.Before), " before it, ", number(s.Own), " of those that it gathered, and ", count(s.Incidents, "incident"), " meanwhile, each with its own report"))
}

func partText(a apiclient.Attack) Text {
	if point, ok := apiclient.ParameterPoint(a.Parameter); ok {
		return Say(", in part ", Code(Visible(point.String(), maxField)))
	}
	if a.Parameter != "" {
		return Say(", in field ", Code(Visible(a.Parameter, maxField)))
	}
	return nil
}

// stamp is a moment, "unknown" if it is none.
func stamp(t interface{ IsZero() bool }) Text {
	if t.IsZero() {
		return Say("unknown")
	}
	return Say(t)
}

// worked says whether the attack worked, as far as anybody can tell.
func (c *Call) worked(h history) Text {
	if h.Attack.Incident() {
		return Say(Bold("It worked"), ", says the service: vulnerability ", Code(Visible(h.Attack.VulnID, maxField)), ". Assume data was read")
	}
	if h.Attack.FalsePositive() {
		return Say("At the service somebody marked it as a false positive")
	}
	if len(h.Modes) == 0 {
		return Say("The service registered no incident")
	}
	text := Say("The service registered no incident, which tells little: ")
	for i, m := range h.Modes {
		if i > 0 {
			text = Say(text, "; ")
		}
		text = Say(text, c.Account.modeSpellText(m, h.At))
	}
	return text
}

// inPlace is what still holds, until when, and how it is taken back.
func (c *Call) inPlace(d *document, h history) {
	d.heading(2, Say("Still in place"))
	s := Situation{Account: c.Account, ID: h.ID, Attack: h.Attack, Effects: h.Effects, Now: h.At}
	for _, ch := range h.InPlace {
		line := Say(Bold(ch.Does), ", by ", Visible(ch.Actor.Name, maxField))
		switch {
		case ch.overdue(h.At):
			line = Say(line, ", though it should have ended ", ch.Until, ": wafbot tries each minute")
		case ch.Until.IsZero():
			line = Say(line, ", without an end")
		case ch.mustBeEnded():
			line = Say(line, ", until wafbot takes it back ", ch.Until)
		default:
			line = Say(line, ", until it ends by itself ", ch.Until)
		}
		if seen := s.EffectLine(ch); len(seen) > 0 && !ch.overdue(h.At) {
			line = Say(line, ". Now: ", seen)
		}
		d.item(Say(line, ". ", Code("undo "+ch.ID), " takes it back"))
	}
	for _, m := range h.Mutes {
		d.item(Say("Muted: ", MuteLine(m), ". ", Code("unmute "+m.ID), " ends it"))
	}
	switch {
	case h.away:
		d.item(Say("Unknown, or not all of it: wafbot's memory (Redis) can't be reached"))
	case len(h.InPlace)+len(h.Mutes) == 0:
		d.item(Say("Nothing of wafbot's for this attack"))
	}
}

// whoDidWhat is what each person asked, by the audit log.
func whoDidWhat(d *document, h history) {
	type doing struct {
		name, id string
		outcomes []string
		lines    map[string][]string // verbs by outcome
	}
	var people []*doing
	for _, e := range h.Entries {
		i := slices.IndexFunc(people, func(p *doing) bool { return p.id == e.Actor.ID })
		if i < 0 {
			i, people = len(people), append(people, &doing{name: e.Actor.Name, id: e.Actor.ID, lines: map[string][]string{}})
		}
		p := people[i]
		if !slices.Contains(p.outcomes, e.Outcome) {
			p.outcomes = append(p.outcomes, e.Outcome)
		}
		verb, _, _ := strings.Cut(e.Line, " ")
		p.lines[e.Outcome] = append(p.lines[e.Outcome], Visible(verb, maxField))
	}
	d.heading(2, Say("Who did what"))
	for _, p := range people {
		line := Say(Visible(p.name, maxField), " (", Code(Visible(p.id, maxField)), ")")
		for i, outcome := range p.outcomes {
			between := ", "
			if i == 0 {
				between = ": "
			}
			line = Say(line, between, len(p.lines[outcome]), " ", outcome, " (", strings.Join(once(p.lines[outcome]), ", "), ")")
		}
		d.item(line)
	}
	if len(people) == 0 {
		d.item(Say("Nothing about this attack is in the audit log, as far as it is kept and can be read"))
	} else {
		d.item(Say("Audit entries of ", Code(h.Account), ": ", numbersText(h.Entries)))
	}
}

// once is each word once, in their order.
func once(words []string) []string {
	var all []string
	for _, w := range words {
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// maxNumbers is how many numbers of audit entries are written out.
const maxNumbers = 60

func numbersText(entries []AuditEntry) string {
	var numbers []string
	for _, e := range entries[:min(maxNumbers, len(entries))] {
		numbers = append(numbers, fmt.Sprint(e.N))
	}
	if rest := len(entries) - maxNumbers; rest > 0 {
		numbers = append(numbers, fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(numbers, ", ")
}

// notKnown says what a reader must not take for granted.
func (c *Call) notKnown(h history) []Text {
	all := []Text{
		Say("How many hits there were exactly: the service counts samples, and late. Quiet means that no hit was seen, not that it is over"),
		Say("What others did in the service's console, and what a node's own setting overrides"),
	}
	all = append(all, h.Unknown...)
	e := h.Evidence
	switch {
	case h.away:
		all = append(all, Say("What else wafbot saw and did: its memory (Redis) can't be reached, or not all of it. What was done is also on wafbot's standard output"))
	case e == nil && len(h.Changes)+len(h.Entries) == 0 && h.Case.Owner == nil:
		all = append(all, Say("How it looked at first and at its peak: wafbot told nobody of it, and keeps that of attacks only that it tells"))
	case e == nil:
		all = append(all, Say("How it looked at first and at its peak: that is not kept, because wafbot did not tell of it, its memory was emptied, or it is over 30 days ago"))
	case e.Late:
		all = append(all, Say("How it looked at first: wafbot's memory was emptied since, or an earlier version did not keep it"))
	}
	if e != nil && e.Peak == nil {
		all = append(all, Say("How fast it came at its peak: its hits were not seen growing"))
	}
	if e != nil && e.Dropped > 0 {
		all = append(all, Say("When it paused and went on ", e.Dropped, " more times in between: only some of that is kept"))
	}
	if n := len(h.Blind); n > 0 {
		all = append(all, Say("What happened while wafbot was blind: ", n, " ", Plural(int64(n), "spell"), ", with their times above"))
	}
	return all
}
