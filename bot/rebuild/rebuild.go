// Package rebuild begins an account's state where Redis has none: at a first start, and after Redis was emptied.
//
// It reads the metadata of the messages that wafbot's own bot user posted, and no others: cards, so that none comes
// twice, and changes, so that they end and can be undone. The service's lists and rules have what metadata has no room
// for. A poll makes the rest again. Until Finish has ended nothing is changed.
//
// rebuild.go composes the state, history.go reads messages, and changes.go puts changes together.
package rebuild

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/poller/storm"
)

// Config is whose state begins, and what it is rebuilt from.
type Config struct {
	Account  *config.Account
	Channels []string      // that its routes name; the first is the one for notices
	Back     time.Duration // how far channels are read back
	Settle   time.Duration // how long a message of a dying replica can still arrive at Slack
	Slack    *slackconn.Client
	Service  *apiclient.Client
	Ledger   *store.Ledger
	Clocks   *clock.Clocks
	Show     func(account, progress string) // for /readyz; "": it is over
	Log      *slog.Logger
}

// Rebuild is an account's state that is being rebuilt. One goroutine uses it.
type Rebuild struct {
	Config
	found
	self   slackconn.Identity
	known  map[string]bool          // threads that were found
	queue  []slackconn.HistoryQuery // threads to be read
	oldest string                   // a ts: how far back they are
}

// Begin reads the account's channels if it has no state. It restores what is needed to watch the account and to post: a
// new incident must not wait for the threads under the cards, which may take an hour. Finish restores what may be
// changed. Begin returns nil if there is nothing to finish. It retries until Slack answers, however long that takes.
func Begin(ctx context.Context, cfg Config) (r *Rebuild, err error) {
	account := cfg.Account.Name
	if epoch, err := cfg.Ledger.Epoch(ctx, account); err != nil || epoch != "" {
		return nil, err
	}
	cfg.Log.Info("the account's state is empty: rebuilding it from slack",
		"account", account, "channels", len(cfg.Channels))
	r = &Rebuild{Config: cfg, found: newFound(), known: map[string]bool{}}
	defer func() {
		if err != nil {
			cfg.Show(account, "") // r may be nil by now
		}
	}()
	begun := cfg.Clocks.Now()
	if err = r.readChannels(ctx, begun.Add(-cfg.Back)); err != nil {
		return nil, err
	}
	if r.nothing() {
		return nil, r.Finish(ctx)
	}
	if err = delay.Sleep(ctx, cfg.Settle); err == nil {
		err = r.readChannels(ctx, begun.Add(-time.Hour)) // more than clocks differ
	}
	if err == nil {
		_, err = cfg.Ledger.Restore(ctx, account, r.begins())
	}
	cfg.Log.Info("the account's cards are back: reading the threads under them",
		"account", account, "cards", len(r.cards))
	return r, err
}

// Cards are the attacks that have a card, by now.
func (r *Rebuild) Cards() map[string]bool {
	all := map[string]bool{}
	for id := range r.cards {
		all[id] = true
	}
	return all
}

// Finish reads the threads and begins the account's state.
func (r *Rebuild) Finish(ctx context.Context) error {
	account := r.Account.Name
	defer r.Show(account, "")
	if err := r.readAll(ctx, r.queue, showThreads); err != nil {
		return err
	}
	posted := r.posted()
	at, err := r.listed(ctx)
	if err != nil {
		r.Log.Error("read the service's lists and rules: what no message holds stays unknown", "account", account, "err", err)
	}
	begins := r.state(store.NewEpoch(), Changes(r.Account, posted, at, r.now()), err != nil)
	if begun, err := r.Ledger.Restore(ctx, account, begins); err != nil || !begun {
		return err // another replica was faster, and posts the events
	}
	r.Log.Info("the account's state begins",
		"account", account, "epoch", begins.Epoch, "cards", len(begins.Cards), "changes", len(begins.Changes))
	return nil
}

func (r *Rebuild) now() time.Time { return r.Clocks.ServiceNow(r.Account.Name) }

