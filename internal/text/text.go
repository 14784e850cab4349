// Package text makes text for people that is safe by construction: in Slack, at a terminal and in Markdown.
package text

import (
	"fmt"
	"strings"
	"time"
)

// Text is a line for a person, in pieces, so that each front end can escape what must be escaped and show times as its reader's clock does.
type Text []Span

// Span is one piece of a Text. Exactly one of its fields is set.
type Span struct {
	Plain   string    `json:"plain,omitzero"`
	Code    string    `json:"code,omitzero"` // to be shown as typed: an address, an id, a line
	Bold    string    `json:"bold,omitzero"`
	Time    time.Time `json:"time,omitzero"`    // the moment, to be shown by the reader's clock, with its day
	Clock   time.Time `json:"clock,omitzero"`   // likewise without the day: of less than half a day ago
	Ago     time.Time `json:"ago,omitzero"`     // the moment, to be shown as how long ago it is where that stays true, else as it is
	User    string    `json:"user,omitzero"`    // a Slack user id, to be shown by name
	Channel string    `json:"channel,omitzero"` // a Slack channel id, likewise
	Link    Link      `json:"link,omitzero"`    // an address, to be shown as its label
}

// Moment is the moment that the piece is, however it is to be shown; zero: it is none.
func (s Span) Moment() time.Time {
	for _, t := range []time.Time{s.Time, s.Clock} {
		if !t.IsZero() {
			return t
		}
	}
	return s.Ago
}

// Link is an address that can be opened.
type Link struct{ Label, URL string }

// Code is a piece of a line to be shown as typed.
type Code string

// Bold is a piece of a line to be emphasised.
type Bold string

// Clock is a moment of which a reader knows the day.
type Clock time.Time

// Ago is a moment of which matters how long ago it is.
type Ago time.Time

// User is the id of a Slack user.
type User string

// Channel is the id of a Slack channel.
type Channel string

// New makes a line of strings, times, Clock, Ago, Code, Bold, User, Channel, Links, other Texts and anything that fmt prints.
func New(parts ...any) Text {
	var t Text
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			t = append(t, Span{Plain: p})
		case Code:
			t = append(t, Span{Code: string(p)})
		case Bold:
			t = append(t, Span{Bold: string(p)})
		case User:
			t = append(t, Span{User: string(p)})
		case Channel:
			t = append(t, Span{Channel: string(p)})
		case Link:
			t = append(t, Span{Link: p})
		case time.Time:
			t = append(t, Span{Time: p})
		case Clock:
			t = append(t, Span{Clock: time.Time(p)})
		case Ago:
			t = append(t, Span{Ago: time.Time(p)})
		case Text:
			t = append(t, p...)
		default:
			t = append(t, Span{Plain: fmt.Sprint(p)})
		}
	}
	return t
}

// In is the line as plain text with times in the given zone. What a terminal would do more with than show it is written out.
func (t Text) In(zone *time.Location) string {
	var b strings.Builder
	for _, s := range t {
		switch {
		case !s.Clock.IsZero():
			b.WriteString(s.Clock.In(zone).Format("15:04 MST"))
		case !s.Moment().IsZero():
			b.WriteString(s.Moment().In(zone).Format("2006-01-02 15:04 MST"))
		case s.Code != "":
			b.WriteString(inLine(s.Code))
		case s.Bold != "":
			b.WriteString(inLine(s.Bold))
		case s.User != "":
			b.WriteString(inLine("@" + s.User))
		case s.Channel != "":
			b.WriteString(inLine(s.Channel))
		case s.Link.URL != "":
			b.WriteString(inLine(s.Link.Label + " " + s.Link.URL))
		default:
			b.WriteString(shown(s.Plain))
		}
	}
	return b.String()
}

// inLine is a piece of a line as plain text, of which all can be a stranger's.
func inLine(piece string) string {
	const most = 1 << 20 // characters: the caller has cut it
	return Sanitize(piece, most)
}

// shown is a plain piece of a line. It may begin and end lines: what strangers wrote has come through Sanitize; line ends inside it are theirs all the same.
func shown(piece string) string {
	rest, begins := strings.CutPrefix(piece, "\n")
	rest, ends := strings.CutSuffix(rest, "\n")
	text := inLine(rest)
	if begins {
		text = "\n" + text
	}
	if ends {
		text += "\n"
	}
	return text
}

// String is the line as plain text with times in UTC.
func (t Text) String() string { return t.In(time.UTC) }

// MarshalText is the line as plain text with times in UTC.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
