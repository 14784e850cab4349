package commands

import (
	"github.com/wafbot/wafbot/internal/record"
)

func allow() *Command {
	return &Command{
		Name: "allow", Role: record.Admin,
		Summary: "put sources on the allowlist: their requests pass, whatever they are",
		Args:    listArguments(allowing), Missing: listMisses, Form: listForm, Plan: allowing.plan,
	}
}
