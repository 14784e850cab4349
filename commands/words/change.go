package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How long changes take to reach the service's nodes. Entries are synchronised about once a minute; rules are compiled
// first, which takes up to an hour.
const (
	EntryWorks      = "in about 1 min"
	EntryWorksAfter = time.Minute
	RuleWorks       = "in minutes to 1 h"
	RuleWorksAfter  = time.Hour
)

// ChangeID is the id that undo and extend take: of an extension, that of the change that it extends.
func ChangeID(c record.Change) text.Code { return text.Code(cmp.Or(c.Extends, c.ID)) }

// MadeBy is who made the change, and who approved it.
func MadeBy(c record.Change) text.Text {
	switch {
	case c.Approved != nil:
		return text.New(c.Actor.Name, ", approved by ", c.Approved.Name)
	case c.Overridden:
		return text.Newf("%v, *override*", c.Actor.Name)
	}
	return text.New(c.Actor.Name)
}

// Span is what the change does, who made it when, and until when it holds.
func Span(c record.Change) text.Text {
	line := text.Newf("%v · %v %v", c.Does, MadeBy(c), c.At)
	if !c.Until.IsZero() {
		line.Addf(" → %v%v", c.Until, Renewal(c))
	}
	return line
}

// Accepted says how far a finished change has come: of the end of a rule only wafbot knows.
func Accepted(c record.Change) text.Text {
	switch {
	case c.Extends != "" && len(c.Steps) == 0:
		return text.New("done; the service need not know")
	case c.When == "":
		return text.New("accepted by the service")
	}
	return text.New("accepted by the service, works ", c.When)
}

// Renewal says that the change lasts longer while it keeps trying, and how long at most; nothing where it doesn't.
func Renewal(c record.Change) text.Text {
	switch {
	case !c.Until.Before(c.Renew):
		return nil
	case len(c.Steps) > 1:
		return text.Newf(", longer while one of them keeps trying, %v at most", c.Renew)
	}
	return text.Newf(", longer while it keeps trying, %v at most", c.Renew)
}

// Change is a change in one line: what, by whom, until when, what became of it, and its id where it can be undone.
// What was seen of its efficacy stands where it was accepted; nil: nothing yet.
func Change(ch record.Change, seen text.Text) text.Text {
	line := Sentence(ch, seen)
	if ch.State != record.StateFailed && ch.State != record.StateUndone {
		line.Addf(" %v", ChangeID(ch))
	}
	return line
}

// InForce are the active changes that were made for an attack.
func InForce(changes []record.Change, attack string, now time.Time) (standing []record.Change) {
	for _, ch := range changes {
		if ch.AttackID == attack && ch.Parent() == "" && ch.InForce(now) {
			standing = append(standing, ch)
		}
	}
	return standing
}

// WithID is what a change does, and its id.
func WithID(ch record.Change) text.Text { return text.New(ch.Does, " ", ChangeID(ch)) }

// Row is a change in a listing. Its id stands first: where a row is cut, what undo wants to know is still there.
func Row(ch record.Change, seen text.Text) text.Text {
	return text.New(ChangeID(ch), " ", Sentence(ch, seen))
}

// Sentence is a change in one line without its id.
func Sentence(ch record.Change, seen text.Text) text.Text {
	line := Span(ch)
	switch {
	case ch.State == record.StateBegun:
		line.Addf(" · %v", Begun(ch))
	case ch.State == record.StateFailed: // it holds until nothing
		return text.Newf("%v · %v %v · *NOT done*: %v", ch.Does, MadeBy(ch), ch.At, ch.Fault)
	case ch.State == record.StateHalf:
		line.Addf(" · *only partly done*: %v", ch.Fault)
	case ch.State == record.StateUndone:
		line.Addf(" · undone by %v %v", ch.EndedBy.Name, ch.EndedAt)
		if ch.Gone {
			line.Addf(", nothing of it was left")
		}
	case len(seen) > 0:
		line.Addf(" · %v", seen)
	default:
		line.Addf(" · %v", whenItWorks(ch))
	}
	return line
}

// Begun says how far an unsettled change has come. If it was sent, nobody knows yet whether it was done: the service
// hasn't answered, wafbot verifies it, or has given up.
func Begun(ch record.Change) text.Text {
	i := slices.IndexFunc(ch.Steps, func(s record.Step) bool { return s.Sent && !s.Done })
	switch {
	case i < 0:
		return text.New("in progress")
	case ch.Fault != "":
		return text.Newf("*outcome unknown* since %v: %v", ch.Steps[i].SentAt, ch.Fault)
	}
	return text.Newf("sent %v, being verified", ch.Steps[i].SentAt)
}

// whenItWorks says when an accepted change should work, so that it can be judged, or why it can't be.
func whenItWorks(c record.Change) text.Text {
	var by text.Text
	switch {
	case c.Extends == "" && c.When == EntryWorks:
		by = text.New("accepted by the service, due ", c.At.Add(EntryWorksAfter))
	case c.Extends == "" && c.When == RuleWorks:
		by = text.New("accepted by the service, compiling, due by ", c.At.Add(RuleWorksAfter))
	default:
		return Accepted(c)
	}
	if why := c.Unseeable(); why != "" {
		by.Addf("; whether it works can't be seen: %v", why)
	}
	return by
}

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
