package workspace

import (
	"cmp"
	"math"
	"time"
)

const (
	postBurst      = 5   // messages at once in a channel, before a message a second is all
	postsPerMinute = 300 // in the whole workspace, where Slack says several hundred; what comes above is hidden
)

// limits counts recent calls and posts of the workspace's one app.
type limits struct {
	calls map[string][]time.Time // by method, within the last minute
	next  map[string]time.Time   // by channel, when the burst would be whole again
	held  map[string]time.Time   // by method or channel, until when Retry-After said to wait
}

func newLimits() limits {
	return limits{calls: map[string][]time.Time{}, next: map[string]time.Time{}, held: map[string]time.Time{}}
}

// SetRateLimits switches Slack's rate limits on or off.
func (w *pace) SetRateLimits(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cfg.RateLimits = on
}

// overPace refuses a call that comes too soon after the others, and counts it otherwise.
func (w *pace) overPace(name string, m method, a args) error {
	if !w.cfg.RateLimits {
		return nil
	}
	if name == "chat.postMessage" {
		return w.overPostPace(a["channel"])
	}
	if m.perMinute == 0 {
		return nil
	}
	return w.limits.perMinute(name, m.perMinute, w.cfg.Now())
}

// overPostPace is overPace for posts to a channel.
func (w *pace) overPostPace(channel string) error {
	if !w.cfg.RateLimits {
		return nil
	}
	if c := w.channel(channel); c != nil {
		channel = c.ID
	}
	return w.limits.aSecond(channel, w.cfg.Now())
}

// hides counts a message of the bot's and reports whether Slack hides it, for too many in the last minute. Real Slack may also
// refuse such a message. Hiding is the harder case, because the bot can't see it.
func (w *pace) hides() bool {
	return w.cfg.RateLimits && w.limits.count("posts", postsPerMinute, w.cfg.Now()) > 0
}

// perMinute refuses what is more than so many in any minute, and counts it otherwise.
func (l limits) perMinute(name string, most int, now time.Time) error {
	if wait := cmp.Or(max(0, l.held[name].Sub(now)), l.count(name, most, now)); wait > 0 {
		return l.tooFast(name, now, wait)
	}
	return nil
}

// count counts one more, unless there are so many in the last minute; wait is how long until there aren't, 0 if it was counted.
func (l limits) count(name string, most int, now time.Time) (wait time.Duration) {
	calls := l.calls[name]
	for len(calls) > 0 && now.Sub(calls[0]) >= time.Minute {
		calls = calls[1:]
	}
	if len(calls) >= most {
		return calls[0].Add(time.Minute).Sub(now)
	}
	l.calls[name] = append(calls, now)
	return 0
}

// aSecond refuses what comes sooner than a second after the one before, once a burst is over.
func (l limits) aSecond(channel string, now time.Time) error {
	next := l.next[channel]
	if next.Before(now) {
		next = now
	}
	if wait := max(l.held[channel].Sub(now), next.Sub(now)-(postBurst-1)*time.Second); wait > 0 {
		return l.tooFast(channel, now, wait)
	}
	l.next[channel] = next.Add(time.Second)
	return nil
}

// tooFast refuses a call, and what comes before the whole seconds of its Retry-After are over.
func (l limits) tooFast(name string, now time.Time, wait time.Duration) error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	if !l.held[name].After(now) {
		l.held[name] = now.Add(time.Duration(seconds) * time.Second)
	}
	return &refusal{name: "ratelimited", retryAfter: seconds}
}
