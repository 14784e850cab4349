// Package notify brings events to Slack: one pure plan per event kind, one deliverer that posts, edits, and verifies
// before a resend.
package notify

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// Account is one tenant, as its cards and messages need it.
type Account struct {
	*config.Account

	Guards   policy.Policy            // its policy as it holds now
	Settings func() record.Settings   // lists and rules as last read; nil: never
	Health   func() record.PollHealth // nil: not polled here
	// Page has the pager of a test card called, or the call resolved; nil: the account isn't paged for here.
	Page func(ctx context.Context, page record.Page) error
}

// Runner carries out what the clock asks for; *commands.Runner is one.
type Runner interface {
	Do(ctx context.Context, inv call.Invocation) (call.Result, error)
}

// Config is what a Notifier works with. No default is filled in: the configuration has them.
type Config struct {
	Slack             *slackconn.Client
	Store             *store.Store
	Runner            Runner
	Accounts          []Account
	Command           string            // the slash command, for messages that name it
	Runbooks          map[string]string // by attack type; "*" for the others
	MessagesPerSecond float64           // per channel; 0: as fast as Slack takes them, edits too
	Zone              *time.Location    // of the hours of a summary
	Metrics           *metrics.Metrics
	Log               *slog.Logger
	Lines             io.Writer // each event as a line of JSON
	Clocks            *clock.Clocks
}

// Notifier posts events and redraws cards, of the accounts that this replica owns.
type Notifier struct {
	cfg      *Config
	accounts map[string]Account
	planners map[record.EventKind]planner
	tried    *trials
	owned    sync.Map // *owned, by account
}

// New makes a Notifier.
func New(cfg Config) *Notifier {
	tried := &trials{slack: cfg.Slack, begun: time.Now(), all: map[delivery]*trial{}, read: map[record.Place]*reading{}}
	n := &Notifier{
		cfg: &cfg, accounts: map[string]Account{}, planners: planners(), tried: tried,
	}
	for _, a := range cfg.Accounts {
		n.accounts[a.Name] = a
	}
	return n
}

// owned is an account whose events this replica notifies, and whose cards it redraws.
type owned struct {
	queue   *queue
	redraws *redrawQueue
}

// Unread are an account's cards from before Redis was emptied, by attack, as long as the threads under them aren't
// read: what was changed stands there alone. Until Read is closed they aren't redrawn, and the account isn't handed
// over. The zero value is that all is read.
type Unread struct {
	Cards map[string]bool
	Read  <-chan struct{}
}

// Own notifies an account's events, redraws its cards, and has it handed over at its hour, which only one replica may
// do at a time. It begins nothing more when more ends, and stops in the middle when held does: the next owner verifies
// what became of it.
func (n *Notifier) Own(held, more context.Context, account string, unread Unread) {
	a := n.accounts[account]
	o := &owned{newQueue(n, a), newRedrawQueue(n, a, unread)}
	n.owned.Store(account, o)
	defer n.owned.Delete(account)
	var all sync.WaitGroup
	each := func(what string, do func()) {
		all.Go(func() { delay.RunAgain(more, n.cfg.Log, what+" of "+account, do) })
	}
	all.Go(func() {
		delay.Run(n.cfg.Log, "the queue of "+account, func() { o.queue.run(held, more) })
	})
	each("cards", func() { o.redraws.run(held, more) })
	each("summaries", func() {
		if unread.Read != nil { // by then it is known which mitigations are active, and what was handed over
			select {
			case <-more.Done():
			case <-unread.Read:
			}
		}
		n.runSummaries(more, a)
	})
	all.Wait()
}

// Backlog is what waits in an account; nothing, if another replica owns it.
func (n *Notifier) Backlog(account string) (events, staleCards metrics.Queue) {
	o := n.own(account)
	if o == nil {
		return events, staleCards
	}
	return o.queue.backlog(), o.redraws.backlog()
}

// own is what this replica does for an account; nil if another replica owns it.
func (n *Notifier) own(account string) *owned {
	o, _ := n.owned.Load(account)
	found, _ := o.(*owned)
	return found
}

// queue is the queue of an account; nil if another replica owns it.
func (n *Notifier) queue(account string) *queue {
	if o := n.own(account); o != nil {
		return o.queue
	}
	return nil
}

// Owns reports whether this replica owns an account.
func (n *Notifier) Owns(account string) bool { return n.own(account) != nil }

// Notify says that events of the account were put into the outbox. They are passed along so that they need not be read
// back, unless what is stored of their attacks has to be.
func (n *Notifier) Notify(account string, events []record.Event) {
	unread := func(e record.Event) bool { return e.Subject != "" && e.Attack == nil }
	switch q := n.queue(account); {
	case q == nil:
	case slices.ContainsFunc(events, unread):
		q.expect(math.MaxInt)
	default:
		q.add(events)
	}
}

// Saved says what a poll stored of the account.
func (n *Notifier) Saved(account string, u record.PollUpdate) {
	if q := n.queue(account); q != nil {
		q.saved(u)
	}
	if len(u.Judged) > 0 {
		n.Redraw(account)
	}
}

// Pending says how many events are in the account's outbox, whichever replica put them there.
func (n *Notifier) Pending(account string, events int) {
	if q := n.queue(account); q != nil {
		q.expect(events)
	}
}

// Stale says that some of the account's cards have to be redrawn.
func (n *Notifier) Stale(account string) {
	if o := n.own(account); o != nil {
		signal(o.redraws.wake)
	}
}

// Redraw says that one of the account's cards became stale because a person acted, or that it says something else
// first: it comes before figures that merely grew.
func (n *Notifier) Redraw(account string) {
	if o := n.own(account); o != nil {
		signal(o.redraws.first)
	}
}

// MarkActed has a card redrawn soon because a person acted.
func (n *Notifier) MarkActed(ctx context.Context, account, attack string) error {
	if err := n.cfg.Store.Cards.MarkStale(ctx, account, attack, record.UrgentActed); err != nil {
		return err
	}
	n.Redraw(account)
	return nil
}

// Post puts a message that no event is about into a channel once, however often and by whichever replica it is tried.
func (n *Notifier) Post(ctx context.Context, p Post) error {
	defer n.tried.drop(p.Account, p.Delivery)
	for {
		_, err := n.send(ctx, facts{}, p)
		var later *laterError
		if !errors.As(err, &later) {
			return err
		}
		if err := delay.Sleep(ctx, time.Until(later.due)); err != nil {
			return err
		}
	}
}
