package call

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Form is what a person fills in where a line has a choice to make, or something missing. It knows no front end.
type Form struct {
	Title  string      // at most 24 characters
	Submit string      // the label of the button that does it, at most 24 characters
	Intro  text.Lines  // what is known before the choice
	Base   record.Line // the part of the line that isn't filled in
	Attack string      // the attack that it is about, as AttackID makes it: the line's, where that names none; "": none
	Fields []Field
	OneOf  []string // at least one must be filled in, beside the required fields; none: no more is needed
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

	Object bool   // its argument is written without its name
	Whole  bool   // what is written in it is one word of the line
	List   bool   // what is written in it may have commas between the words
	Prefix string // of each word that it gives, as country:
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

// Share takes the words that are among the field's options.
func (f Field) Share(words []string) (mine, left []string) {
	for _, w := range words {
		value, ok := strings.CutPrefix(w, f.Prefix)
		i := slices.IndexFunc(f.Options, func(o Option) bool { return strings.EqualFold(o.Value, value) })
		if ok && i >= 0 {
			mine = append(mine, f.Options[i].Value)
		} else {
			left = append(left, w)
		}
	}
	return mine, left
}

// find returns the form's field of an argument; if it has none, one that is in no form.
func (f *Form) find(arg string) *Field {
	for i := range f.Fields {
		if f.Fields[i].Arg == arg {
			return &f.Fields[i]
		}
	}
	return &Field{}
}

// Require makes arguments ones that must be filled in.
func (f *Form) Require(args ...string) {
	for _, arg := range args {
		f.find(arg).Required = true
	}
}

// Drop takes an argument's field out.
func (f *Form) Drop(arg string) {
	f.Fields = slices.DeleteFunc(f.Fields, func(field Field) bool { return field.Arg == arg })
}

// Relabel gives an argument's field another label and hint.
func (f *Form) Relabel(arg, label, hint string) {
	field := f.find(arg)
	field.Label, field.Hint = label, hint
}

// Fill puts a value into an argument's field that is still empty.
func (f *Form) Fill(arg, value string) {
	field := f.find(arg)
	if len(field.Values) > 0 || value == "" {
		return
	}
	if len(field.Options) > 0 && !slices.ContainsFunc(field.Options, func(o Option) bool { return o.Value == value }) {
		field.Options = append(field.Options, Option{Value: value})
	}
	field.Values = []string{value}
}

// Value is what an argument's field holds; "" if it holds nothing.
func (f *Form) Value(arg string) string {
	return append(f.find(arg).Values, "")[0]
}
