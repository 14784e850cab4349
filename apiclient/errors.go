package apiclient

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ErrorKind is what went wrong, as far as a caller acts on it.
type ErrorKind int

// The kinds of errors. Zero is no kind.
const (
	Unauthenticated ErrorKind = iota + 1 // the token is missing, wrong or expired
	Forbidden                            // the token lacks the permission
	Invalid                              // the request is refused as it is, by the service or before sending
	Exists                               // it is there already
	NotFound                             // it is not there
	Locked                               // the service has locked rules for the moment; nothing was done
	RateLimited                          // too many requests; nothing was done
	Server                               // the service failed or answered what can't be understood
	Network                              // no whole answer arrived
	Foreign                              // the answer holds records of another client
)

// String is the kind in words.
func (k ErrorKind) String() string {
	words := [...]string{"unknown error", "not authenticated", "forbidden", "invalid request", "exists already",
		"not found", "rules are locked",
		"too many requests", "service error", "network error", "another client's answer"}
	if k < 0 || int(k) >= len(words) {
		k = 0
	}
	return words[k]
}

// Error is the failure of one call. Every error of a Client's methods is one.
type Error struct {
	Op         string            // the call, as "list attacks"
	Kind       ErrorKind         // what went wrong
	Status     int               // HTTP status, or the status inside the answer where only that is an error; 0: no answer
	Fields     map[string]string // errors by field, from the service or from the check before sending
	Message    string            // the service's words, hostile like all it sends: at most 300 runes, printable, without the token
	RetryAfter time.Duration     // how long the service asks to wait; 0: unknown
	Err        error             // the cause, if any
	// OutcomeUnknown says that one of the tries may have taken effect in spite of the error: verify before trying again.
	// It stays true when a later try of the same call was refused for certain, and is always false for reads.
	OutcomeUnknown bool
}

// Error is a failed call: which, how, and the service's own words.
func (e *Error) Error() string {
	said := fmt.Sprintf("%s: %s", e.Op, e.Kind)
	if e.Status != 0 {
		said += fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Message != "" {
		said += ": " + e.Message
	}
	before := ": "
	for _, field := range slices.Sorted(maps.Keys(e.Fields)) {
		said += before + field + " " + e.Fields[field]
		before = "; "
	}
	if e.RetryAfter > 0 {
		said += ": asked to wait " + e.RetryAfter.String()
	}
	if e.Err != nil {
		said += ": " + e.Err.Error()
	}
	return said
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the *Error in err's chain, or 0.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

// invalid is a request that was refused before sending.
func invalid(op string, fields map[string]string) error {
	return &Error{Op: op, Kind: Invalid, Fields: fields}
}

// puzzling is a 2xx answer that makes no sense: a change may have been made all the same.
func puzzling(k call, message string) error {
	return &Error{Op: k.op, Kind: Server, Message: message, OutcomeUnknown: k.effect != reading}
}

const (
	maxMessage = 300 // runes of a message
	maxFields  = 20  // fields of one refusal: a form has fewer

	longestRefusal = 64 << 10 // bytes, after decompression; cutting it could cut the token in two
	notJSON        = "a page for people instead of JSON, as proxies give it"
	notTheService  = "nothing that the service says: does something between answer for it?"
)

func isPage(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }

// refusal reads an error answer. status is the HTTP status, or the inner one under HTTP 2xx.
func refusal(status int, body []byte) *Error {
	e := &Error{Status: status}
	if isPage(body) || len(body) > longestRefusal {
		e.Message = notJSON
	} else if inner, _, err := unwrap(body); err == nil {
		e.Message, e.Fields = explain(inner)
	} else {
		e.Message = string(body)
	}
	e.Kind = kindOf(status, e.words())
	e.OutcomeUnknown = e.Kind == Server
	return e
}

func kindOf(status int, words string) ErrorKind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden && strings.Contains(words, "not authenticated"):
		return Unauthenticated
	case status == http.StatusForbidden:
		return Forbidden
	case status == http.StatusConflict, status == http.StatusBadRequest && strings.Contains(words, "already exist"):
		return Exists
	case status == http.StatusNotFound:
		return NotFound
	case status == http.StatusLocked:
		return Locked
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return Invalid
	}
	return Server // also a redirect, which is never followed
}

// words is the whole text of the error, in lower case.
func (e *Error) words() string {
	words := e.Message
	for _, text := range e.Fields {
		words += " " + text
	}
	return strings.ToLower(words)
}

// explain reads the body of a refusal: a string, {"error"}, an object of fields, an array, {} or null.
func explain(body json.RawMessage) (message string, fields map[string]string) {
	if !isObject(body) {
		return reason(body), nil
	}
	in := members(body)
	if message = cmp.Or(reason(in["error"]), reason(in["message"])); message != "" {
		return message, nil
	}
	fields = map[string]string{}
	for name, value := range in {
		if text := reason(value); text != "" && name != "status" && len(fields) < maxFields {
			fields[name] = text
		}
	}
	return "", fields
}

// reason is the error of one field: "…", ["…"] or {"error": "…"}.
func reason(value json.RawMessage) string {
	switch {
	case len(value) == 0:
		return ""
	case isObject(value):
		return reason(members(value)["error"])
	}
	var said []string
	list := items(value)
	for _, item := range list[:min(len(list), maxFields)] {
		if part := reason(item); part != "" {
			said = append(said, part)
		}
	}
	return cmp.Or(strings.Join(said, "; "), string(textOf(value)))
}

// clean makes the service's text safe to show and log, and removes the token from it.
func (e *Error) clean(token Secret) {
	e.Message = printable(e.Message, token)
	fields := map[string]string{}
	for name, text := range e.Fields {
		fields[printable(name, token)] = printable(text, token)
	}
	e.Fields = fields
	if e.Err != nil && strings.Contains(e.Err.Error(), token.Reveal()) {
		e.Err = errors.New(printable(e.Err.Error(), token))
	}
}

// printable drops what can't be seen before it looks for the token, which could be hidden with it, and cuts last.
func printable(s string, token Secret) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	s = strings.ReplaceAll(s, token.Reveal(), redacted)
	if runes := []rune(s); len(runes) > maxMessage {
		s = string(runes[:maxMessage-1]) + "…"
	}
	return s
}

// RetryAfter reads the header Retry-After as seconds or as a date, measured on the sender's clock if it sends Date; 0
// if there is none that can be read, a year at most.
func RetryAfter(header http.Header) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0
	}
	const longest = 365 * 24 * time.Hour
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(longest/time.Second))) * time.Second
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now := serverTime(header)
	if now.IsZero() {
		now = time.Now()
	}
	return min(max(date.Sub(now), 0), longest)
}

// WithoutURL is a transport's error without the address, which may be a secret.
func WithoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return cmp.Or(u.Err, errors.New("no answer"))
	}
	return err
}
