package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/store/address"
	"github.com/wafbot/wafbot/internal/text"
	"github.com/wafbot/wafbot/internal/version"
)

// configProblems are the findings of a refused configuration: one for each problem.
func configProblems(err error) (found findings) {
	bad, ok := errors.AsType[*config.Error](err)
	if !ok {
		return findings{{"config", "", Wrong, err.Error(), "fix the path: --config FILE, or WAFBOT_CONFIG"}}
	}
	for _, p := range bad.Problems {
		said, fix := p.Text, ""
		if i := strings.LastIndex(said, "; "); i >= 0 {
			said, fix = said[:i], said[i+len("; "):]
		}
		found.add("config", p.At.String(), Wrong, cmp.Or(p.Variable, p.Key)+": "+said, fix)
	}
	return found
}

// config checks the configuration itself: what serve needs, and what is allowed but perhaps not meant.
func (c checkup) config(context.Context) (found findings) {
	found.add("version", "", OK, version.Get().String(), "")
	if err := c.CheckServe(); err != nil {
		found = append(found, configProblems(err)...)
	} else {
		found.add("config", c.File(), OK, fmt.Sprintf("read, accounts: %d", len(c.Accounts)), "")
	}
	common, own := c.policy("policy", c.Policy, c.Sources), 0
	for i := range c.Accounts {
		t := tenant{c, &c.Accounts[i], config.Element("accounts", i)}
		found = append(found, t.settings()...)
		key := t.key + ".policy"
		if !c.IsSet(key) {
			continue
		}
		own++
		p := c.PolicyOf(i)
		of := c.policy(key, p, slices.Concat(c.Sources, t.Sources))
		if c.IsSet(key+".changes") && p.Changes != t.Account.Policy.Changes {
			of[0].State, of[0].Fix = Warn, "policy.changes is stricter than "+key+".changes, and holds"
		}
		found = append(found, of...)
	}
	if own > 0 && own == len(c.Accounts) {
		common = common[:1] // no account goes by the rest
	}
	return slices.Concat(found, common, c.exposed())
}

// settings checks what an account says: finds quiet hours that are perhaps not meant (in a time zone that wasn't
// chosen, or for most of the day) and routes that no attack can reach, as an earlier one takes everything they match.
// It lists the routes that call a pager.
func (t tenant) settings() (found findings) {
	if hours, at := t.Quiet.Hours, t.key+".quiet.hours"; hours != "" {
		if !t.IsSet("timezone") {
			found.warn(at, hours+" are hours of UTC", "set timezone to where people sleep")
		}
		if from, to := t.Quiet.Span(); (to-from+24*60)%(24*60) > 12*60 {
			found.warn(at, hours+" are most of the day", "perhaps the two were swapped")
		}
	}
	list := t.key + ".routes"
	for i, r := range t.Routes {
		route := config.Element(list, i)
		earlier := slices.IndexFunc(t.Routes[:i], func(e config.Route) bool { return covers(t.Account, e.Match, r.Match) })
		if earlier >= 0 {
			found.add("route", route, Warn, "takes nothing: "+config.Element(list, earlier)+" takes all that it would",
				"put it before that one, or take it out")
		}
		if r.Page == nil {
			continue
		}
		key := route + ".page"
		found.add("route", key, OK, fmt.Sprintf("calls a pager (%s) when an attack is unacknowledged for %s; not tried",
			r.Page.Kind, text.Duration(r.Page.After)), "")
		if unencrypted(r.Page.URL.Reveal()) != "" && r.Page.Kind != pager.Alertmanager {
			found.warn(key, "the pager's address, which is its key, goes over the network unencrypted", "write https://")
		}
	}
	return found
}

