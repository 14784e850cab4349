// Package metrics defines all that /metrics shows: names, help and labels stand here alone.
package metrics

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/version"
)

const namespace = "wafbot"

// Definition is a metric of wafbot's own.
type Definition struct {
	Name   string // whole, with its unit
	Kind   string // counter, gauge or histogram
	Labels []string
	Help   string
}

// Metrics are what is counted where it happens, and what is read when it is asked for. Labels hold what the
// configuration or the program names, never what others write: else whoever attacks could make as many series as they
// like.
type Metrics struct {
	Acknowledged prometheus.Observer // seconds
	DroppedReads prometheus.Counter

	Forged       prometheus.Counter
	SocketOpens  prometheus.Counter
	SlackCalls   *prometheus.CounterVec // method, outcome
	SlackPosts   prometheus.Counter
	SlackEdits   prometheus.Counter
	SlackRefused *prometheus.CounterVec // method

	Notified       *prometheus.CounterVec // kind, severity
	NotifyFailures prometheus.Counter

	Polls   *prometheus.HistogramVec // seconds by account
	Changes *prometheus.CounterVec   // verb, outcome
	Pages   *prometheus.CounterVec   // account, outcome

	defined []Definition
	counted *prometheus.Registry
}

// New makes the metrics. Nothing is counted yet.
func New() *Metrics {
	m := &Metrics{counted: prometheus.NewRegistry()}
	m.Acknowledged = m.histogram("acknowledge_seconds", "Time from a delivery of Slack's to its acknowledgement.",
		prometheus.ExponentialBuckets(0.0005, 2, 13)).WithLabelValues()
	m.DroppedReads = m.counter("dropped_reads_total",
		"Requests that were acknowledged but not answered because too many were under way.").WithLabelValues()
	m.Forged = m.counter("forged_requests_total", "Requests whose signature was refused.").WithLabelValues()
	m.SocketOpens = m.counter("socket_opens_total", "Attempts to open a Socket Mode link.").WithLabelValues()
	m.SlackCalls = m.counter("slack_calls_total",
		"Calls of Slack's methods, by outcome: ok, refused (Slack answered with an error), limited (429: too many), failed (no answer, or a server's error).", "method", "outcome")
	m.SlackPosts = m.counter("slack_posts_total", "Messages posted.").WithLabelValues()
	m.SlackEdits = m.counter("slack_edits_total", "Messages edited.").WithLabelValues()
	m.SlackRefused = m.counter("slack_refused_total",
		"Messages that Slack refused for what is in them and that were sent plainer, by method. That is a fault of wafbot's.", "method")
	m.Notified = m.counter("events_notified_total", "Events notified, by kind, and by the severity of their attack.",
		"kind", "severity")
	m.NotifyFailures = m.counter("notify_failures_total",
		"Attempts to notify an event that failed and are repeated.").WithLabelValues()
	m.Polls = m.histogram("poll_duration_seconds", "How long polls took that this replica made, failed ones too.",
		prometheus.ExponentialBuckets(0.05, 2.5, 10), "account")
	m.Changes = m.counter("changes_total", "Entries of the audit log that this replica made, by verb and outcome: done, half, failed, unknown (perhaps done), refused, nothing, dry_run, asked, waiting, approved, overridden, rejected, closed, expired.", "verb", "outcome")
	const panics = "Panics that were recovered in this process. Each is a fault of wafbot's, and in its log."
	m.counted.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: m.define("panics_total", "counter",
		panics, nil), Help: panics}, func() float64 {
		return float64(delay.Panics())
	}))
	m.Pages = m.counter("pager_calls_total", "Calls of pagers, and resolved calls, by outcome: taken, failed (and tried again), refused.", "account", "outcome")
	return m
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.define(name, "counter", help, labels),
		Help: help}, labels)
	m.counted.MustRegister(v)
	return v
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.define(name, "histogram", help, labels), Help: help,
		Buckets: buckets}, labels)
	m.counted.MustRegister(v)
	return v
}

// define notes a definition and returns the whole name.
func (m *Metrics) define(name, kind, help string, labels []string) string {
	name = prometheus.BuildFQName(namespace, "", name)
	m.defined = append(m.defined, Definition{name, kind, labels, help})
	return name
}

// Serve serves /metrics: what was counted, the state at that time, the build, and what Go and the operating system say
// of the process.
func (m *Metrics) Serve(read func(context.Context) State) http.Handler {
	build := version.Get()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: namespace + "_build_info", Help: buildHelp,
		ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "go_version": build.Go},
	})
	info.Set(1)
	now := prometheus.NewRegistry()
	now.MustRegister(info, newStates(read), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(prometheus.Gatherers{m.counted, now}, promhttp.HandlerOpts{MaxRequestsInFlight: maxAsking})
}

