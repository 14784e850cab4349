// Package grammar reads a line of text: words, keys and flags, durations, targets, and what was probably meant.
package grammar

import (
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

// Parse reads a line of the grammar: quotes as in a shell, keys in any order, and the dashes and quotes that phones
// make of ours. It knows no verbs: Runner.Do looks them up. Parse(l.String()) equals l.
func Parse(line string) (record.Line, error) {
	if len(line) > maxLine {
		return record.Line{}, refusal.Usage("That line is over 64 kB long")
	}
	tokens, closed := split(line)
	if !closed {
		return record.Line{}, refusal.Usage("A quote is not closed. Example: `reason=\"our own test\"`")
	}
	return fromTokens(tokens)
}

// ParseArgs reads a line that a shell has split already, and takes the front end's options out of it. They may stand
// anywhere before a bare --. After an error it returns those before it.
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
	for tokens = tokens[1:]; len(tokens) > 0; {
		t := tokens[0]
		tokens = tokens[1:]
		key, value, isKey := t.key()
		switch flag, isFlag := t.flag(); {
		case isFlag:
			if !slices.Contains(l.Flags, flag) {
				l.Flags = append(l.Flags, flag)
			}
		case isKey:
			if _, twice := l.Keys[key]; twice {
				return record.Line{}, refusal.Usage("Given twice: `%v=`. Write it once", key)
			}
			if l.Keys == nil {
				l.Keys = map[string]string{}
			}
			l.Keys[key], tokens = t.whole(key, value, tokens)
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
	closed bool // its value is in quotes, so nothing after it belongs to it
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

// whole is the key's value with the words after it that belong to it, and the words that don't. An unquoted reason
// takes all words up to the next known key, except flags; a number of hours takes its unit.
func (t token) whole(key, value string, after []token) (whole string, left []token) {
	switch {
	case t.closed || strings.ContainsFunc(value, unicode.IsSpace): // a shell has taken the quotes away
		return value, after
	case slices.Contains(durationKeys, key):
		return wholeDuration(value, after)
	case key != "reason":
		return value, after
	}
	words := []string{value}
	for i, next := range after {
		if known, _, ok := next.key(); ok && slices.Contains(keys, known) {
			return join(words), append(left, after[i:]...)
		}
		if _, isFlag := next.flag(); isFlag {
			left = append(left, next)
			continue
		}
		words = append(words, next.text)
	}
	return join(words), left
}

func join(words []string) string { return strings.TrimSpace(strings.Join(words, " ")) }

// keys are the keys that some verb knows. Here no verb is known; a test holds the list against them.
var keys = []string{
	"account", "ack", "app", "attack", "by", "condition", "deny", "for", "host", "list", "name", "page", "part", "patch",
	"path", "reason", "since", "source", "storm", "to", "type",
}

// durationKeys are those of them that take a duration.
var durationKeys = []string{"for", "patch", "since"}

// wholeDuration is a duration with its unit, also where spaces were typed: for=4 hours, for= 4h.
func wholeDuration(value string, after []token) (whole string, left []token) {
	if strings.Trim(value, "0123456789") != "" {
		return value, after
	}
	words := []string{value}
	for _, next := range after[:min(2, len(after))] {
		words = append(words, next.text)
		if joined := strings.Join(words, ""); IsDuration(joined) {
			return joined, after[len(words)-1:]
		}
	}
	return value, after
}

// split cuts a line into words as a shell does, and reports whether each quote is closed. Inside double quotes a
// backslash keeps the next character as it is.
func split(line string) (tokens []token, closed bool) {
	var (
		word strings.Builder
		in   bool
		t    token // the word's, but for its text
		ends string
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
			t.quoted, t.closed = t.quoted || !in, true
			in, ends = true, opens
		case unicode.IsSpace(r):
			if in {
				t.text = word.String()
				tokens = append(tokens, t)
				word.Reset()
			}
			in, t = false, token{}
		default:
			in = true
			word.WriteRune(r)
		}
	}
	if in {
		t.text = word.String()
		tokens = append(tokens, t)
	}
	return tokens, ends == ""
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

// Given are the front end's options in a line, by name, each with its last value; "" if it takes none.
type Given map[string]string

// Has reports whether the line holds the option.
func (g Given) Has(name string) bool {
	_, has := g[name]
	return has
}

// take takes the options out of the words before a bare --. After an error it returns those before it.
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
				return words, given, refusal.Usage("`%v` needs a %v", word, strings.ToLower(o.Value))
			}
			value = args[i]
		}
		given[o.Name] = value
	}
	return words, given, nil
}

// Hint is " (did you mean …?)" when one of the known words is near enough to what was typed.
func Hint(typed string, known []string) text.Text {
	best := nearest.Word(typed, known, min(2, len(typed)-1))
	if best == "" {
		return nil
	}
	return text.Newf(" (did you mean `%v`?)", best)
}
