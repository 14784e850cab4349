package webhooks

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// What docs/webhooks.md promises of each message.
const (
	contentType = "application/cloudevents+json; charset=utf-8"
	schema      = 1 // of data
	dataSchema  = "urn:wafbot:webhook:1"
	typePrefix  = "wafbot."
)

// message is an event or audit entry as it is sent.
type message struct {
	id      string // the same for each repeat
	subject string // the attack that it is about; "": none. What has the same is sent in order
	body    []byte
}

// cloudEvent is an event in the structured JSON of CloudEvents 1.0.
type cloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject,omitempty"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	DataSchema      string    `json:"dataschema"`
	Data            data      `json:"data"`
}

// data is what docs/webhooks.schema.json says.
type data struct {
	Schema   int                `json:"schema"`
	Account  string             `json:"account"`
	Event    string             `json:"event"`   // a name of record.EventNames
	Summary  string             `json:"summary"` // one line, for people
	Severity record.Severity    `json:"severity,omitempty"`
	Actor    *actor             `json:"actor,omitempty"`
	Verb     string             `json:"verb,omitempty"`
	Outcome  string             `json:"outcome,omitempty"`
	Attack   *attack            `json:"attack,omitempty"`
	Change   *change            `json:"change,omitempty"`
	Audit    *record.AuditEntry `json:"audit,omitempty"`
	Details  map[string]any     `json:"details,omitempty"` // texts and whole numbers
}

// actor is a person, or wafbot itself.
type actor struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Via  string `json:"via"`
	Team string `json:"team,omitempty"`
}

func actorOf(a record.Actor) *actor {
	return &actor{cut(a.ID, maxName), cut(a.Name, maxName), string(a.Via), a.Team}
}

// write makes a message of data that happened then. The id is made of what else tells it from all others.
func (d data) write(id, subject string, at time.Time) *message {
	d.Schema = schema
	e := cloudEvent{
		SpecVersion: "1.0", ID: id, Source: "/wafbot/accounts/" + d.Account, Type: typePrefix + d.Event, Subject: subject, Time: at.UTC(),
		DataContentType: "application/json", DataSchema: dataSchema, Data: d,
	}
	body, err := json.Marshal(e)
	if err != nil { // a time whose year has five digits
		e.Time, e.Data = time.Unix(0, 0).UTC(), data{Schema: schema, Account: d.Account, Event: d.Event, Summary: "It can't be written: " + err.Error()}
		body, _ = json.Marshal(e)
	}
	return &message{id, subject, text.SanitizeJSON(body)}
}

// eventMessage is an event as it is sent; ch is the change that it is about, zero if it is about none, or that isn't stored any more.
func eventMessage(a *call.Account, e record.Event, ch record.Change) *message {
	d := data{Account: e.Account, Event: e.Kind.Name(), Severity: e.Severity(), Details: detailsOf(e.Payload)}
	subject := ""
	if of := e.Attack(); of.ID != "" {
		d.Attack = attackOf(a, of, e.Storm())
		subject = d.Attack.ID
	}
	if facts, ok := e.Payload.(record.ChangeFacts); ok {
		d.Change, subject = changeOf(ch, facts.Change), ch.AttackID
		if ch.ID != "" {
			d.Actor, d.Verb, d.Outcome = actorOf(ch.Actor), ch.Line.Name, string(ch.State)
		}
	}
	d.Summary = summary(a, e, ch)
	return d.write(record.DeliveryID(e.Account, e.ID, e.Kind, 0), subject, e.At)
}

// auditMessage is an audit entry as it is sent. Numbers begin again in an emptied Redis: the time tells those apart.
func auditMessage(e record.AuditEntry) *message {
	verb, _, _ := strings.Cut(e.Line, " ")
	d := data{
		Account: e.Account, Event: record.AuditName, Actor: actorOf(e.Actor), Verb: cut(verb, maxName), Outcome: e.Outcome,
		Summary: auditSummary(e), Audit: bounded(e),
	}
	if e.Attack != "" {
		d.Attack = &attack{ID: e.Attack}
	}
	if e.Change != "" {
		d.Change = &change{ID: e.Change}
	}
	id := record.DeliveryID(e.Account, strconv.FormatInt(e.At.UnixNano(), 10)+" "+e.Line, record.AuditName, int(e.N))
	return d.write(id, e.Attack, e.At)
}

// Bounds of what is sent, in characters, and of lists.
const (
	maxName    = 100
	maxText    = 500
	maxLine    = 4000
	maxSources = 20
	maxListed  = 50
)

// cut is a text of at most so many characters.
func cut(s string, most int) string { return text.Cut(s, most) }

// bounded is an audit entry with its texts cut. Most are as they were printed.
func bounded(e record.AuditEntry) *record.AuditEntry {
	e.Line, e.Why = cut(e.Line, maxLine), cut(e.Why, maxLine)
	e.Before, e.After = boundedList(e.Before), boundedList(e.After)
	for _, who := range []**record.Actor{&e.Approved} {
		if *who != nil {
			short := **who
			short.Name = cut(short.Name, maxName)
			*who = &short
		}
	}
	e.Actor.Name = cut(e.Actor.Name, maxName)
	return &e
}

func boundedList(lines []string) (short []string) {
	for _, l := range lines[:min(len(lines), maxListed)] {
		short = append(short, cut(l, maxText))
	}
	if more := len(lines) - maxListed; more > 0 {
		short = append(short, "and "+text.Number(more)+" more")
	}
	return short
}
