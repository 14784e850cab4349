package text

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// stampFormat is a moment in a document, with its zone.
const stampFormat = "2006-01-02 15:04:05 MST"

// maxPiece bounds a piece of a line of Markdown, in characters.
const maxPiece = 2_000

// Markdown is the line as Markdown, always one line, with times in the given zone. Strangers' text stays text in
// CommonMark, and in dialects with tables, bare links, mentions, emoji or formulas. A word that one of them could
// interpret is shown as code. An apostrophe replaces a back-quote, which code can't show.
func (t Text) Markdown(zone *time.Location) string {
	var w markdownWriter
	for _, s := range t {
		switch s.Kind {
		case KindTime, KindClock, KindAgo:
			w.WriteString(s.Time.In(zone).Format(stampFormat))
		case KindCode, KindUser, KindChannel:
			w.code(s.Text)
		case KindBold:
			w.bold(s.Text)
		default:
			w.words(Sanitize(s.Text, maxPiece))
		}
	}
	return strings.TrimSpace(w.String())
}

type markdownWriter struct{ strings.Builder }

// code writes a piece as code. Two of them side by side would be one that begins and ends elsewhere.
func (w *markdownWriter) code(s string) {
	s = strings.TrimSpace(strings.ReplaceAll(Sanitize(s, maxPiece), "`", "'"))
	if s == "" {
		return
	}
	if strings.HasSuffix(w.String(), "`") {
		w.WriteString(" ")
	}
	w.WriteString("`" + s + "`")
}

func (w *markdownWriter) bold(s string) {
	s = strings.TrimSpace(Sanitize(s, maxPiece))
	if slices.ContainsFunc(strings.Fields(s), readsMore) {
		w.words(s)
		return
	}
	w.part(s)
	if s == "" || strings.HasSuffix(w.String(), "*") {
		w.WriteString(s)
		return
	}
	w.WriteString("**" + s + "**")
}

// joins is what a reader would take for a name or an address, where two pieces meet.
var joins = regexp.MustCompile(`(?i)([:.]\pL|:/|www\.)$`)

// part keeps text off what stands before it where the two could be read together as a name or an address.
func (w *markdownWriter) part(s string) {
	before := strings.TrimRight(w.String(), "*")
	_, first := utf8.DecodeRuneInString(s)
	if joins.MatchString(before[max(0, len(before)-3):] + s[:first]) {
		w.WriteString(" ")
	}
}

// words writes plain text; words side by side that must be code are one piece of it.
func (w *markdownWriter) words(s string) {
	var asCode []string
	flush := func() {
		if text := strings.Join(asCode, " "); text != "" {
			inner := strings.TrimLeft(text, "(\"'")
			core := strings.TrimRight(inner, ",.;:!?)\"'")
			w.WriteString(text[:len(text)-len(inner)])
			w.code(core)
			w.WriteString(inner[len(core):])
		}
		asCode = nil
	}
	w.part(s)
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) { // also those that only look like one
			return ' '
		}
		return r
	}, s)
	for i, word := range strings.Split(s, " ") {
		begins := strings.TrimSpace(w.String()) == "" && beginsBlock.MatchString(word)
		if i > 0 && len(asCode) == 0 {
			w.WriteString(" ")
		}
		if begins || readsMore(word) {
			asCode = append(asCode, word)
			continue
		}
		if len(asCode) > 0 {
			flush()
			w.WriteString(" ")
		}
		w.WriteString(word)
	}
	flush()
}

// beginsBlock is a word that makes an item of a list, or a line across, of what it begins.
var beginsBlock = regexp.MustCompile(`^([-+=]+|\d+[.)])$`)

// readsMore reports whether some dialect could read more than characters in a word.
func readsMore(word string) bool {
	runes := []rune(" " + word + " ")
	for i, r := range runes {
		if i == 0 || i == len(runes)-1 {
			continue
		}
		before, next := runes[i-1], runes[i+1]
		switch {
		case r >= 0x80 || isWord(r) || strings.ContainsRune(`,;'"()/%-+?!=`, r):
		case r == '.' && !unicode.IsLetter(next): // else it may be a name, and some make a link of that
		case r == ':' && (next == ' ' || unicode.IsDigit(next)): // else a scheme or an emoji
		case r == '_' && isWord(before) && isWord(next):
		default:
			return true
		}
	}
	return false
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// Document is Markdown under construction.
type Document struct {
	Zone *time.Location
	Out  strings.Builder
}

// Heading begins a section of that level, from 1 on.
func (d *Document) Heading(level int, t Text) {
	if d.Out.Len() > 0 {
		d.Out.WriteByte('\n')
	}
	d.Out.WriteString(strings.Repeat("#", level) + " " + t.Markdown(d.Zone) + "\n\n")
}

// Item is one of a list, with what belongs to it below.
func (d *Document) Item(t Text, below ...Text) {
	d.Out.WriteString("- " + t.Markdown(d.Zone) + "\n")
	for _, b := range below {
		d.Out.WriteString("  - " + b.Markdown(d.Zone) + "\n")
	}
}
