package apiclient

import (
	"bytes"
	"encoding/json"
	"errors"
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

// ints are the whole numbers of a list.
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

// unwrap checks that an answer is JSON, and takes the envelope off if there is one. status is the envelope's, which can be an error under HTTP 200;
// 0: it has none.
func unwrap(answer []byte) (body json.RawMessage, status int, err error) {
	var members map[string]json.RawMessage
	err = json.Unmarshal(answer, &members)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
		return answer, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	given, hasStatus := members["status"]
	status = int(wholeNumber(decode[any](given)))
	switch body, enveloped := members["body"]; {
	case enveloped:
		return body, status, nil
	case hasStatus && len(members) == 1:
		return json.RawMessage("null"), status, nil
	}
	return answer, status, nil
}

// maxItems is how many items of one answer are read: twice as many as any listing asks for.
const maxItems = 2000

// listed cuts a body into the items of its list, which is bare or in "data" or "objects". Null is an empty list. Of a list with more than maxItems
// there is one item more than that, and no memory is taken for the others. What an item holds is read only if its caller doesn't know these bytes.
func listed(body json.RawMessage) (items []json.RawMessage, ok bool) {
	if items, ok = elements(body); ok {
		return items, true
	}
	var in struct{ Data, Objects json.RawMessage }
	if json.Unmarshal(body, &in) != nil {
		return nil, false
	}
	if in.Data == nil {
		in.Data = in.Objects
	}
	return elements(in.Data)
}

// elements are the first items of a JSON array, or none of null; ok is false if the value is neither.
func elements(value json.RawMessage) (items []json.RawMessage, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(value))
	begin, err := dec.Token()
	if err != nil || begin != json.Delim('[') {
		return nil, err == nil && begin == nil
	}
	for dec.More() && len(items) <= maxItems {
		var item json.RawMessage
		if dec.Decode(&item) != nil {
			return nil, false
		}
		items = append(items, item)
	}
	return items, true
}

func isObject(item json.RawMessage) bool { return len(item) > 0 && item[0] == '{' }

// decode reads a value of which unwrap has checked that it is JSON, with numbers as they are written. What is of another type than T has it is left out.
func decode[T any](value json.RawMessage) (v T) {
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	_ = dec.Decode(&v)
	return v
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
