// Package record defines each stored record and each event once. It reads and writes nothing.
package record

import "time"

// Earlier is the earlier of two times.
func Earlier(a, b time.Time) time.Time {
	if !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}

// Later is the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
