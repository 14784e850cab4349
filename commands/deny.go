package commands

import (
	"github.com/wafbot/wafbot/internal/record"
)

func deny() *Command {
	return &Command{
		Name: "deny", Aliases: []string{"block", "ban"}, Role: record.Responder, Flags: []string{flagShared},
		Summary: "put sources on the denylist: their requests are blocked",
		Example: "deny 203.0.113.7 198.51.100.0/24 for=4h",
		Args:    listArguments(denying), Missing: listMisses, Form: listForm, Plan: denying.plan,
	}
}