// maxAsking is how many may ask at the same time: each answer reads Redis.
const maxAsking = 4

const buildHelp = "Always 1: which build this is."

// Definitions are all metrics of wafbot's own: those that are counted, then those of a State.
func (m *Metrics) Definitions() []Definition {
	all := append(m.defined[:len(m.defined):len(m.defined)],
		Definition{namespace + "_build_info", "gauge", []string{"version", "commit", "go_version"}, buildHelp})
	for _, g := range gauges() {
		all = append(all, Definition{g.name(), "gauge", g.labels, g.help})
	}
	return all
}

// State is how a replica is when it is asked. What isn't known is left out of /metrics: nil, and the zero time.
type State struct {
	SlackUp      bool // Slack takes the bot's token
	Receiving    bool // Slack can deliver
	SocketLinks  *int // that can receive; nil: there is no app token
	RedisUp      bool
	Replicas     *int           // that live, this one among them
	Requests     *Queue         // of all replicas
	RedisClock   *time.Duration // how far it is ahead of this machine's
	ServiceClock *time.Duration // the same, for the service whose clock is farthest from it
	Accounts     []Account      // all that are configured
	Config       *Config
}

// Config is how loading the configuration goes.
type Config struct {
	Loaded    bool // at the last attempt
	Undrained int  // active changes of accounts that were taken out, which nothing ends
}

// Account is an account in a State. Only its owner knows all but the first four fields.
type Account struct {
	Name     string
	Interval time.Duration // between polls
	Owned    bool          // by this replica
	Foreign  int64         // records of other clients that came

	Polled         bool // a poll of this process has ended
	Reachable      bool
	LastGood       time.Time
	Attacks        int
	Capped         bool
	PermissionLost *bool
	Events         Queue
	StaleCards     Queue
	Approvals      *Queue
}

// Queue is what waits.
type Queue struct {
	Waiting int
	Age     time.Duration // of the oldest
}

// gauge is a metric of a State.
type gauge struct {
	short  string
	help   string
	labels []string
	show   func(s State, set set)
}

// set shows a value, with those of the labels.
type set func(value float64, labels ...string)

func (g gauge) name() string { return prometheus.BuildFQName(namespace, "", g.short) }

const byAccount = "account"

