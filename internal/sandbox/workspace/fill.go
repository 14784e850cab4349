package workspace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// What the client says at an input that it will not send as it is.
const missingInput = "Please complete this required field."

// fill puts values into a view, each under the label, block id or action id of its field.
func (w *Workspace) fill(v *openView, values map[string]any) error {
	fields := v.fields()
	for _, name := range sortedKeys(values) {
		f, err := choose(fields, name, fieldWays)
		if err != nil {
			return fmt.Errorf("fill in %q: %w", name, err)
		}
		value, err := w.enter(f, values[name])
		if err != nil {
			return fmt.Errorf("fill in %q: %w", name, err)
		}
		v.state[f.blockID][f.actionID] = f.answer(value)
	}
	return nil
}

// fieldWays are the names that a person or a test has for a field.
func fieldWays(f field) []string { return []string{f.label, f.blockID, f.actionID} }

// enter is what a field holds after something was typed or chosen there.
func (w *Workspace) enter(f field, given any) (any, error) {
	texts, err := listed(given)
	if err != nil {
		return nil, err
	}
	if f.kind.of == "" {
		return nil, fmt.Errorf("nobody can fill in a %v here", f.element["type"])
	}
	if len(texts) > 1 && !f.kind.many {
		return nil, fmt.Errorf("only one of %q fits", texts)
	}
	chosen := []any{}
	for _, text := range texts {
		value, err := w.enterOne(f, text)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, value)
	}
	switch {
	case f.kind.many:
		if most := number(f.element["max_selected_items"]); most > 0 && len(chosen) > most {
			return nil, fmt.Errorf("at most %d can be chosen", most)
		}
		return chosen, nil
	case len(chosen) == 0:
		return nil, nil
	}
	return chosen[0], nil
}

// listed is what was given as texts; "" and nil are none.
func listed(given any) ([]string, error) {
	switch given := given.(type) {
	case nil:
		return nil, nil
	case string:
		if given == "" {
			return nil, nil
		}
		return []string{given}, nil
	case []string:
		return given, nil
	case []any:
		var texts []string
		for _, item := range given {
			inner, err := listed(item)
			if err != nil {
				return nil, err
			}
			texts = append(texts, inner...)
		}
		return texts, nil
	case int, int64, float64, json.Number:
		return []string{fmt.Sprint(given)}, nil
	}
	return nil, fmt.Errorf("%v is neither text nor a list of texts", given)
}

// enterOne is what one text stands for in a field.
func (w *Workspace) enterOne(f field, text string) (any, error) {
	switch f.kind.of {
	case "option":
		return f.option(text)
	case "user":
		u, ok := w.user(text)
		if !ok || u.Deleted {
			return nil, fmt.Errorf("no such user: %q", text)
		}
		return u.ID, nil
	case "conversation", "channel":
		c := w.channel(text)
		if c == nil {
			return nil, fmt.Errorf("no such channel: %q", text)
		}
		return c.ID, nil
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		return text, err
	case "time":
		_, err := time.Parse("15:04", text)
		return text, err
	case "seconds":
		return strconv.ParseInt(text, 10, 64)
	}
	return text, nil
}

// option finds a choice by its value or its text.
func (f field) option(name string) (any, error) {
	var texts []string
	for _, o := range f.options() {
		text := plainBlock(o["text"])
		if o["value"] == name || text == name {
			return o, nil
		}
		texts = append(texts, text)
	}
	return nil, fmt.Errorf("no option %q, of %q", name, texts)
}

// incomplete is what the client finds wrong with the inputs of a view, by block id; it sends nothing then.
func (v *openView) incomplete() map[string]string {
	wrong := map[string]string{}
	for _, f := range v.fields() {
		if !f.input {
			continue
		}
		if problem := f.problem(v.state[f.blockID][f.actionID][f.kind.value]); problem != "" {
			wrong[f.blockID] = problem
		}
	}
	return wrong
}

// problem is what the client says of a value; empty: nothing.
func (f field) problem(value any) string {
	list, isList := value.([]any)
	if value == nil || value == "" || isList && len(list) == 0 {
		if f.optional {
			return ""
		}
		return missingInput
	}
	text, _ := value.(string)
	switch f.kind.of {
	case "text":
		return f.lengthProblem(utf8.RuneCountInString(text))
	case "number":
		return f.numberProblem(text)
	case "email":
		if _, err := mail.ParseAddress(text); err != nil {
			return "Please enter a valid email address."
		}
	case "url":
		if u, err := url.Parse(text); err != nil || u.Scheme == "" || u.Host == "" {
			return "Please enter a valid URL."
		}
	}
	return ""
}

func (f field) lengthProblem(length int) string {
	if least := number(f.element["min_length"]); length < least {
		return fmt.Sprintf("Please enter at least %d characters.", least)
	}
	if most := cmp.Or(number(f.element["max_length"]), maxInputLength); length > most {
		return fmt.Sprintf("Please enter at most %d characters.", most)
	}
	return ""
}

func (f field) numberProblem(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return "Please enter a number."
	}
	if f.element["is_decimal_allowed"] != true && strings.ContainsAny(text, ".eE") {
		return "Please enter a whole number."
	}
	if least, err := strconv.ParseFloat(textOf(f.element["min_value"]), 64); err == nil && n < least {
		return fmt.Sprintf("Please enter %s or more.", f.element["min_value"])
	}
	if most, err := strconv.ParseFloat(textOf(f.element["max_value"]), 64); err == nil && n > most {
		return fmt.Sprintf("Please enter %s or less.", f.element["max_value"])
	}
	return ""
}

func textOf(v any) string {
	text, _ := v.(string)
	return text
}

// number is a whole number in JSON; 0 for anything else.
func number(v any) int {
	n, _ := v.(json.Number)
	whole, _ := strconv.Atoi(n.String())
	return whole
}

// choose finds what is meant by a name among things with several names each: all of the first kind of name first, and at last
// whatever alone begins so under it.
func choose[T any](things []T, name string, ways func(T) []string) (T, error) {
	var none T
	var first []string
	for _, thing := range things {
		first = append(first, ways(thing)[0])
	}
	for way := 0; len(things) > 0 && way <= len(ways(things[0])); way++ {
		var found []T
		for _, thing := range things {
			names := ways(thing)
			fits := way == len(names) && strings.HasPrefix(names[0], name) || way < len(names) && names[way] == name
			if fits && name != "" {
				found = append(found, thing)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return none, fmt.Errorf("several fit, of %q", first)
		}
	}
	return none, fmt.Errorf("none fits, of %q", slices.Clip(first))
}
