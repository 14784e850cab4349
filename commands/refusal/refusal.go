// Package refusal is an answer other than done, in words for the person who asked.
package refusal

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
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
)

// ErrReported marks the failure of a stored change, which the attack's thread or the channel reports.
var ErrReported = errors.New("reported elsewhere")

// ErrUnanswered marks what a person is refused too often and was told so: it is counted, and no message answers it.
var ErrUnanswered = errors.New("not answered")

// Refusal is an answer other than done, in words for the person who asked. It wraps one of the errors above.
type Refusal struct {
	Kind     error
	Text     text.Text
	Next     text.Text   // whom to ask instead, and how: in small print; nil: there is nothing to do
	Brief    text.Text   // for a form, where how the line is written says nothing; nil: Text
	Example  string      // a right word in the place of a wrong one; "": there is none, or Text has it
	Arg      string      // the argument that it is about, for a form; "": none, or several
	Value    string      // the word of that argument; "": all of it
	Titled   bool        // Text begins with the outcome
	Line     record.Line // of ErrAsk: the canonical line to run after all
	Warnings []Warning   // of ErrAsk: what warns
	Cause    error       // for the log: what lies behind, never shown
}

// Error is all that the refusal says.
func (r *Refusal) Error() string { return r.All().String() }

// All is what was refused and what to do next, where there is one line for it.
func (r *Refusal) All() text.Text {
	if r.Next == nil {
		return r.Text
	}
	return text.New(r.Text, ". ", r.Next)
}

// Unwrap is the refusal's kind, and its cause.
func (r *Refusal) Unwrap() []error {
	if r.Cause == nil {
		return []error{r.Kind}
	}
	return []error{r.Kind, r.Cause}
}

// About makes a refusal one that is about an argument, unless it is about one already; value is the word of it, "" for
// all.
func About(err error, arg, value string) error {
	refused, ok := errors.AsType[*Refusal](err)
	if !ok || refused.Arg != "" {
		return err
	}
	said := *refused
	said.Arg, said.Value = arg, value
	return &said
}

func refuse(kind error, s text.Sentence, values []any) error {
	return &Refusal{Kind: kind, Text: text.Newf(s, values...)}
}

// Usage refuses a line that is written wrong.
func Usage(s text.Sentence, values ...any) error { return refuse(ErrUsage, s, values) }

// Invalid refuses a word that is none of what there may be, of which example is one. should says more.
func Invalid(what, typed, example string, should ...any) error {
	words := text.Newf("Invalid %v: %v", what, Typed(typed))
	if len(should) > 0 {
		words.Addf(". %v", text.New(should...))
	}
	return &Refusal{Kind: ErrUsage, Text: words, Example: example}
}

// InLine ends a refusal with its example as it stands in a line.
func InLine(err error, before string) error {
	refused, ok := errors.AsType[*Refusal](err)
	if !ok || refused.Example == "" {
		return err
	}
	said := *refused
	said.Text = text.Newf("%v. Example: `%v`", refused.Text, before+refused.Example)
	said.Brief, said.Example = text.Newf("%v. Example: `%v`", refused.Text, refused.Example), ""
	return &said
}

// WithOutcome is the refusal with its outcome as the first word. A question has none; of a line that is written wrong
// it says what is wrong.
func WithOutcome(err error) error {
	refused, ok := errors.AsType[*Refusal](err)
	if !ok || refused.Titled {
		return err
	}
	word := map[error]string{
		ErrDenied: "Refused", ErrGuarded: "Refused", ErrNothing: "Refused", ErrNeedsApproval: "Refused", ErrAway: "Failed",
		ErrService: "Failed",
	}[refused.Kind]
	if word == "" {
		return err
	}
	said := *refused
	said.Titled, said.Cause = true, err // which may be more than the refusal
	said.Text = text.Lead(word, ": ", refused.Text)
	if said.Brief == nil {
		said.Brief = refused.Text
	}
	return &said
}

