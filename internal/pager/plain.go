package pager

import "time"

// plain is what docs/pager.md promises.
type plain struct {
	Event    string            `json:"event"` // trigger or resolve
	ID       string            `json:"id"`
	Account  string            `json:"account"`
	Attack   string            `json:"attack"`
	Kind     string            `json:"kind"` // incident or attack
	Severity string            `json:"severity"`
	Since    time.Time         `json:"since"`
	Text     string            `json:"text"`
	Source   string            `json:"source,omitempty"`
	App      string            `json:"application,omitempty"`
	Type     string            `json:"type,omitempty"`
	Details  map[string]string `json:"details,omitempty"`
	Links    []Link            `json:"links"`
}

func plainOf(e Event) plain {
	p := plain{
		Event: "trigger", ID: e.ID, Account: e.Account, Attack: e.Attack, Kind: "attack", Severity: e.Severity, Since: e.Since.UTC(), Text: e.Summary,
		Source: e.Source, App: e.App, Type: e.Type, Details: e.Details, Links: append([]Link{}, e.Links...),
	}
	if e.Resolve {
		p.Event = "resolve"
	}
	if e.Incident {
		p.Kind = "incident"
	}
	return p
}
