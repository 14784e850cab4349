package apiclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"
)

// raw is a JSON value as the service wrote it. A page of a listing is cut into its records by quotes, brackets and separators alone: what a record
// holds is read only if its caller doesn't know these bytes.
type raw []byte

// The brackets of what walk goes through.
const (
	listBrackets   = "[]"
	objectBrackets = "{}"
)

// walk gives the items of a list, or the members of an object with their keys in quotes. It reports whether r is one, to its end.
func (r raw) walk(brackets string, take func(key, value raw)) bool {
	if len(r) < 2 || r[0] != brackets[0] || r[len(r)-1] != brackets[1] {
		return false
	}
	rest := unblank(r[1 : len(r)-1])
	for more := len(rest) > 0; more; {
		var key, value raw
		var ok bool
		if brackets == objectBrackets {
			if key, rest, ok = cutValue(rest); !ok || key[0] != '"' || len(rest) == 0 || rest[0] != ':' {
				return false
			}
			rest = unblank(rest[1:])
		}
		if value, rest, ok = cutValue(rest); !ok {
			return false
		}
		take(key, value)
		if more = len(rest) > 0; more {
			if rest[0] != ',' {
				return false
			}
			rest = unblank(rest[1:]) // nothing after a comma is no value
		}
	}
	return true
}

// cutValue cuts the value off that data begins with, and the blanks behind it.
func cutValue(data raw) (value, rest raw, ok bool) {
	depth := 0
	for i := 0; i < len(data); {
		c := data[i]
		if !structural(c) {
			i++
			continue
		}
		if depth == 0 && i > 0 { // the end of a number or word
			return data[:i], unblank(data[i:]), true
		}
		length := 1
		switch c {
		case '"':
			if length = quoted(data[i:]); length == 0 {
				return nil, nil, false
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default:
			if depth == 0 {
				return nil, nil, false
			}
		}
		if i += length; depth <= 0 {
			return data[:i], unblank(data[i:]), depth == 0
		}
	}
	return data, nil, len(data) > 0 && depth == 0
}

// structural reports whether a byte is a quote, a bracket, a separator or a blank.
func structural(c byte) bool {
	switch c {
	case '"', '{', '[', '}', ']', ',', ':', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

// quoted is the length of the text that data begins with, quotes included; 0: it has no end.
func quoted(data raw) int {
	for i := 1; ; {
		next := bytes.IndexByte(data[i:], '"')
		if next < 0 {
			return 0
		}
		i += next + 1
		escapes := 0
		for data[i-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

func unblank(data raw) raw { return bytes.TrimLeft(data, " \t\r\n") }

// value reads a value as decode does; nil if there is none, or none that can be read.
func (r raw) value() any {
	switch {
	case len(r) == 0:
		return nil
	case r[0] == '"' && bytes.IndexByte(r, '\\') < 0 && utf8.Valid(r):
		return string(r[1 : len(r)-1])
	case r[0] == '-' || r[0] >= '0' && r[0] <= '9':
		return json.Number(r)
	case string(r) == "null":
		return nil
	}
	v, err := decode(r)
	if err != nil {
		return nil
	}
	return v
}

// members are the values of some keys of an object, which are given in quotes, and how many members it has at all.
func (r raw) members(keys ...string) (values []raw, count int, ok bool) {
	values = make([]raw, len(keys))
	ok = r.walk(objectBrackets, func(key, value raw) {
		count++
		if i := slices.Index(keys, string(key)); i >= 0 {
			values[i] = value
		}
	})
	return values, count, ok
}

var errMalformed = errors.New("JSON is cut short or malformed")

// cutList cuts an answer into the items of its list: bare, in "data" or "objects", in the envelope or not. Null is an empty list; items are nil if
// there is no list. status is the envelope's; 0: it has none.
func cutList(body []byte) (items []raw, status int, err error) {
	list := unblank(bytes.TrimRight(body, " \t\r\n"))
	if list.isObject() {
		envelope, members, ok := list.members(`"status"`, `"body"`)
		if !ok {
			return nil, 0, errMalformed
		}
		status = int(record{"status": envelope[0].value()}.id("status"))
		switch {
		case envelope[1] != nil:
			list = envelope[1]
		case envelope[0] != nil && members == 1:
			list = raw("null")
		}
	}
	if list.isObject() {
		inner, _, ok := list.members(`"data"`, `"objects"`)
		if !ok {
			return nil, 0, errMalformed
		}
		if i := slices.IndexFunc(inner, func(r raw) bool { return r != nil }); i >= 0 {
			list = inner[i]
		}
	}
	items = []raw{}
	if list.walk(listBrackets, func(_, item raw) { items = append(items, item) }) {
		return items, status, nil
	}
	if v, err := decode(list); v != nil || err != nil {
		return nil, status, err
	}
	return items, status, nil
}

func (r raw) isObject() bool { return len(r) > 0 && r[0] == '{' }
