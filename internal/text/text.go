// Package text makes text for people that is safe by construction: in Slack, at a terminal and in Markdown.
package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of what strangers wrote, in code points, in lines of text.
const (
	MaxHost  = 80
	MaxPath  = 100
	MaxField = 60
)

// Text is a line for a person, in pieces, so that each front end can escape what must be escaped and show times as its
// reader's clock does.
type Text []Span

// Span is one piece of a Text.
type Span struct {
	Kind Kind      `json:"kind,omitempty"`
	Text string    `json:"text,omitempty"` // of a link its label
	Time time.Time `json:"time,omitzero"`  // of KindTime, KindClock and KindAgo
	URL  string    `json:"url,omitempty"`  // of a link
}

// Kind is how a piece is shown.
type Kind string

// The kinds of pieces.
const (
	KindPlain   Kind = ""
	KindCell    Kind = "cell" // plain, between two columns of a listing
	KindCode    Kind = "code" // as typed: an address, an id, a line
	KindBold    Kind = "bold"
	KindTime    Kind = "time"    // a moment by the reader's clock, with its day
	KindClock   Kind = "clock"   // a time of less than half a day ago, without its day
	KindAgo     Kind = "ago"     // a moment as how long ago it is where that stays true, else as it is
	KindUser    Kind = "user"    // a Slack user id, by name
	KindChannel Kind = "channel" // a Slack channel id, by name
	KindLink    Kind = "link"    // an address, as its label
)

// Link is an address that can be opened.
type Link struct{ Label, URL string }

// Code is a piece of a line to be shown as typed.
type Code string

// Bold is a piece of a line to be emphasised.
type Bold string

// Cell stands between two columns of a listing. A terminal aligns the columns instead.
type Cell string

// Clock is a moment whose day a reader knows.
type Clock time.Time

// Ago is a moment shown as how long ago it is.
type Ago time.Time

// User is the id of a Slack user.
type User string

// Channel is the id of a Slack channel.
type Channel string

// New makes a line of strings, times, Clock, Ago, Cell, Code, Bold, User, Channel, Links, other Texts and anything that
// fmt prints.
func New(parts ...any) Text {
	n := len(parts)
	for _, p := range parts {
		if line, ok := p.(Text); ok {
			n += len(line)
		}
	}
	t := make(Text, 0, n)
	for _, p := range parts {
		t = t.with(p)
	}
	return t
}

// Sentence is what wafbot says: each %v stands for a value that New takes, *…* is bold, `…` is code, and |…|
// stands between columns. It is a constant: what strangers wrote can only be a value, in which nothing is read.
type Sentence string

// Newf makes a line of a sentence.
func Newf(s Sentence, values ...any) Text {
	t := make(Text, 0, 2*len(values)+1)
	for rest := string(s); rest != ""; {
		switch i := strings.IndexAny(rest, "%*`|"); {
		case i < 0:
			return t.with(rest)
		case i > 0:
			t, rest = t.with(rest[:i]), rest[i:]
		case rest[0] == '%':
			t, values, rest = t.with(values[0]), values[1:], rest[len("%v"):]
		default:
			about, after, _ := strings.Cut(rest[1:], rest[:1])
			n := strings.Count(about, "%v")
			shown := fmt.Sprintf(about, values[:n]...)
			switch rest[0] {
			case '*':
				t = t.with(Bold(shown))
			case '`':
				t = t.with(Code(shown))
			case '|':
				t = t.with(Cell(shown))
			}
			values, rest = values[n:], after
		}
	}
	return t
}

// Addf adds a sentence to a line. A copy that was made before stays as it is.
func (t *Text) Addf(s Sentence, values ...any) { *t = append(slices.Clip(*t), Newf(s, values...)...) }

// Lines are lines of an answer, one below the other.
type Lines []Text

// Addf adds a line of a sentence.
func (l *Lines) Addf(s Sentence, values ...any) { *l = append(*l, Newf(s, values...)) }

// with is the line with one more part.
func (t Text) with(part any) Text {
	var s Span
	switch p := part.(type) {
	case Text:
		return append(t, p...)
	case string:
		s.Text = p
	case Cell:
		s = Span{Kind: KindCell, Text: string(p)}
	case Code:
		s = Span{Kind: KindCode, Text: string(p)}
	case Bold:
		s = Span{Kind: KindBold, Text: string(p)}
	case User:
		s = Span{Kind: KindUser, Text: string(p)}
	case Channel:
		s = Span{Kind: KindChannel, Text: string(p)}
	case Link:
		s = Span{Kind: KindLink, Text: p.Label, URL: p.URL}
	case time.Time:
		s = Span{Kind: KindTime, Time: p}
	case Clock:
		s = Span{Kind: KindClock, Time: time.Time(p)}
	case Ago:
		s = Span{Kind: KindAgo, Time: time.Time(p)}
	default:
		s.Text = fmt.Sprint(p)
	}
	if s.Text == "" && s.URL == "" && s.Time.IsZero() && s.Kind != KindCell {
		s = Span{} // nothing is shown of it
	}
	return append(t, s)
}