// listsTimeout bounds reading what stands at the service. Without that the state is rebuilt from messages alone.
const listsTimeout = 30 * time.Second

// listed is what stands on the service's lists and among its rules; nothing at a first start.
func (r *Rebuild) listed(ctx context.Context) (at Service, err error) {
	if r.nothing() {
		return at, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listsTimeout)
	defer cancel()
	at.Entries, err = apiclient.Collect(r.Service.IPRules(ctx, ""))
	if err == nil {
		at.Rules, err = apiclient.Collect(r.Service.Rules(ctx, 0))
	}
	return at, err
}

// begins is what the attacks that have a card begin with: enough to watch the account, too little to change anything.
func (r *Rebuild) begins() store.Rebuilt {
	now := r.now()
	b := store.Rebuilt{At: now, FirstStart: r.began, Attacks: map[string]record.AttackState{}}
	for _, id := range slices.Sorted(maps.Keys(r.cards)) {
		c, ts := r.cards[id].CardMetadata, r.cards[id].ts
		b.Attacks[c.AttackID] = Attack(c, now)
		b.Cards = append(b.Cards, store.Card{Attack: id, Channel: c.Channel, TS: ts})
	}
	return b
}

// Attack is the state of an attack that has nothing left but its card. What the card shows mentions people no second
// time: the attack's hits are taken for as many as it can have shown. Revisions count on from the time, so that no
// delivery id is ever used twice.
func Attack(card record.CardMetadata, at time.Time) record.AttackState {
	s := record.AttackState{
		Attack: apiclient.Attack{ID: card.AttackID}, ObservedAt: at, Revision: int(at.Unix()), Notified: true,
		Quiet: card.Quiet, Severity: card.Severity, Channel: card.Channel, Mention: card.Mention,
		Baseline: record.Baseline{Incident: card.Incident}, Rebuilt: true,
	}
	if began, ok := storm.Began(card.AttackID); ok {
		s.Storm = &record.Storm{Began: began, CaughtUp: true}
	}
	if _, known := card.Status.PassRank(); known {
		s.Baseline.Status = card.Status
	}
	if card.Decade > 0 {
		s.Baseline.Hits = apiclient.Known(int64(math.Pow10(min(card.Decade, 18))) - 1)
	}
	return s
}

// state is the state that begins. It is zero but for its epoch at a first start, which is one where nothing was found.
func (r *Rebuild) state(epoch string, known Known, noLists bool) store.Rebuilt {
	if r.nothing() {
		b := store.Rebuilt{Epoch: epoch}
		if len(r.unread) == len(r.Channels) {
			b.Events = []record.Event{r.event(epoch, r.Channels[0], record.RebuildFacts{Unreadable: true})}
		}
		return b
	}
	b := r.begins()
	b.Epoch, b.Changes, b.Delivered = epoch, change.Scheduled(known.Changes...), r.delivered
	cards, inForce := map[string]int{}, map[string]int{}
	for _, c := range b.Cards {
		cards[c.Channel]++
	}
	for _, ch := range b.Changes {
		if ch.InForce(b.At) && ch.Parent() == "" {
			inForce[r.places[ch.ID]]++
		}
	}
	facts := record.RebuildFacts{
		Listed: len(known.Listed), Unknown: known.Unknown, NoLists: noLists, Unread: r.unread,
	}
	for i, channel := range r.Channels { // what concerns none of them is said in the first
		if i > 0 && slices.Contains(r.unread, channel) {
			continue
		}
		facts.Cards, facts.InForce = cards[channel], inForce[channel]
		b.Events = append(b.Events, r.event(epoch, channel, facts))
		facts = record.RebuildFacts{}
	}
	return b
}

// event says in a channel what was rebuilt; its epoch makes it this event and no other.
func (r *Rebuild) event(epoch, channel string, facts record.RebuildFacts) record.Event {
	account := r.Account.Name
	return record.Event{
		ID: record.DeliveryID(account, channel+" "+epoch, record.StoreRebuilt, 0), Account: account,
		Kind: record.StoreRebuilt, Channel: channel, At: r.now(), Detail: facts,
	}
}
