package commands

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// attempts are the changes of an account that are being settled, prolonged, ended or verified. None waits for another.
// They share places, rules theirs and entries theirs: what the service answers late about the one doesn't hold up the
// other.
type attempts struct {
	running sync.WaitGroup

	mu      sync.Mutex
	ofRules map[string]bool // by the change's id
	again   time.Time       // none begins before: the store failed
}

// begin makes an attempt beside the others, where a place is free. Else the change is due still, and the next check
// begins it.
func (a *attempts) begin(ch record.Change, attempt func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rules, taken := slices.ContainsFunc(ch.Steps, func(s record.Step) bool { return s.Rule != nil }), 0
	for _, same := range a.ofRules {
		if same == rules {
			taken++
		}
	}
	if taken == sendsAtOnce {
		return
	}
	a.ofRules[ch.ID] = rules
	a.running.Go(func() {
		defer a.end(ch.ID)
		_ = delay.Try(slog.Default(), "a change that is due", func() error { attempt(); return nil })
	})
}

func (a *attempts) end(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.ofRules, id)
}

// underWay are the ids of the changes with which something is attempted.
func (a *attempts) underWay() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.ofRules))
}

// pause has none begin until then.
func (a *attempts) pause(again time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.again = again
}

func (a *attempts) paused(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return now.Before(a.again)
}
