package store

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// drillFor is how long a drill can be acknowledged. It is shorter than the outbox knows where the cards are.
const drillFor = 30 * time.Minute

// Drill is an account's last drill; the zero Drill when there was none lately.
func (s *Drills) Drill(ctx context.Context, account string) (record.Drill, error) {
	return stored[record.Drill](ctx, s.client, keyDrill, account)
}

// SaveDrill replaces the account's last drill.
func (d *Draft) SaveDrill(ctx context.Context, drill record.Drill, events ...record.Event) error {
	b := d.batch()
	b.do("SET", keyDrill, b.json(drill), "PX", drillFor.Milliseconds())
	b.announce(events)
	return d.save(ctx, b)
}

// Serving is how many replicas beat.
func (s *Drills) Serving(ctx context.Context) (int, error) {
	n, err := serving.Run(ctx, s.rdb, []string{s.key(keyBeats)}, deadAfter.Milliseconds()).Int()
	return n, wrap(err, "count replicas")
}
