// Package grammar reads a line of text: words, keys and flags, durations, targets, and what was probably meant.
package grammar

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/nearest"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxLine bounds a line, in bytes: Slack allows less, the terminal more.
const maxLine = 1 << 16

// Parse reads a line of the grammar: quotes as in a shell, keys in any order, and the dashes and quotes that phones make of ours.
// It knows no verbs: Runner.Do looks them up. Parse(l.String()) equals l.
func Parse(line string) (record.Line, error) {
	if len(line) > maxLine {
		return record.Line{}, refusal.Usage(text.New("that line is over 64 kB long"))
	}
	tokens, err := split(line)
	if err != nil {
		return record.Line{}, refusal.Usage(text.New(err.Error()))
	}
	return fromTokens(tokens)
}

// ParseArgs reads a line that a shell has split already, and takes the front end's options out of it, which may stand anywhere before a bare --.
// After an error the options before it are given all the same.
func ParseArgs(args []string, options ...Option) (record.Line, Given, error) {
	words, given, err := take(args, options)
	if err != nil {
		return record.Line{}, given, err
	}
	tokens := make([]token, len(words))
	for i, w := range words {
		tokens[i] = token{text: w}
	}
	line, err := fromTokens(tokens)
	return line, given, err
}

func fromTokens(tokens []token) (record.Line, error) {
	if len(tokens) == 0 {
		return record.Line{Name: "status"}, nil
	}
	l := record.Line{Name: strings.ToLower(tokens[0].text)}
	for _, t := range tokens[1:] {
		key, value, isKey := t.key()
		switch flag, isFlag := t.flag(); {
		case isFlag:
			if !slices.Contains(l.Flags, flag) {
				l.Flags = append(l.Flags, flag)
			}
		case isKey:
			if _, twice := l.Keys[key]; twice {
				return record.Line{}, refusal.Usage(text.New(text.Code(key+"="), " is given twice"))
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

func (t token) flag() (string, bool) {
	if t.quoted {
		return "", false
	}
	return record.CutFlag(t.text)
}

func (t token) key() (key, value string, ok bool) {
	if t.quoted {
		return "", "", false
	}
	return record.CutKey(t.text)
}

var errQuote = errors.New("a quote is not closed")

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
		opens, isQuote := record.ClosingQuotes(r)
		switch {
		case ends != "" && strings.ContainsRune(ends, r):
			ends = ""
		case r == '\\' && !strings.ContainsRune(ends, '\'') && i+1 < len(runes) && record.Escapable(runes[i+1]):
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

// Option is a flag of the front end that a line is typed at; no verb sees it.
type Option struct {
	Name  string // without its dashes
	Short string // one letter, without its dash; "": there is none
	Value string // what it takes, in capitals for the usage text; "": nothing
	Help  string
}

// String is the option as it is typed: "-y, --yes" or "--config FILE".
func (o Option) String() string {
	s := "--" + o.Name
	if o.Short != "" {
		s = "-" + o.Short + ", " + s
	}
	if o.Value != "" {
		s += " " + o.Value
	}
	return s
}

func (o Option) is(word string) bool {
	return word == "--"+o.Name || o.Short != "" && word == "-"+o.Short
}

// Given are the front end's options that a line holds, by name, with their values in order; "" is the value of one that takes none.
type Given map[string][]string

// Has reports whether the line holds the option.
func (g Given) Has(name string) bool { return len(g[name]) > 0 }

// Last is the option's last value; "" if the line doesn't hold it.
func (g Given) Last(name string) string {
	if !g.Has(name) {
		return ""
	}
	return g[name][len(g[name])-1]
}

// take takes the options out of the words. They may stand anywhere before a bare --. After an error it returns those before it.
func take(args []string, options []Option) (words []string, given Given, err error) {
	given = Given{}
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(words, args[i+1:]...), given, nil
		}
		word, value, hasValue := strings.Cut(args[i], "=")
		n := slices.IndexFunc(options, func(o Option) bool { return o.is(word) && (!hasValue || o.Value != "") })
		if n < 0 {
			words = append(words, args[i])
			continue
		}
		o := options[n]
		if o.Value != "" && !hasValue {
			if i++; i == len(args) {
				return words, given, refusal.Usage(text.New(text.Code(word), " needs a ", strings.ToLower(o.Value)))
			}
			value = args[i]
		}
		given[o.Name] = append(given[o.Name], value)
	}
	return words, given, nil
}

// Hint is " (did you mean …?)" when one of the known words is near enough to what was typed.
func Hint(typed string, known []string) text.Text {
	best := nearest.Word(typed, known, min(2, len(typed)-1))
	if best == "" {
		return nil
	}
	return text.New(" (did you mean ", text.Code(best), "?)")
}
