package card

import (
	"cmp"
	"fmt"
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
	var dated time.Time // the first moment written, which shows its day
	for _, s := range joinPlain(t) {
		switch {
		case !s.Time.IsZero() && !dated.IsZero() && s.Time.Sub(dated).Abs() < sameDay:
			w.token(date(s.Time, "{time}"))
		case !s.Time.IsZero():
			dated = cmp.Or(dated, s.Time)
			w.token(date(s.Time, "{date_short_pretty} {time}"))
		case !s.Clock.IsZero():
			w.token(date(s.Clock, "{time}"))
		case !s.Ago.IsZero():
			w.token(date(s.Ago, "{ago}"))
		case s.Code != "":
			w.code(s.Code)
		case s.Bold != "":
			w.bold(s.Bold)
		case s.User != "":
			w.token(mention(s.User))
		case s.Channel != "":
			w.token("<#" + s.Channel + ">")
		case s.Link.URL != "":
			w.token(address(s.Link))
		default:
			w.plain(s.Plain)
		}
	}
	return w.out.String()
}

// joinPlain joins adjacent plain pieces: each may be harmless, but together they could be markup.
func joinPlain(t text.Text) text.Text {
	var joined text.Text
	for _, s := range t {
		s = withoutFalseID(s)
		if anyWord(s.Bold, formats) {
			s = text.Span{Plain: s.Bold} // Slack shows no bold around code
		}
		n := len(joined)
		if isPlain(s) && n > 0 && isPlain(joined[n-1]) {
			joined[n-1].Plain += s.Plain
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// withoutFalseID makes plain text of a user or channel id that Slack doesn't know, as a terminal user's, and of a link that no browser opens.
func withoutFalseID(s text.Span) text.Span {
	switch {
	case s.User != "" && !IsID(s.User, "UWS"):
		return text.Span{Plain: "@" + s.User}
	case s.Channel != "" && !IsID(s.Channel, "CG"):
		return text.Span{Plain: s.Channel}
	case s.Link.URL != "" && !strings.HasPrefix(s.Link.URL, "https://") && !strings.HasPrefix(s.Link.URL, "http://"):
		return text.Span{Plain: s.Link.Label}
	}
	return s
}

func isPlain(s text.Span) bool {
	return s.Moment().IsZero() && s.Code == "" && s.Bold == "" && s.User == "" && s.Channel == "" && s.Link.URL == ""
}

// markupWriter writes markup. Slack has no escape for formatting characters, so words with one are shown as code. A back-quote can't be shown.
type markupWriter struct {
	out    strings.Builder
	last   rune // last rune written; 0: none
	closed bool // it closed a piece of code or bold
	room   int  // visible characters left
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
	shown := text.Sanitize(s, w.room)
	w.room -= length(shown)
	if strings.HasSuffix(shown, "…") && !strings.HasSuffix(s, "…") {
		w.room = -1 // it was cut: nothing follows
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
	w.put(delimiter + escape(strings.TrimSpace(s)) + delimiter)
	w.closed = true
}

func (w *markupWriter) code(s string) {
	w.enclose("`", strings.ReplaceAll(w.take(s), "`", "'"))
}

func (w *markupWriter) bold(s string) {
	s = w.take(s)
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

func (w *markupWriter) plain(s string) { w.words(w.take(s)) }

func (w *markupWriter) words(s string) {
	for word := range splitWords(s) {
		if !formats(word) {
			w.put(escape(word))
			continue
		}
		inner := strings.TrimLeft(word, "([")
		w.put(word[:len(word)-len(inner)])
		core := strings.TrimRight(inner, ",.;:!?)]")
		w.enclose("`", strings.ReplaceAll(core, "`", "'"))
		w.put(inner[len(core):])
	}
}

// splitWords yields words and the spaces between them.
func splitWords(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for s != "" {
			end := strings.IndexFunc(s, unicode.IsSpace)
			if end == 0 {
				end = strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) })
			}
			if end < 0 {
				end = len(s)
			}
			if !yield(s[:end]) {
				return
			}
			s = s[end:]
		}
	}
}

func anyWord(s string, is func(string) bool) bool {
	for word := range splitWords(s) {
		if is(word) {
			return true
		}
	}
	return false
}

// formats reports whether Slack could read markup in a word: formatting, a quotation, an emoji, a mention, an address.
func formats(word string) bool {
	if strings.ContainsAny(word, "*~`") || strings.HasPrefix(word, ">") || strings.Contains(word, "://") || strings.Contains(word, "www.") {
		return true
	}
	if name := strings.TrimLeft(word, "(["); len(name) > 1 && (name[0] == '@' || name[0] == '#') && (name[1] < '0' || name[1] > '9') {
		return true
	}
	if first, last := strings.Index(word, ":"), strings.LastIndex(word, ":"); last > first+1 {
		return true
	}
	return italic(word)
}

// italic reports whether a word has an underscore that isn't inside a name: Slack formats at the edges of words only.
func italic(word string) bool {
	letters := []rune(word)
	inside := func(i int) bool {
		return i >= 0 && i < len(letters) && (unicode.IsLetter(letters[i]) || unicode.IsDigit(letters[i]))
	}
	for i, r := range letters {
		if r == '_' && !(inside(i-1) && inside(i+1)) {
			return true
		}
	}
	return false
}

// escape escapes the three control characters of Slack's markup.
func escape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(s, "&", "&amp;"), "<", "&lt;"), ">", "&gt;")
}

// sameDay is how far apart two moments are at most for the day to be shown once.
const sameDay = 12 * time.Hour

// date shows a moment in the reader's time zone, in one of Slack's formats. A client that can't shows the text behind the bar.
func date(t time.Time, format string) string {
	utc := t.UTC().Format("2006-01-02 15:04 UTC")
	if t.Unix() < 0 || t.UTC().Year() > 9999 {
		return utc
	}
	return fmt.Sprintf("<!date^%d^%s|%s>", t.Unix(), format, utc)
}

// address writes a link. Characters that would end the link are percent-encoded.
func address(l text.Link) string {
	url := strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C", "&", "&amp;", "\n", "%0A", " ", "%20").Replace(l.URL)
	return "<" + url + "|" + strings.ReplaceAll(escape(text.Sanitize(l.Label, maxLabel)), "|", "/") + ">"
}

// IsID reports whether s is a Slack id that begins with one of the letters: user (U, W), user group (S), channel (C, G).
func IsID(s, letters string) bool {
	if len(s) < 2 || len(s) > 20 || !strings.ContainsRune(letters, rune(s[0])) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
}

// InSlack reports whether an actor's id is a Slack user's, not a terminal user's.
func InSlack(actor string) bool { return actor != "" && !strings.HasPrefix(actor, "cli:") }

// mention writes the mention of a user or user group.
func mention(id string) string {
	if id[0] == 'S' {
		return "<!subteam^" + id + ">"
	}
	return "<@" + id + ">"
}
