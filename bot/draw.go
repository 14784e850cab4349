package bot

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// facts are all that is stored about an attack.
type facts struct {
	file  commands.File
	shown poller.Shown
}

// vulnTimeout bounds asking for a vulnerability's title: a card must not wait for it.
const vulnTimeout = 2 * time.Second

// doneSince reports whether something was done that was not done before.
func doneSince(now, before commands.File) bool {
	same := slices.EqualFunc(now.Changes, before.Changes, func(x, y commands.Change) bool { return x.ID == y.ID && x.State == y.State })
	return !same || now.Page != before.Page || !reflect.DeepEqual(now.Case, before.Case) || !reflect.DeepEqual(now.Scene.Mutes, before.Scene.Mutes)
}

// situation puts together what is decided from about an attack.
func (b *Bot) situation(a Account, attack apiclient.Attack, file commands.File) commands.Situation {
	id := commands.AttackID(a.Name, attack.ID)
	s := commands.Situation{Account: a.Account, Policy: b.cfg.Policy.With(file.Scene.Protected), ID: id, Attack: attack, Scene: file.Scene, Now: b.cfg.Now()}
	for _, ch := range slices.Backward(file.Changes) { // the newest first; a card reads downwards
		if ch.AttackID == id && ch.Amends() == "" {
			s.Changes = append(s.Changes, ch)
		}
	}
	if a.Settings != nil {
		settings := a.Settings()
		s.Entries, s.Rules = commands.Overlay(settings.Entries, settings.Rules, file.Changes, settings.At)
		s.Entries = slices.DeleteFunc(s.Entries, func(e apiclient.IPRule) bool { return !e.Expires.IsZero() && !e.Expires.After(s.Now) })
		s.LookedAt = settings.At
	}
	return s
}

// card puts together what a card shows.
func (b *Bot) card(ctx context.Context, a Account, f facts) Card {
	attack := f.shown.Attack
	s := b.situation(a, attack, f.file)
	c := Card{
		Situation: s, FiguresAt: f.shown.SeenAt, Quiet: f.shown.Quiet, Mention: f.shown.Mention, Case: f.file.Case,
		ConsoleURL: a.ConsoleURL, Runbook: cmp.Or(b.cfg.Runbooks[attack.Type], b.cfg.Runbooks["*"]),
	}
	c.Page = pageState(f, s.Now)
	if attack.Incident() && a.Vuln != nil {
		ctx, cancel := context.WithTimeout(ctx, vulnTimeout)
		defer cancel()
		c.Vuln, _ = a.Vuln(ctx, attack.VulnID)
	}
	return c
}

// drawer redraws an account's outdated cards, those that somebody acted on first, within the workspace's pace of edits.
type drawer struct {
	bot     *Bot
	account string
	wake    chan struct{}

	mu    sync.Mutex
	acted map[string]bool // by attack
}

func newDrawer(b *Bot, account string) *drawer {
	d := &drawer{bot: b, account: account, wake: make(chan struct{}, 1), acted: map[string]bool{}}
	d.look() // what was outdated before
	return d
}

// redrawAgain is how long to wait after something failed.
const redrawAgain = 2 * time.Second

// look says that some card is outdated.
func (d *drawer) look() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *drawer) hurry(attack string) {
	d.mu.Lock()
	d.acted[attack] = true
	d.mu.Unlock()
	d.look()
}

// outdate has a card redrawn soon because somebody did something.
func (b *Bot) outdate(ctx context.Context, account, attack string) error {
	if err := b.cfg.Memory.Outdated(ctx, account, attack); err != nil {
		return err
	}
	b.Redraw(account, attack)
	return nil
}

func (d *drawer) run(held, more context.Context) {
	for more.Err() == nil {
		wait, left := d.drawOne(held)
		if wait == 0 && left {
			continue
		}
		var again <-chan time.Time
		if left {
			again = time.After(wait)
		}
		select {
		case <-more.Done():
		case <-again:
		case <-d.wake:
		}
	}
}

// outdated is a card to be drawn.
type outdated struct {
	attack string
	mark   int64
	acted  bool // somebody did something
}

