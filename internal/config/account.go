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
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store/address"
)

// Address is how Redis is reached, as it is written.
func (r Redis) Address() address.Options {
	return address.Options{URL: r.URL.Reveal(), TLS: address.TLS(r.TLS)}
}

// InForce are the account's routes, each with its channel. An account without the key routes has the default ones:
// incidents, and attacks from 30 hits that are not fully blocked, without mentions.
func (a *Account) InForce() []Route {
	routes := slices.Clone(a.Routes)
	if routes == nil {
		routes = []Route{Default[Route](), Default[Route]()}
		routes[0].Match = Match{Kind: OneOrMore{KindIncident}}
		routes[1].Match = Match{Kind: OneOrMore{KindAttack}, Status: OneOrMore{"not_blocked", "partly", "unknown"},
			MinHits: 30}
	}
	for i := range routes {
		routes[i].Channel = cmp.Or(routes[i].Channel, a.Channel)
	}
	return routes
}

// MatchText is a match of one of the account's routes, with the ids of applications; "everything" if it takes all.
// Pages name their route by it.
func (a *Account) MatchText(m Match) string {
	var keys []string
	add := func(key string, words []string) {
		if len(words) > 0 {
			keys = append(keys, key+" "+strings.Join(words, " or "))
		}
	}
	if len(m.Kind) == 1 {
		add("kind", m.Kind)
	}
	var ids []string
	for _, name := range m.Application {
		ids = append(ids, strconv.Itoa(a.ApplicationID(name)))
	}
	add("type", m.Type)
	add("application", ids)
	add("host", m.Host)
	add("status", m.Status)
	add("severity", m.Severity)
	if m.MinHits > 0 {
		add("min_hits", []string{strconv.Itoa(m.MinHits)})
	}
	return cmp.Or(strings.Join(keys, ", "), "everything")
}

// OnlyKind is the kind that an attack must be; "": either.
func (m Match) OnlyKind() string {
	if len(m.Kind) == 1 {
		return m.Kind[0]
	}
	return ""
}

// Ops is whom notices mention that are about no attack, what only operators can fix: ops_mention, or whom the first of
// the account's routes mentions that mentions anyone; "": nobody.
func (a *Account) Ops() string {
	mention := a.OpsMention
	for _, r := range a.Routes {
		mention = cmp.Or(mention, r.Mention)
	}
	return mention
}

// TestCards are those of a drill: one for each pager where its first route posts, then one for each channel of the
// routes with each whom they mention there, and one for the account's own channel if no route posts there.
func (a *Account) TestCards() (cards []record.DrillCard) {
	pagers := map[apiclient.Secret]bool{}
	var others []record.DrillCard
	for _, r := range a.Routes {
		c := record.DrillCard{Channel: cmp.Or(r.Channel, a.Channel), Mention: r.Mention}
		others = append(others, c)
		if r.Page != nil && !pagers[r.Page.URL] {
			pagers[r.Page.URL], c.Pager = true, a.MatchText(r.Match)
			cards = append(cards, c)
		}
	}
	for i, c := range append(others, record.DrillCard{Channel: a.Channel, Mention: a.OpsMention}) {
		there := func(o record.DrillCard) bool {
			return o.Channel == c.Channel && (i == len(others) || o.Mention == c.Mention)
		}
		if !slices.ContainsFunc(cards, there) {
			cards = append(cards, c)
		}
	}
	return cards
}

// Keyed are the elements of a list by their keys: accounts[0].
func Keyed[T any](key string, list []T) iter.Seq2[string, *T] {
	return func(yield func(string, *T) bool) {
		for i := range list {
			if !yield(Element(key, i), &list[i]) {
				return
			}
		}
	}
}

// ByKey are the accounts by their keys.
func (c *Config) ByKey() iter.Seq2[string, *Account] { return Keyed("accounts", c.Accounts) }

