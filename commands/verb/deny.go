package verb

import (
	"slices"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func deny() *call.Command {
	return &call.Command{
		Name: "deny", Aliases: []string{"block", "ban", "blacklist"}, Role: record.Responder, Flags: []string{call.FlagShared},
		Summary: "put sources on the denylist: their requests are blocked",
		Example: "deny 203.0.113.7",
		Needs:   call.Needs{Entries: call.AllLists}.Always(),
		Args:    form.ListArguments(change.Denying), Missing: form.ListMisses, Form: form.ListForm, Plan: change.Denying.Plan,
		Typed: denyTyped,
	}
}

// denyTyped refuses block where it isn't about sources: people mean other things by it, too.
func denyTyped(l record.Line) (record.Line, error) {
	isTarget := func(word string) bool {
		_, err := grammar.ParseTarget(word)
		return err == nil
	}
	if l.Name != "block" || l.Keys["attack"] != "" || slices.ContainsFunc(l.Words, isTarget) {
		return l, nil
	}
	what := text.New("Missing: which source. Example: ", text.Code("block 203.0.113.7"))
	if len(l.Words) > 0 {
		what = text.New("Invalid IP address or range: ", refusal.Typed(l.Words[0]), ". Example: ", text.Code("block 203.0.113.7"))
	}
	return l, refusal.Usage(text.New(what, ". ", text.Code("block-path"), " blocks a path, ", text.Code("mode shop block"), " what attacks an application"))
}
