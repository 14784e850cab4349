package config

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store/address"
	"github.com/wafbot/wafbot/poller"
	"github.com/wafbot/wafbot/poller/storm"
)

// Address is how Redis is reached, as it is written.
func (r Redis) Address() address.Options {
	return address.Options{URL: r.URL.Reveal(), TLS: address.TLS(r.TLS)}
}

// PollerRoutes are the account's routes as the poller takes them. An account without the key routes has the default ones.
func (a *Account) PollerRoutes() []poller.Route {
	if a.Routes == nil {
		return poller.DefaultRoutes(a.Channel)
	}
	routes := make([]poller.Route, 0, len(a.Routes))
	for _, r := range a.Routes {
		m := poller.Match{Types: r.Match.Type, Hosts: r.Match.Host, MinHits: int64(r.Match.MinHits)}
		if len(r.Match.Kind) == 1 { // both kinds are the same as none
			m.Kind = r.Match.Kind[0]
		}
		for _, s := range r.Match.Status {
			m.Status = append(m.Status, apiclient.Status(s))
		}
		for _, s := range r.Match.Severity {
			m.Severities = append(m.Severities, record.Severity(s))
		}
		for _, name := range r.Match.Application {
			m.Apps = append(m.Apps, a.ApplicationID(name))
		}
		route := poller.Route{Match: m, Channel: cmp.Or(r.Channel, a.Channel), Mention: r.Mention, AckTimeout: r.AckTimeout}
		if r.Page != nil {
			route.PageAfter = r.Page.After
		}
		routes = append(routes, route)
	}
	return routes
}

// PollerStorm says when the account's attacks are grouped, as the poller takes it.
func (a *Account) PollerStorm() storm.Config {
	return storm.Config{Over: a.Storm.Over, In: a.Storm.In, EndsAfter: min(10*time.Minute, a.OngoingFor)}
}

// RouteMention is whom the first of the account's routes mentions that mentions anyone; "": none does.
func (a *Account) RouteMention() string {
	for _, r := range a.Routes {
		if r.Mention != "" {
			return r.Mention
		}
	}
	return ""
}

// TestCards are those of a drill: one for each pager where its first route posts, then one for each channel of the routes
// with each whom they mention there, and one for the account's own channel if no route posts there.
func (a *Account) TestCards() (cards []record.DrillCard) {
	pagers := map[apiclient.Secret]bool{}
	for i, r := range a.Routes {
		if r.Page != nil && !pagers[r.Page.URL] {
			pagers[r.Page.URL] = true
			match := a.PollerRoutes()[i].Match.String()
			cards = append(cards, record.DrillCard{Channel: cmp.Or(r.Channel, a.Channel), Mention: r.Mention, Pager: match})
		}
	}
	add := func(c record.DrillCard, there func(record.DrillCard) bool) {
		if !slices.ContainsFunc(cards, there) {
			cards = append(cards, c)
		}
	}
	for _, r := range a.Routes {
		c := record.DrillCard{Channel: cmp.Or(r.Channel, a.Channel), Mention: r.Mention}
		add(c, func(o record.DrillCard) bool { return o.Channel == c.Channel && o.Mention == c.Mention })
	}
	own := record.DrillCard{Channel: a.Channel, Mention: a.OpsMention}
	add(own, func(o record.DrillCard) bool { return o.Channel == a.Channel })
	return cards
}

// Routes are the routes of all accounts, by their keys: accounts[0].routes[1].
func (c *Config) Routes() iter.Seq2[string, *Route] {
	return func(yield func(string, *Route) bool) {
		for i := range c.Accounts {
			for j := range c.Accounts[i].Routes {
				if !yield(Element(Element("accounts", i)+".routes", j), &c.Accounts[i].Routes[j]) {
					return
				}
			}
		}
	}
}

