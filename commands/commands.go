// Package commands carries out what people and the clock ask of wafbot, through one door: Runner.Do.
package commands

import (
	"context"
	"io"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// Config is what a Runner works with. All fields must be set.
type Config struct {
	call.Setup                    // but for the commands: New sets them
	Services   map[string]Service // of the accounts, by name
	Members    Members

	Store *store.Store
	// Rebuilds reports whether what Redis lost of an account is rebuilt from its channel: nothing is changed before.
	Rebuilds func(account string) bool

	// StillTrying reports whether one of these denied addresses still tries, and GoesOn whether an attack does, by its id:
	// as the replica sees it that owns the account. Elsewhere nothing is known.
	StillTrying func(account string, addresses []netip.Addr) bool
	GoesOn      func(account, attack string) bool
	// Changed says that an account was changed, so that what was read of it is read again.
	Changed func(account string)
	// Health is how polling an account goes by what this process, or else the store, knows.
	Health func(account string) (h record.PollHealth, ok bool)
	// CardLinks are where the cards of attacks can be opened, by attack, as far as they have one and that is known. It may
	// give nil.
	CardLinks func(ctx context.Context, account string, attacks []string) map[string]string
	// Routing is where an attack goes. After an error only what the configuration says is known.
	Routing  func(ctx context.Context, account string, a apiclient.Attack) (call.Routing, error)
	Notifier Notifier

	Changes  *prometheus.CounterVec // audit entries by verb and outcome
	AuditOut io.Writer              // each audit entry as a JSON line
	Log      *slog.Logger
	Clocks   Clocks
	// Sleep waits between two looks at what became of a call of unknown outcome, or returns the context's error.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Runner runs every line, button and command of the terminal: all go through Do. It alone loads facts, claims
// what a change touches, changes the service and the store, and records.
type Runner struct{ *executor }

// New makes a Runner.
func New(cfg Config) *Runner {
	cfg.Commands = verb.All()
	countFromZero(cfg)
	accounts := map[string]*config.Account{}
	for _, a := range cfg.Accounts {
		accounts[a.Name] = a
	}
	return &Runner{&executor{Config: &cfg, accounts: accounts}}
}

// countFromZero starts the counters of failed changes at 0. Prometheus doesn't see the first failure of a counter that
// begins with it.
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
