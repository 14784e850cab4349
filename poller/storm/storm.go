// Package storm groups attacks that come too fast for a card each: when a storm begins, what its attacks are together,
// when that is an event, and when it ends. Pure functions of stored states and what a poll found.
package storm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// Config says when attacks come too fast for a card each. The zero value: they never do.
type Config struct {
	config.Storm               // a storm begins when more new attacks than Over come to a channel within In
	EndsAfter    time.Duration // it ends when that did not happen for so long
}

// ID names a storm by where and when it began: each replica that decides the same names it the same.
func ID(channel string, began time.Time) string {
	return fmt.Sprintf("%s%s:%d", apiclient.OwnID, channel, began.Unix())
}

// Began is when the storm with that id began; false if the id is no storm's.
func Began(id string) (began time.Time, ok bool) {
	rest, ok := strings.CutPrefix(id, apiclient.OwnID)
	unix, err := strconv.ParseInt(rest[strings.LastIndex(rest, ":")+1:], 10, 64)
	return time.Unix(unix, 0).UTC(), ok && err == nil
}

// Active reports whether a storm groups the attacks that come now. One that was rebuilt from its card groups all that
// has no card and is found by the first poll that reads everything: most of it was in the storm before.
func Active(s record.AttackState, at time.Time) bool {
	switch {
	case s.Storm == nil || !s.Storm.Ended.IsZero():
		return false
	case s.Rebuilt:
		return true
	}
	return at.Before(s.Storm.Exceeded.Add(s.Storm.EndsAfter))
}
