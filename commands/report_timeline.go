package commands

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// moment is a line of a timeline.
type moment struct {
	at    time.Time
	text  Text
	below []Text // what belongs to it
}

// timeline is what happened, in the order in which it did.
func (c *Call) timeline(h history) []moment {
	all := slices.Concat(h.beginning(), h.course(c.Account), c.measures(h), c.words(h), c.unseen(h))
	slices.SortStableFunc(all, func(x, y moment) int { return x.at.Compare(y.at) })
	return all
}

// beginning are the first hit, the first sight and the peak.
func (h history) beginning() []moment {
	var all []moment
	if first := h.Attack.First; !first.IsZero() {
		all = append(all, moment{at: first, text: Say("First hit, says the service")})
	}
	if h.Storm != nil {
		s := h.Storm.Storm
		all = append(all, moment{at: s.Began, text: Say(Bold("Storm"), ": ", s.cause(), "; from here on they are gathered in one card")})
		if !s.GoesOn() {
			all = append(all, moment{at: s.Ended, text: Say("The storm is over: new attacks get cards of their own again")})
		}
	}
	if h.Evidence == nil {
		return all
	}
	e := *h.Evidence
	text := "First seen by wafbot"
	if e.Late {
		text = "Seen by wafbot when it knew nothing of it any more"
	}
	all = append(all, moment{e.First.At, Say(text, ": ", figures(e.First.Attack)), []Text{sourcesLine(e.First.Attack)}})
	if p := e.Peak; p != nil {
		fastest := Say(Bold("Peak"), ": about ", apiclient.Known(p.PerMinute), " hits a minute since ", p.Since, "; ", figures(p.Attack))
		all = append(all, moment{p.At, fastest, []Text{sourcesLine(p.Attack)}})
	}
	return all
}

// figures are an attack's in one line.
func figures(a apiclient.Attack) Text {
	return Say(figure(a.Hits, "hit"), ", ", figure(a.SourceCount, "source"), ", ", figure(a.Payloads, "payload"), ", ", StatusName(a))
}

// sourcesLine is where an attack's hits came from, as far as the service listed it.
func sourcesLine(a apiclient.Attack) Text {
	if len(a.Sources) == 0 {
		return Say("Sources: unknown")
	}
	line := Say("Sources: ")
	for i, s := range a.Sources {
		if i > 0 {
			line = Say(line, " · ")
		}
		line = Say(line, Code(s.IP.String()))
		if s.Country != "" {
			line = Say(line, " ", Visible(s.Country, 20))
		}
		if percent, ok := Share(s, a); ok {
			line = Say(line, " ", Percent(percent))
		}
		line = Say(line, " (", s.Hits, ")")
	}
	if rest := a.SourceCount.N - int64(len(a.Sources)); a.SourceCount.Known && rest > 0 {
		line = Say(line, " · ", rest, " more")
	}
	return line
}

// course is what wafbot told about the attack.
func (h history) course(a *Account) []moment {
	if h.Evidence == nil {
		return nil
	}
	words := map[string]string{
		turnNewIncident: "Card: told as an incident", turnNewAttack: "Card: told as an attack", turnBecameIncident: "It became an incident: the service says that it worked",
		turnWorsened: "It got worse", turnQuiet: "Seen quiet: no hit in the last " + HumanDuration(a.OngoingFor), turnResumed: "It goes on again",
	}
	var all []moment
	for _, t := range h.Evidence.Course {
		says := strings.ReplaceAll(string(t.Status), "_", " ")
		all = append(all, moment{at: t.At, text: Say(Bold(cmp.Or(words[t.What], t.What)), ", at ", figure(t.Hits, "hit"), ", ", says)})
	}
	return all
}

// measures are the changes made for the attack, and their ends.
func (c *Call) measures(h history) []moment {
	var all []moment
	for _, ch := range h.Changes {
		text := Say(Bold(ch.Does), ", by ", Visible(ch.Actor.Name, maxField), " ", Code(ch.ID), ": ")
		switch ch.State {
		case StateBegun:
			text = Say(text, "in hand, or nobody knows what came of it")
		case StateFailed:
			text = Say(text, Bold("NOT done"), ", ", ch.Fault)
		case StateHalf:
			text = Say(text, Bold("only partly done"), ", ", ch.Fault)
		case StateDone, StateUndone:
			text = Say(text, ch.accepted())
		}
		if !ch.Until.IsZero() && ch.Amends() == "" {
			text = Say(text, ", until ", ch.Until)
		}
		m := moment{at: ch.At, text: text}
		if ch.Reason != "" {
			m.below = append(m.below, Say("Why: ", Visible(ch.Reason, maxNote)))
		}
		if ch.Seen != nil && ch.Amends() == "" {
			m.below = append(m.below, Say("As wafbot had seen it ", ch.Seen.At, ": ", figures(ch.Seen.Attack)), sourcesLine(ch.Seen.Attack))
			m.below = append(m.below, h.effect(ch)...)
		}
		if n := h.Effects[ch.ID].stopped(); n > 0 {
			m.below = append(m.below, Say("Stopped by it, as far as was seen: at least ", number64(n), Plural(n, " hit")))
		}
		all = append(all, m)
		for _, said := range h.Effects[ch.ID].Said {
			all = append(all, moment{at: said.At, text: Say(Bold(ch.Does), " ", Code(ch.ID), ": ", Text(said.Text))})
		}
		if over := ch.Until; ch.State == StateDone && ch.Amends() == "" && !over.IsZero() && !ch.mustBeEnded() && !over.After(c.Now) {
			all = append(all, moment{at: over, text: Say("Ended by itself: ", ch.Does)})
		}
	}
	return all
}