// Routes are the routes of all accounts, by their keys: accounts[0].routes[1].
func (c *Config) Routes() iter.Seq2[string, *Route] {
	return func(yield func(string, *Route) bool) {
		for key, a := range c.ByKey() {
			for route, r := range Keyed(key+".routes", a.Routes) {
				if !yield(route, r) {
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
		for key, a := range c.ByKey() {
			more = more && yield(key+".sources", a.Sources)
		}
	}
}

// Pagers are the pagers of the account's routes, by the route's match. Of two routes with the same match the first
// takes everything.
func (a *Account) Pagers() (map[string]*pager.Pager, error) {
	pagers := map[string]*pager.Pager{}
	for _, route := range a.Routes {
		match := a.MatchText(route.Match)
		if route.Page == nil || pagers[match] != nil {
			continue
		}
		p, err := pager.New(pager.Config{Format: route.Page.Kind, URL: route.Page.URL})
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

// AppName is the application's name for people.
func (a *Account) AppName(app apiclient.Figure) string {
	if !app.Known {
		return "an unknown application"
	}
	if named := a.Applications[int(app.N)]; named.Name != "" {
		return named.Name
	}
	if app.N == apiclient.DefaultApp {
		return "the default application"
	}
	return fmt.Sprintf("application %d", app.N)
}

// CannotBlock reports whether the application's nodes only watch: no denial, patch or mode stops anything.
func (a Application) CannotBlock() bool { return a.CanBlock != nil && !*a.CanBlock }

// Channels are all channels that the account posts to, each once. The first is the one for notices.
func (a *Account) Channels() []string {
	channels := []string{a.Channel}
	for _, r := range a.InForce() {
		if !slices.Contains(channels, r.Channel) {
			channels = append(channels, r.Channel)
		}
	}
	return channels
}

// Span is from when to when the quiet hours last, in minutes since midnight by the clock on the wall; to before from:
// across midnight. Without quiet hours the two are the same. Load has checked them.
func (q Quiet) Span() (from, to int) {
	begins, ends, _ := strings.Cut(q.Hours, "-")
	return minute(begins), minute(ends)
}

// minute is the minute of the day that a clock shows.
func minute(clock string) int {
	t, _ := time.Parse("15:04", clock)
	return t.Hour()*60 + t.Minute()
}

// Around are the last and the next time at which the summary is due, on the clock of now's time zone. Load has checked
// At.
func (s Summary) Around(now time.Time) (last, next time.Time) {
	on := func(day int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+day, 0, minute(s.At), 0, 0, now.Location())
	}
	if last, next = on(0), on(1); last.After(now) {
		last, next = on(-1), last
	}
	return last, next
}

// checkPagers reports what is wrong with pagers that have a name: acknowledgements come back under it.
func (c *Config) checkPagers() {
	secrets := map[string]apiclient.Secret{}
	for route, r := range c.Routes() {
		if r.Page == nil {
			continue
		}
		p, key := *r.Page, route+".page"
		at := c.fromFile(key + ".webhook_secret")
		switch {
		case p.Name != "" && (len(p.Name) > 32 || !onlyOf(p.Name, letters+digits+"-")):
			c.reportValue(key+".name", "is no name of a pager; write up to 32 of a-z 0-9 -")
		case p.WebhookSecret == "":
		case p.Name == "":
			c.report(at, "is of a pager without a name; give it one with page.name: its acknowledgements come to /pager/NAME")
		case p.Kind != pager.PagerDuty:
			c.report(at, "is of no PagerDuty; take it out: acknowledgements come back from PagerDuty alone")
		case secrets[p.Name] != "" && secrets[p.Name] != p.WebhookSecret:
			c.report(at, "is another than that of the same name on another route; give the pagers two names, or one secret")
		default:
			secrets[p.Name] = p.WebhookSecret
		}
	}
}

// RoutesOf are the matches of the account's routes that have the pager of that name, as pages name them.
func (a *Account) RoutesOf(pager string) (matches []string) {
	for _, r := range a.Routes {
		if r.Page != nil && r.Page.Name == pager {
			matches = append(matches, a.MatchText(r.Match))
		}
	}
	return matches
}

// PagerSecret signs what the pager of that name sends; "": there is none.
func (c *Config) PagerSecret(name string) apiclient.Secret {
	for _, r := range c.Routes() {
		if p := r.Page; p != nil && p.Name == name && p.WebhookSecret != "" {
			return p.WebhookSecret
		}
	}
	return ""
}

// Mismatch names the first key of a match that an attack doesn't meet; "": it meets all. Unknown hits meet min_hits.
func (a *Account) Mismatch(m Match, attack apiclient.Attack) string {
	is := func(words []string, one string) bool { return len(words) == 0 || slices.Contains(words, one) }
	sameApp := func(name string) bool { return attack.App == apiclient.Known(int64(a.ApplicationID(name))) }
	sameHost := func(host string) bool { return strings.EqualFold(host, attack.Domain) }
	switch kind := m.OnlyKind(); {
	case kind == KindIncident && !attack.Incident(), kind == KindAttack && attack.Incident():
		return "kind"
	case !is(m.Type, attack.Type):
		return "type"
	case len(m.Application) > 0 && !slices.ContainsFunc(m.Application, sameApp):
		return "application"
	case len(m.Host) > 0 && !slices.ContainsFunc(m.Host, sameHost):
		return "host"
	case !is(m.Status, string(attack.Status())):
		return "status"
	case !is(m.Severity, string(record.SeverityOf(attack))):
		return "severity"
	case attack.Hits.Known && attack.Hits.N < int64(m.MinHits):
		return "min_hits"
	}
	return ""
}

// TriedRoute is a route compared with an attack.
type TriedRoute struct {
	Route    Route
	Mismatch string // the key of its match that does not hold; "": it takes the attack
}

// Tried compares the account's routes with an attack, up to the first that takes it.
func (a *Account) Tried(attack apiclient.Attack) []TriedRoute {
	var all []TriedRoute
	for _, r := range a.InForce() {
		t := TriedRoute{r, a.Mismatch(r.Match, attack)}
		if all = append(all, t); t.Mismatch == "" {
			break
		}
	}
	return all
}

// Suppresses reports whether an attack mentions nobody at a time: in quiet hours of a zone (nil: UTC) only incidents
// and attacks that aren't blocked do. Pagers are called at any hour.
func (q Quiet) Suppresses(zone *time.Location, a apiclient.Attack, at time.Time) bool {
	return !a.Incident() && a.Status() != apiclient.StatusNotBlocked && q.covers(at.In(cmp.Or(zone, time.UTC)))
}

func (q Quiet) covers(at time.Time) bool {
	from, to := q.Span()
	now := at.Hour()*60 + at.Minute()
	if from <= to {
		return from <= now && now < to
	}
	return from <= now || now < to
}
