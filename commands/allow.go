package commands

import (
	"github.com/wafbot/wafbot/internal/record"
)

func allow() *Command {
	return &Command{
		Name: "allow", Role: record.Admin,
		Summary: "put sources on the allowlist: their requests pass, whatever they are",
		Args:    allowing.args(), Missing: allowing.misses, Form: allowing.form, Plan: allowing.plan,
	}
}
