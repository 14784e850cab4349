package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/internal/record"
)

func allow() *call.Command {
	return &call.Command{
		Name: "allow", Aliases: []string{"whitelist"}, Role: record.Admin,
		Summary: "put sources on the allowlist: their requests pass, whatever they are",
		Needs:   call.Needs{Entries: call.AllLists}.Always(),
		Args:    form.ListArguments(change.Allowing), Missing: form.ListMisses, Form: form.ListForm, Example: "allow 198.51.100.9 for=1h", Plan: change.Allowing.Plan,
	}
}
