package commands

import (
	"context"
	"slices"
	"strings"
)

func help() *Command {
	return &Command{
		Name: "help", Role: Viewer, AnyAccount: true,
		Summary: "this list, or all about one command",
		Args:    []Arg{{Name: "command", Object: true, Help: "the command"}},
		Read: func(_ context.Context, c *Call) (Result, error) {
			if len(c.Line.Words) == 0 {
				return Result{Lines: c.overview()}, nil
			}
			cmd, err := c.lookUp(strings.ToLower(c.Line.Words[0]))
			if err != nil {
				return Result{}, err
			}
			return Result{Lines: cmd.help()}, nil
		},
	}
}

// Help is the list of commands, for where there is no Runner yet.
func Help(verb string) ([]Text, error) {
	r := &Runner{commands: list()}
	if verb == "" {
		return r.overview(), nil
	}
	cmd, err := r.lookUp(strings.ToLower(verb))
	if err != nil {
		return nil, err
	}
	return cmd.help(), nil
}

func (r *Runner) overview() []Text {
	looks, acts := []Text{Say(Bold("To look"))}, []Text{Say(Bold("To act"))}
	for _, cmd := range r.commands {
		line := Say(Code(cmd.brief()), ": ", cmd.Summary)
		if cmd.Plan == nil && cmd.Write == nil && cmd.Decide == nil {
			looks = append(looks, line)
		} else {
			acts = append(acts, line)
		}
	}
	lines := slices.Concat(looks, acts)
	return append(lines, Say("Durations: ", Code("30m 12h 7d 2w"), ". Ids may be cut to any ", minPrefix, " characters that are unique. ", Code("help deny"), " tells all about deny"))
}

// brief is the usage without what is rarely typed, so that the list is readable on a phone.
func (c *Command) brief() string {
	rare := func(arg Arg) bool { return !arg.Object && !arg.Required }
	short := Command{Name: c.Name, Args: slices.DeleteFunc(slices.Clone(c.Args), rare)}
	return short.Usage()
}

func (c *Command) help() []Text {
	lines := []Text{Say(Bold(c.Name), ": ", c.Summary), Say(Code(c.Usage()))}
	for _, arg := range c.Args {
		lines = append(lines, Say("• ", Code(arg.Name), ": ", arg.Help))
	}
	for _, flag := range c.Flags {
		if means := flagHelp()[flag]; means != "" {
			lines = append(lines, Say("• ", Code("--"+flag), ": ", means))
		}
	}
	if c.Example != "" {
		lines = append(lines, Say("Example: ", Code(c.Example)))
	}
	if len(c.Aliases) > 0 {
		lines = append(lines, Say("Also: ", strings.Join(c.Aliases, ", ")))
	}
	return append(lines, Say("Needs: ", c.Role.String()))
}

// flagHelp says what flags mean that don't explain themselves.
func flagHelp() map[string]string {
	return map[string]string{
		flagShared: "you know that the source is likely a CDN, a proxy or an office, and aren't asked about that",
		flagLocked: "you know that the service said lately that its rules are locked, and aren't asked about that",
	}
}
