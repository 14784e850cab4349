package card

import (
	"fmt"
	"time"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How many characters of a line typed by hand, and of what people wrote, a request's card shows; and how many facts and warnings.
const (
	maxAskedLine = 600
	maxWritten   = 500
	maxFacts     = 12
)

// ApprovalRequest is the card of an approval request: the change, why it needs approval, who asks and why, whom it affects, its deadline, and the
// decision.
func ApprovalRequest(q record.ApprovalRequest, p policy.Policy, now time.Time) Message {
	if !q.Waits(now) {
		lines := append([]text.Text{describe.Approval(q, now)}, asked(q)...)
		if q.State == record.RequestOverridden {
			lines = append(lines, overrideReason(q))
		}
		if q.State == record.RequestExpired || q.State == record.RequestClosed {
			lines = append(lines, text.New("Still wanted? Ask again: ", text.Code(text.Sanitize(q.Line.String(), maxAskedLine))))
		}
		return Message{Text: notification(requestNotice(q, now)), Blocks: renderLines(lines, nil)}
	}
	lines := []text.Text{text.New(text.Bold("APPROVAL NEEDED: "+text.Sanitize(q.Does, maxAskedLine)), " ", text.Code(q.ID))}
	lines = append(append(lines, asked(q)...), reachAndWarnings(q)...)
	lines = append(lines, describe.ApprovalDeciders(q, p.Approvers))
	buttons := advice.Decide(q)
	if override := describe.OverrideOffer(q, p, now); override != nil {
		lines = append(lines, override)
		if !now.Before(q.OverrideAt) {
			buttons = append(buttons, call.Suggestion{Label: "Override…", Form: true, Line: record.Line{Name: "override", Words: []string{q.ID}}.With("account", q.Account)})
		}
	}
	return Message{Text: notification(requestNotice(q, now)), Blocks: renderLines(lines, buttons)}
}

// asked says who asks, why, and why the change needs approval.
func asked(q record.ApprovalRequest) []text.Text {
	who := text.New("Asked by ", text.Bold(text.Sanitize(q.Asker.Name, MaxName)), " ", q.At) // who asked need not be called
	if q.Asker.Via == record.ViaCLI {
		who = text.New("Asked by ", text.Sanitize(q.Asker.Name, MaxName), " at the terminal, ", q.At)
	}
	if q.Reason != "" {
		who = text.New(who, ": ", text.Sanitize(q.Reason, maxWritten))
	}
	lines := []text.Text{who}
	for _, need := range q.Needs {
		lines = append(lines, text.New("Why approval: ", text.Sanitize(need.Why, maxWritten)))
	}
	return lines
}

// reachAndWarnings says whom the change affects and lists the warnings.
func reachAndWarnings(q record.ApprovalRequest) []text.Text {
	var lines []text.Text
	for _, reach := range q.Reach {
		lines = append(lines, text.New("• ", text.Sanitize(reach, maxWritten)))
	}
	for _, warning := range q.Warnings {
		lines = append(lines, text.New("• ", text.Bold("Before you approve"), ": ", text.Sanitize(warning, maxWritten)))
	}
	if left := len(lines) - maxFacts; left > 0 {
		lines = append(lines[:maxFacts], text.New("… and ", left, " more"))
	}
	return append(lines, text.New("Line: ", text.Code(text.Sanitize(q.Line.String(), maxAskedLine))))
}

// requestNotice is the notification. The change stands last, because the end is cut.
func requestNotice(q record.ApprovalRequest, now time.Time) string {
	switch {
	case q.Waits(now):
		return fmt.Sprintf("APPROVAL NEEDED before %s, asked by %s: %s", clockTime(q.Until), text.Sanitize(q.Asker.Name, maxNoticeName), q.Does)
	case q.State == record.RequestWaiting, q.State == record.RequestExpired:
		return "No answer in time, not done: " + q.Does
	case q.Outcome == "failed":
		return "FAILED, though it was decided: " + q.Does
	case q.State == record.RequestOverridden:
		return fmt.Sprintf("OVERRIDE by %s: %s", text.Sanitize(q.Asker.Name, maxNoticeName), q.Does)
	case q.State == record.RequestClosed:
		return "Closed, not done: " + q.Does
	}
	return fmt.Sprintf("%s by %s: %s", map[record.RequestState]string{record.RequestApproved: "Approved", record.RequestRejected: "Rejected"}[q.State],
		text.Sanitize(decider(q), maxNoticeName), q.Does)
}

func decider(q record.ApprovalRequest) string {
	if q.Decided == nil {
		return "another user"
	}
	return q.Decided.Name
}

func overrideReason(q record.ApprovalRequest) text.Text {
	return text.New("Why it couldn't wait: ", text.Sanitize(q.Why, maxWritten))
}

// ApprovalDecision reports the outcome of a request. It mentions who asked; of an override, whom the policy notifies.
func ApprovalDecision(q record.ApprovalRequest, p policy.Policy, now time.Time) Message {
	line, calls := describe.Approval(q, now), q.Asker.ID
	lines := []text.Text{line}
	if q.State == record.RequestOverridden {
		calls = p.Override.Notify
		acted := " used OVERRIDE"
		if q.Outcome == "failed" {
			acted = " tried OVERRIDE"
		}
		line = text.New(text.Bold(text.Sanitize(q.Asker.Name, MaxName)+acted), ": ", line)
		lines = []text.Text{line, overrideReason(q)}
		if q.Outcome == "done" {
			lines = append(lines, text.New("It ends by itself. ", text.Code("status"), " shows what is in force, ", text.Code("undo"), " with its id undoes it"))
		}
	}
	if IsID(calls, "UWS") {
		lines[0] = text.New(text.User(calls), " ", line)
	}
	return Message{Text: notification(requestNotice(q, now)), Blocks: renderLines(lines, nil)}
}
