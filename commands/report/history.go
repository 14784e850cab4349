package report

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// History is all that is known of an attack, for programs.
type History struct {
	ID       string                     `json:"id"`
	Account  string                     `json:"account"`
	At       time.Time                  `json:"at"`               // when it was put together
	Attack   apiclient.Attack           `json:"attack"`           // as it was read last
	ReadAt   time.Time                  `json:"read_at,omitzero"` // when that was; zero: not known
	Listed   bool                       `json:"listed"`           // the service lists it now
	Evidence *record.Evidence           `json:"evidence"`         // nil: none is kept
	Triage   record.Triage              `json:"triage"`
	Changes  []record.Change            `json:"changes"`            // for this attack, the oldest first
	Efficacy map[string]record.Efficacy `json:"efficacy,omitempty"` // what was seen of the account's changes, by their ids
	InPlace  []record.Change            `json:"in_place"`           // of these
	Entries  []record.AuditEntry        `json:"audit"`              // about it, the oldest first
	Mutes    []record.Mute              `json:"mutes,omitempty"`    // that cover it now
	Outages  []record.Outage            `json:"outages,omitempty"`  // that fall into it
	Modes    []efficacy.ModeWindow      `json:"modes,omitempty"`    // likewise
	Unknown  text.Lines                 `json:"unknown,omitempty"`  // what is not known, and why
	Storm    *call.StormRow             `json:"storm,omitempty"`    // nil: it is an attack

	away error // why the store could not be read, or a part of it; nil: it could
}

// HistoryNeeds are those of HistoryOf.
func HistoryNeeds() call.Rounds {
	return call.Rounds{func(c *call.Call) call.Needs {
		n := FreshNeeds(c)
		n.Evidence, n.Observation, n.Triage = c.Attack.ID, c.Attack.ID, c.Attack.ID
		n.Efficacy, n.Mutes, n.Changes = true, true, true
		if c.Attack.Attack.App.Known {
			n.Rules = call.AllRules
		}
		return n
	}, func(c *call.Call) call.Needs {
		h := HistoryOf(c)
		from, _ := h.span(c)
		n := call.Needs{Audit: record.Later(from, call.Ever), Outages: record.Later(from, call.Ever)}
		if h.Attack.App.Known {
			n.Rules = call.AllRules
		}
		return n
	}}
}

// FreshNeeds are the facts about the call's attack as it is now: the service lists an attack, the store has a storm.
func FreshNeeds(c *call.Call) call.Needs {
	if record.IsStorm(c.Attack.Attack.ID) {
		return call.Needs{Storms: true}
	}
	return call.Needs{Attacks: apiclient.AttackFilter{From: c.Now.Add(-c.Account.Lookback)}}
}

// HistoryOf collects what is known of the call's attack, and names what can't be read: a report is wanted most when
// something is broken.
func HistoryOf(c *call.Call) History {
	h := History{ID: c.Attack.ID, Account: c.Account.Name, At: c.Now, Attack: c.Attack.Attack}
	storm, isOne, err := Storm(c)
	h.away = err
	switch {
	case isOne && err == nil:
		h.Storm, h.Attack, h.ReadAt = new(c.StormRow(storm, record.Triage{})), storm.Attack, storm.SeenAt
	case !isOne:
		h.figures(c)
	}
	facts := c.Facts
	e := known(&h.away, facts.Evidence)
	if e.Ok {
		h.Evidence = &e.Value
	}
	if !h.Listed {
		switch seen := known(&h.away, facts.Observation); {
		case seen.Ok:
			h.ReadAt = seen.Value.At
		case e.Ok:
			h.Attack, h.ReadAt = e.Value.First.Attack, e.Value.First.At
		}
	}
	h.Triage, h.Efficacy = known(&h.away, facts.Triage), known(&h.away, facts.Efficacy)
	h.Mutes = slices.DeleteFunc(known(&h.away, facts.Mutes), func(m record.Mute) bool {
		return h.Attack.Incident() || m.Over(c.Now) || !policy.MuteCovers(m, h.Attack)
	})
	h.recorded(c)
	return h
}

