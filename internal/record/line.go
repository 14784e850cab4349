package record

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Line is a parsed command line: a verb, its objects in order, keys with values, and flags.
type Line struct {
	Name  string            `json:"name"`
	Words []string          `json:"words,omitempty"`
	Keys  map[string]string `json:"keys,omitempty"`
	Flags []string          `json:"flags,omitempty"` // without dashes, sorted
}

// String is the canonical line: keys and flags sorted, quotes only where needed. The reason is the last key: without
// quotes it would take the words after it.
func (l Line) String() string {
	var b strings.Builder
	b.WriteString(quote(l.Name, true))
	for _, w := range l.Words {
		b.WriteByte(' ')
		b.WriteString(quote(w, true))
	}
	last := func(key string) int { return map[string]int{"reason": 1}[key] }
	for _, k := range slices.SortedFunc(maps.Keys(l.Keys),
		func(x, y string) int { return cmp.Or(last(x)-last(y), cmp.Compare(x, y)) }) {
		b.WriteString(" " + k + "=" + quote(l.Keys[k], false))
	}
	for _, f := range l.Flags {
		b.WriteString(" --" + f)
	}
	return b.String()
}

// quote writes a word so that Parse reads it back; an object that looks like a key or a flag is quoted too.
func quote(w string, object bool) string {
	_, _, isKey := CutKey(w)
	_, isFlag := CutFlag(w)
	special := w == "" || object && (isKey || isFlag) ||
		strings.ContainsFunc(w, func(r rune) bool { return unicode.IsSpace(r) || Escapable(r) })
	if !special {
		return w
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range w {
		if _, isQuote := ClosingQuotes(r); isQuote || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	b.WriteByte('"')
	return b.String()
}

// Has reports whether a flag is given.
func (l Line) Has(flag string) bool { return slices.Contains(l.Flags, flag) }

// LineOf is a line about an account.
func LineOf(account, name string, words ...string) Line {
	return Line{Name: name, Words: words}.With("account", account)
}

// With is the line with a key set, or left out for "".
func (l Line) With(key, value string) Line {
	keys := maps.Clone(l.Keys)
	if keys == nil {
		keys = map[string]string{}
	}
	keys[key] = value
	if value == "" {
		delete(keys, key)
	}
	if len(keys) == 0 {
		keys = nil
	}
	l.Keys = keys
	return l
}

// CutFlag reads "--all", also with the single dash that a phone makes of two.
func CutFlag(word string) (flag string, ok bool) {
	for _, dash := range []string{"--", "—", "–"} {
		if rest, ok := strings.CutPrefix(word, dash); ok && isName(rest) {
			return strings.ToLower(rest), true
		}
	}
	return "", false
}

// CutKey reads "for=4h". What stands before the sign must look like a key, so that a URL with a query stays an object.
func CutKey(word string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(word, "=")
	if !ok || !isName(key) {
		return "", "", false
	}
	return strings.ToLower(key), value, true
}

func isName(s string) bool {
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_') {
			return false
		}
	}
	return s != ""
}

// ClosingQuotes are the quotes that end one which begins so; ok reports whether it is a quote. Phones curl them.
func ClosingQuotes(r rune) (string, bool) {
	switch r {
	case '"', '“', '”', '„', '«', '»':
		return "\"“”«»", true
	case '\'', '‘', '’', '‚':
		return "'‘’", true
	}
	return "", false
}

// Escapable are the characters before which a backslash is dropped; before others it is one, as regular expressions
// want.
func Escapable(r rune) bool {
	_, quote := ClosingQuotes(r)
	return quote || r == '\\' || unicode.IsSpace(r)
}
