package call

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Understand names the arguments that people type without a name, as in deny 203.0.113.7 for 2h.
func (c *Command) Understand(l record.Line) (record.Line, error) {
	if c.Typed != nil {
		var err error
		if l, err = c.Typed(l); err != nil {
			return l, err
		}
	}
	l.Name = c.Name
	for _, arg := range c.Args {
		had := l.Keys[arg.Name]
		if arg.Bare == nil || had != "" && c.takesRest() { // a text may begin with anything
			continue
		}
		found, words := arg.bare(l.Words, c.takesRest())
		if len(found) == 0 || !arg.Required && len(words) < c.required() { // the word may be meant for an object
			continue
		}
		if had != "" {
			found = append([]string{had}, found...)
		}
		if len(found) > 1 {
			return l, c.Misuse("Two values of `%v=`: %v. Write one", arg.Name,
				text.Enumerate(found, 3, func(w string) text.Text { return text.New(refusal.Typed(w)) }))
		}
		l = l.With(arg.Name, found[0])
		l.Words = words
	}
	return l, nil
}

// bare finds the argument's values among words, with or without its name before them, and returns the other words, too.
// If the words are a text, only its beginning counts.
func (arg Arg) bare(words []string, isText bool) (found, left []string) {
	for len(words) > 0 {
		named := 0 // often: a name may be repeated
		for named < len(words)-1 && strings.EqualFold(words[named], arg.Name) {
			named++
		}
		value, n := arg.first(words[named:])
		if n == 0 && isText {
			break
		}
		if n == 0 {
			meant := max(named, 1) // words for something else
			left, words = append(left, words[:meant]...), words[meant:]
			continue
		}
		found, words = append(found, value), words[named+n:]
		if isText {
			break
		}
	}
	return found, append(left, words...)
}

// first is the value of the argument with which words begin, and how many of them it takes; 0: they begin with none.
func (arg Arg) first(words []string) (value string, n int) {
	if arg.Bare(words[0]) {
		return words[0], 1
	}
	// A number and its unit: 4 hours.
	if len(words) > 1 && strings.Trim(words[0], "0123456789") == "" && arg.Bare(words[0]+words[1]) {
		return words[0] + words[1], 2
	}
	return "", 0
}

// takesRest reports whether the command's words are a text.
func (c *Command) takesRest() bool {
	return slices.ContainsFunc(c.Args, func(arg Arg) bool { return arg.Rest })
}

// required is how many objects a line needs.
func (c *Command) required() (n int) {
	for _, arg := range c.Args {
		if arg.Object && arg.Required {
			n++
		}
	}
	return n
}

// IsUser reports whether a word is meant for a user: @me, or a mention. An id alone could be any word in capitals.
func IsUser(word string) bool { return strings.HasPrefix(strings.TrimPrefix(word, "<"), "@") }
