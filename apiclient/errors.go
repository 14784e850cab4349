package apiclient

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
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
)

// String is the kind in words.
func (k ErrorKind) String() string {
	switch k {
	case Unauthenticated:
		return "not authenticated"
	case Forbidden:
		return "forbidden"
	case Invalid:
		return "invalid request"
	case Exists:
		return "exists already"
	case NotFound:
		return "not found"
	case Locked:
		return "rules are locked"
	case RateLimited:
		return "too many requests"
	case Server:
		return "service error"
	case Network:
		return "network error"
	}
	return "unknown error"
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

	unknown bool // one of the tries may have taken effect
}

// Error is a failed call: which, how, and the service's own words.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Op, e.Kind)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (status %d)", e.Status)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	for i, field := range slices.Sorted(maps.Keys(e.Fields)) {
		fmt.Fprintf(&b, "%s%s %s", [2]string{": ", "; "}[min(i, 1)], field, e.Fields[field])
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, ": asked to wait %s", e.RetryAfter)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// OutcomeUnknown reports whether a change may have taken effect in spite of the error: look before trying again.
// It stays true when a later try of the same call was refused for certain, and is always false for reads.
func (e *Error) OutcomeUnknown() bool { return e.unknown }

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
	return &Error{Op: k.op, Kind: Server, Message: message, unknown: k.effect != reading}
}