// drawOne draws the most urgent outdated card. It returns how long to wait before the next, if any may be left.
func (d *drawer) drawOne(ctx context.Context) (wait time.Duration, left bool) {
	todo, err := d.todo(ctx)
	if err != nil {
		d.bot.cfg.Log.Warn("read outdated cards", "account", d.account, "err", err)
		return redrawAgain, true
	}
	if len(todo) == 0 {
		return 0, false
	}
	self, err := d.bot.cfg.Slack.whoami(ctx)
	if err != nil {
		d.bot.cfg.Log.Warn("redraw card", "err", err)
		return redrawAgain, true
	}
	keep := d.bot.cfg.EditsPerMinute / 16 // what somebody did shows first
	if todo[0].acted {
		keep = 0
	}
	wait, err = d.bot.cfg.Memory.EditSlot(ctx, self.team, d.bot.cfg.EditsPerMinute, keep)
	if err != nil || wait > 0 {
		return cmp.Or(wait, redrawAgain), true
	}
	return d.draw(ctx, todo[0]), true
}

// todo are the outdated cards, those that somebody acted on first.
func (d *drawer) todo(ctx context.Context) (todo []outdated, err error) {
	marks, err := d.bot.cfg.Memory.ToRedraw(ctx, d.account)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for attack, mark := range marks {
		todo = append(todo, outdated{attack, mark, d.acted[attack]})
	}
	slices.SortFunc(todo, func(x, y outdated) int {
		if x.acted != y.acted {
			if x.acted {
				return -1
			}
			return 1
		}
		return cmp.Compare(x.attack, y.attack)
	})
	return todo, nil
}

// draw edits one card (chat.update) and returns how long to wait before the next.
func (d *drawer) draw(ctx context.Context, o outdated) time.Duration {
	d.mu.Lock()
	delete(d.acted, o.attack)
	d.mu.Unlock()
	err := d.bot.redraw(ctx, d.account, o)
	if err == nil {
		return 0
	}
	v, wait := judge(err)
	d.bot.cfg.Log.Warn("redraw card", "account", d.account, "attack", o.attack, "err", err)
	if v == lost || v == maybe || v == forbidden {
		return max(wait, redrawAgain) // an edit may be repeated: it says the same
	}
	// Slack will never take this edit. The news of it is in the log; the card stays as it was.
	if err := d.bot.cfg.Memory.Redrawn(ctx, d.account, o.attack, o.mark); err != nil {
		return redrawAgain
	}
	return 0
}

// redraw draws a card from the newest facts.
func (b *Bot) redraw(ctx context.Context, account string, o outdated) error {
	a, ok := b.account(account)
	if !ok {
		return b.cfg.Memory.Redrawn(ctx, account, o.attack, o.mark)
	}
	channel, ts, err := b.cfg.Memory.Card(ctx, account, o.attack)
	if err != nil {
		return err
	}
	shown, known, err := b.cfg.Memory.Shown(ctx, account, o.attack)
	if err != nil {
		return err
	}
	if ts == "" || !known || shown.Recalled {
		// There is no card; one that is about to be posted is drawn from the same facts. Of one that was read back only the attack's id is
		// known until it is seen again: that must not wipe out what stands there.
		return b.cfg.Memory.Redrawn(ctx, account, o.attack, o.mark)
	}
	file, err := b.cfg.Memory.File(ctx, account, o.attack)
	if err != nil {
		return err
	}
	msg := render(b.card(ctx, a, facts{file, shown}))
	if err := ctx.Err(); err != nil {
		return err // of a replica that was paused, the lease is over, and with it what it knows
	}
	told := postCall{Delivery: poller.CardDelivery(account, shown.Attack.ID), Message: msg} // what the card carries stays true with what it shows
	if _, _, _, err := b.cfg.Slack.api.UpdateMessageContext(ctx, channel, ts, append(msg.options(), slack.MsgOptionMetadata(told.metadata()))...); err != nil {
		return withoutURL(err)
	}
	b.metrics.edits.Inc()
	return b.cfg.Memory.Redrawn(ctx, account, o.attack, o.mark)
}
