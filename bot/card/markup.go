package card

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wafbot/wafbot/internal/text"
)

// mrkdwn writes a line in Slack's markup, cut to one text object.
func mrkdwn(t text.Text) string { return fit(t, maxText) }

// fit writes a line in Slack's markup of at most so many characters, escapes included. The result is always one line.
func fit(t text.Text, most int) string {
	for limit := most; ; limit = limit * 3 / 4 {
		if out := markup(t, limit); length(out) <= most {
			return out
		}
	}
}

// markup writes a line of at most limit visible characters.
func markup(t text.Text, limit int) string {
	w := markupWriter{room: limit}
	plain := "" // adjacent plain pieces are written as one: each may be harmless, but together they could be markup
	for _, s := range t {
		if s = shownPlain(s); s.Kind == text.KindPlain {
			plain += s.Text
			continue
		}
		w.words(w.take(plain))
		plain = ""
		w.piece(s)
	}
	w.words(w.take(plain))
	return w.out.String()
}

// shownPlain makes plain text of what Slack can't show as it is meant: what stands between columns, a user or channel
// id that it doesn't know, as a terminal user's, a link that no browser opens, and bold around code.
func shownPlain(s text.Span) text.Span {
	switch {
	case s.Kind == text.KindCell: // Slack has no columns
		return text.Span{Text: s.Text}
	case s.Kind == text.KindUser && !IsID(s.Text, "UWS"):
		return text.Span{Text: "@" + s.Text}
	case s.Kind == text.KindChannel && !IsID(s.Text, "CG"), s.Kind == text.KindLink &&
		!strings.HasPrefix(s.URL, "https://") && !strings.HasPrefix(s.URL, "http://"),
		s.Kind == text.KindBold && !harmless(s.Text) && slices.ContainsFunc(strings.Fields(s.Text), formats):
		return text.Span{Text: s.Text}
	}
	return s
}

// markupWriter writes markup. Slack has no escape for formatting characters, so words with one are shown as code. A
// back-quote can't be shown.
type markupWriter struct {
	out    strings.Builder
	last   rune      // last rune written; 0: none
	closed bool      // it closed a piece of code or bold
	room   int       // visible characters left
	dated  time.Time // the first moment written, which shows its day
}

// piece writes a piece that isn't plain.
func (w *markupWriter) piece(s text.Span) {
	switch s.Kind {
	case text.KindTime:
		if !w.dated.IsZero() && s.Time.Sub(w.dated).Abs() < sameDay {
			w.token(date(s.Time, "{time}"))
			break
		}
		w.dated = cmp.Or(w.dated, s.Time)
		w.token(date(s.Time, "{date_short_pretty} {time}"))
	case text.KindClock:
		w.token(date(s.Time, "{time}"))
	case text.KindAgo:
		w.token(date(s.Time, "{ago}"))
	case text.KindCode:
		w.code(w.take(s.Text))
	case text.KindBold:
		w.bold(w.take(s.Text))
	case text.KindUser:
		w.token(mention(s.Text))
	case text.KindChannel:
		w.token("<#" + s.Text + ">")
	case text.KindLink:
		w.token(address(s))
	}
}

// take cuts a text to the room left and makes hidden characters visible.
func (w *markupWriter) take(s string) string {
	if s == "" || w.room < 0 {
		return ""
	}
	if w.room == 0 {
		w.room = -1
		return "…"
	}
	shown, all := text.Fit(s, w.room)
	if w.room -= length(shown); !all {
		w.room = -1 // nothing follows
	}
	return shown
}

func (w *markupWriter) put(markup string) {
	first, _ := utf8.DecodeRuneInString(markup)
	if w.closed && (unicode.IsLetter(first) || unicode.IsDigit(first)) {
		w.out.WriteByte(' ') // else Slack doesn't recognise the end of the code
	}
	if markup != "" {
		w.out.WriteString(markup)
		w.last, _ = utf8.DecodeLastRuneInString(markup)
		w.closed = false
	}
}

