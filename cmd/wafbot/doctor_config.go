package main

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

	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/text"
)

// configProblems are the findings of a configuration that is refused: one for each problem in it.
func configProblems(err error) []finding {
	var bad *configError
	if !errors.As(err, &bad) {
		return []finding{{"config", "", wrong, err.Error(), "mend the path: --config FILE, or WAFBOT_CONFIG"}}
	}
	var found []finding
	for _, p := range bad.problems {
		text, mend := p.text, ""
		if i := strings.LastIndex(text, "; "); i >= 0 {
			text, mend = text[:i], text[i+len("; "):]
		}
		found = append(found, finding{"config", p.at.String(), wrong, cmp.Or(p.variable, p.key) + ": " + text, mend})
	}
	return found
}

// config looks at what the configuration says: what is lacking to serve, and what is allowed but perhaps not meant.
func (c checkup) config() []finding {
	found := []finding{}
	if err := c.cfg.requireServe(); err != nil {
		found = configProblems(err)
	} else {
		found = append(found, finding{"config", c.cfg.origins.root.file, good, fmt.Sprintf("read, accounts: %d", len(c.cfg.Accounts)), ""})
	}
	found = append(found, c.policy()...)
	found = append(found, c.plainText()...)
	found = append(found, c.secrets()...)
	found = append(found, c.deadRoutes()...)
	found = append(found, c.pagers()...)
	return append(found, c.quietHours()...)
}

// quietHours looks for those that are hardly meant so: by a clock that nobody chose, or for most of the day.
func (c checkup) quietHours() (found []finding) {
	for i, a := range c.cfg.Accounts {
		at := element("accounts", i) + ".quiet.hours"
		if a.Quiet.Hours == "" {
			continue
		}
		if !c.cfg.origins.isSet("timezone") {
			found = append(found, finding{"config", at, warn, a.Quiet.Hours + " are hours of UTC", "set timezone to where people sleep"})
		}
		if q := a.Quiet.hours(nil); (q.To-q.From+24*60)%(24*60) > 12*60 {
			found = append(found, finding{"config", at, warn, a.Quiet.Hours + " are most of the day", "perhaps the two were swapped"})
		}
	}
	return found
}

// policy looks at who may change what.
func (c checkup) policy() []finding {
	p := c.cfg.Policy
	changes := finding{"config", "policy.changes", good, c.cfg.policy().Describe(), ""}
	if p.Changes != "on" {
		changes.State, changes.Mend = note, "set policy.changes to on when you trust it"
	}
	found := []finding{changes}
	add := func(key, text, mend string) { found = append(found, finding{"config", key, warn, text, mend}) }
	if p.Changes == "on" && len(c.cfg.Sources) == 0 {
		add("sources", "no address is protected from being denied by mistake", "name your own CDN, offices and health checks")
	}
	switch {
	case len(p.Admins) == 0 && len(p.Responders) == 0:
		add("policy.responders", "nobody may change anything from Slack", "write the ids of those on call into policy.responders, and of at least one admin into policy.admins")
	case len(p.Admins) == 0:
		add("policy.admins", "nobody may do what takes an admin, such as allow, or a milder mode", "write the ids of at least one admin")
	}
	const everyone, instead = "everyone in the workspace may change the protection", "write the ids of those on call instead of *"
	if slices.Contains(p.Responders, "*") {
		add("policy.responders", everyone, instead)
	}
	if slices.Contains(p.Admins, "*") {
		add("policy.admins", everyone, instead)
	}
	return found
}

// plainText looks for what others on the network can read along.
func (c checkup) plainText() []finding {
	var found []finding
	web := func(key, address string) {
		if u, err := url.Parse(address); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
			found = append(found, finding{"config", key, warn, "the token goes to " + u.Host + " unencrypted", "write https://"})
		}
	}
	for i, a := range c.cfg.Accounts {
		web(element("accounts", i)+".api_url", a.APIURL)
	}
	web("slack.api_url", c.cfg.Slack.APIURL)
	if u, err := url.Parse(c.cfg.Redis.URL.Reveal()); err == nil && u.Scheme != "rediss" && !allLoopback(u.Host) {
		found = append(found, finding{"config", c.cfg.redisKey(), warn, "what wafbot remembers goes to " + u.Host + " unencrypted", "write rediss://, or see to it that nobody else is on that network"})
	}
	if host, _, err := net.SplitHostPort(c.cfg.Listen); err == nil && !isLoopback(host) && c.cfg.Slack.SigningSecret == "" {
		found = append(found, finding{"config", "listen", warn, "health and metrics can be read by others on the network, and Slack sends nothing there", "write 127.0.0.1:8080, unless probes come from elsewhere"})
	}
	return found
}

