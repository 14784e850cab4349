package refusal

import (
	"errors"

	"github.com/wafbot/wafbot/internal/text"
)

// What the Ledger can't do just now.
var (
	ErrLost  = errors.New("the account's lock was lost")
	ErrNewer = errors.New("redis holds the state of a newer wafbot: update this one, or take it out of service")
	ErrOlder = errors.New("redis holds the state of an older wafbot, which this one can't read: stop the older ones, empty this redis database (FLUSHDB), and start again; what is in force at the service stays so, and is found again by its reason")
)

// RefusedByStore reports whether Redis answered and took nothing: it is read-only or full, or it is starting.
func RefusedByStore(err error) bool {
	var answer interface{ RedisError() }
	return errors.As(err, &answer)
}

// Away is the refusal of a change because the store is away.
func Away(err error) *Refusal {
	switch {
	case errors.Is(err, ErrEmptied):
		return &Refusal{Kind: ErrAway, Cause: err, Text: text.New("not done: wafbot's store (Redis) is empty, and is being rebuilt from the channels. Try again in a minute")}
	case errors.Is(err, ErrNewer):
		return &Refusal{Kind: ErrAway, Cause: err, Text: text.New("not done: a newer wafbot has taken over, and this one is out of service. Ask again")}
	case errors.Is(err, ErrOlder):
		return &Refusal{Kind: ErrAway, Cause: err, Text: text.New("not done: wafbot's store (Redis) holds the state of an older version, which this one can't read. Its log says how to proceed")}
	case RefusedByStore(err):
		return &Refusal{Kind: ErrAway, Cause: err, Text: text.New("not done: wafbot's store (Redis) takes nothing just now: it is full, read-only or starting. Without it nothing is changed. Try again in a moment")}
	}
	return &Refusal{Kind: ErrAway, Cause: err, Text: text.New("not done: wafbot's store (Redis) can't be reached, and without it nothing is changed. Try again in a moment")}
}

// ErrRecorded marks an error whose audit entry is written already.
var ErrRecorded = errors.New("recorded")
