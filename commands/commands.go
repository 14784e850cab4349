// Package commands is what wafbot can do, whoever asks: one file a command, and one door, Runner.Do.
package commands

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Config is what a Runner works with. Accounts, Members, Ledger, Facts, Scenes, Records, Desk, Storms, Ties, Requests, Audit, Drills and Explain must be set.
type Config struct {
	Accounts    []*call.Account
	Services    map[string]Service // of the accounts, by name
	Policy      policy.Policy
	Roles       policy.Roles
	Members     Members
	Ledger      Ledger
	Attacks     KnownAttacks
	Contexts    AccountContexts
	History     AttackHistory
	Triage      TriageStore
	Storms      Storms
	Permissions PermissionLosses
	Approvals   Approvals
	Watch       Watch // nil: nothing is known of what goes on
	Audit       AuditLog
	Drills      Drills
	// AuditKeep is how long audit entries are kept, for their check; 0: not known.
	AuditKeep time.Duration
	AuditOut  io.Writer                                    // each audit entry as a JSON line; nil: nowhere
	Log       *slog.Logger                                 // nil: discarded
	Now       func() time.Time                             // nil: time.Now
	Zone      *time.Location                               // of the times in a report; nil: UTC
	ReadBack  [2]time.Duration                             // how long after a create of unknown outcome the rules are read back, twice; zero: 5 s and 30 s
	Notifier  Notifier                                     // nil: no one is notified
	Health    func(account string) (call.PollHealth, bool) // how polling goes, where it goes on in this process; nil: not known
	// CardLinks are where the cards of attacks can be opened, by attack, as far as they have one and that is known. It may be nil.
	CardLinks func(ctx context.Context, account string, attacks []string) map[string]string
	// Explain tells where an attack goes. After an error only what the configuration tells is known.
	Explain func(ctx context.Context, account string, a apiclient.Attack) (call.Routing, error)
}

// Runner is the one door: every line, button and command of the terminal goes through Do.
type Runner struct {
	cfg   Config
	setup call.Setup
}

// New makes a Runner.
func New(cfg Config) *Runner {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	if cfg.AuditOut == nil {
		cfg.AuditOut = io.Discard
	}
	if cfg.ReadBack == [2]time.Duration{} {
		cfg.ReadBack = [2]time.Duration{5 * time.Second, 30 * time.Second}
	}
	if cfg.Watch == nil {
		cfg.Watch = unwatched{}
	}
	if cfg.Notifier == nil {
		cfg.Notifier = silent{}
	}
	return &Runner{cfg: cfg, setup: call.Setup{
		Policy: cfg.Policy, Roles: cfg.Roles, Zone: cfg.Zone, AuditKeep: cfg.AuditKeep, Accounts: cfg.Accounts, Commands: verb.All(),
	}}
}

// pastAttacks is the attack with that whole id, of which nothing but its evidence is left.
func (r *Runner) pastAttacks(ctx context.Context, a *call.Account, typed string) ([]record.KnownAttack, error) {
	id := record.FoldID(typed)
	e, ok, err := r.cfg.History.Evidence(ctx, a.Name, id)
	if err != nil {
		r.cfg.Log.Warn("read evidence", "account", a.Name, "err", err)
		return nil, &refusal.Refusal{Kind: refusal.ErrAway, Cause: err, Text: text.New("wafbot's store (Redis) can't be reached, and what is known of past attacks is in it. Try again in a moment")}
	}
	if !ok {
		return nil, nil
	}
	attack, _ := report.EvidenceLast(e)
	return []record.KnownAttack{{ID: id, Attack: attack}}, nil
}
