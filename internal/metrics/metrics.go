// Package metrics defines all that /metrics shows: names, help and labels stand here alone.
package metrics

import (
	"context"
	"net/http"

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
	m.Acknowledged = m.histogram("acknowledge_seconds", "Time from a delivery of Slack's to its acknowledgement.", prometheus.ExponentialBuckets(0.0005, 2, 13)).WithLabelValues()
	m.DroppedReads = m.counter("dropped_reads_total", "Requests that were acknowledged but not answered because too many were under way.").WithLabelValues()
	m.Forged = m.counter("forged_requests_total", "Requests whose signature was refused.").WithLabelValues()
	m.SocketOpens = m.counter("socket_opens_total", "Attempts to open a Socket Mode link.").WithLabelValues()
	m.SlackCalls = m.counter("slack_calls_total", "Calls of Slack's methods, by outcome: ok, refused (Slack answered with an error), limited (429: too many), failed (no answer, or a server's error).", "method", "outcome")
	m.SlackPosts = m.counter("slack_posts_total", "Messages posted.").WithLabelValues()
	m.SlackEdits = m.counter("slack_edits_total", "Messages edited.").WithLabelValues()
	m.SlackRefused = m.counter("slack_refused_total", "Messages that Slack refused for what is in them and that were sent plainer, by method. That is a fault of wafbot's.", "method")
	m.Notified = m.counter("events_notified_total", "Events notified, by kind, and by the severity of their attack.", "kind", "severity")
	m.NotifyFailures = m.counter("notify_failures_total", "Attempts to notify an event that failed and are repeated.").WithLabelValues()
	m.Polls = m.histogram("poll_duration_seconds", "How long polls took that this replica made, failed ones too.", prometheus.ExponentialBuckets(0.05, 2.5, 10), "account")
	m.Changes = m.counter("changes_total", "Entries of the audit log that this replica made, by verb and outcome: done, half, failed, unknown (perhaps done), refused, nothing, dry_run, asked, waiting, approved, overridden, rejected, closed, expired.", "verb", "outcome")
	const panics = "Panics that were recovered in this process. Each is a fault of wafbot's, and in its log."
	m.counted.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: m.define("panics_total", "counter", panics, nil), Help: panics}, func() float64 {
		return float64(delay.Panics())
	}))
	m.Pages = m.counter("pager_calls_total", "Calls of pagers, and resolved calls, by outcome: taken, failed (and tried again), refused.", "account", "outcome")
	return m
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.define(name, "counter", help, labels), Help: help}, labels)
	m.counted.MustRegister(v)
	return v
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.define(name, "histogram", help, labels), Help: help, Buckets: buckets}, labels)
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
	now.MustRegister(info, newStates(read), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(prometheus.Gatherers{m.counted, now}, promhttp.HandlerOpts{MaxRequestsInFlight: maxAsking})
}

// maxAsking is how many may ask at the same time: each answer reads Redis.
const maxAsking = 4

const buildHelp = "Always 1: which build this is."

// Definitions are all metrics of wafbot's own: those that are counted, then those of a State.
func (m *Metrics) Definitions() []Definition {
	all := append(m.defined[:len(m.defined):len(m.defined)], Definition{namespace + "_build_info", "gauge", []string{"version", "commit", "go_version"}, buildHelp})
	for _, g := range gauges() {
		all = append(all, Definition{g.name(), "gauge", g.labels, g.help})
	}
	return all
}
