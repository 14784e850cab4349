package bot

import (
	"context"
	"slices"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// turn takes the right to post a piece of news that isn't urgent. It reports false if something urgent came to wait for the channel meanwhile,
// which is told first. That is done before anything is written down about the attempt to post.
func (t *teller) turn(ctx context.Context, n record.Event) (first bool, err error) {
	if urgent(n) || lane(n) == "" {
		return true, nil
	}
	for {
		pressed := t.pressed()
		if t.anyUrgent(n.Channel) {
			return false, nil
		}
		wait, err := t.bot.postSlot(ctx, n.Channel, false)
		if err != nil {
			return false, err
		}
		if wait == 0 {
			t.keepSlot(n.ID)
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-pressed:
		case <-time.After(wait):
		}
	}
}

// pressed is closed when something urgent comes to wait.
func (t *teller) pressed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.urgent
}

// anyUrgent reports whether something urgent waits in a lane that isn't stuck.
func (t *teller) anyUrgent(lane string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.lanes[lane], func(q queued) bool { return urgent(q.Event) && !q.stuck() })
}

func (t *teller) keepSlot(delivery string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slots[delivery] = true
}

// slot reports whether the right to post a delivery was taken already. It is given once.
func (t *teller) slot(delivery string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.slots[delivery]
	delete(t.slots, delivery)
	return taken
}
