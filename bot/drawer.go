package bot

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// drawer redraws an account's outdated cards, the most urgent first, within the workspace's pace of edits.
type drawer struct {
	bot     *Bot
	account string
	wake    chan struct{} // some card is outdated
	acted   chan struct{} // by what somebody did: that doesn't wait for its turn among the others

	// The running drawer's alone:
	drawn map[string]time.Time // storms' cards by when they were drawn
	stuck map[string]stuckCard // by attack
	tried map[string]time.Time // cards whose last edit failed, by when that was

	mu     sync.Mutex
	cards  int       // that were outdated at the last look
	oldest time.Time // since when the one that waits the longest is; zero: none
}

// stuckCard is a card that can't be edited, and was posted a short while ago.
type stuckCard struct {
	mark string    // the id of the mark that it was tried for: after another one it may have a successor that can
	anew time.Time // when it may be posted anew
}

func newDrawer(b *Bot, account string) *drawer {
	d := &drawer{bot: b, account: account, wake: make(chan struct{}, 1), acted: make(chan struct{}, 1), drawn: map[string]time.Time{}, stuck: map[string]stuckCard{}, tried: map[string]time.Time{}}
	signal(d.wake) // what was outdated before
	return d
}

// redrawAgain is how long to wait after something failed.
const redrawAgain = 2 * time.Second

// signal wakes whoever waits, or will.
func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// outdate has a card redrawn soon because somebody did something.
func (b *Bot) outdate(ctx context.Context, account, attack string) error {
	if err := b.cfg.Memory.MarkStale(ctx, account, attack, record.UrgentActed); err != nil {
		return err
	}
	b.Redraw(account)
	return nil
}

// urgency is how soon a card shows a piece of news of its attack.
func urgency(n record.Event) record.Urgency {
	switch {
	case n.Storm != nil:
		return record.UrgentStorm
	case n.Attack.Incident() && n.Reason == record.Grew:
		return record.UrgentGrown
	case n.Attack.Incident():
		return record.UrgentIncident
	case n.Reason == record.Grew:
		return record.UrgentFigures
	}
	return record.UrgentState
}

func (d *drawer) run(held, more context.Context) {
	for more.Err() == nil {
		wait, wake := d.drawOne(held)
		if wait == 0 {
			continue
		}
		select {
		case <-more.Done():
		case <-time.After(wait):
		case <-wake:
		case <-d.acted:
		}
	}
}

// outdated is a card to be drawn.
type outdated struct {
	attack string
	mark   record.RedrawMark
	rests  bool // its edit failed a short while ago: others come first
}

// patience is how much longer a card may wait than one that was outdated as long, but more urgently. So figures are shown late when there are
// too few edits, but they are: what is more urgent could take every edit for itself.
func (o outdated) patience() time.Duration {
	switch o.mark.Urgency {
	case record.UrgentState:
		return 20 * time.Second
	case record.UrgentFigures:
		return time.Minute
	}
	return 0
}

// compare orders cards: what somebody did, then storms, then the others by when their patience ends; those that rest last.
func (o outdated) compare(other outdated) int {
	switch {
	case o.rests && !other.rests:
		return 1
	case other.rests && !o.rests:
		return -1
	}
	if x, y := o.mark.Urgency, other.mark.Urgency; x != y && min(x, y) <= record.UrgentStorm {
		return int(x - y)
	}
	return o.mark.Since.Add(o.patience()).Compare(other.mark.Since.Add(other.patience()))
}

// drawOne draws the most urgent outdated card. It returns how long to wait before the next, unless another one becomes outdated meanwhile: where
// there is no edit left, that changes nothing.
func (d *drawer) drawOne(ctx context.Context) (wait time.Duration, unless <-chan struct{}) {
	o, wait, err := d.next(ctx)
	if err != nil {
		d.bot.cfg.Log.Warn("read outdated cards", "account", d.account, "err", err)
		return redrawAgain, nil
	}
	if wait > 0 {
		return wait, d.wake
	}
	wait, err = d.bot.editSlot(ctx, o.mark.Urgency != record.UrgentActed)
	if err != nil {
		d.bot.cfg.Log.Warn("redraw card", "err", err)
		return redrawAgain, nil
	}
	if wait > 0 {
		return wait, nil
	}
	return d.draw(ctx, o), nil
}

const (
	stormEvery = 3 * time.Second // how long a storm's card shows the same at least: it grows all the time, and must not take every edit
	whenWoken  = time.Hour       // nothing is to be drawn
	restsFor   = 5 * redrawAgain // a card that can't be drawn gives way to others: else it could keep them all waiting
)

