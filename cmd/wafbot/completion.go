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
	script, _ := shellScripts.ReadFile("completion/wafbot." + c.Shell) // each of the enum's is there
	_, err := t.out.Write(script)
	return err
}

// completeWord is the first argument with which the scripts ask. People don't type it.
const completeWord = "__complete"

// anyFile is the answer that a file's name may follow.
const anyFile = ":files"

// complete prints the choices for the last word, which may be empty or have begun.
func (t terminal) complete(programs []*kong.Node, words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	for _, c := range choices(programs, words[:len(words)-1], last) {
		if c.Value == anyFile || strings.HasPrefix(c.Value, last) {
			fmt.Fprintf(t.out, "%s\t%s\n", c.Value, c.Label)
		}
	}
}

// choices are what may follow the words before, whether or not they begin like the last word. They come from
// descriptions alone: a key press reads no configuration and sends nothing.
func choices(programs []*kong.Node, before []string, last string) []call.Option {
	if len(before) == 0 {
		return append(firstWords(programs), offer("--help", "all commands in short"), offer("--version", ""))
	}
	first, before := before[0], before[1:]
	p := named(programs, first)
	cmd, err := call.LookUp(verb.All(), first)
	switch {
	case p != nil:
		if len(before) > 0 && named(p.Children, before[0]) != nil {
			p, before = named(p.Children, before[0]), before[1:]
		}
		return lineChoices(programOptions(p), programWords(p), nil, before, last)
	case first == "help" && len(before) == 0:
		return append(firstWords(programs), offer("all", "each of the bot's commands in a line"))
	case first == "help" || err != nil:
		return nil
	}
	options := options()
	for _, flag := range cmd.Flags {
		options = append(options, grammar.Option{Name: flag})
	}
	account := call.Arg{Name: "account", Help: "where more than one is configured"}
	return lineChoices(options, nil, slices.Concat(cmd.Args, []call.Arg{account}), before, last)
}

func offer(word, means string) call.Option { return call.Option{Value: word, Label: means} }

// named is the program of a name; nil: there is none.
func named(programs []*kong.Node, name string) *kong.Node {
	for _, p := range programs {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// firstWords are the programs and the verbs.
func firstWords(programs []*kong.Node) (all []call.Option) {
	for _, p := range programs {
		all = append(all, offer(p.Name, p.Help))
	}
	for _, cmd := range verb.All() {
		all = append(all, offer(cmd.Name, cmd.Summary))
	}
	return all
}

// programOptions are a program's options in the words of the grammar.
func programOptions(p *kong.Node) (options []grammar.Option) {
	for _, f := range p.Flags {
		o := grammar.Option{Name: f.Name, Help: f.Help}
		if !f.IsBool() {
			o.Value = cmp.Or(f.PlaceHolder, strings.ToUpper(f.Name))
		}
		options = append(options, o)
	}
	return append(options, grammar.Option{Name: optHelp, Help: "explain the program"})
}

// programWords are what a program's first word may be.
func programWords(p *kong.Node) (words []call.Option) {
	for _, sub := range p.Children {
		words = append(words, offer(sub.Name, sub.Help))
	}
	for _, arg := range p.Positional {
		if strings.EqualFold(arg.Name, fileValue) {
			return []call.Option{offer(anyFile, "")}
		}
		for _, value := range arg.EnumSlice() {
			words = append(words, offer(value, ""))
		}
	}
	return words
}

// fileValue is how the descriptions of options write the name of a file.
const fileValue = "FILE"

// valueOf is how the value is called that an option takes; "": it takes none, or the word is no option.
func valueOf(options []grammar.Option, word string) string {
	for _, o := range options {
		if word == "--"+o.Name {
			return o.Value
		}
	}
	return ""
}

// lineChoices are what may follow a program, whose first word may be one of these, or a verb with these arguments.
func lineChoices(options []grammar.Option, words []call.Option, args []call.Arg, before []string,
	last string) (all []call.Option) {
	previous, objects, given := "", 0, map[string]bool{}
	for _, word := range before {
		key, _, isKey := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "-") || valueOf(options, previous) != "":
		case isKey:
			given[key] = true
		default:
			objects++
		}
		previous = word
	}
	if name, _, joined := strings.Cut(last, "="); joined && valueOf(options, name) != "" {
		previous = name
	}
	switch value := valueOf(options, previous); {
	case value == fileValue:
		return []call.Option{offer(anyFile, "")}
	case value != "":
		return nil
	case strings.HasPrefix(last, "-"):
		for _, o := range options {
			all = append(all, offer("--"+o.Name, o.Help))
		}
		return all
	case objects == 0:
		all = words
	}
	for _, arg := range args {
		switch {
		case arg.Object:
			if objects == 0 || arg.Many {
				all = append(all, valueChoices(arg, "")...)
			}
			objects--
		case strings.HasPrefix(last, arg.Name+"="):
			return valueChoices(arg, arg.Name+"=")
		case !given[arg.Name]:
			all = append(all, offer(arg.Name+"=", arg.Help))
		}
	}
	return all
}

// valueChoices are the values that an argument's form offers before an account is known.
func valueChoices(arg call.Arg, prefix string) (all []call.Option) {
	if arg.Options == nil {
		return nil
	}
	for _, o := range arg.Options(&call.Call{Facts: &call.Facts{},
		Policy: policy.Policy{Policy: config.Default[config.Policy]()}}) {
		all = append(all, offer(prefix+o.Value, o.Label))
	}
	return all
}
