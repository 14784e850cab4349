package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/internal/pager"
)

func (c *Config) checkAccounts() {
	o := c.origins
	if len(c.Accounts) == 0 {
		o.report("accounts", "there is none; write one into the file, or set WAFBOT_API_URL, WAFBOT_API_TOKEN and WAFBOT_CHANNEL")
	}
	seen := map[string]bool{}
	for i := range c.Accounts {
		a, key := &c.Accounts[i], Element("accounts", i)
		o.uniqueName(key, a.Name, seen)
		if a.Name != "" && (len(a.Name) > 32 || !onlyOf(a.Name, letters+digits+"-")) {
			o.reportValue(key+".name", "is no account name; write up to 32 of a-z 0-9 -")
		}
		if a.APIURL == "" {
			o.report(key+".api_url", "missing; %s", o.setIt(key+".api_url"))
		} else {
			o.webAddress(key+".api_url", a.APIURL)
		}
		if a.Token == "" && !o.isSet(key+".token_file") {
			o.report(key+".token", "missing; %s", o.setIt(key+".token"))
		}
		if a.ClientID < 1 && o.isSet(key+".client_id") {
			o.reportValue(key+".client_id", "is no client id; write one above 0, or leave it out to have the API asked")
		}
		if a.ConsoleURL != "" {
			o.webAddress(key+".console_url", a.ConsoleURL)
		}
		o.channel(key+".channel", a.Channel)
		a.checkTimes(o, key)
		a.checkApplications(o, key+".applications")
		for j := range a.Routes {
			a.Routes[j].check(o, Element(key+".routes", j), a.Applications)
		}
	}
}

// setIt says where to set a missing key. Variables make an account only if the file has none.
func (o *origins) setIt(key string) string {
	for _, v := range bindings(&Config{}, &Account{}) {
		switch {
		case v.key != key || strings.HasPrefix(key, "accounts[") && o.isSet("accounts"):
		case o.root.File == "":
			return "set " + v.name
		default:
			return "set it, or " + v.name
		}
	}
	return "set it"
}

func (a *Account) checkTimes(o *origins, key string) {
	if a.PollInterval < 250*time.Millisecond {
		o.reportValue(key+".poll_interval", "is too short; write 250ms at least")
	}
	o.positive(key+".lookback", a.Lookback)
	o.positive(key+".ongoing_for", a.OngoingFor)
	o.atMost(key+".ongoing_for", a.OngoingFor, time.Hour, "1h")
	o.atLeast(key+".storm.over", a.Storm.Over, 1)
	o.positive(key+".storm.in", a.Storm.In)
	o.positive(key+".storm.ends_after", a.Storm.EndsAfter)
	a.Quiet.check(o, key+".quiet")
	if a.Summary.At != "" && !isClock(a.Summary.At) {
		o.reportValue(key+".summary.at", "is no time of day; write it like 09:00")
	}
}

func (q Quiet) check(o *origins, key string) {
	from, to, dash := strings.Cut(q.Hours, "-")
	switch {
	case q.Hours != "" && !(dash && isClock(from) && isClock(to)):
		o.reportValue(key+".hours", "are no hours; write them like 22:00-07:00")
	case q.Hours != "" && from == to:
		o.reportValue(key+".hours", "begin when they end; write two times of day like 22:00-07:00, or leave mention out of the routes to mention no one at any hour")
	}
	o.each(key+".ping", q.Ping, func(key, value string) {
		o.oneOf(key, value, "incident", "not_blocked", "partly", "unknown", "blocked")
	})
}

func isClock(text string) bool {
	_, err := time.Parse("15:04", text)
	return err == nil && len(text) == len("15:04")
}

// checkApplications refuses a name that is given twice or looks like an id: commands take either.
func (a *Account) checkApplications(o *origins, key string) {
	seen := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(a.Applications)) {
		app, at := a.Applications[id], below(key, strconv.Itoa(id))
		if id < 1 && id != -1 {
			o.report(at, "is no application id; write one above 0, or -1 for the default application")
		}
		if o.isSet(at + ".name") {
			at += ".name"
		}
		_, err := strconv.Atoi(app.Name)
		switch {
		case app.Name == "" && app.CanBlock == nil:
			o.report(at, "has no name; give it one")
		case app.Name != "" && seen[app.Name]:
			o.reportValue(at, "is given twice; rename one")
		case err == nil:
			o.reportValue(at, "could be taken for an id; write a name that is no number")
		}
		seen[app.Name] = true
	}
}

func (r *Route) check(o *origins, key string, applications map[int]Application) {
	match := key + ".match"
	o.each(match+".kind", r.Match.Kind, func(key, value string) { o.oneOf(key, value, "incident", "attack") })
	o.each(match+".status", r.Match.Status, func(key, value string) {
		o.oneOf(key, value, "blocked", "partly", "not_blocked", "unknown")
	})
	o.each(match+".application", r.Match.Application, func(key, value string) {
		if _, err := strconv.Atoi(value); err == nil {
			return
		}
		for _, app := range applications {
			if app.Name == value {
				return
			}
		}
		o.reportValue(key, "is no application; write an id or a name from the account's applications")
	})
	for name, words := range map[string]OneOrMore{".type": r.Match.Type, ".host": r.Match.Host} {
		o.each(match+name, words, func(key, value string) {
			if value == "" {
				o.report(key, "is empty, so it matches nothing; remove it")
			}
		})
	}
	if o.isSet(match + ".min_hits") {
		o.atLeast(match+".min_hits", r.Match.MinHits, 1)
	}
	o.channel(key+".channel", r.Channel)
	o.userOrGroup(key+".mention", r.Mention)
	o.positive(key+".mention_every", r.MentionEvery)
	if r.Page != nil {
		r.Page.check(o, key+".page")
	}
}

func (p *Page) check(o *origins, key string) {
	at := key + ".url"
	if o.isSet(at + "_file") {
		at += "_file"
	}
	if p.URL == "" {
		o.report(at, "missing; set it")
	} else if o.webAddress(at, p.URL.Reveal()); p.Format == pager.PagerDuty {
		if _, err := pager.New(pager.Config{Format: p.Format, URL: p.URL}); err != nil {
			o.report(at, "%v", err)
		}
	}
	if p.Format == "" {
		o.report(key+".format", "missing; write one of pagerduty, alertmanager, json")
	} else {
		o.oneOf(key+".format", p.Format, pager.PagerDuty, pager.Alertmanager, pager.JSON)
	}
	o.positive(key+".after", p.After)
}