// gauges are all metrics of a State.
func gauges() []gauge {
	return []gauge{
		{"redis_up", "1 if Redis takes writes, as far as this replica can reach it; else 0.", nil,
			func(s State, set set) { set(one(s.RedisUp)) }},
		{"replicas", "Replicas that live, as this one last heard of them. Left out while it can't reach Redis.", nil,
			func(s State, set set) {
				if s.Replicas != nil {
					set(float64(*s.Replicas))
				}
			}},
		{"slack_up", "1 if Slack answers and takes the bot's token; else 0.", nil,
			func(s State, set set) { set(one(s.SlackUp)) }},
		{"receiving", "1 if Slack can deliver clicks and commands to this replica, over HTTP or Socket Mode; else 0.", nil,
			func(s State, set set) { set(one(s.Receiving)) }},
		{"socket_links", "Socket Mode links that can receive. Left out where there is no app token.", nil,
			func(s State, set set) {
				if s.SocketLinks != nil {
					set(float64(*s.SocketLinks))
				}
			}},
		{"clock_offset_seconds", "How far a clock is ahead of this machine's: Redis', and of the services' the one that is farthest from it. Left out until it was read.", []string{"against"}, func(s State, set set) {
			if s.RedisClock != nil {
				set(s.RedisClock.Seconds(), "redis")
			}
			if s.ServiceClock != nil {
				set(s.ServiceClock.Seconds(), "service")
			}
		}},
		{"requests_waiting", "Changes that were accepted and aren't carried out yet, those in hand among them. It is the same for all replicas.", nil, func(s State, set set) {
			if s.Requests != nil {
				set(float64(s.Requests.Waiting))
			}
		}},
		{"requests_waiting_age_seconds", "How long the oldest of them has waited; 0: none does.", nil,
			func(s State, set set) {
				if s.Requests != nil {
					set(s.Requests.Age.Seconds())
				}
			}},
		ofConfig("config_last_reload_successful",
			"1 if the configuration can be used as it is now, as far as that was tried; else 0, and the one before counts.",
			func(c Config) float64 { return one(c.Loaded) }),
		ofConfig("removed_account_changes", "Changes in force of accounts that aren't in the configuration any more, which nothing ends.", func(c Config) float64 { return float64(c.Undrained) }),
		ofEach("account_owned", "1 if this replica owns the account, which means that it polls it and posts its events; else 0.", func(a Account) float64 { return one(a.Owned) }),
		ofEach("account_poll_interval_seconds", "The configured pause between polls of the account.",
			func(a Account) float64 { return a.Interval.Seconds() }),
		ofPolled("account_foreign_records", "Records of other clients that the service's answers for the account held "+
			"since this replica started. They are left out; more of them is the service's fault.",
			func(a Account) float64 { return float64(a.Foreign) }),
		ofPolled("account_reachable", "1 if the last poll of the account was good; else 0.",
			func(a Account) float64 { return one(a.Reachable) }),
		ofOwned("account_last_good_poll_timestamp_seconds",
			"When the last complete poll of the account ended, Unix time by the service's clock.",
			func(a Account) (float64, bool) {
				return float64(a.LastGood.UnixMilli()) / 1000, !a.LastGood.IsZero()
			}),
		ofPolled("account_attacks", "Attack records of the account that are known, of its lookback.",
			func(a Account) float64 { return float64(a.Attacks) }),
		ofPolled("account_capped", "1 if the account has more attacks than are watched: only the newest and all incidents are; else 0.", func(a Account) float64 { return one(a.Capped) }),
		ofOwned("account_permission_lost", "1 if the service refuses changes of the account because of wafbot's token; else 0.", func(a Account) (float64, bool) {
			return one(a.PermissionLost != nil && *a.PermissionLost), a.PermissionLost != nil
		}),
		ofOwned("events_waiting", "Events of the account that wait to be notified.",
			func(a Account) (float64, bool) { return float64(a.Events.Waiting), true }),
		ofOwned("events_waiting_age_seconds", "How long the oldest of them has waited on this replica; 0: none does.",
			func(a Account) (float64, bool) { return a.Events.Age.Seconds(), true }),
		ofOwned("cards_stale", "Cards of the account that wait to be redrawn.",
			func(a Account) (float64, bool) { return float64(a.StaleCards.Waiting), true }),
		ofOwned("cards_stale_age_seconds", "How long the oldest of them has waited; 0: none does.",
			func(a Account) (float64, bool) { return a.StaleCards.Age.Seconds(), true }),
		ofOwned("approvals_waiting", "Approval requests of the account that wait for an answer.",
			func(a Account) (float64, bool) {
				if a.Approvals == nil {
					return 0, false
				}
				return float64(a.Approvals.Waiting), true
			}),
		ofOwned("approvals_waiting_age_seconds", "How long the oldest of them has waited; 0: none does.",
			func(a Account) (float64, bool) {
				if a.Approvals == nil {
					return 0, false
				}
				return a.Approvals.Age.Seconds(), true
			}),
	}
}

// ofConfig is a metric of loading the configuration.
func ofConfig(name, help string, value func(Config) float64) gauge {
	return gauge{name, help, nil, func(s State, set set) {
		if s.Config != nil {
			set(value(*s.Config))
		}
	}}
}

// ofEach is a metric that every replica has of each account.
func ofEach(name, help string, value func(Account) float64) gauge {
	return ofThose(name, help, func(a Account) (float64, bool) { return value(a), true })
}

// ofOwned is a metric that only an account's owner has.
func ofOwned(name, help string, value func(Account) (v float64, known bool)) gauge {
	return ofThose(name, help, func(a Account) (float64, bool) {
		if !a.Owned {
			return 0, false
		}
		return value(a)
	})
}

// ofPolled is one that it has after its first poll.
func ofPolled(name, help string, value func(Account) float64) gauge {
	return ofOwned(name, help, func(a Account) (float64, bool) { return value(a), a.Polled })
}

func ofThose(name, help string, value func(Account) (v float64, known bool)) gauge {
	return gauge{name, help, []string{byAccount}, func(s State, set set) {
		for _, a := range s.Accounts {
			if v, known := value(a); known {
				set(v, a.Name)
			}
		}
	}}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// states shows a State each time that it is collected.
type states struct {
	read   func(context.Context) State
	gauges []gauge
	descs  []*prometheus.Desc
}

func newStates(read func(context.Context) State) *states {
	s := &states{read: read, gauges: gauges()}
	for _, g := range s.gauges {
		s.descs = append(s.descs, prometheus.NewDesc(g.name(), g.help, g.labels, nil))
	}
	return s
}

// Describe implements prometheus.Collector.
func (s *states) Describe(all chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		all <- d
	}
}

// readWithin bounds what is read of Redis for an answer: Prometheus waits ten seconds.
const readWithin = 2 * time.Second

// Collect implements prometheus.Collector.
func (s *states) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	now := s.read(ctx)
	for i, g := range s.gauges {
		g.show(now, func(value float64, labels ...string) {
			all <- prometheus.MustNewConstMetric(s.descs[i], prometheus.GaugeValue, value, labels...)
		})
	}
}
