package efficacy

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// ModeWindow is a time in which an application was in a mode in which the service registers no incidents.
type ModeWindow struct {
	App    int       `json:"application"` // apiclient.AllApps: those without a mode of their own
	Mode   string    `json:"mode"`
	From   time.Time `json:"from"`
	Until  time.Time `json:"until,omitzero"`   // zero: it has no end
	Change string    `json:"change,omitempty"` // "": others set it
}

// hidesIncidents reports whether no incident is registered in a mode.
func hidesIncidents(mode string) bool {
	return mode == apiclient.ModeOff || mode == apiclient.ModeSafeBlocking || mode == apiclient.ModeBlock
}

// ModeWindows are those between two moments, the oldest first: of changes, and of rules there now that no change
// explains.
func ModeWindows(changes []record.Change, rules []apiclient.Rule, from, until, now time.Time) (all []ModeWindow) {
	for _, ch := range changes {
		if m, ok := modeWindow(ch, changes, now); ok && m.From.Before(until) && (m.Until.IsZero() || m.Until.After(from)) {
			all = append(all, m)
		}
	}
	for _, rule := range rules {
		app, whole := words.ModeOf(rule)
		if !whole || !hidesIncidents(rule.Mode) || rule.Updated.After(until) {
			continue
		}
		own, _ := words.ModeRules(rules, app)
		explained := slices.ContainsFunc(all, func(m ModeWindow) bool { return m.App == app && m.goesOn(now) })
		if own != nil && own.ID == rule.ID && !explained {
			all = append(all, ModeWindow{App: app, Mode: rule.Mode, From: rule.Updated})
		}
	}
	slices.SortStableFunc(all, func(x, y ModeWindow) int { return x.From.Compare(y.From) })
	return all
}

// modeWindow is the one that a change made; ok reports whether it made one.
func modeWindow(ch record.Change, changes []record.Change, now time.Time) (m ModeWindow, ok bool) {
	if ch.Line.Name != "mode" || len(ch.Line.Words) < 2 || ch.State != record.StateDone && ch.State != record.StateHalf && ch.State != record.StateUndone {
		return m, false
	}
	app, err := call.ModeApp(ch.Line.Words[0])
	m = ModeWindow{App: app, Mode: ch.Line.Words[1], From: ch.At, Until: ch.Until, Change: ch.ID}
	switch by := supersededBy(ch, changes); {
	case ch.State == record.StateUndone:
		m.Until = ch.EndedAt
	case by != nil:
		m.Until = by.At
	case ch.Overdue(now):
		m.Until = time.Time{} // it could not be returned
	}
	return m, err == nil && hidesIncidents(m.Mode)
}

func (m ModeWindow) goesOn(now time.Time) bool { return m.Until.IsZero() || m.Until.After(now) }

// Text says from when to when no incident could be registered, and why.
func (m ModeWindow) Text(a *config.Account, now time.Time) text.Text {
	can, is := "could", "was"
	if m.goesOn(now) {
		can, is = "can", "is"
	}
	line := text.Newf("No incidents *%v* be registered on %v", can, words.ModeApp(a, m.App))
	switch {
	case m.From.IsZero():
	case m.Until.IsZero():
		line.Addf(" since %v", m.From)
	default:
		line.Addf(" from %v to %v", m.From, m.Until)
	}
	line.Addf(": it %v in mode %v", is, m.Mode)
	return line
}
