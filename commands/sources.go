package commands

import (
	"context"
	"iter"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// Service is an account at the service; *apiclient.Client is both.
type Service struct {
	Lister
	Writer
}

// Lister lists what the service has. An interface because in tests it lists what the emulated service never does.
type Lister interface {
	Attacks(ctx context.Context, f apiclient.AttackFilter) iter.Seq2[apiclient.AttackPage, error]
	IPRules(ctx context.Context, list string) iter.Seq2[apiclient.IPRule, error]
	Rules(ctx context.Context, condition int64) iter.Seq2[apiclient.Rule, error]
	ConditionSets(ctx context.Context) iter.Seq2[apiclient.ConditionSet, error]
	Vulnerabilities(ctx context.Context, active bool) iter.Seq2[apiclient.Vulnerability, error]
}

// Writer changes an account, and reads its figures. An interface because in tests it answers what the emulated service
// never does.
type Writer interface {
	AttackDays(ctx context.Context, hours int) (apiclient.AttackDays, error)
	AddIPRule(ctx context.Context, r apiclient.IPRule, force bool) (apiclient.IPRule, error)
	DeleteIPRules(ctx context.Context, ids ...int64) error
	CreateRule(ctx context.Context, r apiclient.Rule) (apiclient.Rule, error)
	DeleteRule(ctx context.Context, id int64) error
}

// Clocks say what time it is, however wrong the machine's own clock is; *clock.Clocks are some. An interface because
// tests set the clocks of the service and of the replicas, and make one of them unknown.
type Clocks interface {
	// Now is the time by the clock that all replicas share: by it requests age.
	Now() time.Time
	// ServiceNow is the time by the clock of an account's service: by it what is made for a time begins and ends.
	ServiceNow(account string) time.Time
	// Known reports whether an account's service has said the time: as long as it hasn't, nothing may be ended.
	Known(account string) bool
}

// now is the time by the clock of an account's service.
func (cfg *Config) now(account string) time.Time { return cfg.Clocks.ServiceNow(account) }

// tellTime sets what time it is for a call, on each account that it is about, and when it was asked, by the clock of
// its account's service. It returns the time by the clock that the replicas share.
func (cfg *Config) tellTime(c *call.Call) (now time.Time) {
	now = cfg.Clocks.Now()
	c.Now, c.Asked, c.Times = now, c.At, map[string]time.Time{}
	cfg.correctTime(c, now)
	return now
}

// clockSet is more than a service's clock becomes known better by one answer: it counts in seconds.
const clockSet = 2 * time.Second

// correctTime tells the same time again on accounts whose clock was not told yet, or was set since by a call to the
// service, and reports whether there are any. Else it stays as it is: what is read may be named by it.
func (cfg *Config) correctTime(c *call.Call, now time.Time) (corrected bool) {
	for _, a := range append([]*config.Account{c.Account}, c.InScope...) {
		if a == nil {
			continue
		}
		at := cfg.onService(a.Name, now)
		if at.Sub(c.Times[a.Name]).Abs() <= clockSet {
			continue
		}
		c.Times[a.Name], corrected = at, true
		if a == c.Account {
			c.Now = at
			if !c.At.IsZero() {
				c.Asked = at.Add(c.At.Sub(now))
			}
		}
	}
	return corrected
}

// onService is a moment on the clock that the replicas share by the clock of an account's service, as far as that is
// known now.
func (cfg *Config) onService(account string, at time.Time) time.Time {
	return cfg.now(account).Add(-cfg.Clocks.Now().Sub(at))
}

// Members knows the people of the Slack workspace. An interface because tests need strangers, guests and unknown
// people, who would otherwise take a workspace each.
type Members interface {
	// Member returns the user's name, the id of the workspace as whose user he is known, "" if he is of another one, and
	// whether he is a full member there (no guest, no stranger, no bot, not deactivated). After an error they are what was
	// last known: full is false if nothing was.
	Member(ctx context.Context, team, user string) (name, workspace string, full bool, err error)
	// Groups are those of the user groups that the user is in. After an error they are what was last known, which may be
	// over.
	Groups(ctx context.Context, user string, of []string) (in []string, err error)
}

// Notifier learns what was stored, so that the replica that owns the account posts and redraws at once. Another
// replica's notifier finds it in the store within a second.
type Notifier interface {
	// Notify says that events were put into the outbox.
	Notify(account string, events []record.Event)
	// Redraw says that cards are stale because a person acted.
	Redraw(account string)
}
