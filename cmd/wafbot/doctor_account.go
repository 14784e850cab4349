package main

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
	"github.com/wafbot/wafbot/internal/text"
)

// clockOff is how far the service's clock may be from this machine's.
const clockOff = 30 * time.Second

// account looks whose token an account has, and what it may read.
func (c checkup) account(ctx context.Context, i int) []finding {
	a := c.cfg.Accounts[i]
	api, err := apiclient.New(apiclient.Config{
		BaseURL: a.APIURL, Token: a.Token, TokenFile: a.TokenFile, ClientID: a.ClientID,
		HTTP: &http.Client{Timeout: c.patience}, Tries: 1, // what a second try would hide is what doctor is for
	})
	if err != nil {
		return []finding{{"account", a.Name, wrong, err.Error(), "mend " + element("accounts", i)}}
	}
	begun := time.Now()
	user, err := api.User(ctx)
	if err != nil {
		return []finding{
			c.accountTrouble(err, i, "read its own user").finding("account", a.Name),
			{"account", a.Name, note, "what else the token may do was not looked at: whose it is comes first", ""},
		}
	}
	found := []finding{c.owner(i, user)}
	found = append(found, tookLong("account", a.Name+" (POST /v1/user)", time.Since(begun))...)
	found = append(found, c.reads(ctx, i, api)...)
	return append(found, finding{"account", a.Name, note, "can change: unknown until the first change is made, for doctor makes none", ""})
}

// owner compares the token's owner with what is configured.
func (c checkup) owner(i int, user apiclient.User) finding {
	a := c.cfg.Accounts[i]
	f := finding{"account", a.Name, good, fmt.Sprintf("the token is of client %d %s", user.ClientID, user.ClientName), ""}
	switch {
	case !user.Enabled:
		f.State, f.Text, f.Mend = wrong, fmt.Sprintf("the token's user is disabled, at client %d %s", user.ClientID, user.ClientName), "enable the user in the service's console, or make a token of another one"
	case a.ClientID != 0 && user.ClientID != 0 && a.ClientID != user.ClientID:
		f.State, f.Mend = wrong, fmt.Sprintf("write client_id: %d, or the token of client %d", user.ClientID, a.ClientID)
		f.Text += fmt.Sprintf(", but %s.client_id is %d", element("accounts", i), a.ClientID)
	}
	return f
}

// reading is one thing that the bot must be able to read.
type reading struct {
	what, endpoint string
	first          func() error // makes one call
}

// reads makes one call for each thing that the bot must be able to read.
func (c checkup) reads(ctx context.Context, i int, api *apiclient.Client) []finding {
	a := c.cfg.Accounts[i]
	var latest apiclient.AttackPage
	all := []reading{
		{"attacks", "POST /v1/objects/attack", func() (err error) {
			latest, err = latestAttacks(ctx, api)
			return err
		}},
		{"vulnerabilities", "POST /v1/objects/vuln", func() error { return firstOf(api.Vulnerabilities(ctx, apiclient.VulnFilter{})) }},
		{"IP lists", "GET /v4/ip_rules", func() error { return firstOf(api.IPRules(ctx, apiclient.IPRuleFilter{})) }},
		{"rules", "POST /v1/objects/hint", func() error { return firstOf(api.Rules(ctx, apiclient.RuleFilter{})) }},
		{"conditions", "POST /v1/objects/action", func() error { return firstOf(api.ConditionSets(ctx)) }},
	}
	found := sideBySide(all, func(r reading) []finding {
		subject := fmt.Sprintf("%s (%s)", a.Name, r.endpoint)
		begun := time.Now()
		if err := r.first(); err != nil {
			return []finding{c.accountTrouble(err, i, "read "+r.what).finding("account", subject)}
		}
		return append([]finding{{"account", subject, good, "may read " + r.what, ""}}, tookLong("account", subject, time.Since(begun))...)
	})
	return slices.Concat(found, clock(a.Name, latest.ServerTime), c.applications(a, latest.Attacks))
}

// firstOf reads only the beginning of a listing, which is one call.
func firstOf[T any](listing iter.Seq2[T, error]) error {
	for _, err := range listing {
		return err
	}
	return nil
}

// seenWithin and seenOf say of which attacks doctor knows the applications.
const (
	seenWithin = 24 * time.Hour
	seenOf     = 1000
)

// latestAttacks reads the latest attacks with one call.
func latestAttacks(ctx context.Context, api *apiclient.Client) (apiclient.AttackPage, error) {
	for page, err := range api.Attacks(ctx, apiclient.AttackFilter{From: time.Now().Add(-seenWithin), PageSize: seenOf}) {
		return page, err
	}
	return apiclient.AttackPage{}, nil
}

// clock compares the service's clock with this machine's: what is over and what expires is reckoned by the service's.
func clock(account string, server time.Time) []finding {
	if server.IsZero() {
		return nil
	}
	off := time.Until(server).Round(time.Second)
	if off.Abs() <= clockOff {
		return []finding{{"account", account, good, "its clock agrees with this machine's within " + text.HumanDuration(clockOff), ""}}
	}
	return []finding{{"account", account, warn, "its clock is off this machine's by " + text.HumanDuration(off.Abs()), "set this machine's clock (NTP)"}}
}

// applications compares the ids seen in attacks with those that have a name.
func (c checkup) applications(a Account, attacks []apiclient.Attack) []finding {
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
	var found []finding
	if len(unnamed) > 0 {
		found = append(found, finding{"account", a.Name, note, "applications without a name, with their attacks of the last 24 h: " + strings.Join(unnamed, ", "), "name them in the configuration file, in the account's applications: cards show the name"})
	}
	if len(unseen) > 0 {
		found = append(found, finding{"account", a.Name, note, "applications with a name, but without an attack in the last 24 h: " + strings.Join(unseen, ", "), "check their ids, if that surprises you"})
	}
	return found
}
