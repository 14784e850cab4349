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

// document is a report under construction.
type document struct {
	text.Document
	History
	c *call.Call
}

// Markdown is a history as Markdown.
func Markdown(c *call.Call, h History) string {
	d := &document{text.Document{Zone: c.Zone}, h, c}
	d.head()
	d.Heading(2, text.New("What happened"))
	for _, m := range h.timeline(c) {
		d.Item(text.New(m.at, " ", m.text), m.below...)
	}
	d.inPlace()
	d.whoDidWhat()
	d.Heading(2, text.New("What is not known"))
	for _, line := range h.notKnown() {
		d.Item(line)
	}
	return d.Out.String()
}

func (d *document) itemf(s text.Sentence, values ...any) { d.Item(text.Newf(s, values...)) }

// head is what it was and how bad.
func (d *document) head() {
	attack := d.Attack
	if d.Storm != nil {
		d.stormHead()
	} else {
		kind := "Attack"
		if attack.Incident() {
			kind = "INCIDENT"
		}
		d.Heading(1, text.Newf("%v `%v`: %v on %v", kind, d.ID, words.TypeName(text.Field(attack.Type)),
			d.c.Account.AppName(attack.App)))
		d.itemf("Where: `%v`%v", words.Where(attack), words.Part(attack))
		d.itemf("Account: `%v`; the service's id: `%v`",
			d.Account, text.Sanitize(cmp.Or(attack.ID, "unknown"), text.MaxPath))
	}
	d.itemf("How bad: *%v*; threat as the service rates it: %v", words.StatusName(attack), attack.Threat)
	if d.Storm == nil {
		d.Item(d.outcome())
	}
	read := text.New("when they were read is unknown")
	if !d.ReadAt.IsZero() {
		read = text.Newf("read %v, %v", d.ReadAt, words.Ago(d.ReadAt, d.At))
	}
	d.Item(text.Newf("Figures (%v): %v", read, figures(attack)),
		text.Newf("First hit: %v; last hit: %v", stamp(attack.First), stamp(attack.Last)), allSources(attack))
	if d.away == nil {
		d.Item(triage(d.Triage))
	}
	for _, s := range d.Outages {
		d.Item(words.Outage(s))
	}
	d.itemf("Put together %v; times are those of %v", d.At, d.c.Zone.String())
}

// stormHead is what a storm was: what it grouped, and what is behind it.
func (d *document) stormHead() {
	row, a, sources := *d.Storm, d.c.Account, d.c.PolicyNow()
	s := row.Storm
	d.Heading(1, text.Newf("Storm `%v`: %v on %v, %v", row.ID, text.Count(s.Grouped, "attack"), words.Applications(s, a),
		words.StormState(words.OfStorm(row, record.Outage{}).State, s)))
	d.itemf("Account: `%v`; one card for all of them, because %v", row.Account, words.NoOwnCards(s))
	d.Item(words.Cause(s, sources))
	for _, line := range words.Tallies(s, a, sources, row.Attack.SourceCount) {
		d.Item(line)
	}
	if s.UnblockedCount > 0 {
		var unblocked text.Lines
		for _, one := range s.Unblocked {
			unblocked = append(unblocked, words.Attack(a, one, d.c.Now))
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
func (d *document) outcome() text.Text {
	var modes text.Lines
	for _, m := range d.Modes {
		modes = append(modes, m.Text(d.c.Account, d.At))
	}
	switch a := d.Attack; {
	case a.Incident():
		return worked(a)
	case a.FalsePositive():
		return text.New("It is marked as a false positive at the service")
	case len(modes) == 0:
		return text.New("The service registered no incident")
	}
	return text.New("The service registered no incident, which says little. ", text.Join(modes, ". "))
}

// inPlace is what still holds, until when, and how it is undone.
func (d *document) inPlace() {
	d.Heading(2, text.New("Still in place"))
	s := call.Situation{Account: d.c.Account, ID: d.ID, Attack: d.Attack, Efficacy: d.Efficacy, Now: d.At}
	for _, ch := range d.InPlace {
		line := text.Lead(ch.Does, ", by ", text.Field(ch.Actor.Name))
		switch {
		case ch.Overdue(d.At):
			line.Addf(", though it should have ended %v: wafbot tries each minute", ch.Until)
		case ch.Until.IsZero():
			line.Add(", without an end")
		case ch.MustBeEnded():
			line.Add(", until wafbot undoes it ", ch.Until)
		default:
			line.Add(", until it ends by itself ", ch.Until)
		}
		if seen := efficacy.Line(s, ch); len(seen) > 0 && !ch.Overdue(d.At) {
			line.Add(". Now: ", seen)
		}
		d.itemf("%v. `undo %v` undoes it", line, ch.ID)
	}
	for _, m := range d.Mutes {
		d.itemf("Muted: %v. `unmute %v` ends it", words.Mute(m), m.ID)
	}
	switch {
	case d.away != nil:
		d.Item(text.New("Unknown, or not all of it: ", refusal.Store(d.away)))
	case len(d.InPlace)+len(d.Mutes) == 0:
		d.itemf("Nothing of wafbot's for this attack")
	}
}

// alike puts items that are the same into groups, in the order of each group's first item.
func alike[T any](all []T, same func(x, y T) bool) (groups [][]T) {
	for _, one := range all {
		i := slices.IndexFunc(groups, func(of []T) bool { return same(of[0], one) })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], one)
	}
	return groups
}

// whoDidWhat is what each person asked, by the audit log.
func (d *document) whoDidWhat() {
	d.Heading(2, text.New("Who did what"))
	for _, of := range alike(d.Entries, func(x, y record.AuditEntry) bool { return x.Actor.Is(y.Actor) }) {
		var did text.Lines
		for _, ended := range alike(of, func(x, y record.AuditEntry) bool { return x.Outcome == y.Outcome }) {
			var verbs []string
			for _, e := range ended {
				verb, _, _ := strings.Cut(e.Line, " ")
				if verb = text.Field(verb); !slices.Contains(verbs, verb) {
					verbs = append(verbs, verb)
				}
			}
			did.Addf("%v %v (%v)", len(ended), ended[0].Outcome, strings.Join(verbs, ", "))
		}
		d.Item(text.New(text.Field(of[0].Actor.Name), ": ", text.Join(did, ", ")))
	}
	if len(d.Entries) == 0 {
		d.itemf("Nothing about this attack is in the audit log, as far as it is kept and can be read")
		return
	}
	number := func(e record.AuditEntry) text.Text { return text.New(e.N) }
	d.itemf("Audit entries of `%v`: %v", d.Account, text.Enumerate(d.Entries, maxNumbers, number))
}

// maxNumbers is how many numbers of audit entries are written out.
const maxNumbers = 60

// notKnown says what a reader must not take for granted.
func (h History) notKnown() text.Lines {
	all := append(text.Lines{
		text.New("How many hits there were exactly: the service counts samples, and late. Quiet means that no hit was seen, not that it is over"),
		text.New("What others did in the service's console, and what a node's own setting overrides"),
	}, h.Unknown...)
	switch e := h.Evidence; {
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
