package efficacy

import (
	"slices"
	"strconv"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// ModeWindow is a time in which an application was in a mode in which the service registers no incidents.
type ModeWindow struct {
	App    int       `json:"application"`
	Mode   string    `json:"mode"`
	From   time.Time `json:"from"`
	Until  time.Time `json:"until,omitzero"`   // zero: it has no end
	Change string    `json:"change,omitempty"` // "": others set it
}

// hidesIncidents reports whether no incident is registered in a mode.
func hidesIncidents(mode string) bool {
	return mode == apiclient.ModeOff || mode == apiclient.ModeSafeBlocking || mode == apiclient.ModeBlock
}

// HidingRule is the application's own rule if no incident is registered because of it; nil: there is none.
func HidingRule(rules []apiclient.Rule, app int) *apiclient.Rule {
	if own, _ := describe.ModeRules(rules, app); own != nil && hidesIncidents(own.Mode) {
		return own
	}
	return nil
}

// ModeWindows are those that changes tell of, the oldest first.
func ModeWindows(changes []record.Change, now time.Time) []ModeWindow {
	var all []ModeWindow
	for _, ch := range slices.Backward(changes) {
		if ch.Line.Name != "mode" || len(ch.Line.Words) < 2 || ch.State != record.StateDone && ch.State != record.StateHalf && ch.State != record.StateUndone {
			continue
		}
		app, err := strconv.Atoi(ch.Line.Words[0])
		mode := ch.Line.Words[1]
		if err != nil || !hidesIncidents(mode) {
			continue
		}
		m := ModeWindow{App: app, Mode: mode, From: ch.At, Until: ch.Until, Change: ch.ID}
		switch {
		case ch.State == record.StateUndone:
			m.Until = ch.EndedAt
		case Superseded(ch, changes):
			m.Until = supersededAt(ch, changes)
		case ch.Overdue(now):
			m.Until = time.Time{} // it could not be returned
		}
		all = append(all, m)
	}
	return all
}

// supersededAt is when a change took away what this one made.
func supersededAt(ch record.Change, changes []record.Change) time.Time {
	for _, later := range slices.Backward(changes) {
		if Superseded(ch, []record.Change{later}) {
			return later.At
		}
	}
	return ch.Until
}

// Overlaps reports whether some of it lies in a time.
func (m ModeWindow) Overlaps(from, until time.Time) bool {
	return m.From.Before(until) && (m.Until.IsZero() || m.Until.After(from))
}

// ModeWindowText says from when to when nobody could see whether an attack worked.
func ModeWindowText(a *call.Account, m ModeWindow, now time.Time) text.Text {
	app := describe.ModeApp(a, m.App)
	switch {
	case m.Until.IsZero():
		return text.New("no incidents ", text.Bold("can"), " be registered on ", app, " since ", m.From, ": it is in mode ", m.Mode)
	case m.Until.After(now):
		return text.New("no incidents ", text.Bold("can"), " be registered on ", app, " from ", m.From, " to ", m.Until, ": it is in mode ", m.Mode)
	}
	return text.New("no incidents ", text.Bold("could"), " be registered on ", app, " from ", m.From, " to ", m.Until, ": it was in mode ", m.Mode)
}
