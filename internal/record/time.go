package record

import (
	"time"
)

func Earlier(a, b time.Time) time.Time {
	if !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}

func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
