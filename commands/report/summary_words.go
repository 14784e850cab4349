package report

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How many rows of each kind a hand-over shows in a chat: one message has to hold it all.
const (
	summaryOngoing = 5
	summaryWaiting = 3
	summaryEnding  = 5
	summaryOthers  = 3
)

// Parts are the parts of a hand-over, what has to be done first. In a chat it is cut to one message.
func (s Summary) Parts(chat bool) []call.Part {
	h := Home{Accounts: []Overview{s.Overview}, Who: s.Who, Role: s.Role, Policy: s.Policy, Now: s.Now}
	cut := func(p call.Part, most int, where record.Line) call.Part {
		if !chat {
			most = 0
		}
		return p.CutTo(most, where)
	}
	status, lists, audit := h.where(), s.line("lists", "black"), s.line("audit")
	parts := []call.Part{s.head(), cut(s.ongoingPart(h), summaryOngoing, status), cut(h.waitingPart(), summaryWaiting, status)}
	ends, longer, returns := s.inForceParts(h)
	parts = append(parts, cut(ends, summaryEnding, status), cut(longer, summaryOthers, status), cut(returns, summaryOthers, status), s.happenedPart(),
		cut(s.othersPart(), summaryOthers, lists), cut(s.undonePart(), summaryOthers, audit), cut(s.notesPart(), summaryOthers, audit))
	return slices.DeleteFunc(parts, func(p call.Part) bool { return p.Title == nil })
}

func (s Summary) line(name string, words ...string) record.Line {
	return record.Line{Name: name, Words: words}.With("account", s.Account)
}

func (s Summary) head() call.Part {
	p := call.Part{Title: text.New(text.Bold("Hand-over of "+s.Account), ": the last ", text.Duration(s.Now.Sub(s.Since)), ", since ", s.Since, ". wafbot is ", s.Policy.Describe())}
	for _, line := range s.troubleLines(s.Now) {
		p.Rows = append(p.Rows, call.Row{Text: line})
	}
	if s.NoStore {
		p.Rows = append(p.Rows, call.Row{Text: text.New(s.inForceHead(), ". So is what people did and said")})
	}
	return p
}

// burningPart is what goes on, with the button by which one person is on all of it.
func (s Summary) ongoingPart(h Home) call.Part {
	p := h.ongoingPart()
	if len(s.Ongoing) > 0 && s.Role >= record.Responder {
		p.Do = []call.Suggestion{advice.TakeOver(s.Account, len(s.Ongoing))}
	}
	return p
}

// inForceParts are what ends by itself on the next shift, what holds for longer, and the modes.
func (s Summary) inForceParts(h Home) (ends, longer, returns call.Part) {
	if s.NoStore {
		return ends, longer, returns // the head says so
	}
	until := s.Now.Add(Shift)
	modes, rest := s.modes()
	soon := func(ch record.Change) bool { return !ch.Until.IsZero() && ch.Until.Before(until) }
	kept := slices.DeleteFunc(slices.Clone(rest), soon)
	ending := slices.DeleteFunc(slices.Clone(rest), func(ch record.Change) bool { return !soon(ch) })
	slices.SortStableFunc(ending, func(x, y record.Change) int { return x.Until.Compare(y.Until) })
	if len(s.InForce) == 0 {
		longer.Title = s.inForceHead()
	}
	for _, p := range []struct {
		part    *call.Part
		title   text.Text
		changes []record.Change
	}{
		{&ends, text.New(text.Bold("Ends on your shift"), ", until ", until, ": ", text.Number(len(ending))), ending},
		{&longer, text.New(text.Bold("In force for longer: "), text.Number(len(kept))), kept},
		{&returns, text.New(text.Bold("Modes that have not returned: "), text.Number(len(modes))), modes},
	} {
		if len(p.changes) > 0 {
			p.part.Title, p.part.Rows = p.title, h.changeRows(s.Overview, p.changes)
		}
	}
	return ends, longer, returns
}

