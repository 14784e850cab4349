package poller

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// StormConfig says when attacks come too fast for a card each. The zero value: they never do.
type StormConfig struct {
	Over      int           // a storm begins when more new attacks than that come to a channel
	In        time.Duration // within that time
	EndsAfter time.Duration // it ends when that did not happen for so long
}

// stormID names a storm by where and when it began: any replica that decides the same names it the same.
func stormID(channel string, began time.Time) string {
	return fmt.Sprintf("%s%s:%d", apiclient.OwnID, channel, began.Unix())
}

// stormBegan is when the storm of that id began; false if it is no storm's.
func stormBegan(id string) (began time.Time, ok bool) {
	rest, ok := strings.CutPrefix(id, apiclient.OwnID)
	unix, err := strconv.ParseInt(rest[strings.LastIndex(rest, ":")+1:], 10, 64)
	return time.Unix(unix, 0).UTC(), ok && err == nil
}

// blowing reports whether a storm gathers what comes now. One of which only the card is left gathers all that has no card and is found by the
// first poll that reads everything: most of it will be its own.
func blowing(storm record.AttackState, at time.Time) bool {
	switch {
	case storm.Storm == nil || !storm.Storm.Ended.IsZero():
		return false
	case storm.Rebuilt:
		return true
	}
	return at.Before(storm.Storm.Exceeded.Add(storm.Storm.EndsAfter))
}
