package bot

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/record"
)

// tended is an account whose news this replica tells, whose cards it draws, and whose drills it ends.
type tended struct {
	teller *teller
	drawer *drawer
	drills *driller
}

// Tend tells an account's news and redraws its cards, which only one replica may do at a time. It begins nothing more when more ends, and
// stops in the middle when held does: whoever comes next looks what became of it.
func (b *Bot) Tend(held, more context.Context, account string) {
	t := &tended{teller: newTeller(b, account), drawer: newDrawer(b, account), drills: &driller{bot: b, account: account, wake: make(chan struct{}, 1)}}
	b.setTended(account, t)
	defer b.setTended(account, nil)
	var all sync.WaitGroup
	all.Go(func() { t.teller.run(held, more) })
	all.Go(func() { t.drawer.run(held, more) })
	all.Go(func() { t.drills.run(held, more) })
	all.Wait()
}

func (b *Bot) setTended(account string, t *tended) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tended[account] = t; t == nil {
		delete(b.tended, account)
	}
}

// backlog is what waits in the accounts that this replica tends.
type backlog struct {
	news, cards int
	oldest      time.Duration // how long the oldest of the cards has waited
}

func (b *Bot) behind() (all backlog) {
	b.mu.Lock()
	tended := slices.Collect(maps.Values(b.tended))
	b.mu.Unlock()
	for _, t := range tended {
		all.news += t.teller.waiting()
		cards, since := t.drawer.behind()
		if all.cards += cards; !since.IsZero() {
			all.oldest = max(all.oldest, b.cfg.Now().Sub(since))
		}
	}
	return all
}

// tends is what this replica does for an account; nil if another one tends it.
func (b *Bot) tends(account string) *tended {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tended[account]
}

// Wake says that news of the account was put into the outbox; it is passed along so that it need not be read back.
func (b *Bot) Notify(account string, news []record.Event) {
	if t := b.tends(account); t != nil {
		t.teller.add(news)
	}
}

// Untold says how many pieces of news are in the account's outbox, whoever put them there.
func (b *Bot) Untold(account string, n int) {
	if t := b.tends(account); t != nil {
		t.teller.expect(n)
	}
}

// Outdated says that some of the account's cards have to be drawn again.
func (b *Bot) Outdated(account string) {
	if t := b.tends(account); t != nil {
		signal(t.drawer.wake)
	}
}

// Redraw says that one of the account's cards became outdated because somebody did something: it comes before figures that merely grew.
func (b *Bot) Redraw(account string) {
	if t := b.tends(account); t != nil {
		signal(t.drawer.acted)
	}
}