// happenedPart counts, and says of which times nothing is known. That nothing was registered where nothing could be is no good news.
func (s Summary) happenedPart() call.Part {
	var p call.Part
	switch {
	case s.Fault != "":
		p.Title = text.New(text.Bold("What happened: "), "unknown, see above")
	case s.Incidents == 0 && s.unseen():
		p.Title = text.New(text.Bold("What happened: "), "no incidents are known of")
	default:
		p.Title = text.New(text.Bold("What happened: "), text.Count(s.Incidents, "incident"))
	}
	if s.Fault == "" {
		p.Title = text.New(p.Title, ", ", text.Count(s.Attacks, "other attack"))
	}
	if s.Fault == "" && !s.NoStore { // else who had to do something is unknown
		p.Title = text.New(p.Title, "; ", text.Number(s.BlockedAnyway), " of these blocked by the WAF alone")
	}
	for _, w := range s.Blocked {
		p.Rows = append(p.Rows, call.Row{Text: w.text()})
	}
	for _, b := range s.Outages {
		why := b.Why
		if why == "" {
			why = "wafbot was not running"
		}
		p.Rows = append(p.Rows, call.Row{Text: text.New(text.Bold("Not watched"), fromTo(b.From, b.Until), ": ", why)})
	}
	return p.CutTo(2*summaryOthers, s.line("attacks").With("since", grammar.DurationText(s.Now.Sub(s.Since).Truncate(time.Second))))
}

func (w BlockWindow) text() text.Text {
	words := text.New("No incidents ", text.Bold("could"), " be registered on ", w.App)
	was, is := "blocked", "blocks"
	if w.Mode == apiclient.ModeOff {
		was, is = "was off", "is off"
	}
	switch {
	case !w.To.IsZero():
		return text.New(words, fromTo(w.From, w.To), ": it ", was)
	case w.From.IsZero():
		return text.New(words, ": it ", is)
	}
	return text.New(words, ": it ", is, " since ", w.From)
}

// unseen reports whether there was a time in which an incident would not have been seen.
func (s Summary) unseen() bool {
	return len(s.Blocked)+len(s.Outages) > 0 || s.Health != nil && s.Health.Failing != ""
}

func fromTo(from, to time.Time) text.Text {
	if to.IsZero() {
		return text.New(" since ", from, ", and it goes on")
	}
	return text.New(" from ", from, " to ", to)
}

func (s Summary) othersPart() (p call.Part) {
	if s.Unread != "" {
		return call.Part{Title: text.New(text.Bold("Denied by others: "), "unknown: ", s.Unread)}
	}
	for _, e := range s.Others {
		p.Rows = append(p.Rows, call.Row{Text: text.New(text.Code(describe.EntrySources(e)), " ", s.Of.AppsText(e.Apps), describe.Until(e.Expires), describe.EntryAuthor(e), ", since ", e.Created)})
	}
	if len(p.Rows) > 0 {
		p.Title = text.New(text.Bold("Denied by others than wafbot: "), text.Number(len(p.Rows)))
	}
	return p
}

func (s Summary) undonePart() (p call.Part) {
	for _, u := range s.Undone {
		why := "no reason given"
		if u.Why != "" {
			why = text.Sanitize(u.Why, text.MaxField)
		}
		ch := u.Change // its ends don't matter any more, and would leave no room for why
		p.Rows = append(p.Rows, call.Row{Text: text.New(text.Code(ch.ID), " ", ch.Does, " · ", describe.ChangeAuthor(ch), " · undone by ", ch.EndedBy.Name, " ", ch.EndedAt, ": ", why)})
	}
	if len(p.Rows) > 0 {
		p.Title = text.New(text.Bold("Undone: "), text.Number(len(p.Rows)))
	}
	return p
}

func (s Summary) notesPart() (p call.Part) {
	for i, n := range s.Notes {
		if slices.ContainsFunc(s.Notes[:i], func(o NoteOn) bool { return o.ID == n.ID }) {
			continue // of an account that was handed over: one note on all its attacks
		}
		about := text.New(text.Code(n.Attack))
		same := 0
		for _, o := range s.Notes[i+1:] {
			if o.ID == n.ID {
				same++
			}
		}
		if same > 0 {
			about = text.New(about, " and ", same, " more")
		}
		p.Rows = append(p.Rows, call.Row{Text: text.New(about, " ", describe.Note(n.Note))})
	}
	if len(p.Rows) > 0 {
		p.Title = text.New(text.Bold("Notes: "), text.Number(len(p.Rows)))
	}
	return p
}
