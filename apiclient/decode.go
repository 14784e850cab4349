package apiclient

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"math"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// parts are the members of a JSON object with their names, or the items of a list. The value must be valid JSON. They
// are slices of it, and aren't decoded: the caller may know a record by its bytes.
func parts(value json.RawMessage) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		name, from, depth := []byte(nil), 0, 0
		for i := 0; i < len(value); i++ {
			switch c := value[i]; c {
			case '"':
				for i++; value[i] != '"'; i++ {
					if value[i] == '\\' {
						i++
					}
				}
			case '{', '[':
				if depth++; depth == 1 {
					from = i + 1
				}
			case ':':
				if depth == 1 {
					name, from = bytes.Trim(value[from:i], "\" \t\r\n"), i+1
				}
			case ',', '}', ']':
				if depth == 1 {
					part := bytes.TrimSpace(value[from:i])
					if from = i + 1; len(part) > 0 && !yield(name, part) {
						return
					}
				}
				if c != ',' {
					depth--
				}
			}
		}
	}
}

// members are a JSON object's members by name.
func members(object json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for name, value := range parts(object) {
		all[string(name)] = value
	}
	return all
}

// items are a list's items; nil if the value is no list.
func items(value json.RawMessage) (all []json.RawMessage) {
	if value[0] != '[' {
		return nil
	}
	for _, item := range parts(value) {
		all = append(all, item)
	}
	return all
}

// text is a string that may come as a number, too.
type text string

// textOf is a string or a number as text. What is neither reads as "": what can't be read never costs the rest of a
// record.
func textOf(value json.RawMessage) (t text) {
	switch {
	case value[0] == '"' && !bytes.ContainsRune(value, '\\') && utf8.Valid(value): // most are
		return text(value[1 : len(value)-1])
	case value[0] == '"':
		var read string // t itself would be allocated in each call
		_ = json.Unmarshal(value, &read)
		return text(read)
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		t = text(value)
		if n, exact, _ := t.number(); exact {
			t = text(strconv.FormatInt(n, 10)) // 7.0 as 7
		}
	}
	return t
}

// number reads a number written as 7, 7.0 or 7e3 without its fraction. exact is false when that differs, ok is false
// when there is no number or none that an int64 can hold.
func (t text) number() (n int64, exact, ok bool) {
	literal := strings.TrimSpace(string(t))
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return n, true, true
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) >= 1<<63 {
		return 0, false, false
	}
	return int64(f), f == math.Trunc(f) && math.Abs(f) <= 1<<53, true
}

// whole is 0 unless the text is a whole number: a cut one would be another record's id.
func (t text) whole() int64 {
	if n, exact, _ := t.number(); exact {
		return n
	}
	return 0
}

