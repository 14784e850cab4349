package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/internal/record"
)

func gray() *call.Command {
	return &call.Command{
		Name: "gray", Aliases: []string{"grey"}, Role: record.Responder, Flags: []string{call.FlagShared},
		Summary: "put sources on the graylist: their attacks are blocked in safe_blocking mode",
		Needs:   call.Needs{Entries: call.AllLists}.Always(),
		Args:    form.ListArguments(change.Graying), Missing: form.ListMisses, Form: form.ListForm, Example: "gray 203.0.113.7 for=24h", Plan: change.Graying.Plan,
	}
}
