package commands

func allow() *Command {
	return &Command{
		Name: "allow", Role: Admin,
		Summary: "put sources on the allowlist: their requests pass, whatever they are",
		Args:    allowing.args(), Missing: allowing.misses, Form: allowing.form, Plan: allowing.plan,
	}
}
