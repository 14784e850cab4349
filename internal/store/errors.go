package store

import (
	"errors"
	"fmt"
	"strings"
)

// Why the store can't do something. They are for the code and for logs: commands/refusal has the words for people.
var (
	ErrEmptied = errors.New("redis was emptied, and what it lost isn't rebuilt yet")
	ErrChanged = errors.New("somebody else wrote meanwhile") // what was to be written is planned again
	ErrClaimed = errors.New("somebody else carries it out")
	ErrLost    = errors.New("the claim was lost")
	ErrNewer   = errors.New("redis holds the state of a newer wafbot")
	ErrOlder   = errors.New("redis holds the state of an older wafbot, which this one can't read")
	ErrTooOld  = errors.New("redis is older than " + MinVersion + ", which wafbot needs")
	ErrDamaged = errors.New("redis holds what can't be read")
)

// MinVersion is the oldest Redis that knows all the commands in use: XADD takes NOMKSTREAM and MINID since then.
const MinVersion = "6.2"

// TooOld reports whether Redis is older than MinVersion, also where a script says so.
func TooOld(err error) bool { return err != nil && strings.Contains(err.Error(), ErrTooOld.Error()) }

// wrap says of an error what failed; nil stays nil.
func wrap(err error, what string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), err)
}
