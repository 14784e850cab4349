package slackconn

import (
	"strconv"
	"strings"
	"time"
)

// WrittenAt is when a message was written, at most now. Slack may deliver it much later.
func WrittenAt(ts string, now time.Time) time.Time {
	seconds, _, _ := strings.Cut(ts, ".")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if at := time.Unix(unix, 0); err == nil && at.Before(now) {
		return at
	}
	return now
}

// ParseTS parses a timestamp of Slack; zero if it is none.
func ParseTS(ts string) time.Time {
	seconds, err := strconv.ParseFloat(ts, 64)
	if err != nil || !(seconds > 0 && seconds < 1<<40) { // NaN is neither
		return time.Time{}
	}
	return time.UnixMicro(int64(seconds * 1e6)).UTC()
}
