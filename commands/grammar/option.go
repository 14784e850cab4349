package grammar

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/text"
)

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
