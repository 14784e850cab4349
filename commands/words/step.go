package words

import (
	"fmt"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Step is the step in words for the audit log and for dry runs.
func Step(s record.Step) string {
	switch s.Kind {
	case record.AddEntry, record.DeleteEntry:
		verb := "add to"
		if s.Kind == record.DeleteEntry {
			verb = fmt.Sprintf("delete entry %d from", s.Entry.ID)
		}
		return fmt.Sprintf("%s list %s: %s apps=%v until %s force=%v reason=%q", verb, s.Entry.List, targets(*s.Entry, ","),
			s.Entry.Apps,
			s.Entry.Expires.UTC().Format(time.RFC3339), s.Force, s.Entry.Reason)
	}
	verb := "create"
	if s.Kind == record.DeleteRule {
		verb = fmt.Sprintf("delete rule %d,", s.Rule.ID)
	}
	return fmt.Sprintf("%s %s", verb, Rule(nil, *s.Rule))
}

// ByHand is a step in words for a person who does it in the service's console.
func ByHand(a *config.Account, s record.Step) text.Text {
	switch s.Kind {
	case record.AddEntry:
		reason := s.Entry.Reason
		if ours, rest, ok := strings.Cut(reason, " by "); ok && strings.HasPrefix(ours, "wafbot") {
			reason = "by " + rest // an entry that names a change of wafbot's would be taken for wafbot's own
		}
		return text.Newf("add to the %v: `%v`, %v,%v, reason `%v`",
			ListName(s.Entry.List), Sources(*s.Entry), call.AppsText(a, s.Entry.Apps), Until(s.Entry.Expires),
			text.Sanitize(reason, maxReason))
	case record.DeleteEntry:
		return text.Newf("take off the %v: `%v`, %v",
			ListName(s.Entry.List), Sources(*s.Entry), call.AppsText(a, s.Entry.Apps))
	case record.CreateRule:
		if app, ok := ModeOf(*s.Rule); ok {
			return text.Newf("set the mode of %v to `%v`", ModeApp(a, app), text.Field(s.Rule.Mode))
		}
		return text.Newf("create the rule: `%v`", Rule(a, *s.Rule))
	}
	return text.Newf("delete rule `%v`: `%v`", s.Rule.ID, Rule(a, *s.Rule))
}

// maxReason is how many characters of a reason are sent.
const maxReason = 200

// ReasonPrefix is how the reason of every entry begins that a change makes; undo and reading back know it by that.
func ReasonPrefix(id string) string { return "wafbot " + id + " " }

// Reason names the change and the person, because the service itself sees only the owner of the token.
func Reason(ch record.Change) string {
	text := fmt.Sprintf("%sby %s (%s)", ReasonPrefix(ch.ID), ch.Actor.Name, ch.Actor.ID)
	if ch.AttackID != "" {
		text += " for " + ch.AttackID
	}
	switch {
	case ch.Approved != nil:
		text += ": approved by " + ch.Approved.Name
	case ch.Overridden:
		text += ": override"
	}
	if ch.Reason != "" {
		text += ": " + ch.Reason
	}
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	return string(runes[:min(len(runes), maxReason)])
}
