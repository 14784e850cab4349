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
	return listCommand(`deny block ban blacklist: responder
put sources on the denylist: their requests are blocked
[--shared]
Example: deny 203.0.113.7`, call.Command{Plan: change.Denying.Plan, Typed: denyTyped})
}

// listCommand is a command that adds to a list.
func listCommand(about string, c call.Command) *call.Command {
	c.Needs, c.Form, c.Missing = call.Needs{Entries: call.AllLists}.Always(), form.ListForm, listMisses
	return command(about+`
[TARGET…]: an address, a range as 203.0.113.0/24, country:FR, proxy:TOR or datacenter:aws; left out with attack=:
  its top source
[attack=]
[for=]
[app=]: applications by id or name, with commas; left out: all
[reason=]`, c)
}

// listMisses reports whether a line names no source, and no attack whose top source it could be.
func listMisses(line record.Line) bool {
	return len(line.Words) == 0 && line.Keys["attack"] == ""
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
	what := text.Newf("Missing: which source. Example: `block 203.0.113.7`")
	if len(l.Words) > 0 {
		what = text.Newf("Invalid IP address or range: %v. Example: `block 203.0.113.7`", refusal.Typed(l.Words[0]))
	}
	return l, refusal.Usage("%v. `block-path` blocks a path, `mode shop block` what attacks an application", what)
}