// enclose writes a piece between delimiters. Slack recognises them only after a space or an opening bracket.
func (w *markupWriter) enclose(delimiter, s string) {
	if strings.TrimSpace(s) == "" {
		w.put(s)
		return
	}
	if w.last != 0 && !strings.ContainsRune(" ([{", w.last) {
		w.put(" ")
	}
	w.put(delimiter)
	w.put(escape(strings.TrimSpace(s)))
	w.put(delimiter)
	w.closed = true
}

func (w *markupWriter) code(s string) { w.enclose("`", strings.ReplaceAll(s, "`", "'")) }

func (w *markupWriter) bold(s string) {
	w.enclose("*", s)
	if strings.HasSuffix(s, " ") {
		w.put(" ")
	}
}

func (w *markupWriter) token(token string) {
	const shown = 20 // about
	if w.room <= 0 {
		w.put(w.take("…"))
		return
	}
	w.room = max(w.room-shown, 0)
	w.put(token)
}

// special are the characters that Slack could read as markup, beside www.
const special = "*~`>:@#_&<"

// words writes plain text: words with formatting as code, and the spaces between them.
func (w *markupWriter) words(s string) {
	if harmless(s) {
		w.put(s)
		return
	}
	for s != "" {
		word, spaces := s, ""
		if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
			word = s[:end]
			spaces = s[end : len(s)-len(strings.TrimLeftFunc(s[end:], unicode.IsSpace))]
		}
		s = s[len(word)+len(spaces):]
		if formats(word) {
			inner := strings.TrimLeft(word, "([")
			w.put(word[:len(word)-len(inner)])
			core := strings.TrimRight(inner, ",.;:!?)]")
			w.code(core)
			w.put(inner[len(core):])
		} else {
			w.put(escape(word))
		}
		w.put(spaces)
	}
}

// harmless reports whether Slack shows a text as it is, whatever stands beside it.
func harmless(s string) bool { return !strings.ContainsAny(s, special) && !strings.Contains(s, "www.") }

// marked matches a word in which Slack could read markup: formatting, which it reads at the edges of words where it is
// an underscore, a quotation, an address, a mention, an emoji.
var marked = regexp.MustCompile("[*~`]|(^|[^\\pL\\p{Nd}])_|_([^\\pL\\p{Nd}]|$)|^>|://|www\\.|^[(\\[]*[@#][^0-9]|:.+:")

// formats reports whether Slack could read markup in a word.
func formats(word string) bool { return !harmless(word) && marked.MatchString(word) }

// escape escapes the three control characters of Slack's markup.
func escape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(s, "&", "&amp;"), "<", "&lt;"), ">", "&gt;")
}

// sameDay is how far apart two moments are at most for the day to be shown once.
const sameDay = 12 * time.Hour

// date shows a moment in the reader's time zone, in one of Slack's formats. A client that can't shows the text behind
// the bar.
func date(t time.Time, format string) string {
	const plain = "2006-01-02 15:04 UTC"
	t = t.UTC()
	if t.Unix() < 0 || t.Year() > 9999 {
		return t.Format(plain)
	}
	return fmt.Sprintf("<!date^%d^%s|%s>", t.Unix(), format, t.Format(plain))
}

// inLink encodes what would end a link's address.
var inLink = strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C", "&", "&amp;", "\n", "%0A", " ", "%20")

// address writes a link.
func address(s text.Span) string {
	return "<" + inLink.Replace(s.URL) + "|" + strings.ReplaceAll(escape(text.Sanitize(s.Text, maxLabel)), "|", "/") + ">"
}

// slackID matches what Slack's ids look like.
var slackID = regexp.MustCompile(`^[A-Z0-9]{2,20}$`)

// IsID reports whether s is a Slack id that begins with one of the letters: user (U, W), user group (S), channel (C,
// G).
func IsID(s, letters string) bool { return slackID.MatchString(s) && strings.Contains(letters, s[:1]) }

// InSlack reports whether an actor's id is a Slack user's. Those of other places begin with the place and a colon.
func InSlack(actor string) bool { return actor != "" && !strings.Contains(actor, ":") }

// mention writes the mention of a user or user group.
func mention(id string) string {
	if id[0] == 'S' {
		return "<!subteam^" + id + ">"
	}
	return "<@" + id + ">"
}