// moment reads unix seconds or RFC 3339. Zero and what lies outside the years 1970 to 9999 is no time.
func (t text) moment() time.Time {
	const last = 253402300799 // time.Time can't be encoded as JSON after it
	seconds, _, ok := t.number()
	if !ok {
		at, _ := time.Parse(time.RFC3339, string(t)) // else the year 1
		seconds = at.Unix()
	}
	if seconds <= 0 || seconds > last {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// Figure is a count that the service may not have given. The zero value is unknown, which is not zero. As JSON it is a
// number, or null. It is read from a number, also as a string, and without its fraction; what is neither is unknown.
type Figure struct {
	N     int64
	Known bool
}

// Known returns the figure n.
func Known(n int64) Figure { return Figure{N: n, Known: true} }

// String is the number with thousands separated by commas, or "unknown".
func (f Figure) String() string {
	if !f.Known {
		return "unknown"
	}
	digits := strconv.FormatInt(f.N, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// MarshalJSON implements json.Marshaler.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.Known {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, f.N, 10), nil
}

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (f *Figure) UnmarshalJSON(value []byte) error {
	f.N, _, f.Known = textOf(value).number()
	return nil
}

// unwrap checks that an answer is JSON, and removes the service's envelope if there is one: a body beside a status. The
// status can be an error under HTTP 200; 0: it has none.
func unwrap(answer []byte) (body json.RawMessage, status int, err error) {
	if err := json.Unmarshal(answer, &body); err != nil {
		return nil, 0, err
	}
	if !isObject(body) {
		return body, 0, nil
	}
	in := members(body)
	if written := in["status"]; written != nil {
		status = int(textOf(written).whole())
		if len(in) == 1 && textOf(written) != "" {
			return json.RawMessage("null"), status, nil // a status alone
		}
	}
	if in["body"] != nil {
		body = in["body"]
	}
	return body, status, nil
}

// saysNothing reports whether a body is null, a single value, or empty.
func saysNothing(body json.RawMessage) bool {
	for range parts(body) {
		return false
	}
	return true
}

// maxItems is how many items of one answer are read: twice as many as any listing asks for.
const maxItems = 2000

// listed cuts a body into the items of its list, which is bare or in "data" or "objects". Null is an empty list. Of a
// list with more than maxItems there is one item more than that, and no memory is taken for the others. What an item
// holds is read only if its caller doesn't know these bytes.
func listed(body json.RawMessage) (all []json.RawMessage, ok bool) {
	if isObject(body) {
		in := members(body)
		if body = in["data"]; body == nil {
			body = in["objects"]
		}
	}
	if len(body) == 0 || body[0] != '[' {
		return nil, string(body) == "null"
	}
	for _, item := range parts(body) {
		if all = append(all, item); len(all) > maxItems {
			break
		}
	}
	return all, true
}

func isObject(item json.RawMessage) bool { return len(item) > 0 && item[0] == '{' }

// object is the one object in a body, be it bare or alone in a list; nil when there is none.
func object(body json.RawMessage) json.RawMessage {
	if list, ok := listed(body); ok && len(list) > 0 {
		body = list[0]
	}
	if !isObject(body) {
		return nil
	}
	return body
}

var fieldsOf sync.Map // by the type of a struct, and then by the name in a field's tag "api", the field's index

// decode reads an object's members into the fields of a struct that have their names in the tag "api". Any member can
// be absent, null or of another type than expected: what can't be read is left out. It returns the id of a client other
// than own that the object names; 0: there is none.
func decode(object json.RawMessage, own int, into any) (foreign int64) {
	v := reflect.ValueOf(into).Elem()
	known, ok := fieldsOf.Load(v.Type())
	if !ok {
		fields := map[string][]int{}
		for _, f := range reflect.VisibleFields(v.Type()) {
			fields[f.Tag.Get("api")] = f.Index
		}
		delete(fields, "")
		known, _ = fieldsOf.LoadOrStore(v.Type(), fields)
	}
	fields := known.(map[string][]int) //nolint:forcetypeassert // nothing else is put in
	for name, value := range parts(object) {
		if string(name) == "clientid" || string(name) == "client_id" {
			if n := textOf(value).whole(); n != 0 && n != int64(own) {
				foreign = n
			}
		}
		if at := fields[string(name)]; at != nil {
			fill(string(name), value, v.FieldByIndex(at))
		}
	}
	return foreign
}

// fill reads a member into a field, as far as it can.
func fill(name string, value json.RawMessage, field reflect.Value) {
	t := textOf(value)
	switch to := field.Addr().Interface().(type) {
	case *string:
		if strings.HasSuffix(name, "id") {
			t = cmp.Or(t, joined(value))
		}
		*to = cmp.Or(string(t), *to)
	case *Figure:
		if to.N, _, to.Known = t.number(); to.N < 0 && name != "poolid" { // a negative count is unknown; a negative application id isn't
			*to = Figure{}
		}
	case *int, *int64:
		field.SetInt(t.whole())
	case *bool:
		if set, err := strconv.ParseBool(cmp.Or(string(t), string(value))); err == nil {
			*to = set
		}
	case *time.Time:
		*to = cmp.Or(t.moment(), *to)
	case *netip.Addr:
		ip, _ := netip.ParseAddr(string(t))
		*to = ip.Unmap().WithZone("")
	case *netip.Prefix:
		*to = cmp.Or(readPrefix(string(t)), *to)
	case *[]string:
		if all := texts(value); all != nil {
			*to = all
		}
	case *[]int:
		var all []int
		for _, s := range texts(value) {
			if n, exact, _ := text(s).number(); exact {
				all = append(all, int(n))
			}
		}
		if all != nil {
			*to = all
		}
	case json.Unmarshaler:
		_ = to.UnmarshalJSON(value)
	default: // a list of objects. An item that can't be read stays, as a zero one
		list := items(value)
		field.Set(reflect.MakeSlice(field.Type(), len(list), len(list)))
		for i, item := range list {
			decode(item, 0, field.Index(i).Addr().Interface())
		}
	}
}

// texts are the readable ones of a list, which is bare or, in a selected column, in {count, values}; or the only one.
func texts(value json.RawMessage) (all []string) {
	for name, item := range parts(value) {
		switch t := textOf(item); {
		case value[0] == '{' && string(name) == "values":
			return texts(item)
		case value[0] == '[' && t != "":
			all = append(all, string(t))
		}
	}
	if t := textOf(value); t != "" {
		return []string{string(t)}
	}
	return all
}

// joined reads an id that is a list of strings and numbers, which belong together by ":".
func joined(value json.RawMessage) text {
	var parts []string
	for _, item := range items(value) {
		part := textOf(item)
		if part == "" {
			return "" // a part of an id can be the id of something else
		}
		parts = append(parts, string(part))
	}
	return text(strings.Join(parts, ":"))
}
