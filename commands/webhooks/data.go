package webhooks

import (
	"fmt"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// attack is an attack, or a storm of them, as of the event. Of an audit entry only its id is known.
type attack struct {
	ID            string           `json:"id"`
	ServiceID     string           `json:"service_id,omitempty"`
	Kind          string           `json:"kind,omitempty"` // incident, attack or storm
	Type          string           `json:"type,omitempty"`
	Status        apiclient.Status `json:"status,omitempty"`
	Hits          *int64           `json:"hits,omitempty"`
	First         time.Time        `json:"first,omitzero"`
	Last          time.Time        `json:"last,omitzero"`
	Method        string           `json:"method,omitempty"`
	Host          string           `json:"host,omitempty"`
	Path          string           `json:"path,omitempty"`
	Parameter     string           `json:"parameter,omitempty"`
	Application   *application     `json:"application,omitempty"`
	Vulnerability string           `json:"vulnerability,omitempty"`
	FalsePositive bool             `json:"false_positive,omitempty"`
	Sources       []source         `json:"sources,omitempty"`
	SourceCount   *int64           `json:"source_count,omitempty"`
	Storm         *stormFigures    `json:"storm,omitempty"`
}

type application struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

type source struct {
	IP      string `json:"ip"`
	Hits    *int64 `json:"hits,omitempty"`
	Country string `json:"country,omitempty"`
}

type stormFigures struct {
	Attacks   int `json:"attacks"`
	Ongoing   int `json:"ongoing"`
	Incidents int `json:"incidents"` // beside it
}

func known(f apiclient.Figure) *int64 {
	if !f.Known {
		return nil
	}
	return &f.N
}

func attackOf(a *call.Account, of apiclient.Attack, storm *record.Storm) *attack {
	made := &attack{
		ID: record.AttackID(a.Name, of.ID), ServiceID: of.ID, Kind: "attack", Type: cut(of.Type, maxName), Status: of.Status(), Hits: known(of.Hits), First: of.First, Last: of.Last,
		Method: cut(of.Method, maxName), Host: cut(of.Domain, maxText), Path: cut(of.Path, maxText), Parameter: cut(of.Parameter, maxText),
		Vulnerability: cut(of.VulnID, maxName), FalsePositive: of.FalsePositive(), SourceCount: known(of.SourceCount),
	}
	switch {
	case record.IsStorm(of.ID):
		made.Kind, made.ServiceID = "storm", ""
	case of.Incident():
		made.Kind = "incident"
	}
	if of.App.Known {
		made.Application = &application{of.App.N, cut(a.AppName(of.App), maxName)}
	}
	for _, s := range of.Sources[:min(len(of.Sources), maxSources)] {
		made.Sources = append(made.Sources, source{s.IP.String(), known(s.Hits), cut(s.Country, maxName)})
	}
	if storm != nil {
		made.Storm = &stormFigures{storm.Grouped, storm.Ongoing, storm.Incidents}
	}
	return made
}

// change is a change as it is when the event is sent. Of one that isn't stored any more, and in an audit entry, only its id is known.
type change struct {
	ID       string    `json:"id"`
	Line     string    `json:"line,omitempty"`
	Does     string    `json:"does,omitempty"`
	Attack   string    `json:"attack,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	Undoes   string    `json:"undoes,omitempty"`
	Extends  string    `json:"extends,omitempty"`
	Approved *actor    `json:"approved,omitempty"`
	Override bool      `json:"override,omitempty"`
	Fault    string    `json:"fault,omitempty"`
}

func changeOf(c record.Change, id string) *change {
	if c.ID == "" {
		return &change{ID: id}
	}
	made := &change{
		ID: c.ID, Line: cut(c.Line.String(), maxLine), Does: cut(c.Does, maxLine), Attack: c.AttackID, Reason: cut(c.Reason, maxText), At: c.At, Until: c.Until,
		Undoes: c.Undoes, Extends: c.Extends, Override: c.Overridden, Fault: cut(c.Fault, maxText),
	}
	if c.Approved != nil {
		made.Approved = actorOf(*c.Approved)
	}
	return made
}

// detailsOf is what an event says that is about no attack and no change.
func detailsOf(p record.Payload) map[string]any {
	switch p := p.(type) {
	case record.CardReplaced:
		return map[string]any{"former_card": p.Former}
	case record.Assignment:
		return map[string]any{"owner": cut(p.To, maxName)}
	case record.ChangeFacts:
		return times(nil, "until", p.Until)
	case record.PermissionChanged:
		return times(nil, "since", p.Since)
	case record.ApprovalChanged:
		return map[string]any{"request": p.Request}
	case record.DrillFacts:
		return map[string]any{"drill": p.Drill}
	case record.PagerFault:
		return map[string]any{"route": cut(p.Route, maxText), "why": cut(p.Why, maxText)}
	case record.DroppedFacts:
		return map[string]any{"webhook": cut(p.Webhook, maxText), "dropped": p.Dropped, "why": cut(p.Why, maxText)}
	case record.UnreachableFacts:
		d := map[string]any{"why": cut(p.Why, maxText), "fix": cut(p.Fix, maxText)}
		return times(times(d, "since", p.From), "last_good", p.LastGood)
	case record.GapFacts:
		d := map[string]any{"why": cut(p.Why, maxText), "began": p.BeganCount, "over": p.OverCount, "grouped": p.Grouped}
		return times(times(d, "since", p.From), "until", p.To)
	case record.FirstStartFacts:
		return map[string]any{"ongoing": p.Ongoing, "grouped": p.Grouped, "incidents": p.Incidents}
	case record.RebuildFacts:
		return map[string]any{"cards": p.Cards, "in_force": p.InForce, "listed": p.Listed, "unknown": len(p.Unknown), "unread_channels": len(p.Unread)}
	}
	return nil
}

// times is details with a time, unless that is zero.
func times(d map[string]any, name string, at time.Time) map[string]any {
	if at.IsZero() {
		return d
	}
	if d == nil {
		d = map[string]any{}
	}
	d[name] = at.UTC().Format(time.RFC3339)
	return d
}

// titles say what happened, by kind of event.
func titles() map[record.EventKind]string {
	return map[record.EventKind]string{
		record.NewIncident:          "New incident",
		record.NewAttack:            "New attack",
		record.BecameIncident:       "The attack became an incident",
		record.Grew:                 "The attack has new figures",
		record.Worsened:             "The attack got worse",
		record.WentQuiet:            "The attack went quiet",
		record.Resumed:              "The attack resumed",
		record.AttackEnded:          "The attack ended",
		record.CardLost:             "The attack's card was lost, and is posted again",
		record.CardLeft:             "A former card of the attack can't be edited",
		record.FirstStart:           "wafbot watches the account for the first time",
		record.StoreRebuilt:         "Redis was emptied, and the account's state was rebuilt",
		record.APIUnreachable:       "The WAF API is unreachable",
		record.MonitoringGap:        "The account is watched again after a monitoring gap",
		record.PermissionLost:       "WAF permission lost, or given back",
		record.ApprovalAsked:        "An approval request was made or decided",
		record.ChangeSettled:        "A change was done, failed or was undone",
		record.MitigationEnding:     "A mitigation ends soon, and its attack goes on",
		record.EndOverdue:           "A change can't be ended",
		record.MitigationNotWorking: "A mitigation does not work",
		record.DeniedSourceReturned: "A denied source returned after its denial expired",
		record.HandedOver:           "The attack was handed over",
		record.TookOver:             "All attacks of the account were taken over",
		record.AckLapsed:            "The attack's acknowledgement lapsed",
		record.PagerUnreachable:     "The pager can't be called",
		record.EventsDropped:        "Events were dropped that a webhook didn't take",
		record.DrillChanged:         "A test card is to be posted, or was acknowledged",
		record.SummaryDue:           "The account's summary is due",
	}
}

// summary is an event in one line. What an attacker wrote stands last.
func summary(a *call.Account, e record.Event, ch record.Change) string {
	title := titles()[e.Kind]
	if ch.ID != "" {
		return cut(fmt.Sprintf("%s: %s (%s, %s)", title, ch.Does, ch.State, ch.ID), maxText)
	}
	if of := e.Attack(); of.ID != "" {
		return cut(title+": "+attackLine(a, of), maxText)
	}
	return cut(title+": "+a.Name, maxText)
}

func attackLine(a *call.Account, of apiclient.Attack) string {
	return text.New(describe.StatusName(of), ", ", describe.Figure(of.Hits, "hit"), ", ", describe.AttackMeant(a, of)).String()
}

// auditSummary is an audit entry in one line.
func auditSummary(e record.AuditEntry) string { return cut(describe.AuditEntry(e).String(), maxLine) }
