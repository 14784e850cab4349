package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/internal/nearest"
)

// configError lists every problem of a configuration, in the order of the file, then those of files it names and of the environment.
type configError struct{ problems []problem }

// Error is one line a problem: FILE:LINE:COL: key: what is wrong; what to do.
func (e *configError) Error() string {
	lines := make([]string, len(e.problems))
	for i, p := range e.problems {
		lines[i] = fmt.Sprintf("%s: %s: %s", p.at, cmp.Or(p.variable, p.key), p.text)
	}
	return strings.Join(lines, "\n")
}

type problem struct {
	at       position
	key      string
	variable string // the environment variable that set the key, if one did
	text     string
}

// position is a place in a file, lines and columns counted from 1. Without a file it is the environment.
type position struct {
	file      string
	line, col int
}

func (p position) String() string {
	if p.file == "" {
		return "environment"
	}
	return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.col)
}

// origin is where a key was set.
type origin struct {
	position
	variable string // the environment variable that set it, if one did
	text     string // as written, so that an expanded ${X} is never shown; "" for a secret
	value    string // what it came to; "" for a secret
}

// origins remembers where each key was set, and what is wrong with it.
type origins struct {
	root     position
	keys     map[string]origin
	problems []problem
}

func (o *origins) isSet(key string) bool {
	_, ok := o.keys[key]
	return ok
}

// forget makes a key and everything below it count as left out.
func (o *origins) forget(key string) {
	for k := range o.keys {
		if k == key || strings.HasPrefix(k, key+".") || strings.HasPrefix(k, key+"[") {
			delete(o.keys, k)
		}
	}
}

// report notes what is wrong with a key, at the place of the nearest key above it that was written. The first problem of a key hides
// its others, which follow from it.
func (o *origins) report(key, format string, args ...any) {
	if slices.ContainsFunc(o.problems, func(p problem) bool { return p.key == key }) {
		return
	}
	p := problem{at: o.root, key: key, text: fmt.Sprintf(format, args...)}
	for at := key; at != ""; at = at[:max(strings.LastIndexAny(at, ".["), 0)] {
		if from, ok := o.keys[at]; ok {
			p.at = from.position
			if at == key {
				p.variable = from.variable
			}
			break
		}
	}
	o.problems = append(o.problems, p)
}

// reportAt notes what is wrong at a place, which is not always that of the key.
func (o *origins) reportAt(at position, key, text string) {
	o.problems = append(o.problems, problem{at: at, key: key, text: text})
}

// reportValue is report with the value as it was written before the text.
func (o *origins) reportValue(key, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if from := o.keys[key]; from.text != "" {
		text = quote(from.text) + " " + text
	} else {
		text = "the value " + text
	}
	o.report(key, "%s", text)
}

// err is nil, or a *configError with all the problems.
func (o *origins) err() error {
	if len(o.problems) == 0 {
		return nil
	}
	rank := func(p problem) int {
		switch p.at.file {
		case o.root.file:
			return 0
		case "":
			return 2
		}
		return 1 // a file that the configuration names
	}
	slices.SortStableFunc(o.problems, func(a, b problem) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.at.file, b.at.file), cmp.Compare(a.at.line, b.at.line), cmp.Compare(a.at.col, b.at.col))
	})
	return &configError{o.problems}
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
