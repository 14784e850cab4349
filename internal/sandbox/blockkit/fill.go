package blockkit

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

// missingInput is what the client shows at a required input without a value.
const missingInput = "Please complete this required field."

// Directory finds people and channels that are typed into a field, by name or id.
type Directory interface {
	UserID(name string) (id string, ok bool)
	ChannelID(name string) (id string, ok bool)
}

// Fill sets values in a state, each under the label, block id or action id of its field.
func Fill(s State, fields []Field, values map[string]any, dir Directory) error {
	for _, name := range sortedKeys(values) {
		f, err := FindField(fields, name)
		if err != nil {
			return fmt.Errorf("fill in %q: %w", name, err)
		}
		value, err := f.enter(values[name], dir)
		if err != nil {
			return fmt.Errorf("fill in %q: %w", name, err)
		}
		s.Set(f, value)
	}
	return nil
}

// FindField finds a field by its label, block id or action id, or by the start of a label that no other has.
func FindField(fields []Field, name string) (Field, error) {
	return choose(fields, name, func(f Field) []string { return []string{f.Label, f.BlockID, f.ActionID} })
}

// enter is the value of a field after a person typed or chose something.
func (f Field) enter(given any, dir Directory) (any, error) {
	texts, err := listed(given)
	if err != nil {
		return nil, err
	}
	if f.kind.of == "" {
		return nil, fmt.Errorf("a %v can't be filled in here", f.Element["type"])
	}
	if len(texts) > 1 && !f.kind.many {
		return nil, fmt.Errorf("only one of %q fits", texts)
	}
	chosen := []any{}
	for _, text := range texts {
		value, err := f.enterOne(text, dir)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, value)
	}
	switch {
	case f.kind.many:
		if most := number(f.Element["max_selected_items"]); most > 0 && len(chosen) > most {
			return nil, fmt.Errorf("at most %d can be chosen", most)
		}
		return chosen, nil
	case len(chosen) == 0:
		return nil, nil
	}
	return chosen[0], nil
}

// listed returns given values as texts. "" and nil are none.
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

// enterOne is the value that one text stands for.
func (f Field) enterOne(text string, dir Directory) (any, error) {
	switch f.kind.of {
	case "option":
		return f.option(text)
	case "user":
		if id, ok := dir.UserID(text); ok {
			return id, nil
		}
		return nil, fmt.Errorf("no such user: %q", text)
	case "conversation", "channel":
		if id, ok := dir.ChannelID(text); ok {
			return id, nil
		}
		return nil, fmt.Errorf("no such channel: %q", text)
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

// option finds an option by its value or its text.
func (f Field) option(name string) (any, error) {
	var texts []string
	for _, o := range options(f.Element) {
		text := Plain(o["text"])
		if o["value"] == name || text == name {
			return o, nil
		}
		texts = append(texts, text)
	}
	return nil, fmt.Errorf("no option %q, of %q", name, texts)
}

// Incomplete returns what the client finds wrong with inputs, by block id. The client sends nothing then.
func Incomplete(fields []Field, s State) map[string]string {
	wrong := map[string]string{}
	for _, f := range fields {
		if !f.Input {
			continue
		}
		if problem := f.problem(s.value(f)); problem != "" {
			wrong[f.BlockID] = problem
		}
	}
	return wrong
}

// problem is what the client shows at a wrong value, or "".
func (f Field) problem(value any) string {
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

func (f Field) lengthProblem(length int) string {
	if least := number(f.Element["min_length"]); length < least {
		return fmt.Sprintf("Please enter at least %d characters.", least)
	}
	if most := cmp.Or(number(f.Element["max_length"]), maxInputLength); length > most {
		return fmt.Sprintf("Please enter at most %d characters.", most)
	}
	return ""
}

func (f Field) numberProblem(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return "Please enter a number."
	}
	if f.Element["is_decimal_allowed"] != true && strings.ContainsAny(text, ".eE") {
		return "Please enter a whole number."
	}
	if least, err := strconv.ParseFloat(textOf(f.Element["min_value"]), 64); err == nil && n < least {
		return fmt.Sprintf("Please enter %s or more.", f.Element["min_value"])
	}
	if most, err := strconv.ParseFloat(textOf(f.Element["max_value"]), 64); err == nil && n > most {
		return fmt.Sprintf("Please enter %s or less.", f.Element["max_value"])
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

// choose finds a thing by name. Each thing has several names, which are tried in their order; the last try is the start of a first name that no
// other thing has.
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
