package commands

import "context"

func whoami() *Command {
	return &Command{
		Name: "whoami", Role: Viewer, AnyAccount: true,
		Summary: "who wafbot takes you for, and what you may do",
		Read: func(_ context.Context, c *Call) (Result, error) {
			may := map[Role]string{Viewer: "you may read", Responder: "you may read, deny, gray, patch, switch to stricter modes, undo, claim and mute", Admin: "you may do everything"}[c.Role]
			data := map[string]string{"id": c.Actor.ID, "name": c.Actor.Name, "role": c.Role.String(), "changes": c.cfg.Policy.Changes}
			if c.Group != "" {
				data["group"] = c.Group
			}
			res := Result{
				Lines: []Text{Say(Bold(c.Actor.Name), " (", Code(c.Actor.ID), "): ", c.Role.String(), byGroup(c.Group), ", ", may), Say("wafbot is ", c.cfg.Policy.Describe())},
				Data:  data,
			}
			if c.could > c.Role {
				res.Lines = append(res.Lines, Say("Whether a user group gives you more Slack doesn't tell wafbot just now"))
			}
			return res, nil
		},
	}
}

// byGroup says which user group gives a role; nothing where none does.
func byGroup(id string) Text {
	if id == "" {
		return nil
	}
	return Say(" by ", User(id))
}