// Lead is a line that begins in bold with what it is about.
func Lead(about string, parts ...any) Text { return New(Bold(about), New(parts...)) }

// Add adds parts to the line.
func (t *Text) Add(parts ...any) { *t = New(*t, New(parts...)) }

// Add adds a line of the parts.
func (l *Lines) Add(parts ...any) { *l = append(*l, New(parts...)) }

// Join is one line of several, with between between them. Empty ones are left out.
func Join(lines []Text, between string) (all Text) {
	for _, l := range lines {
		if len(l) == 0 {
			continue
		}
		if len(all) > 0 {
			all = append(all, Span{Text: between})
		}
		all = append(all, l...)
	}
	return all
}

// Enumerate is the first of all, as show shows them, with commas between them, and how many more there are.
func Enumerate[T any](all []T, most int, show func(T) Text) Text {
	var shown []Text
	for _, one := range all[:min(most, len(all))] {
		shown = append(shown, show(one))
	}
	line := Join(shown, ", ")
	if more := len(all) - most; more > 0 {
		line = New(line, " and ", more, " more")
	}
	return line
}

// Row marks a line as a row of a listing.
func Row(line Text) Text { return New(Cell("• "), line) }

// Cells are the columns of a row; nil of a line that is none.
func (t Text) Cells() (cells []Text) {
	if len(t) == 0 || t[0].Kind != KindCell {
		return nil
	}
	for _, s := range t {
		if s.Kind == KindCell {
			cells = append(cells, nil)
		} else {
			cells[len(cells)-1] = append(cells[len(cells)-1], s)
		}
	}
	return cells
}

// AsCode shows a word as code.
func AsCode(word string) Text { return New(Code(word)) }

// Lines splits a text where a plain piece begins or ends with a line end. One inside a piece may be a stranger's, and
// stays.
func (t Text) Lines() []Text {
	lines := []Text{nil}
	for _, s := range t {
		begins, ends := false, false
		if s.Kind == KindPlain {
			s.Text, begins = strings.CutPrefix(s.Text, "\n")
			s.Text, ends = strings.CutSuffix(s.Text, "\n")
		}
		if begins {
			lines = append(lines, nil)
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], s)
		if ends {
			lines = append(lines, nil)
		}
	}
	return lines
}

// In is the line as plain text with times in the given zone. Characters that a terminal would act on are written out.
func (t Text) In(zone *time.Location) string {
	const most = 1 << 20 // characters of a piece: the caller has cut it
	var b strings.Builder
	for i, line := range t.Lines() {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, s := range line {
			switch s.Kind {
			case KindClock:
				b.WriteString(s.Time.In(zone).Format("15:04 MST"))
			case KindTime, KindAgo:
				b.WriteString(s.Time.In(zone).Format("2006-01-02 15:04 MST"))
			case KindUser:
				b.WriteString(Sanitize("@"+s.Text, most))
			case KindLink:
				b.WriteString(Sanitize(s.Text+" "+s.URL, most))
			default:
				b.WriteString(Sanitize(s.Text, most))
			}
		}
	}
	return b.String()
}

// String is the line as plain text with times in UTC.
func (t Text) String() string { return t.In(time.UTC) }

// MarshalText is the line as plain text with times in UTC.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Number is a whole number with thousands separated by commas.
func Number[T int | int64](n T) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Count is a number with its noun.
func Count[T int | int64](n T, noun string) string { return Number(n) + " " + Plural(int64(n), noun) }

// Duration is a duration in its two largest units, short enough for a button; less than two days are hours, as people
// say them.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	var parts []string
	for _, u := range []struct {
		length time.Duration
		name   string
	}{{day, "days"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if u.length == day && d < 2*day {
			continue
		}
		if n := d / u.length; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, u.name))
			d %= u.length
		}
	}
	if len(parts) == 0 {
		return "under a second"
	}
	return strings.Join(parts[:min(2, len(parts))], " ")
}

// Plural is the noun for that many, by its ending.
func Plural(n int64, noun string) string {
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "try"):
		return strings.TrimSuffix(noun, "y") + "ies"
	}
	return noun + "s"
}
