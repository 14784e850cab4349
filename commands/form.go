package commands

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Form is what a person fills in where a line has a choice to make, or something missing. It knows no front end.
type Form struct {
	Title  string      // at most 24 characters
	Submit string      // of the button that does it, likewise
	Intro  []text.Text // what is known before the choice
	Base   record.Line // the part of the line that isn't filled in
	Attack string      // the attack that it is about, as AttackID makes it: the line's, where that names none; "": none
	Fields []Field
	oneOf  []string // arguments of which at least one must be filled in, beside the required fields; none: no more is needed
}

// Lacks reports whether something must be filled in that isn't yet.
func (f Form) Lacks() bool {
	return slices.ContainsFunc(f.Fields, func(field Field) bool { return field.Required && len(field.Values) == 0 })
}

// Field is one thing to fill in.
type Field struct {
	Name     string // unique in its form
	Arg      string // the argument that it fills; several fields can fill one
	Label    string
	Hint     string
	Kind     FieldKind
	Options  []Option // to choose from; of FieldText and FieldLines none
	Values   []string // what it holds at first
	Required bool

	object bool   // its argument is written without its name
	whole  bool   // what is written in it is one word of the line
	list   bool   // what is written in it may have commas between the words
	prefix string // of each word that it gives, as country:
}

// FieldKind is how a field is filled in.
type FieldKind string

// The kinds of fields.
const (
	FieldText  FieldKind = "text"
	FieldLines FieldKind = "lines" // text of several lines
	FieldOne   FieldKind = "one"   // one of its options
	FieldMany  FieldKind = "many"  // any of its options
	FieldUser  FieldKind = "user"  // a member of the workspace
)

// Option is one choice.
type Option struct {
	Value string
	Label string // for people; "": the value
	Group string // a heading over several; "": none
}

// Missing reports whether a line leaves out what it must have, so that a form asks for it; attack is the one in whose thread it was typed, "" for
// none. An unknown verb misses nothing.
func (r *Runner) Missing(l record.Line, attack string) bool {
	cmd, err := r.lookUp(l.Name)
	if err != nil {
		return false
	}
	l = r.InThread(l, attack)
	if cmd.Missing != nil && cmd.Missing(l) {
		return true
	}
	words := len(l.Words)
	for _, arg := range cmd.Args {
		switch {
		case arg.Object && words > 0:
			words--
		case arg.Required && (arg.Object || l.Keys[arg.Name] == ""):
			return true
		}
	}
	return false
}

// InThread is a line as it is meant in the thread of an attack's card, written so that it means the same elsewhere; attack may be "".
func (r *Runner) InThread(l record.Line, attack string) record.Line {
	cmd, err := r.lookUp(l.Name)
	if err != nil || attack == "" || !cmd.impliesAttack() || attackTyped(cmd, l) != "" {
		return l
	}
	return withAttack(cmd, l, attack)
}

// Fillable reports whether there is something to fill in for a line.
func (r *Runner) Fillable(l record.Line) bool {
	cmd, err := r.lookUp(l.Name)
	return err == nil && slices.ContainsFunc(cmd.Args, func(arg Arg) bool { return arg.Name != argPage.Name })
}

// Form is what a person fills in to make the invocation's line whole, with what it says already filled in. Who may not run the line gets no form.
func (r *Runner) Form(ctx context.Context, inv Invocation) (Form, error) {
	cmd, err := r.lookUp(inv.Line.Name)
	if err != nil {
		return Form{}, err
	}
	c := &Call{Setup: r.setup, loaded: newFacts(), Invocation: inv, Cmd: cmd, Line: inv.Line, Now: r.cfg.Now(), Account: r.place(inv), All: r.cfg.Accounts}
	err = r.authorise(ctx, c, cmd.Plan != nil || cmd.Write != nil || cmd.Decide != nil)
	if err == nil && cmd.Plan != nil {
		err = needRole(c, record.Responder) // a form never only shows, as the line may
	}
	if err != nil {
		r.recordRefusal(ctx, c, err)
		return Form{}, err
	}
	if cmd.Plan != nil && r.cfg.Policy.Changes == ChangesOff {
		return Form{}, changesAreOff()
	}
	if err := r.findAttack(ctx, c); err != nil {
		return Form{}, err
	}
	c.loaded.patience = formPatience
	return withFacts(ctx, r, c, func(c *Call) (Form, error) { return c.form(), nil })
}

// findAttack finds the attack that the line names, or in whose thread it is; that it names none is no error.
func (r *Runner) findAttack(ctx context.Context, c *Call) error {
	typed := attackTyped(c.Cmd, c.Line)
	if typed == "" && c.Cmd.impliesAttack() {
		typed = c.Invocation.Attack
	}
	if typed == "" {
		return nil
	}
	if err := r.resolveAttack(ctx, c, typed, c.Line.Keys["account"] != ""); err != nil {
		return err
	}
	c.Line = withAttack(c.Cmd, c.Line, c.Attack.ID)
	return nil
}