// effect is what became of the sources that a change denied, each judged by its own hits.
func (h history) effect(ch Change) []Text {
	var lines []Text
	for _, s := range ch.Seen.Attack.Sources {
		if !ch.denies(s.IP) {
			continue
		}
		line := Say("Since then from ", Code(s.IP.String()), ": ")
		i := slices.IndexFunc(h.Attack.Sources, func(now apiclient.Source) bool { return now.IP == s.IP })
		if i < 0 || !h.Listed || !s.Hits.Known || !h.Attack.Sources[i].Hits.Known {
			lines = append(lines, Say(line, "unknown, the service doesn't list it now"))
			continue
		}
		more := max(0, h.Attack.Sources[i].Hits.N-s.Hits.N)
		lines = append(lines, Say(line, count(int(more), "hit"), " more in this attack by ", h.ReadAt))
	}
	return lines
}

// denies reports whether a change put an address on the denylist.
func (c Change) denies(ip netip.Addr) bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool {
		return s.Kind == AddEntry && s.Done && s.Entry.List == apiclient.ListDeny && s.Entry.Kind == apiclient.KindRange && s.Entry.Subnet.Contains(ip)
	})
}

// words are what people said and asked, as the audit log has it: the case holds what was said last only.
func (c *Call) words(h history) []moment {
	var all []moment
	for _, e := range h.Entries {
		if e.Change != "" && slices.ContainsFunc(h.Changes, func(ch Change) bool { return ch.ID == e.Change }) {
			continue // the change tells of it
		}
		all = append(all, moment{at: e.At, text: entryText(e)})
	}
	if len(h.Entries) > 0 {
		return all
	}
	if o := h.Case.Owner; o != nil {
		all = append(all, moment{at: o.Since, text: OwnerLine(o)})
	}
	if v := h.Case.Verdict; v != nil {
		all = append(all, moment{at: v.At, text: VerdictLine(*v)})
	}
	for _, n := range h.Case.Notes {
		all = append(all, moment{at: n.At, text: NoteLine(n)})
	}
	return all
}

// entryText says what somebody asked and what came of it.
func entryText(e AuditEntry) Text {
	who := Visible(e.Actor.Name, maxField)
	line, err := Parse(e.Line)
	first := ""
	if len(line.Words) > 0 {
		first = Visible(line.Words[0], maxNote)
	}
	if err == nil && e.Outcome == "done" {
		switch line.Name {
		case "claim":
			return Say(who, " is on it")
		case "release":
			return Say(who, " releases it: nobody is on it")
		case "handover":
			return handoverText(e, who, first)
		case "note":
			return Say("Note of ", who, ": ", first)
		case "verdict":
			return Say(Bold("Verdict: "+strings.ReplaceAll(first, "_", " ")), ", by ", who)
		}
	}
	text := Say(who, " asked ", Code(Visible(e.Line, maxPath)), ": ", Bold(e.Outcome))
	switch {
	case e.Outcome == "nothing" && e.Why == "":
		text = Say(text, ", it was so already")
	case e.Why != "":
		text = Say(text, ", ", Visible(strings.ReplaceAll(e.Why, "\n", " "), maxNote))
	}
	return text
}

// handoverText says to whom an attack was handed over, by the answer that was given, and with which words.
func handoverText(e AuditEntry, who, message string) Text {
	to, _, _ := strings.Cut(strings.Join(e.After, " "), " is on ")
	text := Say(who, " hands it over to ", Visible(to, maxField))
	if to == e.Actor.Name {
		text = Say(who, " takes it over")
	}
	if message != "" {
		text = Say(text, ": ", message)
	}
	return text
}

// unseen are the times in which nobody watched, or nobody could see whether the attack worked.
func (c *Call) unseen(h history) []moment {
	var all []moment
	for _, s := range h.Blind {
		all = append(all, moment{at: s.From, text: Say(Bold("wafbot was blind"), " ", s.text())})
	}
	for _, m := range h.Modes {
		text := Say("In mode ", m.Mode, " no incidents ", Bold("could"), " be registered on ", c.Account.modeAppName(m.App))
		if !m.Until.IsZero() {
			text = Say(text, " until ", m.Until)
		}
		all = append(all, moment{at: m.From, text: text})
	}
	return all
}

// text says how long a spell was, and why.
func (s Spell) text() Text {
	text := Say("from ", s.From)
	if s.Until.IsZero() {
		text = Say(text, ", and still is")
	} else {
		text = Say(text, " to ", s.Until, fmt.Sprintf(" (%s)", HumanDuration(s.Until.Sub(s.From))))
	}
	return Say(text, ": ", cmp.Or(s.Why, "it was not running, as far as is known"))
}
