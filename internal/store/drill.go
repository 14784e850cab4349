package store

import (
	"context"
	"fmt"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// drillFor is how long a drill can be acknowledged. It is shorter than the outbox knows where the cards are.
const drillFor = 30 * time.Minute

// Drill is an account's last drill; the zero Drill when there was none lately.
func (s *Drills) Drill(ctx context.Context, account string) (record.Drill, error) {
	return value[record.Drill](s.client, s.rdb.Get(ctx, s.key(keyDrill, account)), "drill of "+account)
}

// SaveDrill replaces the account's last drill.
func (d *Draft) SaveDrill(ctx context.Context, drill record.Drill, events ...record.Event) error {
	b := d.store.batch()
	b.do("SET", b.key(keyDrill, d.account), b.json(drill), "PX", drillFor.Milliseconds())
	b.announce(events...)
	_, err := d.save(ctx, &b, "drill of "+d.account)
	return err
}

// Serving is how many replicas beat.
func (s *Drills) Serving(ctx context.Context) (int, error) {
	n, err := serving.Run(ctx, s.rdb, []string{s.key(keyBeats)}, deadAfter.Milliseconds()).Int()
	if err != nil {
		return 0, fmt.Errorf("count replicas: %w", err)
	}
	return n, nil
}
