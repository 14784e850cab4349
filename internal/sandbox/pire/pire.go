// Package pire matches regular expressions of the dialect that the service has (Pire), as far as all that is public about it agrees: alternation, groups, classes, repetition,
// anchors, & for what both sides match and ~ for what the rest doesn't. What isn't among these is refused, with the way to write it.
package pire

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Regexp is a regular expression that was understood.
type Regexp struct{ root node }

// maxRepeat is how often a part can be repeated by a number.
const maxRepeat = 100

// Parse reads a regular expression. Its errors are for people: they say what isn't understood, and how to write it.
func Parse(pattern string) (*Regexp, error) {
	if !utf8.ValidString(pattern) {
		return nil, fmt.Errorf("it isn't UTF-8")
	}
	p := &parser{rest: []rune(pattern)}
	root, err := p.alternation()
	if err == nil && len(p.rest) > 0 {
		err = fmt.Errorf("a closing ) has no opening one; as a character write [)]")
	}
	if err != nil {
		return nil, err
	}
	return &Regexp{root}, nil
}

type parser struct{ rest []rune }

func (p *parser) peek() rune {
	if len(p.rest) == 0 {
		return -1
	}
	return p.rest[0]
}

func (p *parser) take() rune {
	r := p.rest[0]
	p.rest = p.rest[1:]
	return r
}

func (p *parser) alternation() (node, error) {
	var either []node
	for {
		one, err := p.intersection()
		if err != nil {
			return nil, err
		}
		either = append(either, one)
		if p.peek() != '|' {
			return &alternation{either}, nil
		}
		p.take()
	}
}

func (p *parser) intersection() (node, error) {
	var both []node
	for {
		negated := p.peek() == '~'
		if negated {
			p.take()
		}
		one, err := p.concatenation()
		if err != nil {
			return nil, err
		}
		if negated {
			one = &complement{one}
		}
		both = append(both, one)
		if p.peek() != '&' {
			return &intersection{both}, nil
		}
		p.take()
	}
}

func (p *parser) concatenation() (node, error) {
	var parts []node
	for {
		switch r := p.peek(); r {
		case -1, '|', '&', ')':
			return &concatenation{parts}, nil
		case '~':
			return nil, fmt.Errorf("~ negates all that follows in its group: put it first, as in a(~b)")
		default:
			one, err := p.repeated()
			if err != nil {
				return nil, err
			}
			parts = append(parts, one)
		}
	}
}

func (p *parser) repeated() (node, error) {
	one, err := p.single()
	for err == nil {
		least, most := 0, -1
		switch p.peek() {
		case '*':
			p.take()
		case '+':
			p.take()
			least = 1
		case '?':
			p.take()
			most = 1
		case '{':
			least, most, err = p.bounds()
		default:
			return one, nil
		}
		if err == nil && p.peek() == '?' {
			err = fmt.Errorf("a ? behind a repetition isn't understood: every match counts, however long it is. Leave it out")
		}
		one = &repetition{one, least, most}
	}
	return nil, err
}

// bounds reads {2}, {2,} or {2,5}.
func (p *parser) bounds() (least, most int, err error) {
	end := strings.IndexRune(string(p.rest), '}')
	if end < 0 {
		return 0, 0, fmt.Errorf("a { has no closing }; as a character write [{]")
	}
	written := string(p.rest)[1:end]
	p.rest = []rune(string(p.rest)[end+1:])
	from, to, open := strings.Cut(written, ",")
	least, err = strconv.Atoi(from)
	switch {
	case err == nil && !open:
		most = least
	case err == nil && to == "":
		most = -1
	case err == nil:
		most, err = strconv.Atoi(to)
	}
	if err != nil || least < 0 || least > maxRepeat || most > maxRepeat || most >= 0 && most < least {
		return 0, 0, fmt.Errorf("{%s} is no number of repetitions up to %d: write {2}, {2,} or {2,5}", written, maxRepeat)
	}
	return least, most, nil
}

// written is how what Pire doesn't know is written for it.
var written = map[rune]string{
	'd': "[0-9]", 'D': "[^0-9]", 'w': "[A-Za-z0-9_]", 'W': "[^A-Za-z0-9_]", 's': "[ ]", 'S': "[^ ]", 'h': "[ ]",
}

func (p *parser) single() (node, error) {
	switch r := p.take(); r {
	case '(':
		if p.peek() == '?' {
			return nil, fmt.Errorf("(? isn't understood: groups begin with ( alone, and there is no look-around")
		}
		inner, err := p.alternation()
		if err != nil {
			return nil, err
		}
		if p.peek() != ')' {
			return nil, fmt.Errorf("a closing ) is missing; as a character write [(]")
		}
		p.take()
		return inner, nil
	case '[':
		return p.class()
	case '.':
		return &one{negated: true}, nil
	case '^':
		return &one{spans: []span{{begin, begin}}}, nil
	case '$':
		return &one{spans: []span{{end, end}}}, nil
	case '\\':
		return nil, p.escape()
	case '*', '+', '?', '{':
		return nil, fmt.Errorf("there is nothing before %c to repeat; as a character write [%c]", r, r)
	default:
		return &one{spans: []span{{r, r}}}, nil
	}
}

// escape says how to write what a backslash can't.
func (p *parser) escape() error {
	next := p.peek()
	switch instead := written[next]; {
	case instead != "":
		return fmt.Errorf("\\%c isn't understood: write %s", next, instead)
	case next == 'b' || next == 'B':
		return fmt.Errorf("\\%c isn't understood: name what stands before and behind, as (^|[ ])", next)
	case next >= 0 && unicode.IsPunct(next) || next >= 0 && unicode.IsSymbol(next):
		return fmt.Errorf("\\%c isn't understood everywhere: write [%c]", next, next)
	case next >= '1' && next <= '9':
		return fmt.Errorf("\\%c isn't understood: there are no back-references", next)
	}
	return fmt.Errorf("a backslash isn't understood: write the character itself")
}

func (p *parser) class() (node, error) {
	c := &one{}
	if p.peek() == '^' {
		p.take()
		c.negated = true
	}
	for first := true; ; first = false {
		switch r := p.peek(); {
		case r == -1:
			return nil, fmt.Errorf("a closing ] is missing; as a character write [[]")
		case r == ']' && first:
			return nil, fmt.Errorf("[] holds no character")
		case r == ']':
			p.take()
			return c, nil
		case r == '\\':
			p.take()
			return nil, p.escape()
		case r == '[' && len(p.rest) > 1 && p.rest[1] == ':':
			return nil, fmt.Errorf("[: isn't understood: write the range, as [0-9]")
		}
		from := p.take()
		to := from
		if p.peek() == '-' && len(p.rest) > 1 && p.rest[1] != ']' {
			p.take()
			to = p.take()
		}
		if to < from {
			return nil, fmt.Errorf("the range %c-%c ends before it begins", from, to)
		}
		c.spans = append(c.spans, span{from, to})
	}
}
