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

type moments []moment

// add adds a moment, unless its time is unknown.
func (all *moments) add(at time.Time, line text.Text, below ...text.Text) {
	if !at.IsZero() {
		*all = append(*all, moment{at, line, below})
	}
}

// timeline is what happened, in the order in which it did.
func (h History) timeline(c *call.Call) (all moments) {
	h.ends(c, &all)
	h.changesMade(c, &all)
	h.written(&all)
	for _, s := range h.Outages {
		all.add(s.From, words.Outage(s))
	}
	for _, m := range h.Modes {
		all.add(m.From, m.Text(c.Account, h.At))
	}
	slices.SortStableFunc(all, func(x, y moment) int { return x.at.Compare(y.at) })
	return all
}

// ends are the first hit, the first observation, the card, and when an attack counted as over.
func (h History) ends(c *call.Call, all *moments) {
	all.add(h.Attack.First, text.New("First hit, says the service"))
	if h.Storm != nil {
		s := h.Storm.Storm
		all.add(s.Began, text.Newf("*Storm*: %v; from here on they are grouped in one card", words.Trigger(s)))
		all.add(s.Ended, text.New("The storm is over: new attacks get cards of their own again"))
	}
	if e := h.Evidence; e != nil {
		line := "First seen by wafbot"
		if e.Late {
			line = "Seen by wafbot when it knew nothing of it any more"
		}
		all.add(e.First.At, text.New(line, ": ", figures(e.First.Attack)), allSources(e.First.Attack))
		all.add(e.CardAt, text.Lead("Card posted"))
	}
	if last := h.Attack.Last; !last.IsZero() && !c.Ongoing(h.Attack) {
		all.add(last.Add(c.Account.OngoingFor), text.Newf("*Quiet*: no hit since %v, as far as is known", last))
	}
}

// figures are an attack's in one line.
func figures(a apiclient.Attack) text.Text {
	return text.Newf("%v, %v, %v, %v",
		words.Figure(a.Hits, "hit"), words.Figure(a.SourceCount, "source"), words.Figure(a.Payloads, "payload"),
		words.StatusName(a))
}

// allSources are all that the service listed, with their hits.
func allSources(a apiclient.Attack) text.Text {
	return sourcesLine(a, func(s apiclient.Source) string { return "(" + s.Hits.String() + ")" })
}

// changesMade are the changes made for the attack, and their ends.
func (h History) changesMade(c *call.Call, all *moments) {
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
		own, seen := ch.Parent() == "", h.Efficacy[ch.ID]
		if own && !ch.Until.IsZero() {
			line.Add(", until ", ch.Until)
		}
		var below text.Lines
		if ch.Reason != "" {
			below.Add("Why: ", text.Sanitize(ch.Reason, words.MaxNote))
		}
		if was := ch.Observed; was != nil && own {
			below.Addf("As wafbot had seen it %v: %v", was.At, figures(was.Attack))
			below = append(append(below, allSources(was.Attack)), h.sourcesSince(ch)...)
		}
		if n := seen.Stopped(); n > 0 {
			below.Add("Stopped by it, as far as was seen: at least ", text.Number(n), text.Plural(n, " hit"))
		}
		all.add(h.asked(ch), line, below...)
		for _, said := range seen.Said {
			all.add(said.At, text.Newf("*%v* `%v`: %v", ch.Does, ch.ID, text.Text(said.Text)))
		}
		if own && ch.State == record.StateDone && !ch.MustBeEnded() && ch.Expired(c.Now) {
			all.add(ch.Until, text.New("Ended by itself: ", ch.Does))
		}
	}
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
		if !ch.Denies(s) {
			continue
		}
		line := text.Newf("Since then from `%v`: ", s.String())
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
func (h History) written(all *moments) {
	for _, e := range h.Entries {
		if e.Change == "" || record.IndexChange(h.Changes, e.Change) < 0 { // else changesMade has it
			all.add(e.At, entryText(e))
		}
	}
	if len(h.Entries) > 0 {
		return
	}
	if o := h.Triage.Owner; o != nil {
		all.add(o.Since, words.Owner(o))
	}
	if v := h.Triage.Verdict; v != nil {
		all.add(v.At, words.Verdict(*v))
	}
	for _, n := range h.Triage.Notes {
		all.add(n.At, words.Note(n))
	}
}

// entryText is what a person asked, and its outcome.
func entryText(e record.AuditEntry) text.Text {
	who, first := text.Field(e.Actor.Name), ""
	line, err := grammar.Parse(e.Line)
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
	case e.Why != "":
		asked.Add(", ", text.Sanitize(strings.ReplaceAll(e.Why, "\n", " "), words.MaxNote))
	case e.Outcome == "nothing":
		asked.Add(", it was so already")
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
