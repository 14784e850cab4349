package doctor

import (
	"cmp"
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
func configProblems(err error) []Finding {
	var bad *config.Error
	if !errors.As(err, &bad) {
		return []Finding{{"config", "", Wrong, err.Error(), "fix the path: --config FILE, or WAFBOT_CONFIG"}}
	}
	var found []Finding
	for _, p := range bad.Problems {
		text, fix := p.Text, ""
		if i := strings.LastIndex(text, "; "); i >= 0 {
			text, fix = text[:i], text[i+len("; "):]
		}
		found = append(found, Finding{"config", p.At.String(), Wrong, cmp.Or(p.Variable, p.Key) + ": " + text, fix})
	}
	return found
}

// config checks the configuration itself: what serve needs, and what is allowed but perhaps not meant.
func (c checkup) config() []Finding {
	found := []Finding{{"version", "", OK, version.Get().String(), ""}, {"config", c.cfg.File(), OK, fmt.Sprintf("read, accounts: %d", len(c.cfg.Accounts)), ""}}
	if err := c.cfg.CheckServe(); err != nil {
		found = append(found[:1], configProblems(err)...)
	}
	return slices.Concat(found, c.policies(), c.plainText(), c.secrets(), c.deadRoutes(), c.pages(), c.quietHours())
}

// quietHours finds quiet hours that are perhaps not meant: in a time zone that wasn't chosen, or for most of the day.
func (c checkup) quietHours() (found []Finding) {
	for i, a := range c.cfg.Accounts {
		at := config.Element("accounts", i) + ".quiet.hours"
		if a.Quiet.Hours == "" {
			continue
		}
		if !c.cfg.IsSet("timezone") {
			found = append(found, Finding{"config", at, Warn, a.Quiet.Hours + " are hours of UTC", "set timezone to where people sleep"})
		}
		if from, to := a.Quiet.Span(); (to-from+24*60)%(24*60) > 12*60 {
			found = append(found, Finding{"config", at, Warn, a.Quiet.Hours + " are most of the day", "perhaps the two were swapped"})
		}
	}
	return found
}

// policies checks who may change what: of the accounts without a policy of their own at once, and of each other one.
func (c checkup) policies() []Finding {
	common, own := c.policy("policy", c.cfg.Policy, c.cfg.Sources), []Finding{}
	all := len(c.cfg.Accounts) > 0
	for i, a := range c.cfg.Accounts {
		key := config.Element("accounts", i) + ".policy"
		if !c.cfg.IsSet(key) {
			all = false
			continue
		}
		p := c.cfg.PolicyOf(i)
		found := c.policy(key, p, slices.Concat(c.cfg.Sources, a.Sources))
		if c.cfg.IsSet(key+".changes") && p.Changes != a.Policy.Changes {
			found[0].State, found[0].Fix = Warn, "policy.changes is stricter than "+key+".changes, and holds"
		}
		own = append(own, found...)
	}
	if all {
		common = common[:1]
	}
	return append(common, own...)
}

// policy checks one policy, which stands under a key. The first finding is what may be changed.
func (c checkup) policy(key string, p config.Policy, sources []config.Source) []Finding {
	changes := Finding{"config", key + ".changes", OK, policy.Policy{Policy: p}.Describe(), ""}
	if p.Changes != "on" {
		changes.State, changes.Fix = Note, "set policy.changes to on when you trust it"
	}
	found := []Finding{changes}
	add := func(key, text, fix string) { found = append(found, Finding{"config", key, Warn, text, fix}) }
	if p.Changes == "on" && len(sources) == 0 {
		add("sources", "no address is protected from being denied by mistake", "name your own CDN, offices and health checks")
	}
	responders, admins := key+".responders", key+".admins"
	switch {
	case len(p.Admins) == 0 && len(p.Responders) == 0:
		add(responders, "no user may change anything from Slack", "write the ids of those on call into "+responders+", and of at least one admin into "+admins)
	case len(p.Admins) == 0:
		add(admins, "no user may do what takes an admin, such as allow, or a milder mode", "write the ids of at least one admin")
	}
	const everyone, instead = "everyone in the workspace may change the protection", "write the ids of those on call instead of *"
	if slices.Contains(p.Responders, "*") {
		add(responders, everyone, instead)
	}
	if slices.Contains(p.Admins, "*") {
		add(admins, everyone, instead)
	}
	return found
}

// plainText finds secrets and data that go over the network unencrypted.
func (c checkup) plainText() []Finding {
	var found []Finding
	web := func(key, address string) {
		if host := unencrypted(address); host != "" {
			found = append(found, Finding{"config", key, Warn, "the token goes to " + host + " unencrypted", "write https://"})
		}
	}
	for i, a := range c.cfg.Accounts {
		web(config.Element("accounts", i)+".api_url", a.APIURL)
	}
	web("slack.api_url", c.cfg.Slack.APIURL)
	if a, err := address.Parse(c.cfg.Redis.Address()); err == nil && a.TLS == nil && !allLoopback(a.Hosts) {
		said := "what wafbot stores goes to " + strings.Join(a.Hosts, ",") + " unencrypted"
		if a.Login.Password != "" {
			said += ", and so does the password"
		}
		found = append(found, Finding{"config", c.cfg.SecretKey("redis.url"), Warn, said, "write rediss://, redis-clusters:// or redis-sentinels://, or keep others off that network"})
	}
	if host, _, err := net.SplitHostPort(c.cfg.Listen); err == nil && !config.IsLoopback(host) && c.cfg.Slack.SigningSecret == "" {
		found = append(found, Finding{"config", "listen", Warn, "health and metrics can be read by others on the network, and Slack sends nothing there", "write 127.0.0.1:8080, unless probes come from elsewhere"})
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

// allLoopback reports whether all of HOST:PORT are this machine.
func allLoopback(hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(one string) bool {
		host, _, _ := net.SplitHostPort(one)
		return !config.IsLoopback(host)
	})
}

// secrets finds files with secrets that every user of this machine can read.
func (c checkup) secrets() []Finding {
	const byOthers fs.FileMode = 0o004
	var found []Finding
	for _, s := range c.cfg.SecretFiles() {
		if info, err := os.Stat(s.Path); err == nil && info.Mode()&byOthers != 0 {
			found = append(found, Finding{"config", s.Key, Warn, "every user of this machine can read " + s.Path, "chmod o-r " + s.Path})
		}
	}
	return found
}

// pages lists the routes that call a pager.
func (c checkup) pages() (found []Finding) {
	for route, r := range c.cfg.Routes() {
		if r.Page == nil {
			continue
		}
		key := route + ".page"
		found = append(found, Finding{"route", key, OK, fmt.Sprintf("calls a pager (%s) when an attack is unacknowledged for %s; not tried", r.Page.Kind, text.Duration(r.Page.After)), ""})
		if unencrypted(r.Page.URL.Reveal()) != "" && r.Page.Kind != pager.Alertmanager {
			found = append(found, Finding{"config", key, Warn, "the pager's address, which is its key, goes over the network unencrypted", "write https://"})
		}
	}
	return found
}

// deadRoutes finds routes that no attack can reach: an earlier one takes everything they match.
func (c checkup) deadRoutes() (found []Finding) {
	for i, a := range c.cfg.Accounts {
		key, routes := config.Element("accounts", i)+".routes", a.InForce()
		for j, route := range routes {
			earlier := slices.IndexFunc(routes[:j], func(r config.Route) bool { return covers(&a, r.Match, route.Match) })
			if earlier >= 0 {
				found = append(found, Finding{"route", config.Element(key, j), Warn, "takes nothing: " + config.Element(key, earlier) + " takes all that it would", "put it before that one, or take it out"})
			}
		}
	}
	return found
}

// covers reports whether m matches everything that other matches.
func covers(a *config.Account, m, other config.Match) bool {
	if kind := m.OnlyKind(); kind != "" && kind != other.OnlyKind() || m.MinHits > other.MinHits {
		return false
	}
	sameApp := func(one, two string) bool { return a.ApplicationID(one) == a.ApplicationID(two) }
	same := func(one, two string) bool { return one == two }
	return includes(m.Type, other.Type, same) && includes(m.Application, other.Application, sameApp) &&
		includes(m.Host, other.Host, strings.EqualFold) && includes(m.Status, other.Status, same) && includes(m.Severity, other.Severity, same)
}

// includes reports whether words has all the others. None at all stand for every word.
func includes(words, others []string, same func(one, two string) bool) bool {
	outside := func(other string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return same(word, other) })
	}
	return len(words) == 0 || len(others) > 0 && !slices.ContainsFunc(others, outside)
}
