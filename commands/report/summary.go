package report

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Shift is how far a hand-over looks back when the line doesn't say, and how far ahead.
const Shift = 10 * time.Hour

// Summary is what one shift leaves to the next.
type Summary struct {
	Overview
	Since         time.Time             `json:"since"`
	Incidents     int                   `json:"incidents"`        // that were hit since then, over or not
	Attacks       int                   `json:"attacks"`          // without incidents
	BlockedAnyway int                   `json:"blocked_anyway"`   // of these: blocked by the service, and without action by a person
	Modes         []efficacy.ModeWindow `json:"modes,omitempty"`  // since then
	Others        []apiclient.IPRule    `json:"others,omitempty"` // on the denylist since then, and not by wafbot
	Unread        string                `json:"unread,omitempty"` // for people: why Others is unknown, and Modes perhaps not all
	Undone        []Undone              `json:"undone,omitempty"`
	Outages       []record.Outage       `json:"outages,omitempty"`
	Notes         []NoteOn              `json:"notes,omitempty"`
	Trend         call.Part             `json:"-"`
	Who           record.Actor          `json:"-"`
}

// Undone is a change that a person undid.
type Undone struct {
	Change record.Change `json:"change"`
	Why    string        `json:"why,omitempty"` // as given
}

// NoteOn is a note with the attack that it is about.
type NoteOn struct {
	Attack string `json:"attack"`
	record.Note
}

// SummaryNeeds are those of Summarize.
func SummaryNeeds() call.Rounds {
	return call.Rounds{func(c *call.Call) call.Needs {
		since, err := Since(c, Shift)
		if err != nil {
			return call.Needs{}
		}
		n := overviewNeeds(c)
		n.Attacks.From = record.Earlier(since, OngoingFrom(c))
		n.Outages, n.Entries, n.Rules = since, apiclient.ListDeny, call.AllRules
		return n
	}, shownNeeds}
}

// Summarize collects what happened since then. The service gets some seconds: one that hangs must not keep the rest
// from people.
func Summarize(c *call.Call, since time.Time) Summary {
	s := Summary{Overview: overviewOf(c), Since: since, Who: c.Actor, Trend: trendPart(c)}
	s.countAttacks(c.Facts)
	s.happened(c.Facts)
	var err error
	if s.Outages, err = c.Facts.Outages.Get(); err != nil {
		s.NoStore, s.Store = true, refusal.Redis(err)
	}
	rules, err := s.byOthers(c.Facts)
	if err != nil {
		text, _ := call.ForPeople(c.Invocation, refusal.FromService(err))
		s.Unread = text.String()
	}
	s.Modes = efficacy.ModeWindows(c.Facts.Changes.Value, rules, s.Since, s.Now, s.Now)
	return s
}

// countAttacks counts what was hit since then.
func (s *Summary) countAttacks(facts *call.Facts) {
	for _, attack := range facts.Attacks.Value {
		switch id := record.AttackID(s.Account, attack.ID); {
		case attack.Result() || attack.FalsePositive() || attack.Last.Before(s.Since):
		case attack.Incident():
			s.Incidents++
		default:
			s.Attacks++
			acted := slices.ContainsFunc(facts.Changes.Value, func(ch record.Change) bool { return ch.AttackID == id })
			if attack.Status() == apiclient.StatusBlocked && !acted && facts.Triages.Value[id].Owner == nil {
				s.BlockedAnyway++
			}
		}
	}
}

// happened finds what people did: what they undid and why, and what they noted, the newest first.
func (s *Summary) happened(facts *call.Facts) {
	changes := facts.Changes.Value
	for _, ch := range changes {
		if ch.State != record.StateUndone || ch.Parent() != "" || ch.EndedAt.Before(s.Since) || ch.EndedBy == nil ||
			ch.EndedBy.Via == record.ViaClock {
			continue
		}
		u := Undone{Change: ch}
		if i := slices.IndexFunc(changes, func(by record.Change) bool { return by.Undoes == ch.ID }); i >= 0 {
			u.Why = changes[i].Reason
		}
		s.Undone = append(s.Undone, u)
	}
	for attack, k := range facts.Triages.Value {
		for _, n := range k.Notes {
			if !n.At.Before(s.Since) {
				s.Notes = append(s.Notes, NoteOn{attack, n})
			}
		}
	}
	slices.SortFunc(s.Notes, func(x, y NoteOn) int { return y.At.Compare(x.At) })
}

// byOthers finds the entries that others than wafbot put on the denylist, and reads the rules.
func (s *Summary) byOthers(facts *call.Facts) ([]apiclient.Rule, error) {
	entries, err := facts.Entries.Get()
	if err != nil {
		return nil, err
	}
	s.Others = slices.DeleteFunc(entries, func(e apiclient.IPRule) bool {
		ours := func(ch record.Change) bool { return efficacy.NamedBy(e, ch) }
		return e.Created.Before(s.Since) || !e.Lasts(s.Now) || slices.ContainsFunc(facts.Changes.Value, ours)
	})
	slices.SortFunc(s.Others, func(x, y apiclient.IPRule) int { return y.Created.Compare(x.Created) })
	return facts.Rules.Get()
}

