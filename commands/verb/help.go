package verb

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Help is the list of commands, for where there is no Runner yet.
func Help(verb string) (text.Lines, error) {
	switch strings.ToLower(verb) {
	case "":
		return helpScreen(), nil
	case "all":
		return helpAll(), nil
	}
	cmd, err := call.LookUp(All(), strings.ToLower(verb))
	if err != nil {
		return nil, err
	}
	return commandHelp(cmd), nil
}

// helpScreen fits on one screen: the most used commands, as they are typed, and the names of all.
func helpScreen() text.Lines {
	var lines text.Lines
	for _, top := range []struct{ line, does string }{
		{"status", "what goes on, who is on it, what is in force"},
		{"attack ID", "one attack: from where, since when, what was done"},
		{"ack attack=ID", "you are on it"},
		{"deny 203.0.113.7 4h", "block a source"},
		{"patch attack=ID", "block this type of attack in this place"},
		{"undo", "undo your last change"},
	} {
		lines.Addf("`%v`: %v", top.line, top.does)
	}
	for _, g := range groups() {
		name := func(c *call.Command) text.Text { return text.Newf("`%v`", c.Name) }
		lines.Add(text.Lead(g.title, ": ", text.Enumerate(g.verbs, len(g.verbs), name)))
	}
	return append(lines, text.Newf("`help deny` explains one of them, `help all` has a line for each"),
		text.Newf("Durations: `30m 12h 7d 2w`. An id may be cut to %v characters that are unique", record.MinPrefix))
}

// helpAll is a line for each verb.
func helpAll() text.Lines {
	reads, acts := text.Lines{text.Lead("To look")}, text.Lines{text.Lead("To act")}
	for _, cmd := range All() {
		line := text.Newf("`%v`: %v", cmd.Brief(), cmd.Summary)
		if cmd.CanChange() {
			acts = append(acts, line)
		} else {
			reads = append(reads, line)
		}
	}
	return slices.Concat(reads, acts)
}

func commandHelp(c *call.Command) text.Lines {
	lines := text.Lines{text.Lead(c.Name, ": ", c.Summary), text.Newf("`%v`", c.Usage())}
	for _, arg := range c.Args {
		lines.Addf("• `%v`: %v", arg.Name, arg.Help)
	}
	for _, flag := range c.Flags {
		if means := flagHelp[flag]; means != "" {
			lines.Addf("• `--%v`: %v", flag, means)
		}
	}
	if c.Example != "" {
		lines.Addf("Example: `%v`", c.Example)
	}
	if len(c.Aliases) > 0 {
		lines.Add("Also: ", strings.Join(c.Aliases, ", "))
	}
	return append(lines, text.New("Role: ", roles(c)))
}

// roles says which role reads, and which changes.
func roles(c *call.Command) string {
	switch {
	case !c.CanChange():
		return c.Role.String() + " to read"
	case c.Read != nil:
		return c.Role.String() + " to read, " + max(c.Role, record.Responder).String() + " to change"
	}
	return c.Role.String() + " to change"
}

// flagHelp says what flags mean that don't explain themselves.
var flagHelp = map[string]string{
	call.FlagShared: "you know that the source is likely a CDN, a proxy or an office, and aren't asked about that",
	call.FlagLocked: "you know that the service said lately that its rules are locked, and aren't asked about that",
}

func readHelp(c *call.Call) (call.Result, error) {
	lines, err := Help(strings.Join(c.Line.Words, " "))
	return call.Result{Lines: lines}, err
}
