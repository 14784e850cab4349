package report

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// Summary is what one shift leaves to the next.
type Summary struct {
	Overview
	Since         time.Time          `json:"since"`
	Now           time.Time          `json:"now"`
	Incidents     int                `json:"incidents"`      // that were hit since then, over or not
	Attacks       int                `json:"attacks"`        // likewise, incidents left out
	BlockedAnyway int                `json:"blocked_anyway"` // of these: blocked by the service, and without action by a person
	Blocked       []BlockWindow      `json:"blocked,omitempty"`
	Others        []apiclient.IPRule `json:"others,omitempty"` // on the denylist since then, and not by wafbot
	Unread        string             `json:"unread,omitempty"` // for people: why Others is unknown, and Blocked perhaps not all
	Undone        []Undone           `json:"undone,omitempty"`
	Outages       []record.Outage    `json:"outages,omitempty"`
	Notes         []NoteOn           `json:"notes,omitempty"`
	Policy        policy.Policy      `json:"-"`
	Role          record.Role        `json:"-"` // of who sees it: what he may not do has no button
	Who           record.Actor       `json:"-"`
}

// BlockWindow is a time in which an application blocked, or was off, so that no incident could be registered on it.
type BlockWindow struct {
	App  string    `json:"app"` // its name
	Mode string    `json:"mode"`
	From time.Time `json:"from,omitzero"` // zero: not known
	To   time.Time `json:"to,omitzero"`   // zero: it goes on
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

// Summarize gathers what happened since then. The service gets some seconds: one that hangs must not keep the rest from people.
func Summarize(c *call.Call, since time.Time) Summary {
	a := c.Account
	from := since
	if burning := OngoingFrom(c, a); burning.Before(from) {
		from = burning
	}
	attacks, err := c.Given().Attacks(apiclient.AttackFilter{From: from})
	o, seen := overviewOf(c, a, attacks, err)
	s := Summary{Overview: o, Since: since, Now: c.Now, Policy: c.Policy, Role: c.Role, Who: c.Actor}
	s.countAttacks(seen)
	s.happened(seen)
	if s.Outages, err = c.Facts(a.Name).Outages(since); err != nil {
		s.NoStore = true
	}
	if err = byOthers(c, &s, seen); err != nil {
		text, _ := call.ForPeople(c.Invocation, refusal.FromService(err))
		s.Unread = text.String()
	}
	return s
}

// countAttacks counts what was hit since then.
func (s *Summary) countAttacks(seen seen) {
	for _, attack := range seen.attacks {
		if attack.Result() || attack.FalsePositive() || attack.Last.Before(s.Since) {
			continue
		}
		if attack.Incident() {
			s.Incidents++
			continue
		}
		s.Attacks++
		id := record.AttackID(s.Account, attack.ID)
		acted := slices.ContainsFunc(seen.changes, func(ch record.Change) bool { return ch.AttackID == id })
		if attack.Status() == apiclient.StatusBlocked && !acted && seen.triages[id].Owner == nil {
			s.BlockedAnyway++
		}
	}
}

// happened finds what people did: what they took back and why, what they noted, and when an application blocked because of them.
func (s *Summary) happened(seen seen) {
	for _, ch := range seen.changes {
		if ch.State != record.StateUndone || ch.Parent() != "" || ch.EndedAt.Before(s.Since) || ch.EndedBy == nil || ch.EndedBy.Via == record.ViaClock {
			continue
		}
		u := Undone{Change: ch}
		if i := slices.IndexFunc(seen.changes, func(by record.Change) bool { return by.Undoes == ch.ID }); i >= 0 {
			u.Why = seen.changes[i].Reason
		}
		s.Undone = append(s.Undone, u)
	}
	for attack, k := range seen.triages {
		for _, n := range k.Notes {
			if !n.At.Before(s.Since) {
				s.Notes = append(s.Notes, NoteOn{attack, n})
			}
		}
	}
	for _, m := range efficacy.ModeWindows(seen.changes, s.Now) {
		if !m.Overlaps(s.Since, s.Now) {
			continue
		}
		w := BlockWindow{App: describe.ModeApp(s.Of, m.App), Mode: m.Mode, From: m.From}
		if !m.Until.After(s.Now) {
			w.To = m.Until
		}
		s.Blocked = append(s.Blocked, w)
	}
	slices.SortFunc(s.Notes, func(x, y NoteOn) int { return y.At.Compare(x.At) })
	slices.SortFunc(s.Blocked, func(x, y BlockWindow) int { return x.From.Compare(y.From) })
}

// byOthers finds what others than wafbot did at the service: entries of the denylist, and modes in which applications block.
func byOthers(c *call.Call, s *Summary, seen seen) error {
	entries, err := c.Given().Entries(apiclient.IPRuleFilter{List: apiclient.ListDeny})
	if err != nil {
		return err
	}
	s.Others = slices.DeleteFunc(entries, func(e apiclient.IPRule) bool {
		ours := slices.ContainsFunc(seen.changes, func(ch record.Change) bool { return efficacy.NamedBy(e, ch) })
		return ours || e.Created.Before(s.Since) || !e.Expires.IsZero() && !e.Expires.After(c.Now)
	})
	slices.SortFunc(s.Others, func(x, y apiclient.IPRule) int { return y.Created.Compare(x.Created) })
	rules, err := c.Given().Rules(apiclient.RuleFilter{})
	if err != nil {
		return err
	}
	for _, rule := range rules {
		scope, ok := apiclient.ConditionsScope(rule.Conditions)
		if !ok || !scope.App.Known {
			continue
		}
		own := efficacy.HidingRule(rules, int(scope.App.N))
		name := describe.ModeApp(s.Of, int(scope.App.N))
		known := slices.ContainsFunc(s.Blocked, func(w BlockWindow) bool { return w.App == name && w.To.IsZero() })
		if own != nil && own.ID == rule.ID && !known {
			s.Blocked = append(s.Blocked, BlockWindow{App: name, Mode: own.Mode, From: own.Updated})
		}
	}
	return nil
}