// Parts are the sections of a hand-over, what has to be done first. Cut, they fit in one message.
func (s Summary) Parts(cut bool) []call.Part {
	h := Home{Accounts: []Overview{s.Overview}, Who: s.Who, Now: s.Now}
	line := func(name string, words ...string) record.Line {
		return record.Line{Name: name, Words: words}.With("account", s.Account)
	}
	status, lists, audit := h.where(), line("lists", "black"), line("audit")
	attacks := line("attacks").With("since", grammar.DurationText(s.Now.Sub(s.Since).Truncate(time.Second)))
	ongoing, held := h.ongoing(), h.inForce()
	if len(s.Ongoing) > 0 && s.Role >= record.Responder && !s.NoStore {
		ongoing.Do = []call.Suggestion{advice.TakeOver(s.Account, len(s.Ongoing))}
	}
	ends := s.ending(h)
	waiting, _, _ := h.listed()
	if ends.Title != nil {
		held = counted("*In force for longer: *", h.changes(func(ch record.Change) bool {
			return !ch.SwitchesMode() && !s.soon(ch)
		}))
	}
	return shown(cut, section{s.head(), 0, status}, section{ongoing, 5, status}, section{waiting, 3, status},
		section{ends, 5, status},
		section{held, 3, status}, section{h.modes(), 3, status}, section{s.unseen(), 6, attacks}, section{s.Trend, 0, status},
		section{s.denied(), 3, lists},
		section{s.undone(), 3, audit}, section{s.notes(), 3, audit})
}

func (s Summary) head() call.Part {
	return call.Part{Rows: rowsOf(s.trouble()), Title: text.Newf("*Hand-over of %v*: the last %v, since %v. wafbot is %v",
		s.Account, text.Duration(s.Now.Sub(s.Since)), s.Since, s.policy())}
}

// soon reports whether a change ends on the next shift.
func (s Summary) soon(ch record.Change) bool {
	return !ch.SwitchesMode() && !ch.Until.IsZero() && ch.Until.Before(s.Now.Add(Shift))
}

// ending are the changes that end on the next shift, the first to end first.
func (s Summary) ending(h Home) call.Part {
	h.Accounts = slices.Clone(h.Accounts)
	in := &h.Accounts[0].InForce
	*in = slices.SortedStableFunc(slices.Values(*in), func(x, y record.Change) int { return x.Until.Compare(y.Until) })
	return counted("*Ends on your shift*, until %v: ", h.changes(s.soon), s.Now.Add(Shift))
}

// unseen counts what happened, and says of which times it is unknown: no incident is no good news where none could be
// registered.
func (s Summary) unseen() call.Part {
	p := call.Part{Title: text.Newf("*What happened: *unknown, see above")}
	if s.Fault == "" {
		incidents := text.Count(s.Incidents, "incident")
		if s.Incidents == 0 && (len(s.Modes)+len(s.Outages) > 0 || s.Health != nil && s.Health.Failing != "") {
			incidents = "no incidents are known of"
		}
		p.Title = text.Newf("*What happened: *%v, %v", incidents, text.Count(s.Attacks, "other attack"))
		if !s.NoStore { // else it is unknown what people did
			p.Title.Addf("; %v of these blocked by the WAF alone", text.Number(s.BlockedAnyway))
		}
	}
	var lines text.Lines
	for _, m := range s.Modes {
		lines = append(lines, m.Text(s.Of, s.Now))
	}
	for _, o := range s.Outages {
		lines = append(lines, words.Outage(o))
	}
	p.Rows = rowsOf(lines)
	return p
}

func (s Summary) denied() call.Part {
	if s.Unread != "" {
		return call.Part{Title: text.Newf("*Denied by others: *unknown: %v", s.Unread)}
	}
	var lines text.Lines
	for _, e := range s.Others {
		lines.Addf("`%v` %v%v%v, since %v",
			words.Sources(e), call.AppsText(s.Of, e.Apps), words.Until(e.Expires), words.Author(e), e.Created)
	}
	return counted("*Denied by others than wafbot: *", rowsOf(lines))
}

func (s Summary) undone() call.Part {
	var lines text.Lines
	for _, u := range s.Undone {
		why := "no reason given"
		if u.Why != "" {
			why = text.Field(u.Why)
		}
		ch := u.Change // its end is left out: it no longer matters, and why needs the room
		lines.Addf("`%v` %v · %v · undone by %v %v: %v",
			ch.ID, ch.Does, words.MadeBy(ch), ch.EndedBy.Name, ch.EndedAt, why)
	}
	return counted("*Undone: *", rowsOf(lines))
}

func (s Summary) notes() call.Part {
	var lines text.Lines
	// Handing over an account puts the same note on all its attacks.
	for _, same := range alike(s.Notes, func(x, y NoteOn) bool { return x.ID == y.ID }) {
		n := same[0]
		about := text.Newf("`%v`", n.Attack)
		if others := len(same) - 1; others > 0 {
			about.Addf(" and %v more", others)
		}
		lines.Add(about, " ", words.Note(n.Note))
	}
	return counted("*Notes: *", rowsOf(lines))
}