// Guarded refuses what a guard doesn't let through.
func Guarded(s text.Sentence, values ...any) error { return refuse(ErrGuarded, s, values) }

// Denied refuses what the person may not do.
func Denied(s text.Sentence, values ...any) error { return refuse(ErrDenied, s, values) }

// Nothing refuses what holds already, or what there is nothing to do about.
func Nothing(s text.Sentence, values ...any) error { return refuse(ErrNothing, s, values) }

// Typed is what a user typed, short enough to be quoted.
func Typed(s string) text.Code { return text.Code(text.Sanitize(s, text.MaxPath)) }

// Warning is what a user should know before a change.
type Warning struct {
	Text     text.Text
	InDialog bool // follows from the line alone, so a button's dialog says it already
	Known    bool // the line says that its writer knows
	Always   bool // is asked about although all questions were answered with yes beforehand
}

// Warnings are those of one change.
type Warnings []Warning

// Addf adds a warning that has nothing special about it.
func (w *Warnings) Addf(s text.Sentence, values ...any) {
	*w = append(*w, Warning{Text: text.Newf(s, values...)})
}

// fromService is what a person reads of the service's errors.
var fromService = map[apiclient.ErrorKind]string{
	apiclient.Unauthenticated: "the service doesn't accept wafbot's token any more: who manages it must renew it",
	apiclient.Forbidden:       "the service doesn't allow this to wafbot's token: it lacks the permission, which an admin of the service can give it",
	apiclient.Invalid:         "the service refused it as invalid: ",
	apiclient.Exists:          "the service has an entry like that already, made meanwhile or in another form: see ",
	apiclient.NotFound:        "the service doesn't find it: another user may have removed it",
	apiclient.Locked:          "the service has locked its rules just now: try again in some minutes",
	apiclient.RateLimited:     "the service takes no more requests just now: try again in a minute",
	apiclient.Server:          "the service answered with an error of its own: try again, or use its console",
	apiclient.Foreign:         "the service answered with records of another client, which are left out: try again",
	apiclient.Network:         "the service can't be reached: try again, or use its console",
}

// FromService makes a refusal of an error of the service; a refusal stays as it is.
func FromService(err error) error {
	kind := apiclient.KindOf(err)
	words, known := fromService[kind]
	if _, refused := errors.AsType[*Refusal](err); refused || !known {
		return err
	}
	said := text.New(words)
	switch kind {
	case apiclient.Invalid:
		said = text.New(words, serviceWords(err))
	case apiclient.Exists:
		said = text.Newf("%v`lists`", words)
	}
	return &Refusal{Kind: ErrService, Text: said, Cause: err}
}

// NotBegun is FromService of what failed before anything was sent, and says that.
func NotBegun(err error) error {
	err = FromService(err)
	if refused, ok := errors.AsType[*Refusal](err); ok && errors.Is(err, ErrService) {
		said := *refused
		said.Text = text.New(refused.Text, ". Nothing was done")
		return &said
	}
	return err
}

// serviceWords is why the service refused a request as invalid.
func serviceWords(err error) string {
	e, _ := errors.AsType[*apiclient.Error](err)
	words := e.Message
	for _, field := range slices.Sorted(maps.Keys(e.Fields)) {
		words += " " + field + " " + e.Fields[field]
	}
	return cmp.Or(strings.TrimSpace(words), "no reason given")
}

// InHand is the error of a plan that touches what a change is about whose outcome isn't known yet: it is planned again
// when that is known.
type InHand struct{ Change record.Change }

// Error names the change.
func (e *InHand) Error() string { return "change " + e.Change.ID + " is in hand" }

// PlansAgain reports whether an error only says that what was planned on is not what it was.
func PlansAgain(err error) bool {
	_, inHand := errors.AsType[*InHand](err)
	return inHand || errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrLost)
}

// ErrRecorded marks an error whose audit entry is written already.
var ErrRecorded = errors.New("recorded")
