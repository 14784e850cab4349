package main

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/config"
)

// shellScripts ask the program itself, so that they say what this version knows.
//
//go:embed completion
var shellScripts embed.FS

// completionCmd prints a shell's script.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script.
func (c *completionCmd) Run(t *terminal) error {
	script, err := shellScripts.ReadFile("completion/wafbot." + c.Shell)
	if err != nil {
		return fmt.Errorf("read script: %w", err)
	}
	_, err = t.out.Write(script)
	return err
}

// completeWord is the first argument with which the scripts ask. People don't type it.
const completeWord = "__complete"

// anyFile is the answer that a file's name may follow.
const anyFile = ":files"

// choice is a word that may follow.
type choice struct{ word, means string }

// complete prints the choices for the last word, which may be empty or have begun.
func (t terminal) complete(programs []*kong.Node, words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	for _, c := range choices(programs, words[:len(words)-1], last) {
		if c.word == anyFile || strings.HasPrefix(c.word, last) {
			fmt.Fprintf(t.out, "%s\t%s\n", c.word, c.means)
		}
	}
}

// choices are what may follow the words before, of which some begin like the last.
func choices(programs []*kong.Node, before []string, last string) []choice {
	if len(before) == 0 {
		return slices.Concat(firstWords(programs), []choice{{"--help", "all commands in short"}, {"--version", ""}})
	}
	if i := slices.IndexFunc(programs, func(n *kong.Node) bool { return n.Name == before[0] }); i >= 0 {
		return programChoices(programs[i], before[1:], last)
	}
	if before[0] == "help" {
		if len(before) > 1 {
			return nil
		}
		return append(firstWords(programs), choice{"all", "each of the bot's commands in a line"})
	}
	cmd, err := call.LookUp(verb.All(), before[0])
	if err != nil {
		return nil
	}
	return lineChoices(cmd, before[1:], last)
}

// firstWords are the programs and the verbs.
func firstWords(programs []*kong.Node) (all []choice) {
	for _, p := range programs {
		all = append(all, choice{p.Name, p.Help})
	}
	for _, cmd := range verb.All() {
		all = append(all, choice{cmd.Name, cmd.Summary})
	}
	return all
}

// programChoices are what may follow a program's name.
func programChoices(program *kong.Node, before []string, last string) []choice {
	options := append(kongOptions(program.Flags), grammar.Option{Name: optHelp, Help: "explain the program"})
	objects := 0
	for i, word := range before {
		if strings.HasPrefix(word, "-") || i > 0 && takesValue(options, before[i-1]) {
			continue
		}
		if sub := slices.IndexFunc(program.Children, func(n *kong.Node) bool { return n.Name == word }); sub >= 0 {
			return programChoices(program.Children[sub], before[i+1:], last)
		}
		objects++
	}
	if values, ok := optionChoices(options, before, last); ok {
		return values
	}
	var all []choice
	for _, sub := range program.Children {
		all = append(all, choice{sub.Name, sub.Help})
	}
	if objects >= len(program.Positional) {
		return all
	}
	for _, value := range program.Positional[objects].EnumSlice() {
		if value != "" { // so it is of an argument that takes any word
			all = append(all, choice{value, ""})
		}
	}
	if strings.EqualFold(program.Positional[objects].Name, fileValue) {
		all = append(all, choice{anyFile, ""})
	}
	return all
}

// fileValue is how the descriptions of options write the name of a file.
const fileValue = "FILE"

// kongOptions are a program's options in the words of the grammar.
func kongOptions(flags []*kong.Flag) (options []grammar.Option) {
	for _, f := range flags {
		o := grammar.Option{Name: f.Name, Help: f.Help}
		if !f.IsBool() {
			o.Value = cmp.Or(f.PlaceHolder, strings.ToUpper(f.Name))
		}
		options = append(options, o)
	}
	return options
}

// takesValue reports whether a word is an option whose value is the next word.
func takesValue(options []grammar.Option, word string) bool {
	return slices.ContainsFunc(options, func(o grammar.Option) bool { return o.Value != "" && word == "--"+o.Name })
}

// optionChoices are the choices where the last word is an option or an option's value; ok is false where it is neither.
func optionChoices(options []grammar.Option, before []string, last string) (all []choice, ok bool) {
	asked := ""
	if name, _, joined := strings.Cut(last, "="); joined && takesValue(options, name) {
		asked = name
	} else if len(before) > 0 && takesValue(options, before[len(before)-1]) {
		asked = before[len(before)-1]
	}
	for _, o := range options {
		switch {
		case asked == "":
			all = append(all, choice{"--" + o.Name, o.Help})
		case asked == "--"+o.Name && o.Value == fileValue:
			all = append(all, choice{anyFile, ""})
		}
	}
	return all, asked != "" || strings.HasPrefix(last, "-")
}

// lineChoices are what may follow a verb. They come from its description alone: no configuration is read and no one is
// asked, so that a key press costs nothing.
func lineChoices(cmd *call.Command, before []string, last string) []choice {
	options := options()
	for _, flag := range cmd.Flags {
		options = append(options, grammar.Option{Name: flag})
	}
	if values, ok := optionChoices(options, before, last); ok {
		return values
	}
	objects, given := 0, map[string]bool{}
	for i, word := range before {
		key, _, isKey := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "-") || i > 0 && takesValue(options, before[i-1]):
		case isKey:
			given[key] = true
		default:
			objects++
		}
	}
	var all []choice
	for _, arg := range cmd.Args {
		switch {
		case !arg.Object && strings.HasPrefix(last, arg.Name+"="):
			return valueChoices(arg, arg.Name+"=")
		case !arg.Object && !given[arg.Name]:
			all = append(all, choice{arg.Name + "=", arg.Help})
		case arg.Object && (objects == 0 || arg.Many):
			all = append(all, valueChoices(arg, "")...)
		}
		if arg.Object {
			objects--
		}
	}
	if !given["account"] {
		all = append(all, choice{"account=", "where more than one is configured"})
	}
	return all
}

// valueChoices are the values that an argument's form offers before an account is known.
func valueChoices(arg call.Arg, prefix string) (all []choice) {
	if arg.Options == nil {
		return nil
	}
	for _, o := range arg.Options(&call.Call{Facts: &call.Facts{}, Policy: policy.Policy{Policy: config.Default[config.Policy]()}}) {
		all = append(all, choice{prefix + o.Value, o.Label})
	}
	return all
}
