package commands

import (
	"github.com/wafbot/wafbot/internal/record"
)

func gray() *Command {
	return &Command{
		Name: "gray", Aliases: []string{"grey"}, Role: record.Responder, Flags: []string{flagShared},
		Summary: "put sources on the graylist: their attacks are blocked in safe_blocking mode",
		Args:    listArguments(graying), Missing: listMisses, Form: listForm, Plan: graying.plan,
	}
}
