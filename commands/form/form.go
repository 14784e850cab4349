// Package form draws the form of a command from the description of its arguments, and makes a line of what was filled
// in.
package form

import (
	"slices"
	"strings"
	"unicode"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// Form is the form of the call's command from the description of its arguments.
func Form(c *call.Call) call.Form {
	name := strings.ReplaceAll(strings.ToUpper(c.Cmd.Name[:1])+c.Cmd.Name[1:], "-", " ")
	f := call.Form{Title: name, Submit: name, Base: record.Line{Name: c.Cmd.Name, Flags: c.Line.Flags}}
	if c.Account != nil {
		f.Base = f.Base.With("account", c.Account.Name)
	} else if !c.Cmd.AnyAccount {
		account := call.Field{Name: "account", Arg: "account", Label: "Account", Kind: call.FieldOne, Required: true}
		for _, a := range c.InScope {
			account.Options = append(account.Options, call.Option{Value: a.Name})
		}
		f.Fields = append(f.Fields, account)
	}
	if c.Attack != nil {
		f.Base, f.Attack = call.WithAttack(c.Cmd, f.Base, c.Attack.ID), c.Attack.ID
		f.Intro = append(append(f.Intro, words.AttackMeant(c.Account, c.Attack.Attack)), change.FormWarnings(c)...)
	}
	words := c.Line.Words
	for _, arg := range c.Cmd.Args {
		var has []string
		if arg.Object {
			has, words = take(arg, words)
		} else if value := c.Line.Keys[arg.Name]; value != "" {
			has = []string{value}
		}
		if hasField(c, arg) {
			f.Fields = append(f.Fields, field(c, arg, has))
		}
	}
	if c.Cmd.Form != nil {
		c.Cmd.Form(c, &f)
	}
	return f
}

// Needs are the facts that the form shows and offers.
func Needs(c *call.Call) call.Rounds {
	if c.Account == nil {
		return nil
	}
	n := call.Needs{Context: c.Attack != nil}
	for _, arg := range c.Cmd.Args {
		if arg.Needs != nil && hasField(c, arg) {
			arg.Needs(&n)
		}
	}
	return n.Always()
}

// hasField reports whether an argument is filled in: the page of a listing isn't, nor the attack where it is known.
func hasField(c *call.Call, arg call.Arg) bool {
	named, takes := c.Cmd.AttackArg()
	return arg.Name != call.ArgPage.Name && (!takes || arg.Name != named.Name || c.Attack == nil)
}

// take gives an object its share of a line's words.
func take(arg call.Arg, words []string) (has, left []string) {
	switch {
	case len(words) == 0:
		return nil, nil
	case arg.Rest:
		return []string{strings.Join(words, " ")}, nil
	case arg.Many:
		return words, nil
	}
	return words[:1], words[1:]
}

// field is the field of an argument that has these values already.
func field(c *call.Call, arg call.Arg, has []string) call.Field {
	f := call.Field{Name: arg.Name, Arg: arg.Name, Label: arg.Label, Hint: arg.Help, Kind: call.FieldText, Values: has,
		Required: arg.Required, Object: arg.Object, Whole: !arg.Many}
	if f.Label == "" {
		f.Label = strings.ToUpper(arg.Name[:1]) + arg.Name[1:]
	}
	if arg.Kind != "" && arg.Kind != call.FieldMany {
		f.Kind = arg.Kind
	}
	if len(has) == 0 && arg.Default != nil {
		if value := arg.Default(c); value != "" {
			f.Values = []string{value}
		}
	}
	if arg.Options == nil {
		return f
	}
	if options := arg.Options(c); len(options) > 0 {
		f.Options, f.Hint = options, ""
		f.Kind = call.FieldOne
		if arg.Many || arg.Kind == call.FieldMany {
			f.Kind = call.FieldMany
		}
		keepValues(&f, arg, c.Account)
	}
	return f
}

// keepValues makes what the field holds already one of its options: as a typed duration that isn't among the usual
// ones.
func keepValues(f *call.Field, arg call.Arg, a *config.Account) {
	var kept []string
	for _, written := range f.Values {
		for value := range strings.SplitSeq(written, ",") {
			value, err := arg.Parse(value, a)
			if err != nil {
				continue
			}
			if !slices.ContainsFunc(f.Options, func(o call.Option) bool { return o.Value == value }) {
				f.Options = append(f.Options, call.Option{Value: value})
			}
			kept = append(kept, value)
		}
	}
	f.Values = kept
}

// Fill is the line with what was filled in, by field. A refusal names the argument that is missing. What was filled in
// is never parsed as a line.
func Fill(f call.Form, values map[string][]string) (record.Line, error) {
	line := f.Base
	filled := map[string]bool{}
	for _, field := range f.Fields {
		words := fieldWords(field, values[field.Name])
		if len(words) == 0 {
			if field.Required {
				return record.Line{}, missing(field.Arg)
			}
			continue
		}
		filled[field.Arg] = true
		if field.Object {
			line.Words = append(slices.Clip(line.Words), words...)
		} else {
			line = line.With(field.Arg, strings.Join(words, ","))
		}
	}
	if len(f.OneOf) > 0 && !slices.ContainsFunc(f.OneOf, func(arg string) bool { return filled[arg] }) {
		return record.Line{}, missing(f.OneOf[0])
	}
	return line, nil
}

func missing(arg string) error {
	return refusal.About(refusal.Usage("this is needed"), arg, "")
}

// fieldWords are what was filled into a field, as the line holds it.
func fieldWords(f call.Field, values []string) []string {
	var words []string
	for _, value := range values {
		switch value = strings.TrimSpace(value); {
		case value == "":
		case f.Whole:
			words = append(words, value)
		default: // as people paste lists
			between := func(r rune) bool { return unicode.IsSpace(r) || f.List && strings.ContainsRune(",;", r) }
			for _, word := range strings.FieldsFunc(value, between) {
				words = append(words, f.Prefix+word)
			}
		}
	}
	return words
}

// FieldOf is the name of the field that a refusal is about, as it was filled in; "" if it is about none.
func FieldOf(f call.Form, r *refusal.Refusal, values map[string][]string) string {
	name := ""
	for _, field := range f.Fields {
		switch {
		case field.Arg != r.Arg:
		case slices.Contains(fieldWords(field, values[field.Name]), r.Value):
			return field.Name
		case name == "":
			name = field.Name
		}
	}
	return name
}