// next is the most urgent of the outdated cards; with wait > 0 there is none to be drawn now.
func (d *drawer) next(ctx context.Context) (o outdated, wait time.Duration, err error) {
	marks, err := d.bot.cfg.Memory.Stale(ctx, d.account)
	if err != nil {
		return outdated{}, 0, err
	}
	now := d.bot.cfg.Now()
	maps.DeleteFunc(d.stuck, func(attack string, s stuckCard) bool { return s.mark != marks[attack].ID || !now.Before(s.anew) })
	maps.DeleteFunc(d.tried, func(_ string, at time.Time) bool { return now.Sub(at) >= restsFor })
	var oldest time.Time
	wait = whenWoken
	for attack, mark := range marks {
		if oldest.IsZero() || mark.Since.Before(oldest) {
			oldest = mark.Since
		}
		if early := stormEvery - now.Sub(d.drawn[attack]); early > 0 && mark.Urgency == record.UrgentStorm {
			wait = min(wait, early)
			continue
		}
		if s, ok := d.stuck[attack]; ok {
			wait = min(wait, s.anew.Sub(now))
			continue
		}
		_, rests := d.tried[attack]
		if one := (outdated{attack, mark, rests}); o.attack == "" || one.compare(o) < 0 {
			o = one
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cards, d.oldest = len(marks), oldest
	if o.attack != "" {
		wait = 0
	}
	return o, wait, nil
}

// behind is how many cards are outdated, and since when the first of them is; zero if none is.
func (d *drawer) behind() (cards int, since time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cards, d.oldest
}

// draw edits one card (chat.update) and returns how long to wait before the next.
func (d *drawer) draw(ctx context.Context, o outdated) time.Duration {
	if o.mark.Urgency == record.UrgentStorm {
		d.drawn[o.attack] = d.bot.cfg.Now()
	}
	at, err := d.bot.redraw(ctx, d.account, o)
	if err == nil {
		delete(d.tried, o.attack)
		return 0
	}
	d.tried[o.attack] = d.bot.cfg.Now()
	v, wait := slackconn.Judge(err)
	d.bot.cfg.Log.Warn("redraw card", "account", d.account, "attack", o.attack, "err", err)
	if v == slackconn.NotSent || v == slackconn.Doubtful || v == slackconn.Forbidden {
		return max(wait, redrawAgain) // an edit may be repeated: it says the same
	}
	// Slack will never take this edit. The news of it is in the log; the card stays as it was, or is posted anew.
	early, err := d.bot.replace(ctx, d.account, o, at, err)
	if err != nil {
		return redrawAgain
	}
	if early > 0 {
		d.stuck[o.attack] = stuckCard{o.mark.ID, d.bot.cfg.Now().Add(early)}
		return 0
	}
	if err := d.bot.cfg.Memory.Redrawn(ctx, d.account, o.attack, o.mark); err != nil {
		return redrawAgain
	}
	return 0
}

// redraw draws a card from the newest facts, and returns where it stands.
func (b *Bot) redraw(ctx context.Context, account string, o outdated) (at record.Place, err error) {
	a, ok := b.account(account)
	if !ok {
		return at, b.cfg.Memory.Redrawn(ctx, account, o.attack, o.mark)
	}
	if attack, at, ok := former(o.attack); ok {
		return at, b.shrink(ctx, a, attack, at, o)
	}
	shown, known, err := b.cfg.Memory.AttackState(ctx, account, o.attack)
	if err != nil {
		return at, err
	}
	file, err := b.cfg.Memory.Details(ctx, account, o.attack)
	if err != nil {
		return at, err
	}
	if at = file.Card; at.TS == "" || !known || shown.Rebuilt {
		// There is no card; one that is about to be posted is drawn from the same facts. Of one that was read back only the attack's id is
		// known until it is seen again: that must not wipe out what stands there.
		return at, b.cfg.Memory.Redrawn(ctx, account, o.attack, o.mark)
	}
	msg := card.Render(b.card(ctx, a, facts{file, shown, slackconn.ParseTS(at.TS), o.mark.Since}))
	delivery := cmp.Or(at.Delivery, poller.CardDelivery(account, shown.Attack.ID))
	msg = msg.WithDelivery(delivery) // what it carries stays true with what it shows
	if err := b.edit(ctx, place{channel: at.Channel, ts: at.TS}, msg); err != nil {
		return at, err
	}
	return at, b.cfg.Memory.Redrawn(ctx, account, o.attack, o.mark)
}
