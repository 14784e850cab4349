// Package poller watches the attacks of one account, decides what is news about them, and has each piece told once.
package poller

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
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

// Muted reads which attacks nobody wants to hear of now. What it gives is asked within the same poll; of incidents it isn't.
type Muted func(ctx context.Context) (muted func(apiclient.Attack) bool, err error)

// Wanted reads of which attacks that storms gathered somebody wants a card; nil: of none. What it gives is asked within the same poll.
type Wanted func(ctx context.Context) (wanted func(attackid string) bool, err error)

// Where the configuration says nothing.
const (
	DefaultInterval     = 15 * time.Second
	DefaultLookback     = 24 * time.Hour
	DefaultOngoingFor   = 15 * time.Minute
	DefaultMentionEvery = 10 * time.Minute // the least time between two mentions about one attack
)

// Config says what to watch and whom to tell.
type Config struct {
	Account    string        // its name
	API        API           // reads the service
	Memory     Memory        // keeps what was decided
	Notifier   Notifier      // is woken for news
	Interval   time.Duration // from the end of a poll to the next, give or take a tenth; 0: DefaultInterval
	Lookback   time.Duration // how far back records are read; 0: DefaultLookback
	OngoingFor time.Duration // after its last hit an attack is ongoing this long; 0: DefaultOngoingFor
	Routes     []Route       // nil: DefaultRoutes(Channel); empty: nothing gets a card
	Muted      Muted         // nil: nothing is ever muted
	Wanted     Wanted        // nil: nobody ever asks for cards of what storms gathered
	Storm      StormConfig   // the zero one: each attack gets a card of its own
	Observed   Observed      // nil: nobody wants to know
	Quiet      QuietHours    // zero: there are none
	Channel    string        // of the first message, and of routes without one
	Log        *slog.Logger  // nil: slog.Default()
	Starts     *rate.Limiter // paces Run's first polls of all accounts that share it; nil: each polls at once
}

// Poller watches one account. Poll and Run must not run at the same time; all else may.
type Poller struct {
	cfg     Config
	refresh chan struct{}
	hurry   chan struct{}

	// Only Poll uses these.
	loaded     bool                                 // the state below is what Memory holds
	lastGood   time.Time                            // begin of the last good poll, on the service's clock
	began      time.Time                            // what was over before then is no news, though nothing is known of it; zero: all is
	remembered time.Time                            // lastGood as Memory holds it
	sweep      time.Time                            // when everything is to be read again, on this machine's clock
	listed     time.Time                            // when all incidents were last read, likewise
	failures   int                                  // of the service, in this spell of failures
	blind      record.Outage                        // as Memory holds it
	reported   []string                             // what this spell of failures was logged for
	held       map[string]bool                      // attack ids that mutes kept back in the last poll; after a start everything is read again
	agenda     agenda                               // of the attacks that time alone can make news
	paces      map[string]pace                      // of attacks with a card that go on and have changed, by id
	seen       map[netip.Addr]record.SourceActivity // as Memory holds it; nil: not known
	uncounted  bool                                 // something that seen is counted from may have changed
	counted    time.Time                            // when it was, on this machine's clock
	came       arrivals                             // of the last while, as this process saw them
	unobserved unobserved                           // what Observed is yet to be told

	mu       sync.Mutex                    // held by Poll while it writes these, and by whoever else reads them
	skew     time.Duration                 // how far the service's clock is ahead of this machine's
	knocked  map[netip.Addr]time.Time      // the last try of each source that is denied or patched, on the service's clock
	shown    map[string]record.AttackState // by attack id, as Memory holds it
	latest   map[string]*sighting          // every record as it was last read, results of measures too
	paged    map[string]bool               // ids of attacks and storms with a pager; nil: Memory was not loaded yet
	storms   map[string]*gathering         // by the storm's id
	health   Health
	settings Settings
	relisted []apiclient.IPRule // that came, went or changed, and of which the cards don't know yet
}

// sighting is a record as it was read. It is never changed.
type sighting struct {
	attack apiclient.Attack
	at     time.Time // on the service's clock
	stored bool      // only Memory tells of it: it was not read since the start
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
	return &Poller{cfg: cfg, refresh: make(chan struct{}, 1), hurry: make(chan struct{}, 1), latest: map[string]*sighting{}, knocked: map[netip.Addr]time.Time{}}
}

// Attacks returns every record that is known, as it was last read, the latest hit first. Results of measures
// (apiclient.Attack.Result) are among them: a denied source shows in its own record only.
func (p *Poller) Attacks() []record.AttackState {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]record.AttackState, 0, len(p.latest))
	for id, seen := range p.latest {
		s := p.shown[id]
		s.Attack, s.SeenAt = seen.attack, seen.at
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b record.AttackState) int {
		return cmp.Or(b.Attack.Last.Compare(a.Attack.Last), cmp.Compare(a.Attack.ID, b.Attack.ID))
	})
	return all
}
