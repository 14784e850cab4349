package report

import (
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// moment is a line of a timeline.
type moment struct {
	at    time.Time
	text  text.Text
	below text.Lines // what belongs to it
}

// timeline is what happened, in the order in which it did.
func timeline(c *call.Call, h History) []moment {
	all := slices.Concat(h.ends(c), changesMade(c, h), written(h), unseen(c, h))
	slices.SortStableFunc(all, func(x, y moment) int { return x.at.Compare(y.at) })
	return all
}

// ends are the first hit, the first observation, the card, and when an attack counted as over.
func (h History) ends(c *call.Call) []moment {
	var all []moment
	if first := h.Attack.First; !first.IsZero() {
		all = append(all, moment{at: first, text: text.New("First hit, says the service")})
	}
	if h.Storm != nil {
		s := h.Storm.Storm
		all = append(all, moment{at: s.Began, text: text.Newf("*Storm*: %v; from here on they are grouped in one card",
			words.Trigger(s))})
		if !s.GoesOn() {
			all = append(all, moment{at: s.Ended, text: text.New("The storm is over: new attacks get cards of their own again")})
		}
	}
	if e := h.Evidence; e != nil {
		line := "First seen by wafbot"
		if e.Late {
			line = "Seen by wafbot when it knew nothing of it any more"
		}
		all = append(all, moment{e.First.At, text.New(line, ": ", figures(e.First.Attack)),
			text.Lines{allSources(e.First.Attack)}})
		if !e.CardAt.IsZero() {
			all = append(all, moment{at: e.CardAt, text: text.Lead("Card posted")})
		}
	}
	if last := h.Attack.Last; !last.IsZero() && !c.Ongoing(h.Attack) {
		quiet := text.Newf("*Quiet*: no hit since %v, as far as is known", last)
		all = append(all, moment{at: last.Add(c.Account.OngoingFor), text: quiet})
	}
	return all
}

// figures are an attack's in one line.
func figures(a apiclient.Attack) text.Text {
	return text.Newf("%v, %v, %v, %v",
		words.Figure(a.Hits, "hit"), words.Figure(a.SourceCount, "source"), words.Figure(a.Payloads, "payload"),
		words.StatusName(a))
}

// allSources are all that the service listed, with their hits.
func allSources(a apiclient.Attack) text.Text {
	return sourcesLine(a, len(a.Sources), func(s apiclient.Source) string { return "(" + s.Hits.String() + ")" })
}

// changesMade are the changes made for the attack, and their ends.
func changesMade(c *call.Call, h History) []moment {
	var all []moment
	for _, ch := range h.Changes {
		line := text.Newf("*%v*, by %v `%v`: ", ch.Does, text.Field(ch.Actor.Name), ch.ID)
		switch ch.State {
		case record.StateBegun:
			line.Add("in progress, or its outcome is unknown")
		case record.StateFailed:
			line.Addf("*NOT done*, %v", ch.Fault)
		case record.StateHalf:
			line.Addf("*only partly done*, %v", ch.Fault)
		case record.StateDone, record.StateUndone:
			line.Add(words.Accepted(ch))
		}
		if !ch.Until.IsZero() && ch.Parent() == "" {
			line.Add(", until ", ch.Until)
		}
		m := moment{at: h.asked(ch), text: line}
		if ch.Reason != "" {
			m.below.Add("Why: ", text.Sanitize(ch.Reason, words.MaxNote))
		}
		if ch.Observed != nil && ch.Parent() == "" {
			m.below = append(m.below, text.Newf("As wafbot had seen it %v: %v",
				ch.Observed.At, figures(ch.Observed.Attack)), allSources(ch.Observed.Attack))
			m.below = append(m.below, h.sourcesSince(ch)...)
		}
		if n := h.Efficacy[ch.ID].Stopped(); n > 0 {
			m.below.Add("Stopped by it, as far as was seen: at least ", text.Number(n), text.Plural(n, " hit"))
		}
		all = append(all, m)
		for _, said := range h.Efficacy[ch.ID].Said {
			all = append(all, moment{at: said.At, text: text.Newf("*%v* `%v`: %v",
				ch.Does, ch.ID, text.Text(said.Text))})
		}
		if over := ch.Until; ch.State == record.StateDone && ch.Parent() == "" && !over.IsZero() && !ch.MustBeEnded() && !over.After(c.Now) {
			all = append(all, moment{at: over, text: text.New("Ended by itself: ", ch.Does)})
		}
	}
	return all
}

// asked is when a change was asked for: as of all entries of the audit log, that is when the press was accepted.
func (h History) asked(ch record.Change) time.Time {
	for _, e := range h.Entries {
		if e.Change == ch.ID {
			return e.At
		}
	}
	return ch.At
}

// sourcesSince is what became of the sources that a change denied, each judged by its own hits.
func (h History) sourcesSince(ch record.Change) text.Lines {
	var lines text.Lines
	for _, s := range ch.Observed.Attack.Sources {
		if !ch.Denies(s.IP) {
			continue
		}
		line := text.Newf("Since then from `%v`: ", s.IP.String())
		i := slices.IndexFunc(h.Attack.Sources, func(now apiclient.Source) bool { return now.IP == s.IP })
		if i < 0 || !h.Listed || !s.Hits.Known || !h.Attack.Sources[i].Hits.Known {
			lines.Add(line, "unknown, the service doesn't list it now")
			continue
		}
		more := max(0, h.Attack.Sources[i].Hits.N-s.Hits.N)
		lines.Add(line, text.Count(int(more), "hit"), " more in this attack by ", h.ReadAt)
	}
	return lines
}

// written is what people wrote and asked, as the audit log has it: triage holds only the last of each.
func written(h History) []moment {
	var all []moment
	for _, e := range h.Entries {
		if e.Change != "" && slices.ContainsFunc(h.Changes, func(ch record.Change) bool { return ch.ID == e.Change }) {
			continue // changesMade has it
		}
		all = append(all, moment{at: e.At, text: entryText(e)})
	}
	if len(h.Entries) > 0 {
		return all
	}
	if o := h.Triage.Owner; o != nil {
		all = append(all, moment{at: o.Since, text: words.Owner(o)})
	}
	if v := h.Triage.Verdict; v != nil {
		all = append(all, moment{at: v.At, text: words.Verdict(*v)})
	}
	for _, n := range h.Triage.Notes {
		all = append(all, moment{at: n.At, text: words.Note(n)})
	}
	return all
}

// entryText is what a person asked, and its outcome.
func entryText(e record.AuditEntry) text.Text {
	who := text.Field(e.Actor.Name)
	line, err := grammar.Parse(e.Line)
	first := ""
	if len(line.Words) > 0 {
		first = text.Sanitize(line.Words[0], words.MaxNote)
	}
	if err == nil && e.Outcome == "done" {
		switch line.Name {
		case "ack":
			return text.New(who, " is on it")
		case "unack":
			return text.New(who, " releases it: unacknowledged")
		case "handover":
			return handoverText(e, who, first)
		case "note":
			return text.Newf("Note of %v: %v", who, first)
		case "verdict":
			return text.Newf("*Verdict: %v*, by %v", strings.ReplaceAll(first, "_", " "), who)
		}
	}
	asked := text.Newf("%v asked `%v`: *%v*", who, text.Sanitize(e.Line, text.MaxPath), e.Outcome)
	switch {
	case e.Outcome == "nothing" && e.Why == "":
		asked.Add(", it was so already")
	case e.Why != "":
		asked.Add(", ", text.Sanitize(strings.ReplaceAll(e.Why, "\n", " "), words.MaxNote))
	}
	return asked
}

// handoverText says to whom an attack was handed over, by the answer that was given, and with which words.
func handoverText(e record.AuditEntry, who, message string) text.Text {
	to, _, _ := strings.Cut(strings.Join(e.After, " "), " is on ")
	line := text.New(who, " hands it over to ", text.Field(to))
	if to == e.Actor.Name {
		line = text.New(who, " takes it over")
	}
	if message != "" {
		line.Add(": ", message)
	}
	return line
}

// unseen are the times in which wafbot did not watch, and in which no incident could be registered.
func unseen(c *call.Call, h History) []moment {
	var all []moment
	for _, s := range h.Outages {
		all = append(all, moment{at: s.From, text: words.Outage(s)})
	}
	for _, m := range h.Modes {
		all = append(all, moment{at: m.From, text: m.Text(c.Account, h.At)})
	}
	return all
}
