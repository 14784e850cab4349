package pager

import (
	"maps"
	"strings"
	"time"
)

// alert is one of Alertmanager's API v2. Its labels make it this alert: they stay the same for all that is sent about one call.
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
		Annotations: map[string]string{"summary": e.Summary}, StartsAt: e.Since.UTC(), EndsAt: e.Until.UTC(), GeneratorURL: e.Console,
	}
	maps.Copy(a.Annotations, e.Details)
	for _, l := range e.Links {
		a.Annotations[strings.ToLower(l.Text)] = l.Href
	}
	return a
}
