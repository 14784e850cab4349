package pager

import "time"

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

func (p *Pager) pagerDuty(e Event) pagerDutyEvent {
	if e.Resolve {
		return pagerDutyEvent{RoutingKey: p.key.Reveal(), Action: "resolve", DedupKey: e.ID}
	}
	return pagerDutyEvent{
		RoutingKey: p.key.Reveal(), Action: "trigger", DedupKey: e.ID, Links: e.Links, Client: "wafbot", ClientURL: e.Console,
		Payload: &pagerDutyPayload{
			Summary: cut(e.Summary, maxSummary), Source: e.Source, Severity: e.Severity, Timestamp: e.Since.UTC(), Component: e.App, Group: e.Account,
			Class: e.Type, Details: e.Details,
		},
	}
}
