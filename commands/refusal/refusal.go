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
	ErrEmptied       = errors.New("store emptied") // a Ledger's error: what was done before is yet to be read back
)

// ErrTold marks the failure of a change that was written down, of which its attack's thread or its channel tells.
var ErrTold = errors.New("told")

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

// about makes a refusal one that is about an argument, unless it is about one already; value is the word of it, "" for all.
func About(err error, arg, value string) error {
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Arg != "" {
		return err
	}
	said := *refusal
	said.Arg, said.Value = arg, value
	return &said
}

func Usage(t text.Text) error   { return &Refusal{Kind: ErrUsage, Text: t} }
func Guarded(t text.Text) error { return &Refusal{Kind: ErrGuarded, Text: t} }
func Nothing(t text.Text) error { return &Refusal{Kind: ErrNothing, Text: t} }

// typed is what somebody typed, short enough to be said back.
func Typed(s string) text.Code { return text.Code(text.Sanitize(s, text.MaxPath)) }

// Warning is what a person should know before.
type Warning struct {
	Text     text.Text
	InDialog bool // follows from the line alone, so a button's dialog says it already
	Known    bool // the line says that its writer knows
}
