package card

import (
	"fmt"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
)

// Summary is a hand-over's message.
func Summary(a *call.Account, res call.Result) Message {
	msg := partsMessage(res)
	msg.Text = summaryNotice(a, res)
	return msg
}

// summaryNotice is a hand-over's notification.
func summaryNotice(a *call.Account, res call.Result) string {
	s, _ := res.Data.(report.Summary)
	burning := fmt.Sprintf("%d going on", len(s.Ongoing))
	if s.Fault != "" {
		burning = "what goes on is UNKNOWN"
	}
	held := fmt.Sprintf("%d in force", len(s.InForce))
	if s.NoStore {
		held = "what is in force is UNKNOWN"
	}
	text := fmt.Sprintf("Hand-over of %s: %s, %s", a.Name, burning, held)
	if n := len(s.Waiting); n > 0 {
		text += fmt.Sprintf(", %d waiting for approval", n)
	}
	return notification(text)
}
