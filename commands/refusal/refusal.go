// Package refusal is an answer other than done, in words for the person who asked.
package refusal

import (
	"errors"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// What a person sees as it is. Everything else is shown as a fault with a reference, and its text stays in the log.
var (
	ErrUnknown       = errors.New("unknown command")
	ErrUsage         = errors.New("wrong usage")
	ErrDenied        = errors.New("not allowed")
	ErrGuarded       = errors.New("guarded")
	ErrNothing       = errors.New("nothing to do") // what is asked for holds already
	ErrNeedsApproval = errors.New("needs approval")
	ErrAway          = errors.New("store away") // Redis can't be reached: no changes
	ErrService       = errors.New("service refused")
	ErrAsk           = errors.New("asks first")
	ErrEmptied       = errors.New("store emptied") // a Ledger's error: the state is not rebuilt from the channels yet
)

// ErrTold marks the failure of a stored change, which the attack's thread or the channel reports.
var ErrTold = errors.New("reported elsewhere")

// Refusal is an answer other than done, in words for the person who asked. It wraps one of the errors above.
type Refusal struct {
	Kind     error
	Text     text.Text
	Brief    text.Text   // for a form, where how the line is written says nothing; nil: Text
	Arg      string      // the argument that it is about, for a form; "": none, or several
	Value    string      // the word of that argument; "": all of it
	Line     record.Line // of ErrAsk: the canonical line to run after all
	Warnings []Warning   // of ErrAsk: what warns
	Cause    error       // for the log: what lies behind, never shown
}

// Error is the refusal's text.
func (r *Refusal) Error() string { return r.Text.String() }

// Unwrap is the refusal's kind, and its cause.
func (r *Refusal) Unwrap() []error {
	if r.Cause == nil {
		return []error{r.Kind}
	}
	return []error{r.Kind, r.Cause}
}

// About makes a refusal one that is about an argument, unless it is about one already; value is the word of it, "" for all.
func About(err error, arg, value string) error {
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Arg != "" {
		return err
	}
	said := *refusal
	said.Arg, said.Value = arg, value
	return &said
}

// Usage refuses a line that is written wrong.
func Usage(t text.Text) error { return &Refusal{Kind: ErrUsage, Text: t} }

// Guarded refuses what a guard doesn't let through.
func Guarded(t text.Text) error { return &Refusal{Kind: ErrGuarded, Text: t} }

// Nothing refuses what holds already, or what there is nothing to do about.
func Nothing(t text.Text) error { return &Refusal{Kind: ErrNothing, Text: t} }

// Typed is what a user typed, short enough to be quoted.
func Typed(s string) text.Code { return text.Code(text.Sanitize(s, text.MaxPath)) }

// Warning is what a user should know before a change.
type Warning struct {
	Text     text.Text
	InDialog bool // follows from the line alone, so a button's dialog says it already
	Known    bool // the line says that its writer knows
}