// allSources are the lists of sources by their keys: that of all accounts, and each account's own.
func (c *Config) allSources() iter.Seq2[string, []Source] {
	return func(yield func(string, []Source) bool) {
		more := yield("sources", c.Sources)
		for i := 0; more && i < len(c.Accounts); i++ {
			more = yield(Element("accounts", i)+".sources", c.Accounts[i].Sources)
		}
	}
}

// Pagers are the pagers of the account's routes, by the route's match. Of two routes with the same match the first takes everything.
func (a *Account) Pagers() (map[string]*pager.Pager, error) {
	pagers := map[string]*pager.Pager{}
	for i, route := range a.Routes {
		match := a.PollerRoutes()[i].Match.String()
		if route.Page == nil || pagers[match] != nil {
			continue
		}
		p, err := pager.New(pager.Config{Format: route.Page.Format, URL: route.Page.URL})
		if err != nil {
			return nil, fmt.Errorf("account %s: pager of route %s: %w", a.Name, match, err)
		}
		pagers[match] = p
	}
	return pagers, nil
}

// ApplicationID is the id of an application written by id or by name. Load has checked that it is one of the two.
func (a *Account) ApplicationID(written string) int {
	for id, app := range a.Applications {
		if app.Name == written {
			return id
		}
	}
	id, _ := strconv.Atoi(written)
	return id
}

// CommandApplications are the applications as commands take them, by id.
func (a *Account) CommandApplications() map[int]call.Application {
	all := map[int]call.Application{}
	for id, app := range a.Applications {
		all[id] = call.Application{Name: app.Name, CannotBlock: app.CanBlock != nil && !*app.CanBlock}
	}
	return all
}

// Channels are all channels that the account posts to, each once. The first is the one for notices.
func (a *Account) Channels() []string {
	channels := []string{a.Channel}
	for _, r := range a.Routes {
		if r.Channel != "" && !slices.Contains(channels, r.Channel) {
			channels = append(channels, r.Channel)
		}
	}
	return channels
}

// In are the quiet hours in a time zone, as the poller takes them. Load has checked them.
func (q Quiet) In(zone *time.Location) poller.QuietHours {
	from, to, _ := strings.Cut(q.Hours, "-")
	return poller.QuietHours{From: minute(from), To: minute(to), Zone: zone}
}

// minute is the minute of the day that a clock shows.
func minute(clock string) int {
	t, _ := time.Parse("15:04", clock)
	return t.Hour()*60 + t.Minute()
}

// Around are the last and the next time at which the summary is due, on the clock of now's time zone. Load has checked At.
func (s Summary) Around(now time.Time) (last, next time.Time) {
	at := minute(s.At)
	on := func(day int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+day, at/60, at%60, 0, 0, now.Location())
	}
	if last, next = on(0), on(1); last.After(now) {
		last, next = on(-1), last
	}
	return last, next
}

// Guards is the policy as commands take it, but for the sources: those change while the program runs, see SourceFiles.
func (p Policy) Guards() policy.Policy {
	return policy.Policy{
		Changes: p.Changes, WidestIPv4: p.WidestPrefix.IPv4, WidestIPv6: p.WidestPrefix.IPv6, Longest: p.LongestDuration, Renew: p.RenewWhileActive,
		Durations:   policy.Durations(p.Durations),
		RequiredFor: p.Approval.RequiredFor, Approvers: p.Approval.Approvers, ApprovalTimeout: p.Approval.Timeout,
		OverrideAfter: p.Approval.OverrideAfter,
	}
}

// Roles are who has which role. Load has checked the roles' names.
func (p Policy) Roles() policy.Roles {
	r := policy.Roles{Viewers: p.Viewers, Responders: p.Responders, Admins: p.Admins, Terminal: map[string]policy.TerminalUser{}}
	for name, u := range p.Terminal {
		role, _ := record.ParseRole(u.Role)
		r.Terminal[name] = policy.TerminalUser{Role: role, Slack: u.Slack}
	}
	return r
}