// figures are those that the service lists now, or why they are old.
func (h *History) figures(c *call.Call) {
	now, listed, err := listedNow(c)
	switch {
	case listed:
		h.Listed, h.Attack, h.ReadAt = true, now, c.Now
	case err != nil:
		words, _ := call.ForPeople(c.Invocation, refusal.FromService(err))
		h.Unknown.Addf("How it goes on: %v. The figures are the last that wafbot saw", words)
	default:
		h.Unknown.Add("How it goes on: the service no longer lists it. The figures are the last that wafbot saw")
	}
}

// recorded adds what was done, by whom, and when it could not be observed.
func (h *History) recorded(c *call.Call) {
	all := known(&h.away, c.Facts.Changes)
	h.Changes, h.InPlace = h.own(all), h.own(efficacy.InPlace(all, c.Now))
	from, until := h.span(c)
	entries, err := c.Facts.Audit.Get()
	if errors.Is(err, record.ErrBadEntry) {
		h.Unknown.Addf("What was asked and said: an entry of the audit log can't be read. `wafbot audit export` names it")
		err = nil
	}
	h.away = errors.Join(h.away, err)
	for _, e := range slices.Backward(entries) {
		if auditEntryIsAbout(e, h.ID) {
			h.Entries = append(h.Entries, e)
		}
	}
	h.Outages = slices.DeleteFunc(known(&h.away, c.Facts.Outages),
		func(o record.Outage) bool { return !o.From.Before(until) })
	if h.Attack.App.Known {
		h.modes(c, efficacy.ModeWindows(all, c.Facts.Rules.Value, from, until, c.Now))
	}
}

// own are the changes that were made for the attack, the oldest first.
func (h *History) own(all []record.Change) (own []record.Change) {
	for _, ch := range slices.Backward(all) {
		if ch.AttackID == h.ID {
			own = append(own, ch)
		}
	}
	return own
}

// modes adds the times in which no incident could be registered on the attack's application.
func (h *History) modes(c *call.Call, all []efficacy.ModeWindow) {
	app := int(h.Attack.App.N)
	rules, err := c.Facts.Rules.Get()
	if err != nil {
		h.Unknown.Add("Whether others set a mode in which no incident is registered: ", change.FailureReason(err))
	}
	own, _ := words.ModeRules(rules, app)
	inherits := err == nil && (own == nil || own.Mode == apiclient.ModeDefault)
	h.Modes = slices.DeleteFunc(all, func(m efficacy.ModeWindow) bool {
		return m.App != app && !(inherits && m.App == apiclient.AllApps)
	})
}

// auditEntryIsAbout reports whether an entry is about an attack. A line that was refused early has only its words.
func auditEntryIsAbout(e record.AuditEntry, attack string) bool {
	if e.Attack != "" {
		return e.Attack == attack
	}
	line, err := grammar.Parse(e.Line)
	if err == nil && line.Has("all") && e.Outcome == "done" && len(e.After) > 1 { // an account that was handed over
		return slices.Contains(strings.Fields(e.After[1]), attack)
	}
	return err == nil && record.MatchID(attack, line.Keys["attack"])
}

// span is the time that a report is about: from the first hit, or the first observation where that is earlier or all
// that is known, to now, or until the attack counted as over. Zero times where nothing is known.
func (h *History) span(c *call.Call) (from, until time.Time) {
	from, until = h.Attack.First, c.Now
	if e := h.Evidence; e != nil && (from.IsZero() || e.First.At.Before(from)) {
		from = e.First.At
	}
	if last := h.Attack.Last; !last.IsZero() {
		until = record.Earlier(last.Add(c.Account.OngoingFor), until)
	}
	return from, until
}

// listedNow is the call's attack as the service lists it; listed reports whether it does.
func listedNow(c *call.Call) (a apiclient.Attack, listed bool, err error) {
	all, err := c.Facts.Attacks.Get()
	i := slices.IndexFunc(all, func(a apiclient.Attack) bool {
		return record.AttackID(c.Account.Name, a.ID) == c.Attack.ID
	})
	if i < 0 {
		return a, false, err
	}
	return all[i], true, nil
}
