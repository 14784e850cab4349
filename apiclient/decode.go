package apiclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// record is one of the service's objects. Any field can be absent, null or of another type than expected: what can't
// be read is left out, and never costs the rest of the record.
type record map[string]any

func (r record) text(key string) string    { return wordOf(r[key]) }
func (r record) time(key string) time.Time { return moment(r[key]) }
func (r record) list(key string) []any     { list, _ := r[key].([]any); return list }
func (r record) flag(key string) bool      { set, _ := flag(r[key]); return set }

// id is 0 unless the field is a whole number: a cut one would be another record's id.
func (r record) id(key string) int64 { return wholeNumber(r[key]) }

func (r record) figure(key string) Figure { return figureOf(r[key]) }

// texts are the readable items of a list.
func (r record) texts(key string) []string {
	return readable(r.list(key), func(item any) (string, bool) { t := wordOf(item); return t, t != "" })
}

// ints are the readable items of a list.
func (r record) ints(key string) []int {
	return readable(r.list(key), func(item any) (int, bool) { n, exact, _ := number(item); return int(n), exact })
}

func readable[T any](list []any, read func(any) (T, bool)) (out []T) {
	for _, item := range list {
		if v, ok := read(item); ok {
			out = append(out, v)
		}
	}
	return out
}

// decode reads one JSON value, with numbers as they are written.
func decode(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

// unwrap takes the envelope off, if there is one.
func unwrap(v any) any {
	object, _ := v.(map[string]any)
	_, hasStatus := object["status"]
	if body, ok := object["body"]; ok || hasStatus && len(object) == 1 {
		return body
	}
	return v
}

// listed finds the list in an answer: bare, in "data" or "objects", in the envelope or not. Null is an empty list.
func listed(v any) (list []any, ok bool) {
	body := unwrap(v)
	if object, isObject := body.(map[string]any); isObject {
		for _, key := range []string{"objects", "data"} {
			if inner, found := object[key]; found {
				body = inner
			}
		}
	}
	if body == nil {
		return nil, true
	}
	list, ok = body.([]any)
	return list, ok
}

// wordOf reads a string, or a number as it is written.
func wordOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		if n, exact, _ := number(v); exact {
			return strconv.FormatInt(n, 10)
		}
		return v.String()
	}
	return ""
}

// joined reads an id that can be a string, a number or a list of these, which belong together by ":".
func joined(v any) string {
	list, ok := v.([]any)
	if !ok {
		return wordOf(v)
	}
	parts := make([]string, len(list))
	for i, item := range list {
		if parts[i] = wordOf(item); parts[i] == "" {
			return "" // a part of an id can be the id of something else
		}
	}
	return strings.Join(parts, ":")
}

// moment reads unix seconds or RFC 3339. Zero and what lies outside the years 1970 to 9999 is no time.
func moment(v any) time.Time {
	const last = 253402300799 // time.Time can't be encoded as JSON after it
	seconds, _, ok := number(v)
	if s, isString := v.(string); isString && !ok {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return time.Time{}
		}
		seconds = t.Unix()
	}
	if seconds <= 0 || seconds > last {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// flag reads a boolean, also as a string or number.
func flag(v any) (set, ok bool) {
	if b, isBool := v.(bool); isBool {
		return b, true
	}
	b, err := strconv.ParseBool(wordOf(v))
	return b, err == nil
}

// wholeNumber is 0 unless v is one.
func wholeNumber(v any) int64 {
	n, exact, _ := number(v)
	if !exact {
		return 0
	}
	return n
}

// anyNumber cuts a fraction off.
func anyNumber(v any) Figure {
	n, _, ok := number(v)
	return Figure{N: n, Known: ok}
}

// figureOf is a count: what is less than nothing is none.
func figureOf(v any) Figure {
	if f := anyNumber(v); f.N >= 0 {
		return f
	}
	return Figure{}
}

// number reads a number written as 7, 7.0, 7e3 or "7" without its fraction. exact is false when that differs, ok is false when
// there is no number or none that an int64 can hold.
func number(v any) (n int64, exact, ok bool) {
	var literal string
	switch v := v.(type) {
	case json.Number:
		literal = v.String()
	case string:
		literal = strings.TrimSpace(v)
	}
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return n, true, true
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) >= 1<<63 {
		return 0, false, false
	}
	return int64(f), f == math.Trunc(f) && math.Abs(f) <= 1<<53, true
}