// allLoopback tells whether all hosts of a list with commas are this machine.
func allLoopback(hosts string) bool {
	for host := range strings.SplitSeq(hosts, ",") {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !isLoopback(strings.Trim(host, "[]")) {
			return false
		}
	}
	return true
}

// secrets looks for files with secrets that every user of the machine can read.
func (c checkup) secrets() []finding {
	const byOthers fs.FileMode = 0o004
	var found []finding
	for _, s := range c.cfg.secretFiles() {
		if *s.file == "" {
			continue
		}
		if info, err := os.Stat(*s.file); err == nil && info.Mode()&byOthers != 0 {
			found = append(found, finding{"config", s.key + "_file", warn, "every user of this machine can read " + *s.file, "chmod o-r " + *s.file})
		}
	}
	return found
}

// pagers says which routes call one: that the address can be read has been seen, and nobody is called to try it.
func (c checkup) pagers() []finding {
	var found []finding
	for i, a := range c.cfg.Accounts {
		for j, r := range a.Routes {
			if r.Page == nil {
				continue
			}
			key := element(element("accounts", i)+".routes", j) + ".page"
			found = append(found, finding{"route", key, good, fmt.Sprintf("calls a pager (%s) when nobody is on it for %s; not tried", r.Page.Format, text.HumanDuration(r.Page.After)), ""})
			if u, err := url.Parse(r.Page.URL.Reveal()); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) && r.Page.Format != pager.Alertmanager {
				found = append(found, finding{"config", key, warn, "the pager's address, which is its key, goes over the network unencrypted", "write https://"})
			}
		}
	}
	return found
}

// deadRoutes finds routes that no attack can reach, because an earlier one takes all that they would.
func (c checkup) deadRoutes() []finding {
	var found []finding
	for i := range c.cfg.Accounts {
		a := &c.cfg.Accounts[i]
		for j, route := range a.Routes {
			earlier := slices.IndexFunc(a.Routes[:j], func(r Route) bool { return r.Match.covers(route.Match, a) })
			if earlier >= 0 {
				key := element("accounts", i) + ".routes"
				found = append(found, finding{"route", element(key, j), warn, "takes nothing: " + element(key, earlier) + " takes all that it would", "put it before that one, or take it out"})
			}
		}
	}
	return found
}

// covers tells whether everything that other matches is matched by m too. Applications are compared by id, for they can be written by name.
func (m Match) covers(other Match, a *Account) bool {
	ids := func(names oneOrMore) (ids oneOrMore) {
		for _, name := range names {
			ids = append(ids, fmt.Sprint(a.application(name)))
		}
		return ids
	}
	lower := func(hosts oneOrMore) (lower oneOrMore) {
		for _, host := range hosts {
			lower = append(lower, strings.ToLower(host))
		}
		return lower
	}
	both := func(kinds oneOrMore) oneOrMore {
		if slices.Contains(kinds, "incident") && slices.Contains(kinds, "attack") {
			return nil // the same as none
		}
		return kinds
	}
	for _, key := range [][2]oneOrMore{
		{both(m.Kind), both(other.Kind)}, {m.Type, other.Type}, {ids(m.Application), ids(other.Application)},
		{lower(m.Host), lower(other.Host)}, {m.Status, other.Status},
	} {
		outside := func(word string) bool { return !slices.Contains(key[0], word) }
		if len(key[0]) > 0 && (len(key[1]) == 0 || slices.ContainsFunc(key[1], outside)) {
			return false
		}
	}
	return m.MinHits <= other.MinHits
}
