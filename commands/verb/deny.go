package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/internal/record"
)

func deny() *call.Command {
	return &call.Command{
		Name: "deny", Aliases: []string{"block", "ban", "blacklist"}, Role: record.Responder, Flags: []string{call.FlagShared},
		Summary: "put sources on the denylist: their requests are blocked",
		Example: "deny 203.0.113.7 198.51.100.0/24 for=4h",
		Needs:   []call.Fact{call.FactEntries},
		Args:    form.ListArguments(change.Denying), Missing: form.ListMisses, Form: form.ListForm, Plan: change.Denying.Plan,
	}
}
