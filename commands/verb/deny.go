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
		Args:    form.ListArguments(change.Denying), Missing: form.ListMisses, Form: form.ListForm, Plan: change.Denying.Plan,
	}
}

func allow() *call.Command {
	return &call.Command{
		Name: "allow", Aliases: []string{"whitelist"}, Role: record.Admin,
		Summary: "put sources on the allowlist: their requests pass, whatever they are",
		Args:    form.ListArguments(change.Allowing), Missing: form.ListMisses, Form: form.ListForm, Plan: change.Allowing.Plan,
	}
}

func gray() *call.Command {
	return &call.Command{
		Name: "gray", Aliases: []string{"grey"}, Role: record.Responder, Flags: []string{call.FlagShared},
		Summary: "put sources on the graylist: their attacks are blocked in safe_blocking mode",
		Args:    form.ListArguments(change.Graying), Missing: form.ListMisses, Form: form.ListForm, Plan: change.Graying.Plan,
	}
}
