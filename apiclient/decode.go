package apiclient

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// text is a string that may come as a number, too. What is neither reads as "".
type text string

// UnmarshalJSON implements json.Unmarshaler. It never fails: what can't be read never costs the rest of a record.
func (t *text) UnmarshalJSON(value []byte) error {
	*t = ""
	switch {
	case value[0] == '"' && !bytes.ContainsRune(value, '\\') && utf8.Valid(value): // most are
		*t = text(value[1 : len(value)-1])
	case value[0] == '"':
		_ = json.Unmarshal(value, (*string)(t))
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		*t = text(value)
		if n, exact, _ := t.number(); exact {
			*t = text(strconv.FormatInt(n, 10)) // 7.0 as 7
		}
	}
	return nil
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
	if at, err := time.Parse(time.RFC3339, string(t)); err == nil && !ok {
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
	var t text
	_ = t.UnmarshalJSON(value)
	f.N, _, f.Known = t.number()
	return nil
}

// envelope is what the service may wrap around an answer, and around a list.
type envelope struct {
	Status        text
	Body          json.RawMessage
	Data, Objects json.RawMessage
	Cursor        json.RawMessage `json:"next_cursor"`
}

// unwrap checks that an answer is JSON, and takes the envelope off if there is one. status is the envelope's, which can
// be an error under HTTP 200; 0: it has none.
func unwrap(answer []byte) (body json.RawMessage, status int, err error) {
	var e envelope
	err = json.Unmarshal(answer, &e)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !other {
		return nil, 0, err
	}
	var members map[string]struct{}
	if e.Body == nil && e.Status != "" {
		_ = json.Unmarshal(answer, &members)
	}
	switch {
	case len(members) == 1:
		e.Body = json.RawMessage("null") // a status alone
	case e.Body == nil:
		e.Body = answer
	}
	return e.Body, int(e.Status.whole()), nil
}

// saysNothing reports whether a body is null, a single value, or empty. It reads no further than to the first member.
func saysNothing(body json.RawMessage) bool {
	dec := json.NewDecoder(bytes.NewReader(body))
	begin, err := dec.Token()
	return err != nil || begin != json.Delim('{') && begin != json.Delim('[') || !dec.More()
}

// maxItems is how many items of one answer are read: twice as many as any listing asks for.
const maxItems = 2000

// listed cuts a body into the items of its list, which is bare or in "data" or "objects". Null is an empty list. Of a
// list with more than maxItems there is one item more than that, and no memory is taken for the others. What an item
// holds is read only if its caller doesn't know these bytes.
func listed(body json.RawMessage) (items []json.RawMessage, ok bool) {
	if len(body) > 0 && body[0] == '{' {
		var in envelope
		_ = json.Unmarshal(body, &in)
		if body = in.Data; body == nil {
			body = in.Objects
		}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
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

// member is one of an object's, with the field that it is read into.
type member struct {
	name   string
	to     any   // a pointer; nil: none
	client int64 // that a member names whose object it is
}

// shape is how a type is read: as a struct of members, one for each field with a tag "api".
type shape struct {
	of    reflect.Type
	names []string
	at    [][]int // the field's index; nil: the member has none
}

var shapes sync.Map // of *shape, by type

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape) //nolint:forcetypeassert // nothing else is put in
	}
	s, members := &shape{}, []reflect.StructField{}
	for _, f := range append(reflect.VisibleFields(t), clientFields...) {
		name, tagged := f.Tag.Lookup("api")
		if !tagged || slices.Contains(s.names, name) {
			continue
		}
		s.names, s.at = append(s.names, name), append(s.at, f.Index)
		members = append(members, reflect.StructField{
			Name: fmt.Sprint("M", len(members)), Type: reflect.TypeFor[member](), Tag: reflect.StructTag(fmt.Sprintf("json:%q", name)),
		})
	}
	s.of = reflect.StructOf(members)
	shapes.Store(t, s)
	return s
}

// clientFields say which client's an object is.
var clientFields = []reflect.StructField{{Tag: `api:"clientid"`}, {Tag: `api:"client_id"`}}

// decode reads an object's members into the fields of a struct that have their names in the tag "api". Any member can
// be absent, null or of another type than expected: what can't be read is left out. It returns the id of a client other
// than own that the object names; 0: there is none.
func decode(object json.RawMessage, own int, into any) (foreign int64) {
	v := reflect.ValueOf(into).Elem()
	s := shapeOf(v.Type())
	in := reflect.New(s.of)
	at := func(i int) *member { return in.Elem().Field(i).Addr().Interface().(*member) }
	for i, name := range s.names {
		m := at(i)
		if m.name = name; s.at[i] != nil {
			m.to = v.FieldByIndex(s.at[i]).Addr().Interface()
		}
	}
	_ = json.Unmarshal(object, in.Interface())
	for i := range s.names {
		if n := at(i).client; n != 0 && n != int64(own) {
			foreign = n
		}
	}
	return foreign
}

// UnmarshalJSON reads the member into its field, as far as it can. It never fails.
func (m *member) UnmarshalJSON(value []byte) error {
	var t text
	_ = t.UnmarshalJSON(value)
	if m.name == "clientid" || m.name == "client_id" {
		m.client = t.whole()
	}
	switch to := m.to.(type) {
	case *string:
		if value[0] == '[' && strings.HasSuffix(m.name, "id") {
			t = joined(value)
		}
		*to = cmp.Or(string(t), *to)
	case *Figure:
		if to.N, _, to.Known = t.number(); to.N < 0 && m.name != "poolid" { // what is less than nothing is none
			*to = Figure{}
		}
	case *int:
		*to = int(t.whole())
	case *int64:
		*to = t.whole()
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
	case *[]Source:
		*to = objects[Source](value)
	case *[]CountryShare:
		*to = objects[CountryShare](value)
	case *[]Condition:
		*to = objects[Condition](value)
	case json.Unmarshaler:
		_ = to.UnmarshalJSON(value)
	}
	return nil
}

// objects reads a list of objects. An item that can't be read stays, as a zero one.
func objects[T any](value json.RawMessage) []T {
	var items []json.RawMessage
	_ = json.Unmarshal(value, &items)
	all := make([]T, len(items))
	for i, item := range items {
		decode(item, 0, &all[i])
	}
	return all
}

// texts are the readable ones of a list, which is bare or, in a selected column, in {count, values}; or the only one.
func texts(value json.RawMessage) (all []string) {
	column := struct{ Values []text }{make([]text, 1)}
	switch value[0] {
	case '[':
		_ = json.Unmarshal(value, &column.Values)
	case '{':
		_ = json.Unmarshal(value, &column)
	default:
		_ = column.Values[0].UnmarshalJSON(value)
	}
	for _, t := range column.Values {
		if t != "" {
			all = append(all, string(t))
		}
	}
	return all
}

// joined reads an id that is a list of strings and numbers, which belong together by ":".
func joined(value json.RawMessage) text {
	var parts []string
	var read []text
	_ = json.Unmarshal(value, &read)
	for _, part := range read {
		if part == "" {
			return "" // a part of an id can be the id of something else
		}
		parts = append(parts, string(part))
	}
	return text(strings.Join(parts, ":"))
}
