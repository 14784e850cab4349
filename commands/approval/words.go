package approval

import (
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// JoinWords puts "; " between two texts that are there.
func JoinWords(a, b string) string { return strings.Trim(a+"; "+b, "; ") }

// DoesText are plans in words, but for those of which there is nothing to do.
func DoesText(plans []call.Plan) (does string) {
	for _, p := range plans {
		if len(p.Nothing) == 0 {
			does = JoinWords(does, p.Does)
		}
	}
	return does
}

// Reasons is why approval is needed.
func Reasons(c *call.Call) text.Text {
	var why string
	for _, need := range c.Needs {
		why = JoinWords(why, need.Why)
	}
	return text.New(why)
}

// Note says before the change that it needs approval.
func Note(c *call.Call) text.Text {
	if c.Policy.Changes != policy.ChangesOn {
		return text.New("It would need approval first: ", Reasons(c))
	}
	return text.New(text.Bold("It needs approval first"), ": ", Reasons(c), ". It waits for ", text.Duration(c.Policy.ApprovalWait()), ", and nothing is sent before")
}

// WaitingLines answer who has asked, or asks again.
func WaitingLines(c *call.Call, q record.ApprovalRequest) []text.Text {
	if !q.Waits(c.Now) {
		return []text.Text{describe.Approval(q, c.Now)}
	}
	lines := []text.Text{text.New(text.Bold("Waits for approval"), ": ", q.Does, ". ", text.Code(q.ID), ". Nothing was sent")}
	if q.ID != record.RequestID(q.Account, c.ID) {
		lines = append(lines, text.New("Asked already by ", q.Asker.Name, " at ", q.At))
	}
	for _, need := range q.Needs {
		lines = append(lines, text.New("Why: ", need.Why))
	}
	lines = append(lines, describe.ApprovalDeciders(q, c.Policy.Approvers))
	if alone := describe.OverrideOffer(q, c.Policy, c.Now); alone != nil {
		lines = append(lines, alone)
	}
	return lines
}
