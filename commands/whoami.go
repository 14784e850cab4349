package commands

import "context"

func whoami() *Command {
	return &Command{
		Name: "whoami", Role: Viewer, AnyAccount: true,
		Summary: "who wafbot takes you for, and what you may do",
		Read: func(_ context.Context, c *Call) (Result, error) {
			may := map[Role]string{Viewer: "you may read", Responder: "you may read, deny, gray, patch, switch to stricter modes, undo, claim and mute", Admin: "you may do everything"}[c.Role]
			return Result{
				Lines: []Text{Say(Bold(c.Actor.Name), " (", Code(c.Actor.ID), "): ", c.Role.String(), ", ", may), Say("wafbot is ", c.cfg.Policy.Describe())},
				Data:  map[string]string{"id": c.Actor.ID, "name": c.Actor.Name, "role": c.Role.String(), "changes": c.cfg.Policy.Changes},
			}, nil
		},
	}
}
