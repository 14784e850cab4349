package store

import (
	"context"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// drillFor is how long a drill can be read.
const drillFor = 24 * time.Hour

// The fields of an account's drill. The command writes the first under the account's lock, the notifier writes the second: neither waits for the other.
const (
	fieldDrill = "drill"
	fieldCard  = "card"
)

// Drill is an account's last drill, with its card; the zero Drill when there was none lately.
func (s *Drills) Drill(ctx context.Context, account string) (d record.Drill, err error) {
	var card record.DrillCard
	q := s.questions()
	ask(q, q.HGet(ctx, keyDrill(account), fieldDrill), &d, fieldDrill)
	ask(q, q.HGet(ctx, keyDrill(account), fieldCard), &card, fieldCard)
	if err := q.send(ctx, "drill of "+account); err != nil {
		return record.Drill{}, err
	}
	if card.Drill == d.ID {
		d.Card = card
	}
	return d, nil
}

// SaveDrill replaces the account's last drill.
func (l *Lock) SaveDrill(ctx context.Context, d record.Drill, events ...record.Event) error {
	var b batch
	b.drill(l.account, fieldDrill, d)
	b.announce(events...)
	_, err := l.save(ctx, &b, "drill of "+l.account)
	return err
}

// SaveDrillCard stores what Slack shows of a drill. It fails when this replica doesn't own the account any more.
func (s *Drills) SaveDrillCard(ctx context.Context, account string, card record.DrillCard) error {
	var b batch
	b.drill(account, fieldCard, card)
	return s.saveAsOwner(ctx, account, &b, "card of drill "+card.Drill)
}

// drill stores a field of an account's drill.
func (b *batch) drill(account, field string, value any) {
	b.do("HSET", keyDrill(account), field, b.json(value))
	b.do("PEXPIRE", keyDrill(account), drillFor.Milliseconds())
}
