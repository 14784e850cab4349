package commands

import (
	"errors"
	"fmt"
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

// maxLine bounds a line, in bytes: Slack allows less, the terminal more.
const maxLine = 1 << 16

// Parse reads a line of the grammar: quotes as in a shell, keys in any order, and the dashes and quotes that phones make of ours.
// It knows no verbs: Runner.Do looks them up. Parse(l.String()) equals l.
func Parse(line string) (Line, error) {
	if len(line) > maxLine {
		return Line{}, usage(Say("that line is over 64 kB long"))
	}
	tokens, err := split(line)
	if err != nil {
		return Line{}, usage(Say(err.Error()))
	}
	return fromTokens(tokens)
}

// ParseArgs reads a line that a shell has split already.
func ParseArgs(args []string) (Line, error) {
	tokens := make([]token, len(args))
	for i, a := range args {
		tokens[i] = token{text: a}
	}
	return fromTokens(tokens)
}

func fromTokens(tokens []token) (Line, error) {
	if len(tokens) == 0 {
		return Line{Name: "status"}, nil
	}
	l := Line{Name: strings.ToLower(tokens[0].text)}
	for _, t := range tokens[1:] {
		key, value, isKey := t.key()
		switch flag, isFlag := t.flag(); {
		case isFlag:
			if !slices.Contains(l.Flags, flag) {
				l.Flags = append(l.Flags, flag)
			}
		case isKey:
			if _, twice := l.Keys[key]; twice {
				return Line{}, usage(Say(Code(key+"="), " is given twice"))
			}
			if l.Keys == nil {
				l.Keys = map[string]string{}
			}
			l.Keys[key] = value
		default:
			l.Words = append(l.Words, t.text)
		}
	}
	slices.Sort(l.Flags)
	return l, nil
}

// token is a word of a line; a quoted one is never a flag.
type token struct {
	text   string
	quoted bool // begins with a quote
}

// flag reads "--all", also with the dash that a phone made of two.
func (t token) flag() (string, bool) {
	if t.quoted {
		return "", false
	}
	for _, dash := range []string{"--", "—", "–"} {
		if rest, ok := strings.CutPrefix(t.text, dash); ok && isName(rest) {
			return strings.ToLower(rest), true
		}
	}
	return "", false
}

// key reads "for=4h". What stands before the sign must look like a key, so that an URL with a query stays an object.
func (t token) key() (string, string, bool) {
	key, value, ok := strings.Cut(t.text, "=")
	if !ok || t.quoted || !isName(key) {
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

var errQuote = errors.New("a quote is not closed")

// closing tells which quote ends which; phones curl them.
func closing(r rune) (string, bool) {
	switch r {
	case '"', '“', '”', '„', '«', '»':
		return "\"“”«»", true
	case '\'', '‘', '’', '‚':
		return "'‘’", true
	}
	return "", false
}

// split cuts a line into words as a shell does. Inside double quotes a backslash keeps the next character as it is.
func split(line string) ([]token, error) {
	var (
		tokens []token
		word   strings.Builder
		in     bool
		quoted bool
		ends   string
	)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		opens, isQuote := closing(r)
		switch {
		case ends != "" && strings.ContainsRune(ends, r):
			ends = ""
		case r == '\\' && !strings.ContainsRune(ends, '\'') && i+1 < len(runes) && escapable(runes[i+1]):
			in = true
			i++
			word.WriteRune(runes[i])
		case ends != "":
			word.WriteRune(r)
		case isQuote && (!in || strings.HasSuffix(word.String(), "=")):
			// An apostrophe inside a word is one: reason=Anna's needs no quotes.
			quoted = quoted || !in
			in, ends = true, opens
		case unicode.IsSpace(r):
			if in {
				tokens = append(tokens, token{word.String(), quoted})
				word.Reset()
			}
			in, quoted = false, false
		default:
			in = true
			word.WriteRune(r)
		}
	}
	if ends != "" {
		return nil, errQuote
	}
	if in {
		tokens = append(tokens, token{word.String(), quoted})
	}
	return tokens, nil
}

// escapable are the characters before which a backslash is dropped; before others it is one, as regular expressions want.
func escapable(r rune) bool {
	_, quote := closing(r)
	return quote || r == '\\' || unicode.IsSpace(r)
}

// String is the canonical line: keys and flags sorted, quotes only where needed.
func (l Line) String() string {
	var b strings.Builder
	b.WriteString(quote(l.Name, true))
	for _, w := range l.Words {
		b.WriteString(" " + quote(w, true))
	}
	for _, k := range slices.Sorted(maps.Keys(l.Keys)) {
		fmt.Fprintf(&b, " %s=%s", k, quote(l.Keys[k], false))
	}
	for _, f := range l.Flags {
		b.WriteString(" --" + f)
	}
	return b.String()
}

// quote writes a word so that Parse reads it back; an object that looks like a key or a flag is quoted too.
func quote(w string, object bool) string {
	t := token{text: w}
	_, _, isKey := t.key()
	_, isFlag := t.flag()
	special := w == "" || object && (isKey || isFlag) || strings.ContainsFunc(w, func(r rune) bool { return unicode.IsSpace(r) || escapable(r) })
	if !special {
		return w
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range w {
		if _, isQuote := closing(r); isQuote || r == '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	b.WriteByte('"')
	return b.String()
}

// Has reports whether a flag is given.
func (l Line) Has(flag string) bool { return slices.Contains(l.Flags, flag) }

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
