package describe

import (
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// ByHand is a step in words for whoever does it in the service's console.
func ByHand(a *call.Account, s record.Step) text.Text {
	switch s.Kind {
	case record.AddEntry:
		reason := s.Entry.Reason
		if ours, rest, ok := strings.Cut(reason, " by "); ok && strings.HasPrefix(ours, "wafbot") {
			reason = "by " + rest // an entry that names a change of wafbot's would be taken for wafbot's own
		}
		return text.New("add to the ", ListName(s.Entry.List), ": ", text.Code(EntrySources(*s.Entry)), ", ", a.AppsText(s.Entry.Apps), ",", Until(s.Entry.Expires), ", reason ", text.Code(text.Sanitize(reason, maxReason)))
	case record.DeleteEntry:
		return text.New("take off the ", ListName(s.Entry.List), ": ", text.Code(EntrySources(*s.Entry)), ", ", a.AppsText(s.Entry.Apps))
	case record.CreateRule:
		if app, ok := ModeOf(s); ok {
			return text.New("set the mode of ", a.AppName(app), " to ", text.Code(text.Sanitize(s.Rule.Mode, text.MaxField)))
		}
		return text.New("create the rule: ", text.Code(Rule(*s.Rule)))
	}
	return text.New("delete rule ", text.Code(fmt.Sprint(s.Rule.ID)), ": ", text.Code(Rule(*s.Rule)))
}
