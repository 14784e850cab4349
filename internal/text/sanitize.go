package text

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// maxMarks is how many code points one visible character may have before it counts as a flood of combining marks.
const maxMarks = 12

// Sanitize makes text that a stranger wrote safe to stand in a line: control characters, line ends, characters that
// turn the direction of writing or have no width, and broken UTF-8 are written out as \x00 or \u{202e}, floods of
// combining marks are cut, and the whole is cut to at most limit characters, never inside a visible one. Wherever
// something is left out stands "…": nothing seems to end where it doesn't.
func Sanitize(s string, limit int) string {
	shown, _ := Fit(s, limit)
	return shown
}

// Fit is Sanitize, and whether there was room for all that is shown of it.
func Fit(s string, limit int) (shown string, all bool) {
	if len(s) <= limit && allPlain(s) {
		return s, true // nearly always: every line of every card comes through here
	}
	var b strings.Builder
	n := 0
	// Only so much can be shown: the rest of a 100,000-character path is not looked at.
	most := limit * utf8.UTFMax * maxMarks
	long := len(s) > most
	if long {
		for back := 1; back < utf8.UTFMax && !utf8.RuneStart(s[most]); back++ {
			most--
		}
		s = s[:most]
	}
	b.Grow(min(len(s), limit) + len("…"))
	for rest, state := s, -1; rest != ""; {
		var cluster string
		if len(rest) > 1 && plain(rest[0]) && plain(rest[1]) { // nothing in ASCII joins with its neighbour: most of a text needs no look at Unicode's tables
			cluster, rest, state = rest[:1], rest[1:], -1
		} else {
			cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		}
		if long && rest == "" { // it may go on behind the cut
			return b.String() + "…", true
		}
		out := visibleCluster(cluster)
		size := Length(out)
		if n+size > limit-1 && (rest != "" || n+size > limit) {
			return b.String() + "…", false
		}
		b.WriteString(out)
		n += size
	}
	return b.String(), true
}

// plain reports whether a byte is an ASCII character that is seen, or a space.
func plain(b byte) bool { return b >= ' ' && b <= '~' }

// allPlain reports whether a text is nothing but such characters.
func allPlain(s string) bool {
	for i := range len(s) {
		if !plain(s[i]) {
			return false
		}
	}
	return true
}

// Length is how many characters a text has, in units of UTF-16: a limit of Slack's may be in code points or in these,
// which are never fewer.
func Length(s string) (n int) {
	for _, r := range s {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}

// First is the beginning of a text, of at most so many characters; marks stay with what they stand on, unless there is
// nothing else.
func First(s string, most int) string {
	whole := 0 // where the last character began that isn't a mark
	for i, r := range s {
		if !unicode.IsMark(r) {
			whole = i
		}
		if most -= max(1, utf16.RuneLen(r)); most < 0 {
			return s[:cmp.Or(whole, i)]
		}
	}
	return s
}

// Cut is the beginning of a text, of at most limit characters and never with half a visible one. It ends with "…" where
// more followed.
func Cut(s string, limit int) string {
	if len(s) <= limit || Length(s) <= limit {
		return s
	}
	size, end := 0, 0
	for rest, state := s, -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if size += Length(cluster); size > limit-1 {
			break
		}
		end += len(cluster)
	}
	return s[:end] + "…"
}

// Field is Sanitize for a field of a record: at most MaxField characters.
func Field(s string) string { return Sanitize(s, MaxField) }

// SanitizeJSON is JSON that is the same, in which what can't be seen, what turns the direction of writing, and floods
// of combining marks are written as \u202e.
func SanitizeJSON(text []byte) []byte {
	var b bytes.Buffer
	marks := 0
	for _, r := range string(text) {
		if marks++; !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		}
		switch {
		case r == '\n' || !unicode.IsControl(r) && !hidden(r) && marks <= maxMarks: // a line end stands between values only
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

func visibleCluster(cluster string) string {
	r, width := utf8.DecodeRuneInString(cluster)
	if one := width == len(cluster); one && (width > 1 && !unicode.IsControl(r) && !hidden(r) || plain(cluster[0])) {
		return cluster
	}
	var b strings.Builder
	marks, before := 0, ' '
	for i, r := range cluster {
		_, width := utf8.DecodeRuneInString(cluster[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			fmt.Fprintf(&b, `\x%02x`, cluster[i])
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r) && !(r == picture && unicode.Is(unicode.So, before)):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			switch marks++; {
			case marks <= maxMarks:
				b.WriteRune(r)
			case marks == maxMarks+1:
				b.WriteRune('…')
			}
		}
		before = r
	}
	return b.String()
}

// unseen are the characters that change how others look, or stand there and aren't seen.
var unseen = []*unicode.RangeTable{
	unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs, unicode.Other_Default_Ignorable_Code_Point,
	unicode.Variation_Selector, unicode.Noncharacter_Code_Point,
}

// hidden are characters that are not seen. A zero-width joiner inside an emoji is one too: better odd than trusted.
func hidden(r rune) bool { return r == blank || unicode.In(r, unseen...) }

const (
	blank   = '\u2800' // of Braille: it looks like a space, and counts as a letter
	picture = '\ufe0f' // has the character before it drawn as an emoji
)