// policy checks one policy, which stands under a key. The first finding is what may be changed.
func (c checkup) policy(key string, p config.Policy, sources []config.Source) (found findings) {
	found.add("config", key+".changes", OK, policy.Policy{Policy: p}.Describe(), "")
	if p.Changes != config.ChangesOn {
		found[0].State, found[0].Fix = Note, "set policy.changes to on when you trust it"
	} else if len(sources) == 0 {
		found.warn("sources", "no address is protected from being denied by mistake",
			"name your own CDN, offices and health checks")
	}
	responders, admins := key+".responders", key+".admins"
	switch {
	case len(p.Admins) == 0 && len(p.Responders) == 0:
		found.warn(responders, "no user may change anything from Slack",
			"write the ids of those on call into "+responders+", and of at least one admin into "+admins)
	case len(p.Admins) == 0:
		found.warn(admins, "no user may do what takes an admin, such as allow, or a milder mode",
			"write the ids of at least one admin")
	}
	everyone := func(at string, ids []string) {
		if slices.Contains(ids, "*") {
			found.warn(at, "everyone in the workspace may change the protection", "write the ids of those on call instead of *")
		}
	}
	everyone(responders, p.Responders)
	everyone(admins, p.Admins)
	return found
}

// exposed finds secrets and data that go over the network unencrypted, and files with secrets that every user of this
// machine can read.
func (c checkup) exposed() (found findings) {
	web := func(key, address string) {
		if host := unencrypted(address); host != "" {
			found.warn(key, "the token goes to "+host+" unencrypted", "write https://")
		}
	}
	for key, a := range c.ByKey() {
		web(key+".api_url", a.APIURL)
	}
	web("slack.api_url", c.Slack.APIURL)
	if a, err := address.Parse(c.Redis.Address()); err == nil && a.TLS == nil && slices.ContainsFunc(a.Hosts, public) {
		said := "what wafbot stores goes to " + strings.Join(a.Hosts, ",") + " unencrypted"
		if a.Login.Password != "" {
			said += ", and so does the password"
		}
		found.warn(c.SecretKey("redis.url"), said, "write rediss://, redis-clusters:// or redis-sentinels://, or keep others off that network")
	}
	if public(c.Listen) && c.Slack.SigningSecret == "" {
		found.warn("listen", "health and metrics can be read by others on the network, and Slack sends nothing there",
			"write 127.0.0.1:8080, unless probes come from elsewhere")
	}
	const byOthers fs.FileMode = 0o004
	for _, s := range c.SecretFiles() {
		if info, err := os.Stat(s.Path); err == nil && info.Mode()&byOthers != 0 {
			found.warn(s.Key, "every user of this machine can read "+s.Path, "chmod o-r "+s.Path)
		}
	}
	return found
}

// unencrypted is the host that an address sends to over a network in plain text; "": none.
func unencrypted(address string) string {
	if u, err := url.Parse(address); err == nil && u.Scheme == "http" && !config.IsLoopback(u.Hostname()) {
		return u.Host
	}
	return ""
}

// public reports whether HOST:PORT isn't on this machine alone.
func public(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	return !config.IsLoopback(host)
}

// covers reports whether m matches everything that other matches.
func covers(a *config.Account, m, other config.Match) bool {
	if kind := m.OnlyKind(); kind != "" && kind != other.OnlyKind() || m.MinHits > other.MinHits {
		return false
	}
	return includes(m.Type, other.Type, strings.ToLower) && includes(m.Application, other.Application, a.ApplicationID) &&
		includes(m.Host, other.Host, strings.ToLower) && includes(m.Status, other.Status, strings.ToLower) &&
		includes(m.Severity, other.Severity, strings.ToLower)
}

// includes reports whether words has all the others, by what they mean. None at all stand for every word.
func includes[T comparable](words, others []string, means func(string) T) bool {
	had := map[T]bool{}
	for _, word := range words {
		had[means(word)] = true
	}
	outside := func(other string) bool { return !had[means(other)] }
	return len(words) == 0 || len(others) > 0 && !slices.ContainsFunc(others, outside)
}
