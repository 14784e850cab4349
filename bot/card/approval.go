package card

import (
	"fmt"
	"time"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How many characters of a line typed by hand a request's card shows, and how many facts and warnings.
const (
	maxAskedLine = 600
	maxFacts     = 12
)

// ApprovalRequest is the card of an approval request: the change, who asks and why, why that needs two, whom it
// affects, who may approve until when; then what was decided.
func ApprovalRequest(q record.ApprovalRequest, p policy.Policy, now time.Time) Message {
	if !q.Waits(now) {
		return notified(requestNotice(q, now), decidedLines(q, now))
	}
	lines := text.Lines{text.Lead("APPROVAL NEEDED: " + text.Sanitize(q.Does, maxAskedLine)), askedBy(q), needsTwo(q)}
	lines = append(append(lines, reachAndWarnings(q)...), words.Deciders(q, p.Approval.Approvers))
	small := text.Newf("`%v` · asked %v", q.ID, q.At)
	buttons := advice.Decide(q)
	if override := words.OverrideOffer(q, now); override != nil {
		small.Addf(" · %v", override)
		if !now.Before(q.OverrideAt) {
			buttons = append(buttons, call.Suggestion{Label: "Override…", Form: true,
				Line: record.LineOf(q.Account, "override", q.ID)})
		}
	}
	small.Addf(" · `%v`", text.Sanitize(q.Line.String(), maxAskedLine))
	made, _ := new(buttonMaker).all(buttons)
	foot, written := inSmall(small)
	blocks := append(sections(lines, maxTogether-weight(made...)-written), foot...)
	return Message{Text: notification(requestNotice(q, now)), Blocks: append(blocks, actions(made...)...)}
}

// decidedLines are the card of a request that waits no longer.
func decidedLines(q record.ApprovalRequest, now time.Time) text.Lines {
	lines := text.Lines{words.Approval(q, now)}
	if q.Reason != "" {
		lines.Add("Asked because: ", text.Sanitize(q.Reason, words.MaxNote))
	}
	lines = append(lines, needsTwo(q))
	switch q.State {
	case record.RequestOverridden:
		lines = append(lines, overrideReason(q))
	case record.RequestExpired, record.RequestClosed:
		lines.Addf("Still wanted? Ask again: `%v`", text.Sanitize(q.Line.String(), maxAskedLine))
	}
	return lines
}

// askedBy says who asks, and why.
func askedBy(q record.ApprovalRequest) text.Text {
	who := text.Lead(text.Field(q.Asker.Name), " asks") // who asked need not be called
	if q.Asker.Via == record.ViaCLI {
		who.Addf(" at the terminal")
	}
	if q.Reason != "" {
		who.Addf(": %v", text.Sanitize(q.Reason, words.MaxNote))
	}
	return who
}

// needsTwo says why one person may not decide on the change alone.
func needsTwo(q record.ApprovalRequest) text.Text {
	var why text.Lines
	for _, need := range q.Needs {
		why.Add(text.Sanitize(need.Why, words.MaxNote))
	}
	return text.New("Needs two people: ", text.Join(why, "; "))
}

// reachAndWarnings says whom the change affects and lists the warnings.
func reachAndWarnings(q record.ApprovalRequest) text.Lines {
	var lines text.Lines
	for _, reach := range q.Reach {
		lines.Add("• ", text.Sanitize(reach, words.MaxNote))
	}
	for _, warning := range q.Warnings {
		lines.Addf("• *Before you approve*: %v", text.Sanitize(warning, words.MaxNote))
	}
	if left := len(lines) - maxFacts; left > 0 {
		lines = append(lines[:maxFacts], text.Newf("… and %v more", left))
	}
	return lines
}

// requestNotice is the notification. The change stands last, because the end is cut.
func requestNotice(q record.ApprovalRequest, now time.Time) string {
	asker, decider := text.Sanitize(q.Asker.Name, maxNoticeName), "another user"
	if q.Decided != nil {
		decider = text.Sanitize(q.Decided.Name, maxNoticeName)
	}
	lead := map[record.RequestState]string{
		record.RequestOverridden: "OVERRIDE by " + asker, record.RequestClosed: "Closed, not done",
		record.RequestApproved: "Approved by " + decider, record.RequestRejected: "Rejected by " + decider,
	}[q.State]
	switch {
	case q.Waits(now):
		lead = fmt.Sprintf("APPROVAL NEEDED before %s, asked by %s", clockTime(q.Until), asker)
	case lead == "":
		lead = "No answer in time, not done"
	case q.Outcome == "failed":
		lead = "FAILED, though it was decided"
	}
	return lead + ": " + q.Does
}

func overrideReason(q record.ApprovalRequest) text.Text {
	return text.New("Why it couldn't wait: ", text.Sanitize(q.Why, words.MaxNote))
}

// ApprovalDecision reports the outcome of a request. It mentions who asked; of an override, the approvers.
func ApprovalDecision(q record.ApprovalRequest, p policy.Policy, now time.Time) Message {
	lines, calls := text.Lines{words.Approval(q, now)}, q.Asker.ID
	if q.State == record.RequestOverridden {
		calls = p.Approval.Approvers
		acted := " used OVERRIDE"
		if q.Outcome == "failed" {
			acted = " tried OVERRIDE"
		}
		lines = text.Lines{text.Lead(text.Field(q.Asker.Name)+acted, ": ", lines[0]), overrideReason(q)}
		if q.Outcome == "done" {
			lines.Addf("It ends by itself. `status` shows what is in force, `undo` with its id undoes it")
		}
	}
	if !IsID(calls, "UWS") {
		calls = ""
	}
	return notified(requestNotice(q, now), mentioning(lines, calls))
}
