// Package commands carries out what people and the clock ask of wafbot, through one door: Runner.Do.
package commands

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// Config is what a Runner works with. All fields must be set that don't say otherwise.
type Config struct {
	call.Setup                    // but for the commands: New sets them
	Services   map[string]Service // of the accounts, by name
	Members    Members

	Store *store.Store
	// Rebuilds reports whether what Redis lost of an account is rebuilt from its channel: nothing is changed before; nil:
	// of all.
	Rebuilds func(account string) bool

	Watch Watch // nil: nothing is known of what goes on
	// Health is how polling an account goes by what this process, or else the store, knows; nil: that isn't known.
	Health func(account string) (h call.PollHealth, ok bool)
	// CardLinks are where the cards of attacks can be opened, by attack, as far as they have one and that is known. It may
	// be nil, and give nil.
	CardLinks func(ctx context.Context, account string, attacks []string) map[string]string
	// Routing is where an attack goes. After an error only what the configuration says is known.
	Routing  func(ctx context.Context, account string, a apiclient.Attack) (call.Routing, error)
	Notifier Notifier // nil: no one is notified

	Changes  *prometheus.CounterVec // audit entries by verb and outcome; nil: counted for nobody
	AuditOut io.Writer              // each audit entry as a JSON line; nil: nowhere
	Log      *slog.Logger           // nil: discarded
	Clocks   Clocks
	// Sleep waits between two looks at what became of a call of unknown outcome, or returns the context's error; nil:
	// delay.Sleep.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Runner is the one door: every line, button and command of the terminal goes through Do. It alone loads facts, claims
// what a change touches, changes the service and the store, and records.
type Runner struct {
	cfg      *Config
	accounts map[string]*config.Account // by name
	loader   *loader
	executor *executor
	recorder *recorder
}

// New makes a Runner.
func New(cfg Config) *Runner {
	cfg = withDefaults(cfg)
	cfg.Commands = verb.All()
	countFromZero(cfg)
	r := &Runner{cfg: &cfg, accounts: map[string]*config.Account{}, recorder: newRecorder(&cfg)}
	for _, a := range cfg.Accounts {
		r.accounts[a.Name] = a
	}
	r.loader = &loader{cfg: &cfg, accounts: r.accounts}
	r.executor = &executor{cfg: &cfg, loader: r.loader, recorder: r.recorder}
	return r
}

// countFromZero has the failures of changes counted from 0: what begins with the first one looks to Prometheus as if
// there had been none.
func countFromZero(cfg Config) {
	for _, c := range cfg.Commands {
		if c.Plan == nil {
			continue
		}
		for _, outcome := range []string{string(record.StateFailed), string(record.StateHalf), unknownOutcome} {
			cfg.Changes.WithLabelValues(c.Name, outcome)
		}
	}
}

// unknownOutcome is that of a change in the audit log that was perhaps done.
const unknownOutcome = "unknown"

// withDefaults fills in what may be left out.
func withDefaults(cfg Config) Config {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Changes = cmp.Or(cfg.Changes, metrics.New().Changes)
	cfg.Zone = cmp.Or(cfg.Zone, time.UTC)
	cfg.AuditOut = cmp.Or(cfg.AuditOut, io.Discard)
	if cfg.Sleep == nil {
		cfg.Sleep = delay.Sleep
	}
	if cfg.Rebuilds == nil {
		cfg.Rebuilds = func(string) bool { return true }
	}
	cfg.Watch = cmp.Or[Watch](cfg.Watch, absent{})
	if cfg.Health == nil {
		cfg.Health = func(string) (call.PollHealth, bool) { return call.PollHealth{}, false }
	}
	if cfg.CardLinks == nil {
		cfg.CardLinks = func(context.Context, string, []string) map[string]string { return nil }
	}
	cfg.Notifier = cmp.Or[Notifier](cfg.Notifier, absent{})
	return cfg
}
