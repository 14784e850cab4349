package verb

import (
	"slices"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

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
