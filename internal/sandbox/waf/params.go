package waf

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
)

// reply is an answer of the API. Unless it is bare, its body goes into the envelope.
type reply struct {
	status int
	// inner is the envelope's status.
	inner  int
	body   any
	cursor string
	bare   bool
}

func answer(body any) reply { return reply{status: http.StatusOK, inner: http.StatusOK, body: body} }

func refusal(status int, body any) reply { return reply{status: status, inner: status, body: body} }

func (r reply) encode() []byte {
	document := r.body
	if !r.bare {
		envelope := map[string]any{"status": r.inner, "body": r.body}
		if r.cursor != "" {
			envelope["cursor"] = r.cursor
		}
		document = envelope
	}
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // only values of this package are encoded
	}
	return text
}

func notFound() reply { return refusal(http.StatusNotFound, "Not found") }

func notAuthenticated() reply { return refusal(http.StatusForbidden, "User not authenticated") }

func noPermission() reply { return refusal(http.StatusForbidden, "Check permissions failed") }

// params are the fields of a JSON object in a request, and what is wrong with them.
type params struct {
	values  map[string]json.RawMessage
	invalid map[string]any
}

type fieldError struct {
	Error string          `json:"error"`
	Value json.RawMessage `json:"value"`
}

// parseParams reads exactly one JSON object.
func parseParams(body []byte) (*params, error) {
	p := &params{invalid: map[string]any{}}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(&p.values); err != nil {
		return nil, err
	}
	if p.values == nil {
		return nil, errors.New("null is no object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the object")
	}
	return p, nil
}

// known refuses every field that is not named.
func (p *params) known(fields ...string) {
	for field := range p.values {
		if !slices.Contains(fields, field) {
			p.refuse(field, "is not allowed")
		}
	}
}

func (p *params) refuse(field, reason string) {
	value := p.values[field]
	if value == nil {
		value = json.RawMessage("null")
	}
	p.invalid[field] = fieldError{reason, value}
}

// given reports whether the field is there and not null.
func (p *params) given(field string) bool {
	value, ok := p.values[field]
	return ok && string(value) != "null"
}

// object returns the fields of an object inside; it is empty when the object is missing, which is refused.
func (p *params) object(field string) *params {
	inner := &params{invalid: p.invalid}
	if !p.given(field) {
		p.refuse(field, "can't be blank")
	} else if json.Unmarshal(p.values[field], &inner.values) != nil {
		p.refuse(field, "is invalid")
	}
	return inner
}

func (p *params) refused() (reply, bool) {
	return refusal(http.StatusBadRequest, p.invalid), len(p.invalid) > 0
}

// optional returns a field's value, the zero value when it is left out or null.
func optional[T any](p *params, field string) (value T) {
	if p.given(field) && json.Unmarshal(p.values[field], &value) != nil {
		p.refuse(field, "is invalid")
	}
	return value
}

// required is optional for a field that must be there.
func required[T any](p *params, field string) T {
	if !p.given(field) {
		p.refuse(field, "can't be blank")
	}
	return optional[T](p, field)
}

// seconds is a required time in Unix seconds, as a number or in quotes.
func seconds(p *params, field string) int64 {
	var n int64
	raw := required[json.RawMessage](p, field)
	if p.given(field) && json.Unmarshal(bytes.Trim(raw, `"`), &n) != nil {
		p.refuse(field, "is invalid")
	}
	return n
}

// oneOf returns a required string out of the allowed ones.
func oneOf(p *params, field string, allowed []string) string {
	value := required[string](p, field)
	if p.given(field) && !slices.Contains(allowed, value) {
		p.refuse(field, "is not included in the list")
	}
	return value
}

// page returns offset and limit; a limit above longest is cut to it.
func page(p *params, longest int) (offset, limit int) {
	offset, limit = optional[int](p, "offset"), 50
	if p.given("limit") {
		limit = optional[int](p, "limit")
	}
	if offset < 0 {
		p.refuse("offset", "must be greater than or equal to 0")
	}
	if limit < 1 {
		p.refuse("limit", "must be greater than 0")
	}
	return offset, min(limit, longest)
}

// cut returns the part of list that a page shows; offset and limit are not negative.
func cut[T any](list []T, offset, limit int) []T {
	from := min(offset, len(list))
	return list[from:min(from+limit, len(list))]
}
