package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/internal/nearest"
)

// Error lists every problem of a configuration, in the order of the file, then those of files it names and of the
// environment.
type Error struct{ Problems []Problem }

// Error is one line a problem: FILE:LINE:COL: key: what is wrong; what to do.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("%s: %s: %s", p.At, cmp.Or(p.Variable, p.Key), p.Text)
	}
	return strings.Join(lines, "\n")
}

// Problem is one mistake in a configuration.
type Problem struct {
	At       Position
	Key      string
	Variable string // the environment variable that set the key, if one did
	Text     string // what is wrong; what to do
}

// Position is a place in a file; line and column count from 1. Without a file it is the environment.
type Position struct {
	File      string
	Line, Col int
}

// String is FILE:LINE:COL, or "environment".
func (p Position) String() string {
	if p.File == "" {
		return "environment"
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// origin is where a key was set.
type origin struct {
	Position
	variable string // the environment variable that set it, if one did
	text     string // as written, so that an expanded ${X} is never shown; "" for a secret
	whole    bool   // it replaces what accounts have by default, instead of merging with it
}

// origins records where each key was set, and the problems found so far.
type origins struct {
	root     Position
	keys     map[string]origin
	problems []Problem
	nodes    int // keys and values that were decoded, references written out

	inherited int // nodes of account_defaults
}

// at is where a key was set: for one of an account that it leaves out, in account_defaults.
func (o *origins) at(key string) (from origin, ok bool) {
	if from, ok = o.keys[key]; ok {
		return from, true
	}
	account, rest, _ := strings.Cut(key, ".")
	if rest == "" || !strings.HasPrefix(account, "accounts[") || rest == "token_file" &&
		o.keys[account+".token"] != (origin{}) {
		return origin{}, false
	}
	for at := above(key); at != account; at = above(at) {
		if o.keys[at].whole {
			return origin{}, false
		}
	}
	from, ok = o.keys[below(defaultsKey, rest)]
	return from, ok
}

// above is the key that another one stands below, "" at the top.
func above(key string) string { return key[:max(strings.LastIndexAny(key, ".["), 0)] }

func (o *origins) isSet(key string) bool {
	_, ok := o.at(key)
	return ok
}

// fromFile is a secret's key, or that of its file where it is read from one.
func (o *origins) fromFile(key string) string {
	if o.isSet(key + "_file") {
		key += "_file"
	}
	return key
}

// unset makes a key and everything below it count as left out.
func (o *origins) unset(key string) {
	for k := range o.keys {
		if k == key || strings.HasPrefix(k, key+".") || strings.HasPrefix(k, key+"[") {
			delete(o.keys, k)
		}
	}
}

// report notes what is wrong with a key, at the place of the nearest key above it that was written. The first problem
// of a key hides its others, which follow from it.
func (o *origins) report(key, format string, args ...any) {
	if slices.ContainsFunc(o.problems, func(p Problem) bool { return p.Key == key }) {
		return
	}
	p := Problem{At: o.root, Key: key, Text: fmt.Sprintf(format, args...)}
	for at := key; at != ""; at = above(at) {
		if from, ok := o.at(at); ok {
			p.At = from.Position
			if at == key {
				p.Variable = from.variable
			}
			break
		}
	}
	o.note(p)
}

// reportAt notes what is wrong at a place, which is not always that of the key.
func (o *origins) reportAt(at Position, key, text string) {
	o.note(Problem{At: at, Key: key, Text: text})
}

// maxProblems is how many problems are listed. Who has made more has made one mistake many times.
const maxProblems = 500

// note adds a problem, but once for all accounts that have it from account_defaults or from one anchor.
func (o *origins) note(p Problem) {
	again := func(noted Problem) bool {
		return p.At == noted.At && p.Text == noted.Text && ofAnyAccount(p.Key) == ofAnyAccount(noted.Key)
	}
	if len(o.problems) < maxProblems && !slices.ContainsFunc(o.problems, again) {
		o.problems = append(o.problems, p)
	}
}

// ofAnyAccount is an account's key as it is in account_defaults.
func ofAnyAccount(key string) string {
	account, rest, below := strings.Cut(key, ".")
	if below && strings.HasPrefix(account, "accounts[") {
		return defaultsKey + "." + rest
	}
	return key
}

// reportValue is report with the value as it was written before the text.
func (o *origins) reportValue(key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if from, _ := o.at(key); from.text != "" {
		text = quote(from.text) + " " + text
	} else {
		text = "the value " + text
	}
	o.report(key, "%s", text)
}

// err is nil, or a *Error with all the problems.
func (o *origins) err() error {
	if len(o.problems) == 0 {
		return nil
	}
	file := func(p Problem) string { // the configuration's comes first, then those that it names, then the environment
		switch p.At.File {
		case o.root.File:
			return ""
		case "":
			return "\xff"
		}
		return p.At.File
	}
	slices.SortStableFunc(o.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(file(a), file(b)), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Col, b.At.Col))
	})
	return &Error{o.problems}
}

// printable is a text cut short and free of control characters.
func printable(text string) string {
	quoted := quote(text)
	return quoted[1 : len(quoted)-1]
}

func quote(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}

// didYouMean is `did you mean "X"?` for the known word next to a mistyped one, or what else to do.
func didYouMean(typed string, known []string, otherwise string) string {
	most := len(strings.TrimPrefix(typed, "WAFBOT_"))/3 + 1 // what all variables begin with is no likeness
	best := nearest.Word(typed, known, most)
	if best == "" {
		return otherwise
	}
	return fmt.Sprintf("did you mean %q?", best)
}