// form draws the form of the call's command from the description of its arguments.
func (c *Call) form() Form {
	name := strings.ToUpper(c.Cmd.Name[:1]) + c.Cmd.Name[1:]
	f := Form{Title: name, Submit: name, Base: record.Line{Name: c.Cmd.Name, Flags: c.Line.Flags}}
	if c.Account != nil {
		f.Base = f.Base.With("account", c.Account.Name)
	} else if !c.Cmd.AnyAccount {
		f.Fields = append(f.Fields, c.accountField())
	}
	if c.Attack != nil {
		f.Base, f.Attack = withAttack(c.Cmd, f.Base, c.Attack.ID), c.Attack.ID
		f.Intro = append(append(f.Intro, AttackLine(c.Account, c.Attack.Attack, c.Now)), c.warnings()...)
	}
	words := c.Line.Words
	for _, arg := range c.Cmd.Args {
		var has []string
		if arg.Object {
			has, words = arg.take(words)
		} else if value := c.Line.Keys[arg.Name]; value != "" {
			has = []string{value}
		}
		if named, takes := c.Cmd.attackArg(); arg.Name == argPage.Name || takes && arg.Name == named.Name && c.Attack != nil {
			continue
		}
		f.Fields = append(f.Fields, c.field(arg, has))
	}
	if c.Cmd.Form != nil {
		c.Cmd.Form(c, &f)
	}
	return f
}

// take gives an object its share of a line's words.
func (arg Arg) take(words []string) (has, left []string) {
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

func (c *Call) accountField() Field {
	field := Field{Name: "account", Arg: "account", Label: "Account", Kind: FieldOne, Required: true}
	for _, a := range c.All {
		field.Options = append(field.Options, Option{Value: a.Name})
	}
	return field
}

// field is the field of an argument that has these values already.
func (c *Call) field(arg Arg, has []string) Field {
	f := Field{Name: arg.Name, Arg: arg.Name, Label: arg.Label, Hint: arg.Help, Kind: FieldText, Values: has, Required: arg.Required, object: arg.Object, whole: !arg.Many}
	if f.Label == "" {
		f.Label = strings.ToUpper(arg.Name[:1]) + arg.Name[1:]
	}
	if arg.Kind != "" && arg.Kind != FieldMany {
		f.Kind = arg.Kind
	}
	if len(has) == 0 && arg.Default != nil {
		f.Values = []string{arg.Default(c)}
	}
	if arg.Options == nil {
		return f
	}
	if options := arg.Options(c); len(options) > 0 {
		f.Options, f.Hint = options, ""
		f.Kind = FieldOne
		if arg.Many || arg.Kind == FieldMany {
			f.Kind = FieldMany
		}
		f.keepValues(arg, c.Account)
	}
	return f
}

// keepValues makes what the field holds already one of its options: somebody wrote a duration that isn't among the usual ones.
func (f *Field) keepValues(arg Arg, a *Account) {
	var kept []string
	for _, written := range f.Values {
		for value := range strings.SplitSeq(written, ",") {
			value, err := arg.read(value, a)
			if err != nil {
				continue
			}
			if !slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == value }) {
				f.Options = append(f.Options, Option{Value: value})
			}
			kept = append(kept, value)
		}
	}
	f.Values = kept
}

// Fill is the line with what was filled in, by field. A refusal names the argument that is missing. What was filled in is never parsed as a line.
func (f Form) Fill(values map[string][]string) (record.Line, error) {
	line := f.Base
	filled := map[string]bool{}
	for _, field := range f.Fields {
		words := field.words(values[field.Name])
		if len(words) == 0 {
			if field.Required {
				return record.Line{}, missing(field.Arg)
			}
			continue
		}
		filled[field.Arg] = true
		if field.object {
			line.Words = append(slices.Clip(line.Words), words...)
		} else {
			line = line.With(field.Arg, strings.Join(words, ","))
		}
	}
	if len(f.oneOf) > 0 && !slices.ContainsFunc(f.oneOf, func(arg string) bool { return filled[arg] }) {
		return record.Line{}, missing(f.oneOf[0])
	}
	return line, nil
}

func missing(arg string) error {
	return refusal.About(refusal.Usage(text.New("this is needed")), arg, "")
}

// words are what was filled into a field, as the line holds it.
func (f Field) words(values []string) []string {
	var words []string
	for _, value := range values {
		switch value = strings.TrimSpace(value); {
		case value == "":
		case f.whole:
			words = append(words, value)
		default: // as people paste lists
			between := func(r rune) bool { return unicode.IsSpace(r) || f.list && strings.ContainsRune(",;", r) }
			for _, word := range strings.FieldsFunc(value, between) {
				words = append(words, f.prefix+word)
			}
		}
	}
	return words
}

// FieldOf is the name of the field that a refusal is about, as it was filled in; "" if it is about none.
func (f Form) FieldOf(r *refusal.Refusal, values map[string][]string) string {
	name := ""
	for _, field := range f.Fields {
		switch {
		case field.Arg != r.Arg:
		case slices.Contains(field.words(values[field.Name]), r.Value):
			return field.Name
		case name == "":
			name = field.Name
		}
	}
	return name
}
