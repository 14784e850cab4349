// Package poller reads the attacks of one account, compares them with what is stored, and has people notified of each event once. One reading of
// the service is a snapshot; decide, a pure function of snapshot and state, makes an update of it; Poll reads, saves and wakes.
package poller

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/storm"
)

// API is what the poller reads. *apiclient.Client is one.
type API interface {
	AttackReader
	ListReader
}

// AttackReader lists attack records, the latest hit first.
type AttackReader interface {
	Attacks(ctx context.Context, f apiclient.AttackFilter) iter.Seq2[apiclient.AttackPage, error]
}

// ListReader lists what is in force.
type ListReader interface {
	IPRules(ctx context.Context, f apiclient.IPRuleFilter) iter.Seq2[apiclient.IPRule, error]
	Rules(ctx context.Context, f apiclient.RuleFilter) iter.Seq2[apiclient.Rule, error]
}

// Preferences reads what people asked for. Its answers are used within the same poll.
type Preferences interface {
	// Muted reads which attacks are muted. It is read where there would be an event of an attack that is no incident. After an error nothing is
	// muted.
	Muted(ctx context.Context, account string) (muted func(apiclient.Attack) bool, err error)
	// WantedCards reads of which grouped attacks people want a card; nil: of none.
	WantedCards(ctx context.Context, account string) (wanted func(attackid string) bool, err error)
}

// Observer takes in what complete polls found, also when they found nothing: time passes.
type Observer interface {
	Observe(ctx context.Context, account string, delta PollDelta)
}

// Where the configuration says nothing.
const (
	DefaultInterval     = 15 * time.Second
	DefaultLookback     = 24 * time.Hour
	DefaultOngoingFor   = 15 * time.Minute
	DefaultMentionEvery = 10 * time.Minute // the least time between two mentions about one attack
)

// Config says what to poll and who is notified.
type Config struct {
	Account     string        // its name
	API         API           // reads the service
	Store       Store         // holds what was decided
	Notifier    Notifier      // is woken for events
	Preferences Preferences   // nil: nothing is muted, and grouped attacks get no cards on request
	Observer    Observer      // nil: none
	Interval    time.Duration // from the end of a poll to the next, give or take a tenth; 0: DefaultInterval
	Lookback    time.Duration // how far back records are read; 0: DefaultLookback
	OngoingFor  time.Duration // after its last hit an attack is ongoing this long; 0: DefaultOngoingFor
	Routes      []Route       // nil: DefaultRoutes(Channel); empty: nothing gets a card
	Storm       storm.Config  // the zero one: each attack gets a card of its own
	QuietHours  QuietHours    // zero: there are none
	Channel     string        // of the first message, and of routes without one
	Log         *slog.Logger  // nil: slog.Default()
	Starts      *rate.Limiter // paces Run's first polls of all accounts that share it; nil: each polls at once
}

// Poller polls one account. Poll and Run must not run at the same time; all else may.
type Poller struct {
	cfg    Config
	mirror *mirror
	soon   chan struct{} // asks Run for a poll

	loaded   bool     // st is what the store holds. It and the next two are Poll's alone
	failures int      // of the service, in this outage
	causes   []string // of this outage, in words for people

	mu     sync.Mutex // held while the fields below are written, and where another goroutine than Poll's reads them
	st     *state
	skew   time.Duration // how far the service's clock is ahead of this machine's
	health Health
}

// New makes a poller, which does nothing yet.
func New(cfg Config) *Poller {
	cfg.Interval = cmp.Or(cfg.Interval, DefaultInterval)
	cfg.Lookback = cmp.Or(cfg.Lookback, DefaultLookback)
	cfg.OngoingFor = cmp.Or(cfg.OngoingFor, DefaultOngoingFor)
	cfg.Log = cmp.Or(cfg.Log, slog.Default()).With("account", cfg.Account)
	if cfg.Routes == nil {
		cfg.Routes = DefaultRoutes(cfg.Channel)
	}
	return &Poller{cfg: cfg, mirror: newMirror(cfg.API, cfg.Log), soon: make(chan struct{}, 1), st: newState(cfg.OngoingFor)}
}

// WithPager returns the attacks that have a pager, as the store holds them. ok is false as long as they aren't known.
func (p *Poller) WithPager() (all []record.AttackState, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.st.withPager {
		all = append(all, p.st.attacks[id])
	}
	return all, p.st.withPager != nil
}

// StillTrying reports whether one of these denied addresses is still trying, as far as the service says.
func (p *Poller) StillTrying(addresses []netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now().Add(p.skew)
	return slices.ContainsFunc(addresses, func(a netip.Addr) bool { return p.st.stillTrying(a, now, nil) })
}

// GoesOn reports whether an attack goes on whose id is meant: it was hit lately, or a source of it is still trying. A storm goes on when one of
// the attacks that it groups does.
func (p *Poller) GoesOn(meant func(attackid string) bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.st.goesOn(meant, time.Now().Add(p.skew))
}

