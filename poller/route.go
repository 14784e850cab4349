package poller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// The kinds a Match distinguishes.
const (
	KindIncident = "incident"
	KindAttack   = "attack" // that is no incident
)

// DefaultAckTimeout is how long an acknowledgement counts while its attack gets through, where the configuration says nothing.
const DefaultAckTimeout = 2 * time.Hour

// Match says which attacks a route takes. The zero value takes all; every key that is set must hold.
type Match struct {
	Kind       string             // KindIncident or KindAttack; "": both
	Types      []string           // attack types, one of which must be the attack's; empty: all
	Apps       []int              // application ids likewise
	Hosts      []string           // domains likewise, without regard to case
	Status     []apiclient.Status // likewise
	Severities []record.Severity  // likewise
	MinHits    int64              // least number of hits; hits that are unknown are enough
}

// Route says where attacks that match get their card. The first that matches is taken.
type Route struct {
	Match   Match
	Channel string // Slack channel id; "": Config.Channel
	Mention string // Slack user or user group id; "": none
	// PageAfter is how long an attack may be unacknowledged before the route's pager is called; 0: it has none.
	PageAfter time.Duration
	// AckTimeout is how long after its acknowledgement an attack that still gets through is unacknowledged again; 0: never.
	AckTimeout time.Duration
}

// DefaultRoutes takes incidents, and attacks from 30 hits that are not fully blocked, without mentions.
func DefaultRoutes(channel string) []Route {
	through := []apiclient.Status{apiclient.StatusNotBlocked, apiclient.StatusPartly, apiclient.StatusUnknown}
	return []Route{
		{Match: Match{Kind: KindIncident}, Channel: channel, AckTimeout: DefaultAckTimeout},
		{Match: Match{Kind: KindAttack, Status: through, MinHits: 30}, Channel: channel, AckTimeout: DefaultAckTimeout},
	}
}

// fails names the first key that does not hold; "" if all do.
func (m Match) fails(a apiclient.Attack) string {
	switch {
	case m.Kind == KindIncident && !a.Incident(), m.Kind == KindAttack && a.Incident():
		return "kind"
	case len(m.Types) > 0 && !slices.Contains(m.Types, a.Type):
		return "type"
	case len(m.Apps) > 0 && !(a.App.Known && slices.Contains(m.Apps, int(a.App.N))):
		return "application"
	case len(m.Hosts) > 0 && !slices.ContainsFunc(m.Hosts, func(h string) bool { return strings.EqualFold(h, a.Domain) }):
		return "host"
	case len(m.Status) > 0 && !slices.Contains(m.Status, a.Status()):
		return "status"
	case len(m.Severities) > 0 && !slices.Contains(m.Severities, record.SeverityOf(a)):
		return "severity"
	case a.Hits.Known && a.Hits.N < m.MinHits:
		return "min_hits"
	}
	return ""
}

// String is the match as the configuration says it; "everything" if it takes all.
func (m Match) String() string {
	var keys []string
	if m.Kind != "" {
		keys = append(keys, "kind "+m.Kind)
	}
	keys = slices.Concat(keys, oneOf("type", m.Types), oneOf("application", m.Apps), oneOf("host", m.Hosts), oneOf("status", m.Status), oneOf("severity", m.Severities))
	if m.MinHits > 0 {
		keys = append(keys, fmt.Sprint("min_hits ", m.MinHits))
	}
	return cmp.Or(strings.Join(keys, ", "), "everything")
}

// oneOf is a key with the words that it may be; none if any may.
func oneOf[T any](key string, words []T) []string {
	if len(words) == 0 {
		return nil
	}
	text := make([]string, len(words))
	for i, w := range words {
		text[i] = fmt.Sprint(w)
	}
	return []string{key + " " + strings.Join(text, " or ")}
}

// TriedRoute is a route compared with an attack.
type TriedRoute struct {
	Route    Route
	Mismatch string // the key of its match that does not hold; "": it takes the attack
}

// Explain compares routes with an attack, up to the first that takes it.
func Explain(routes []Route, a apiclient.Attack) []TriedRoute {
	var all []TriedRoute
	for _, r := range routes {
		t := TriedRoute{r, r.Match.fails(a)}
		if all = append(all, t); t.Mismatch == "" {
			break
		}
	}
	return all
}
