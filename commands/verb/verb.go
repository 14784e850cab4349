// Package verb has a file per command, or per pair such as ack and unack: its description, the facts that it needs, and
// its pure plan or answer. arguments.go says how their arguments are read.
package verb

import (
	"cmp"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// group is verbs that belong together, for help.
type group struct {
	title string
	verbs []*call.Command
}

// groups are all the verbs, in the order of help. A new command is one file and one line here.
func groups() []group {
	return []group{
		{"Look", []*call.Command{status(), incidents(), attacks(), attack(), vulns(), summary(), trends(), reportCommand()}},
		{"Sources", []*call.Command{contain(), deny(), allow(), gray(), lists(), remove()}},
		{"Rules, modes", []*call.Command{patch(), blockPath(), indicator(), mode(), rules(), conditions(), deleteRule()}},
		{"Changes", []*call.Command{undo(), extend(), approve(), reject(), override()}},
		{"Triage", []*call.Command{ack(), unack(), handover(), note(), verdict(), mute(), unmute(), explain()}},
		{"Never denied", []*call.Command{protect(), unprotect(), sources()}},
		{"wafbot", []*call.Command{audit(), drill(), whoami(), help()}},
	}
}

// All is all the verbs.
func All() (all []*call.Command) {
	for _, g := range groups() {
		all = append(all, g.verbs...)
	}
	return all
}

// command is the command that a text describes: its names and its least role, what it does, and a line for each
// argument and flag as Usage writes it. The label of its field and its help follow, where they differ from those in
// arguments. A line that begins with two spaces continues the one before.
func command(about string, c call.Command) *call.Command {
	lines := strings.Split(strings.ReplaceAll(about, "\n  ", " "), "\n")
	names, role, _ := strings.Cut(lines[0], ": ")
	words := strings.Fields(names)
	c.Name, c.Aliases, c.Summary = words[0], words[1:], lines[1]
	c.Role, _ = record.ParseRole(role)
	for _, line := range lines[2:] {
		written, help, _ := strings.Cut(line, ": ")
		usage, label, _ := strings.Cut(written, " ")
		word := strings.ToLower(strings.Trim(usage, "[…]"))
		flag, isFlag := strings.CutPrefix(word, "--")
		name, isKey := strings.CutSuffix(word, "=")
		switch {
		case isFlag:
			c.Flags = append(c.Flags, flag)
		case written == "Example":
			c.Example = help
		default:
			arg, own := arguments[c.Name+" "+name]
			if !own {
				arg = arguments[name]
			}
			arg.Name, arg.Object, arg.Required = name, !isKey, !strings.HasPrefix(usage, "[")
			arg.Many = strings.Contains(usage, "…") && !arg.Rest
			arg.Label, arg.Help = cmp.Or(label, arg.Label), cmp.Or(help, arg.Help)
			if name == "attack" && arg.Required {
				arg.Help += "; in a card's thread it need not be written"
			}
			c.Args = append(c.Args, arg)
		}
	}
	return &c
}

// saved is the answer where something is saved.
func saved(data any, lines ...text.Text) call.Result {
	return call.Result{Outcome: "done", Lines: lines, Data: data}
}

// unchanged is the answer where what was asked for holds already.
func unchanged(data any, line text.Text) call.Result {
	return call.Result{Outcome: "nothing", Lines: text.Lines{line}, Data: data}
}

// listing answers with a page of what an account has, a line each, under a head that counts it; data is the same for
// programs. The lines' columns have titles at the terminal.
func listing[T any](c *call.Call, head text.Text, titles []string, rows []T, line func(T) text.Text) (call.Result, error) {
	pages := call.Pages(c, 1)
	lines := pages.Table(titles, len(rows), func(i int) text.Text { return line(rows[i]) })
	return pages.Finish(call.Result{Account: c.Account.Name, Data: append([]T{}, rows...),
		Lines: append(text.Lines{head}, lines...)})
}

// counted is the head of a listing.
func counted(c *call.Call, n int, noun string, more ...any) text.Text {
	return text.New(append([]any{text.Bold(c.Account.Name), ": ", text.Count(n, noun)}, more...)...)
}

// one is a plan alone, as a command gives it.
func one(p call.Plan, err error) ([]call.Plan, error) { return []call.Plan{p}, err }
