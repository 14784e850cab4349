package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Deciders says who may decide, and until when. It mentions the approvers, "" for none.
func Deciders(r record.ApprovalRequest, approvers string) text.Text {
	words := text.Newf("Any %v but %v may approve it before %v", r.Role.String(), text.Field(r.Asker.Name), r.Until)
	if approvers != "" {
		words = text.New(text.User(approvers), ": ", words)
	}
	return words
}

// OverrideOffer says when the asker may override, and for how long; nil if never.
func OverrideOffer(r record.ApprovalRequest, now time.Time) text.Text {
	if r.OverrideAt.IsZero() {
		return nil
	}
	line := text.Newf("No answer? %v may override", text.Field(r.Asker.Name))
	if now.Before(r.OverrideAt) {
		line.Addf(" from %v", r.OverrideAt)
	}
	return text.Newf("%v, for %v at most", line, text.Duration(policy.LongestOverride))
}

// Approval is a request in one line: what, who asked, and what became of it.
func Approval(q record.ApprovalRequest, now time.Time) text.Text {
	line := text.Newf("%v · asked by %v %v · ", q.Does, text.Field(q.Asker.Name), q.At)
	who := "another"
	if q.Decided != nil {
		who = text.Field(q.Decided.Name)
	}
	switch {
	case q.Waits(now):
		line.Addf("*waits for approval* until %v `%v`", q.Until, q.ID)
	case q.State == record.RequestApproved:
		line.Addf("*approved* by %v %v%v", who, q.DecidedAt, approvalOutcome(q))
	case q.State == record.RequestRejected:
		line.Addf("*rejected* by %v %v%v", who, q.DecidedAt, because(q.Why))
	case q.State == record.RequestOverridden && q.Outcome == "failed":
		line.Addf("*override tried*, without approval, %v%v", q.DecidedAt, approvalOutcome(q))
	case q.State == record.RequestOverridden:
		line.Addf("*override*, without approval, %v%v", q.DecidedAt, approvalOutcome(q))
	case q.State == record.RequestClosed:
		line.Addf("*closed* %v, nothing was done%v", q.DecidedAt, because(q.Why))
	default:
		line.Addf("*no answer* before %v: nothing was done", q.Until)
	}
	return line
}

// because is a colon and the words, if there are any.
func because(words string) text.Text {
	if words == "" {
		return nil
	}
	return text.New(": ", text.Sanitize(words, MaxNote))
}

// approvalOutcome is the outcome of carrying it out.
func approvalOutcome(r record.ApprovalRequest) text.Text {
	known := map[string]string{"": "in progress", "done": "done", "nothing": "there was nothing left to do"}
	return because(cmp.Or(known[r.Outcome], r.Fault, "NOT done"))
}

// Reach says whom a step hits; "" where that goes without saying.
func Reach(a *config.Account, s record.Step) string {
	switch {
	case s.Kind == record.AddEntry && s.Entry.Kind == apiclient.KindRange:
		return fmt.Sprintf("%s is %s, %s", Sources(*s.Entry), addresses(*s.Entry), call.AppsText(a, s.Entry.Apps))
	case s.Kind == record.AddEntry:
		return fmt.Sprintf("%s is everybody there, %s: "+policy.NeverVisitors, Sources(*s.Entry),
			call.AppsText(a, s.Entry.Apps))
	case s.Kind != record.CreateRule, s.Rule.Type == apiclient.RulePatch && s.Rule.AttackType != AnyAttack:
		return "" // clean requests pass a patch
	}
	to, whole := Scope(a, s.Rule.Conditions), len(s.Rule.Conditions) == 0
	switch {
	case s.Rule.Type == apiclient.RuleMode && whole:
		to = "to " + ModeApp(a, apiclient.AllApps)
	case s.Rule.Type == apiclient.RuleMode:
		to = "to the application"
	case whole:
		to = "to every host"
	}
	return "it is for every request " + to
}

// addresses counts the addresses of a range.
func addresses(e apiclient.IPRule) string {
	bits := e.Subnet.Addr().BitLen() - e.Subnet.Bits()
	switch {
	case bits == 0:
		return "one address"
	case bits < 63:
		return apiclient.Known(1<<bits).String() + " addresses"
	}
	return fmt.Sprintf("2^%d addresses", bits)
}

// NeverOverridden says why the approval is never overridden; "" if the asker may.
func NeverOverridden(r record.ApprovalRequest) string {
	needs := func(what string) bool {
		return slices.ContainsFunc(r.Needs, func(n record.ApprovalReason) bool { return n.What == what })
	}
	switch {
	case r.Line.Name == "allow" || needs(config.ApproveAllow):
		return "what lets a source past every protection can't be overridden"
	case needs(config.ApproveForever) || r.Line.Keys["for"] == "forever" || r.Line.Keys["patch"] == "forever":
		return "what never ends can't be overridden"
	case r.Line.Keys["for"] == "" || r.Line.Name == "extend":
		return "it can't be made to end soon"
	}
	return ""
}

// Triage are the owner and the verdict of an attack, as far as there are any.
func Triage(k record.Triage) text.Lines {
	var lines text.Lines
	if k.Owner != nil {
		lines.Add(Owner(k.Owner))
	}
	if k.Verdict != nil {
		lines.Add(Verdict(*k.Verdict))
	}
	return lines
}

// Owner says who is on it, since when.
func Owner(o *record.Owner) text.Text {
	if o == nil {
		return text.New("Unacknowledged")
	}
	return text.New(text.Bold(text.Field(o.Name)), " is on it since ", o.Since)
}

// Unacknowledged says that no one is on an attack, and whose acknowledgement lapsed; through tells that the attack
// still gets through.
func Unacknowledged(k record.Triage, through bool) text.Text {
	if k.Lapsed == nil {
		return text.New("Unacknowledged")
	}
	words := text.Lead(text.Field(k.Lapsed.Name), "'s acknowledgement lapsed after ",
		text.Duration(k.UnackedAt.Sub(k.Lapsed.Since).Truncate(time.Minute)))
	if through {
		words.Addf("; still getting through")
	}
	return words
}

// Verdict says what a person found an attack to be.
func Verdict(v record.Verdict) text.Text {
	return text.Newf("Verdict: *%v*, by %v %v",
		strings.ReplaceAll(text.Field(v.Is), "_", " "), text.Field(v.By.Name), v.At)
}

// Note is a note with its author.
func Note(n record.Note) text.Text {
	return text.Newf("Note of %v %v: %v", text.Field(n.By.Name), n.At, text.Sanitize(n.Text, MaxNote))
}

// How much may be noted about one attack: a card and an answer have to be read.
const (
	MaxNote  = 500 // characters
	MaxNotes = 100
)