// Health returns how polling goes.
func (p *Poller) Health() Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.health
}

// Settings returns what is in force at the service, which must not be changed.
func (p *Poller) Settings() Settings { return p.mirror.get() }

// RefreshSettings has the settings read again as soon as Run can, as after a change. It never blocks.
func (p *Poller) RefreshSettings() { ask(p.mirror.asks) }

// PollSoon has the next poll begin as soon as Run can, as when a person asked for something that a poll does. It never blocks.
func (p *Poller) PollSoon() { ask(p.soon) }

// ask asks for something, unless it is asked for already.
func ask(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Store holds what an account's poller has decided, so that another replica can go on from there.
type Store interface {
	// Load reads all that is stored of an account; zero when there is nothing.
	Load(ctx context.Context, account string) (State, error)
	// LoadEvidence reads what is stored of attacks, by their id; what isn't known is left out.
	LoadEvidence(ctx context.Context, account string, ids []string) (map[string]record.Evidence, error)
	// Save stores an update in one transaction: people will be notified of its events, by this replica or another.
	Save(ctx context.Context, account string, u Update) error
}

// Notifier notifies people of events.
type Notifier interface {
	// Notify says that events of the account were stored. They are passed along so that they need not be read back.
	Notify(account string, events []record.Event)
}

// State is what a Store holds of one account.
type State struct {
	LastGood   time.Time                     // of the last complete poll, on the service's clock; zero: there was none yet
	Attacks    map[string]record.AttackState // by attack id
	FirstStart time.Time                     // when people were notified of the first start, as rebuilt after Redis was emptied; zero: not known
	Outage     record.Outage                 // that people were notified of and that goes on
}

// Update is what one poll changes in a Store.
type Update struct {
	LastGood time.Time
	Attacks  map[string]record.AttackState        // by attack id; only those that changed
	Delete   []string                             // attack ids long out of the lookback
	Events   []record.Event                       // incidents first
	Outage   *record.Outage                       // of which the events notify; a zero one: it has ended; nil: as it was
	Stale    []string                             // attack ids whose cards are to be redrawn though there is no event of them
	Sources  map[netip.Addr]record.SourceActivity // the busiest of the sources that are in several attacks; nil: as it was
	Gap      *record.Outage                       // the monitoring gap that ends with this poll; nil: none does
	Evidence map[string]record.Evidence           // by attack id; only what changed
}

// empty reports whether the update changes nothing but LastGood.
func (u Update) empty() bool {
	return len(u.Attacks)+len(u.Delete)+len(u.Events)+len(u.Evidence)+len(u.Stale) == 0 && u.Outage == nil && u.Sources == nil
}

// AttackIDs are the attacks of which there is something to store, each once: those with events first, in the order of the events. So a storm
// is stored before what it groups, which would be lost without it; and incidents before either.
func (u Update) AttackIDs() (ids []string) {
	for _, e := range u.Events {
		ids = append(ids, e.Attack().ID)
	}
	ids = slices.AppendSeq(ids, maps.Keys(u.Attacks))
	ids = slices.AppendSeq(ids, maps.Keys(u.Evidence))
	given := map[string]bool{"": true} // events about no attack
	return slices.DeleteFunc(ids, func(id string) bool {
		again := given[id]
		given[id] = true
		return again
	})
}

// Run polls, and mirrors lists and rules, until ctx ends; then it returns nil. Failing polls become rarer once the outage is
// an event, down to one a minute, or every four intervals if that is less, or every interval if that is more. It begins with what
// the store holds: another replica may have polled since this one did.
func (p *Poller) Run(ctx context.Context) error {
	if p.cfg.Starts != nil && p.cfg.Starts.Wait(ctx) != nil {
		return nil // ctx has ended
	}
	defer p.reset()
	var mirror sync.WaitGroup
	mirror.Go(func() { p.mirror.run(ctx) }) // apart, so that it never delays a poll
	defer mirror.Wait()
	failures := 0
	for {
		if err := p.Poll(ctx); err != nil {
			failures++
		} else {
			failures = 0
		}
		pause := time.NewTimer(p.pause(failures))
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil
		case <-pause.C:
		case <-p.soon:
			pause.Stop()
		}
	}
}

// reset drops what is known of the account: another replica may poll it next, and change what the store holds.
func (p *Poller) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loaded, p.st, p.health, p.failures, p.causes = false, newState(p.cfg.OngoingFor), Health{}, 0, nil
	p.mirror.reset()
}

// pause is the time to the next poll. Its jitter keeps the accounts of one process from polling in step.
func (p *Poller) pause(failures int) time.Duration {
	longest := min(4*p.cfg.Interval, max(time.Minute, p.cfg.Interval))
	return spread(delay.Backoff(max(failures-outageAfter-1, 0), p.cfg.Interval, longest))
}

// spread is a duration give or take a tenth.
func spread(d time.Duration) time.Duration { return delay.Jitter(d*9/10, d*11/10) }
