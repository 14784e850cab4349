package verb

import (
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func whoami() *call.Command {
	return &call.Command{
		Name: "whoami", Role: record.Viewer, AnyAccount: true,
		Summary: "who wafbot takes you for, and what you may do",
		Read: func(c *call.Call) (call.Result, error) {
			may := map[record.Role]string{record.Viewer: "you may read", record.Responder: "you may read, deny, gray, patch, switch to stricter modes, undo, acknowledge and mute", record.Admin: "you may do everything"}[c.Role]
			data := map[string]string{"id": c.Actor.ID, "name": c.Actor.Name, "role": c.Role.String(), "changes": c.Policy.Changes}
			if c.Group != "" {
				data["group"] = c.Group
			}
			res := call.Result{
				Lines: []text.Text{text.New(text.Bold(c.Actor.Name), " (", text.Code(c.Actor.ID), "): ", c.Role.String(), approval.ByGroup(c.Group), ", ", may), text.New("wafbot is ", c.Policy.Describe())},
				Data:  data,
			}
			if c.Could > c.Role {
				res.Lines = append(res.Lines, text.New("Slack doesn't say just now whether a user group gives you more"))
			}
			return res, nil
		},
	}
}
