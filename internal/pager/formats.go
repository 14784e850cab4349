package pager

import (
	"cmp"
	"maps"
	"strings"
	"time"

	"github.com/wafbot/wafbot/internal/text"
)

// maxSummary is what PagerDuty takes of a summary, in characters.
const maxSummary = 1024

// pagerDutyEvent is an event of PagerDuty's Events API v2.
type pagerDutyEvent struct {
	RoutingKey string            `json:"routing_key"`
	Action     string            `json:"event_action"`
	DedupKey   string            `json:"dedup_key"`
	Payload    *pagerDutyPayload `json:"payload,omitempty"` // of a trigger only
	Links      []Link            `json:"links,omitempty"`
	Client     string            `json:"client,omitempty"`
	ClientURL  string            `json:"client_url,omitempty"`
}

type pagerDutyPayload struct {
	Summary   string            `json:"summary"`
	Source    string            `json:"source"`
	Severity  string            `json:"severity"`
	Timestamp time.Time         `json:"timestamp"`
	Component string            `json:"component,omitempty"`
	Group     string            `json:"group,omitempty"`
	Class     string            `json:"class,omitempty"`
	Details   map[string]string `json:"custom_details,omitempty"`
}

// pagerDutySeverities are PagerDuty's words for ours.
var pagerDutySeverities = map[string]string{"critical": "critical", "high": "error", "medium": "warning", "low": "info"}

func (p *Pager) pagerDuty(e Event) pagerDutyEvent {
	event := pagerDutyEvent{RoutingKey: p.key.Reveal(), Action: "resolve", DedupKey: e.ID}
	if !e.Resolve {
		event.Action, event.Links, event.Client, event.ClientURL = "trigger", e.Links, "wafbot", e.Console
		event.Payload = &pagerDutyPayload{
			Summary: text.Cut(e.Summary, maxSummary), Source: e.Source,
			Severity:  cmp.Or(pagerDutySeverities[e.Severity], "warning"),
			Timestamp: e.Since.UTC(), Component: e.App, Group: e.Account, Class: e.Type, Details: e.Details,
		}
	}
	return event
}

// alert is one of Alertmanager's API v2. Its labels make it this alert: they stay the same for all that is sent about
// one call.
type alert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"` // always said: Alertmanager's own resolve_timeout may be shorter
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

func alertOf(e Event) alert {
	a := alert{
		Labels: map[string]string{
			"alertname": "WafbotUnacknowledged", "account": e.Account, "attack": e.Attack, "severity": e.Severity, "page": e.ID,
		},
		Annotations: map[string]string{"summary": e.Summary}, StartsAt: e.Since.UTC(), EndsAt: e.Until.UTC(),
		GeneratorURL: e.Console,
	}
	maps.Copy(a.Annotations, e.Details)
	for _, l := range e.Links {
		a.Annotations[strings.ToLower(l.Text)] = l.Href
	}
	return a
}

// plain is what docs/pager.md promises.
type plain struct {
	Action string `json:"event"` // trigger or resolve
	Kind   string `json:"kind"`  // incident or attack
	Event
}

func plainOf(e Event) plain {
	e.Since, e.Links = e.Since.UTC(), append([]Link{}, e.Links...)
	p := plain{"trigger", "attack", e}
	if e.Resolve {
		p.Action = "resolve"
	}
	if e.Incident {
		p.Kind = "incident"
	}
	return p
}
