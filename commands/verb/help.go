package verb

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func help() *call.Command {
	return &call.Command{
		Name: "help", Role: record.Viewer, AnyAccount: true,
		Summary: "this list, or all about one command",
		Args:    []call.Arg{{Name: "command", Object: true, Help: "the command"}},
		Read: func(c *call.Call) (call.Result, error) {
			lines, err := Help(strings.Join(c.Line.Words, " "))
			return call.Result{Lines: lines}, err
		},
	}
}

// Help is the list of commands, for where there is no Runner yet.
func Help(verb string) ([]text.Text, error) {
	if verb == "" {
		return helpOverview(), nil
	}
	cmd, err := call.LookUp(All(), strings.ToLower(verb))
	if err != nil {
		return nil, err
	}
	return commandHelp(cmd), nil
}

func helpOverview() []text.Text {
	reads, acts := []text.Text{text.New(text.Bold("To look"))}, []text.Text{text.New(text.Bold("To act"))}
	for _, cmd := range All() {
		line := text.New(text.Code(cmd.Brief()), ": ", cmd.Summary)
		if cmd.Plan == nil && cmd.Write == nil && cmd.Decide == nil {
			reads = append(reads, line)
		} else {
			acts = append(acts, line)
		}
	}
	lines := slices.Concat(reads, acts)
	return append(lines, text.New("Durations: ", text.Code("30m 12h 7d 2w"), ". Ids may be cut to any ", record.MinPrefix, " characters that are unique. ", text.Code("help deny"), " says all about deny"))
}

func commandHelp(c *call.Command) []text.Text {
	lines := []text.Text{text.New(text.Bold(c.Name), ": ", c.Summary), text.New(text.Code(c.Usage()))}
	for _, arg := range c.Args {
		lines = append(lines, text.New("• ", text.Code(arg.Name), ": ", arg.Help))
	}
	for _, flag := range c.Flags {
		if means := flagHelp()[flag]; means != "" {
			lines = append(lines, text.New("• ", text.Code("--"+flag), ": ", means))
		}
	}
	if c.Example != "" {
		lines = append(lines, text.New("Example: ", text.Code(c.Example)))
	}
	if len(c.Aliases) > 0 {
		lines = append(lines, text.New("Also: ", strings.Join(c.Aliases, ", ")))
	}
	return append(lines, text.New("Needs: ", c.Role.String()))
}

// flagHelp says what flags mean that don't explain themselves.
func flagHelp() map[string]string {
	return map[string]string{
		call.FlagShared: "you know that the source is likely a CDN, a proxy or an office, and aren't asked about that",
		call.FlagLocked: "you know that the service said lately that its rules are locked, and aren't asked about that",
	}
}
