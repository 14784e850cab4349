package poller

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/storm"
)

// Config says what to poll and who is notified.
type Config struct {
	Account     *config.Account
	Zone        *time.Location      // of the quiet hours; nil: UTC
	API         API                 // reads the service
	Store       Store               // holds what was decided
	Notifier    Notifier            // is woken for events
	Clock       Clock               // the service's; nil: this machine's
	Preferences Preferences         // nil: nothing is muted, and grouped attacks get no cards on request
	Judge       Judge               // nil: nothing is judged
	Limits      Limits              // the zero one: 40,000 attacks, 100 MB and 5 minutes a poll
	StormEnds   time.Duration       // after the last time that a storm was exceeded; 0: 10 minutes, or OngoingFor where that is less
	Polls       prometheus.Observer // how long each took, in seconds; nil: for nobody
	Log         *slog.Logger        // nil: slog.Default()

	routes []config.Route // that are in force
}

// API is what the poller reads. *apiclient.Client is one. An interface because tests need a service that ignores what
// it is asked for.
type API interface {
	// Attacks lists attack records, the latest hit first.
	Attacks(ctx context.Context, f apiclient.AttackFilter) iter.Seq2[apiclient.AttackPage, error]
	IPRules(ctx context.Context, list string) iter.Seq2[apiclient.IPRule, error]
	Rules(ctx context.Context, condition int64) iter.Seq2[apiclient.Rule, error]
	// Foreign is how many records of other clients its answers held. All were dropped.
	Foreign() int64
	// TooLong names the records that are skipped because each alone is too long to be read; "" if there are none.
	TooLong() string
}

// Clock tells the time. All that is stored, notified of and compared with the service's records is by the service's
// clock.
type Clock interface {
	Now() time.Time
}

// Preferences reads what people asked for. An interface because who knows is above this package. Its answers are used
// within the same poll.
type Preferences interface {
	// Muted reads which attacks are muted. It is read where there would be an event of an attack that is no incident.
	// After an error nothing is muted.
	Muted(ctx context.Context, account string) (muted func(apiclient.Attack) bool, err error)
}

// Notifier notifies people of events.
type Notifier interface {
	// Saved says what was stored of the account. It is passed along so that it need not be read back.
	Saved(account string, u record.PollUpdate)
}

// Judge says what a complete poll means for what is in force against attacks, also one that found nothing: time passes.
// That is saved with the poll. After an error the next poll that it gets holds the changes of this one, too.
type Judge func(ctx context.Context, poll record.Poll) (record.Judged, error)

// storm says when attacks come too fast for a card each.
func (c *Config) storm() storm.Config {
	return storm.Config{Storm: c.Account.Storm, EndsAfter: cmp.Or(c.StormEnds, min(10*time.Minute, c.Account.OngoingFor))}
}

// routeIndex is the place of the first route that takes the attack; below 0 if none does.
func (c *Config) routeIndex(a apiclient.Attack) int {
	return slices.IndexFunc(c.routes, func(r config.Route) bool { return c.Account.Mismatch(r.Match, a) == "" })
}

// route returns the first route that takes the attack.
func (c *Config) route(a apiclient.Attack) (config.Route, bool) {
	if i := c.routeIndex(a); i >= 0 {
		return c.routes[i], true
	}
	return config.Route{}, false
}

// stormRoute is the route of a storm: it mentions whom the first route with a mention that takes one of its attacks
// mentions, and has the pager that is called soonest, and of the times after which an acknowledgement lapses the
// shortest. Taken are the indexes of the routes that take its attacks.
func (c *Config) stormRoute(channel string, taken map[int]bool) config.Route {
	merged := config.Route{Channel: channel}
	for i, route := range c.routes {
		if !taken[i] {
			continue
		}
		if merged.Mention == "" {
			merged.Mention = route.Mention
		}
		if route.Page != nil && (merged.Page == nil || route.Page.After < merged.Page.After) {
			merged.Page, merged.Match = route.Page, route.Match
		}
		if route.AckTimeout > 0 && (merged.AckTimeout == 0 || route.AckTimeout < merged.AckTimeout) {
			merged.AckTimeout = route.AckTimeout
		}
	}
	return merged
}

// accountEvent is an event of the account as a whole, for its channel. The number distinguishes it from others of its
// kind.
func (c *Config) accountEvent(kind record.EventKind, number int64, at time.Time, detail record.Detail) record.Event {
	return record.Event{
		ID: record.DeliveryID(c.Account.Name, "", kind, int(number)), Account: c.Account.Name, Kind: kind,
		Channel: c.Account.Channel, At: at,
		Detail: detail,
	}
}

// Store holds what an account's poller has decided, so that another replica can go on from there. An interface
// because tests need one that fails before it writes, or after.
type Store interface {
	// Load reads all that is stored of an account; zero when there is nothing. The poller empties what it was given.
	Load(ctx context.Context, account string) (record.PollState, error)
	// Waiting are the events that people have yet to be notified of.
	Waiting(ctx context.Context, account string) ([]record.Event, error)
	// Save stores an update in one transaction: people will be notified of its events, by this replica or another.
	Save(ctx context.Context, account string, u record.PollUpdate) error
}
