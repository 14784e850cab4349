package approval

import (
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// joinWords puts "; " between two texts that are there.
func JoinWords(a, b string) string { return strings.Trim(a+"; "+b, "; ") }

// doesOf are plans in words, but for those of which there is nothing to do.
func DoesText(plans []call.Plan) (does string) {
	for _, p := range plans {
		if len(p.Nothing) == 0 {
			does = JoinWords(does, p.Does)
		}
	}
	return does
}

// whySecond is why one person alone may not.
func Reasons(c *call.Call) text.Text {
	var why string
	for _, need := range c.Needs {
		why = JoinWords(why, need.Why)
	}
	return text.New(why)
}

// secondNote tells before the change that it needs a second person.
func Note(c *call.Call) text.Text {
	if c.Policy.Changes != policy.ChangesOn {
		return text.New("It would need approval first: ", Reasons(c))
	}
	return text.New(text.Bold("It needs approval first"), ": ", Reasons(c), ". It waits for ", text.HumanDuration(c.Policy.ApprovalWait()), ", and nothing is sent before")
}

// waitingLines answer who has asked, or asks again.
func WaitingLines(c *call.Call, q record.ApprovalRequest) []text.Text {
	if !q.Waits(c.Now) {
		return []text.Text{describe.RequestLine(q, c.Now)}
	}
	lines := []text.Text{text.New(text.Bold("Waits for approval"), ": ", q.Does, ". ", text.Code(q.ID), ". Nothing was sent")}
	if q.ID != record.RequestID(q.Account, c.ID) {
		lines = append(lines, text.New("Asked already by ", q.Asker.Name, " at ", q.At))
	}
	for _, need := range q.Needs {
		lines = append(lines, text.New("Why: ", need.Why))
	}
	lines = append(lines, describe.ApprovalRequestWhoDecides(q, c.Policy.Approvers))
	if alone := describe.ApprovalRequestAloneLine(q, c.Policy, c.Now); alone != nil {
		lines = append(lines, alone)
	}
	return lines
}
