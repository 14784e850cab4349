package doctor

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/nearest"
	"github.com/wafbot/wafbot/internal/text"
)

// unknownAccount says that there is no account of a name, and which one was probably meant.
func (c checkup) unknownAccount(name string) Finding {
	f := wrong("the configuration has no such account", "write one of the names that wafbot config show lists")
	if meant := nearest.Word(name, c.names(), len(name)/3+1); meant != "" {
		f.Fix = fmt.Sprintf("did you mean %s?", meant)
	}
	return f.of("account", name)
}

// accounts checks all accounts.
func (c checkup) accounts(ctx context.Context) []Finding {
	var all []func() []Finding
	for i := range c.cfg.Accounts {
		all = append(all, func() []Finding { return c.account(ctx, i) })
	}
	return together(all...)
}

// account checks whose token an account has, and what it can read.
func (c checkup) account(ctx context.Context, i int) []Finding {
	a := c.cfg.Accounts[i]
	api, err := apiclient.New(apiclient.Config{
		BaseURL: a.APIURL, Token: a.Token, TokenFile: a.TokenFile, ClientID: a.ClientID,
		HTTP: &http.Client{Timeout: c.patience}, Tries: 1, Clock: c.clocks.Service(a.Name), // a second try would hide faults
	})
	if err != nil {
		return []Finding{{"account", a.Name, Wrong, err.Error(), "fix " + config.Element("accounts", i)}}
	}
	begun := time.Now()
	user, err := api.User(ctx)
	if err != nil {
		return []Finding{
			c.accountTrouble(err, i, "read its own user").of("account", a.Name),
			{"account", a.Name, Note, "what else the token may do was not checked: its owner comes first", ""},
		}
	}
	found := []Finding{c.owner(i, user)}
	found = append(found, tookLong("account", a.Name+" (POST /v1/user)", time.Since(begun))...)
	found = append(found, c.reads(ctx, i, api)...)
	return append(found, Finding{"account", a.Name, Note, "can change: unknown until the first change is made, for doctor makes none", ""})
}

// owner compares the token's owner with what is configured.
func (c checkup) owner(i int, user apiclient.User) Finding {
	a := c.cfg.Accounts[i]
	f := Finding{"account", a.Name, OK, fmt.Sprintf("the token is of client %d %s", user.ClientID, user.ClientName), ""}
	switch {
	case !user.Enabled:
		f.State, f.Text, f.Fix = Wrong, fmt.Sprintf("the token's user is disabled, at client %d %s", user.ClientID, user.ClientName), "enable the user in the service's console, or make a token of another one"
	case a.ClientID != 0 && user.ClientID != 0 && a.ClientID != user.ClientID:
		f.State, f.Fix = Wrong, fmt.Sprintf("write client_id: %d, or the token of client %d", user.ClientID, a.ClientID)
		f.Text += fmt.Sprintf(", but %s.client_id is %d", config.Element("accounts", i), a.ClientID)
	}
	return f
}

// need is one thing that the bot must be able to read.
type need struct {
	what, endpoint string
	first          func() error // one call
}

// reads makes one call for each thing that the bot must be able to read.
func (c checkup) reads(ctx context.Context, i int, api *apiclient.Client) []Finding {
	a := c.cfg.Accounts[i]
	var latest apiclient.AttackPage
	all := []need{
		{"attacks", "POST /v1/objects/attack", func() (err error) {
			latest, err = latestAttacks(ctx, api, c.clocks.ServiceNow(a.Name))
			return err
		}},
		{"vulnerabilities", "POST /v1/objects/vuln", func() error { return firstOf(api.Vulnerabilities(ctx, apiclient.VulnFilter{})) }},
		{"IP lists", "GET /v4/ip_rules", func() error { return firstOf(api.IPRules(ctx, apiclient.IPRuleFilter{})) }},
		{"rules", "POST /v1/objects/hint", func() error { return firstOf(api.Rules(ctx, apiclient.RuleFilter{})) }},
		{"conditions", "POST /v1/objects/action", func() error { return firstOf(api.ConditionSets(ctx)) }},
	}
	found := sideBySide(all, func(r need) []Finding {
		subject := fmt.Sprintf("%s (%s)", a.Name, r.endpoint)
		begun := time.Now()
		if err := r.first(); err != nil {
			return []Finding{c.accountTrouble(err, i, "read "+r.what).of("account", subject)}
		}
		return append([]Finding{{"account", subject, OK, "may read " + r.what, ""}}, tookLong("account", subject, time.Since(begun))...)
	})
	if off, known := c.clocks.Offsets().Services[a.Name]; known {
		found = append(found, clockApart("account", a.Name, off))
	}
	return slices.Concat(found, c.applications(a, latest.Attacks))
}

// firstOf reads the first page of a listing: one call.
func firstOf[T any](listing iter.Seq2[T, error]) error {
	for _, err := range listing {
		return err
	}
	return nil
}

// The attacks whose applications are compared with the configured ones.
const (
	seenWithin = 24 * time.Hour
	seenOf     = 1000 // the latest ones at most
)

// latestAttacks reads the latest attacks with one call.
func latestAttacks(ctx context.Context, api *apiclient.Client, now time.Time) (apiclient.AttackPage, error) {
	for page, err := range api.Attacks(ctx, apiclient.AttackFilter{From: now.Add(-seenWithin), PageSize: seenOf}) {
		return page, err
	}
	return apiclient.AttackPage{}, nil
}

// clockApart compares a clock with this machine's, by how far it is ahead. Ends are reckoned by the service's clock,
// and ages by Redis'.
func clockApart(check, subject string, off time.Duration) Finding {
	if off.Abs() <= clock.Tolerance {
		return Finding{check, subject, OK, "its clock agrees with this machine's within " + text.Duration(clock.Tolerance), ""}
	}
	return Finding{check, subject, Warn, "its clock is off this machine's by " + text.Duration(off.Abs().Round(time.Second)), "set this machine's clock, or that one (NTP)"}
}

// applications compares the ids seen in attacks with those that have a name.
func (c checkup) applications(a config.Account, attacks []apiclient.Attack) []Finding {
	hits := map[int]int{}
	for _, attack := range attacks {
		if attack.App.Known {
			hits[int(attack.App.N)]++
		}
	}
	var unnamed, unseen []string
	for _, id := range slices.Sorted(maps.Keys(hits)) {
		if a.Applications[id].Name == "" {
			unnamed = append(unnamed, fmt.Sprintf("%d (%d)", id, hits[id]))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.Applications)) {
		if hits[id] == 0 {
			unseen = append(unseen, strings.TrimSpace(fmt.Sprintf("%d %s", id, a.Applications[id].Name)))
		}
	}
	var found []Finding
	if len(unnamed) > 0 {
		found = append(found, Finding{"account", a.Name, Note, "applications without a name, with their attacks of the last 24 h: " + strings.Join(unnamed, ", "), "name them in the configuration file, in the account's applications: cards show the name"})
	}
	if len(unseen) > 0 {
		found = append(found, Finding{"account", a.Name, Note, "applications with a name, but without an attack in the last 24 h: " + strings.Join(unseen, ", "), "check their ids if you expected attacks there"})
	}
	return found
}
