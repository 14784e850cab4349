package commands

func deny() *Command {
	return &Command{
		Name: "deny", Aliases: []string{"block", "ban"}, Role: Responder,
		Summary: "put sources on the denylist: their requests are blocked",
		Args:    denying.args(), Plan: denying.plan,
	}
}
