package apiclient

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	maxMessage = 300 // runes of a message
	maxFields  = 20  // fields of one refusal: a form has fewer

	longestText = 64 << 10 // bytes of an answer in plain text; cutting it could cut the token in two
	notJSON     = "a page for people instead of JSON, as proxies give it"
)

func isPage(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }

// refusal reads an error answer. status is the HTTP status, or the inner one under HTTP 2xx.
func refusal(op string, status int, body []byte) *Error {
	e := &Error{Op: op, Status: status}
	if v, err := decode(body); err == nil {
		e.Message, e.Fields = explain(unwrap(v))
	} else if isPage(body) || len(body) > longestText {
		e.Message = notJSON
	} else {
		e.Message = string(body)
	}
	e.Kind = kindOf(status, e.words())
	e.unknown = e.Kind == Server
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
func explain(body any) (message string, fields map[string]string) {
	object, ok := body.(map[string]any)
	if !ok {
		return reason(body), nil
	}
	for _, key := range []string{"error", "message"} {
		if message = reason(object[key]); message != "" {
			return message, nil
		}
	}
	fields = map[string]string{}
	for name, value := range object {
		if text := reason(value); text != "" && name != "status" && len(fields) < maxFields {
			fields[name] = text
		}
	}
	if len(fields) == 0 {
		return "", nil
	}
	return "", fields
}

// reason is the error of one field: "…", ["…"] or {"error": "…"}.
func reason(v any) string {
	switch v := v.(type) {
	case []any:
		var parts []string
		for _, item := range v[:min(len(v), maxFields)] {
			if part := reason(item); part != "" {
				parts = append(parts, part)
			}
		}
		return strings.Join(parts, "; ")
	case map[string]any:
		return reason(v["error"])
	}
	return wordOf(v)
}

// clean makes the service's text safe to show and log, and removes the token from it.
func (e *Error) clean(token Secret) *Error {
	e.Message = printable(e.Message, token)
	fields := e.Fields
	e.Fields = nil
	for name, text := range fields {
		if e.Fields == nil {
			e.Fields = make(map[string]string, len(fields))
		}
		e.Fields[printable(name, token)] = printable(text, token)
	}
	if e.Err != nil && strings.Contains(e.Err.Error(), token.Reveal()) {
		e.Err = errors.New(printable(e.Err.Error(), token))
	}
	return e
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

// RetryAfter reads the header Retry-After as seconds or as a date, measured on the sender's clock if it sends Date; 0 if there is none
// that can be read, a year at most.
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
