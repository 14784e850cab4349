package verb

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// repetitions are the bounds that the service takes in braces.
var repetitions = regexp.MustCompile(`^(0|[1-9][0-9]?|100)(,(0|[1-9][0-9]?|100)?)?$`)

// scanRegex checks a regular expression against what is public about the service's dialect, Pire. Its errors say what the dialect
// lacks, and how to write it. alike reports whether Go reads it alike: there is no & or ~, nothing but ASCII, and no way through it
// passes two anchors that could stand at the same place. There Pire wants two places, and Go is content with one.
func scanRegex(pattern string) (alike bool, err error) {
	if !utf8.ValidString(pattern) {
		return false, errors.New("it isn't UTF-8")
	}
	alike = strings.IndexFunc(pattern, func(r rune) bool { return r > unicode.MaxASCII }) < 0
	open, anchors := 0, ""
	bare, repeated := true, false // nothing to repeat stands before; a repetition does
	for i := 0; i < len(pattern); i++ {
		c, rest, before := pattern[i], pattern[i+1:], pattern[max(i-1, 0)]
		wasBare, wasRepeated := bare, repeated
		bare, repeated = strings.IndexByte("(|&~", c) >= 0, false
		switch c {
		case '\\':
			return false, backslash(rest)
		case '(':
			if strings.HasPrefix(rest, "?") {
				return false, errors.New("(? isn't understood: groups begin with ( alone, and there is no look-around")
			}
			open++
		case ')':
			if open--; open < 0 {
				return false, errors.New("a closing ) has no opening one; as a character write [)]")
			}
		case '|':
			if open == 0 {
				anchors = ""
			}
		case '&':
			alike = false
		case '~':
			if alike = false; i > 0 && strings.IndexByte("(|&", before) < 0 {
				return false, errors.New("~ negates all that follows in its group: put it first, as in a(~b)")
			}
		case '[':
			n, err := classLength(rest)
			if err != nil {
				return false, err
			}
			i += n
		case '^', '$':
			if strings.IndexByte(anchors, c) >= 0 || c == '^' && anchors != "" || open > 0 && strings.Contains(pattern, "{") {
				alike = false
			}
			anchors += string(c)
		case '*', '+', '?', '{':
			switch {
			case wasBare:
				return false, fmt.Errorf("there is nothing before %c to repeat; as a character write [%c]", c, c)
			case wasRepeated && c == '?':
				return false, errors.New("a ? behind a repetition isn't understood: every match counts, however long it is. Leave it out")
			}
			alike, repeated = alike && before != '^' && before != '$', true
			if c == '{' {
				written, _, closed := strings.Cut(rest, "}")
				if !closed {
					return false, errors.New("a { has no closing }; as a character write [{]")
				}
				from, to, _ := strings.Cut(written, ",")
				least, _ := strconv.Atoi(from)
				if most, err := strconv.Atoi(to); !repetitions.MatchString(written) || err == nil && most < least {
					return false, fmt.Errorf("{%s} is no number of repetitions up to 100: write {2}, {2,} or {2,5}", written)
				}
				i += len(written) + 1
			}
		}
	}
	if open > 0 {
		return false, errors.New("a closing ) is missing; as a character write [(]")
	}
	return alike, nil
}

// classLength is how long a class is whose [ was read.
func classLength(rest string) (int, error) {
	start := len(rest) - len(strings.TrimPrefix(rest, "^"))
	for i := start; i < len(rest); {
		switch {
		case rest[i] == ']' && i == start:
			return 0, errors.New("[] holds no character")
		case rest[i] == ']':
			return i + 1, nil
		case strings.HasPrefix(rest[i:], "[:"):
			return 0, errors.New("[: isn't understood: write the range, as [0-9]")
		}
		from, size := utf8.DecodeRuneInString(rest[i:])
		i += size
		to := from
		if behind, is := strings.CutPrefix(rest[i:], "-"); from != '\\' && is && behind != "" && behind[0] != ']' {
			to, size = utf8.DecodeRuneInString(behind)
			i += 1 + size
		}
		switch {
		case from == '\\' || to == '\\':
			return 0, backslash(rest[i:])
		case to < from:
			return 0, fmt.Errorf("the range %c-%c ends before it begins", from, to)
		}
	}
	return 0, errors.New("a closing ] is missing; as a character write [[]")
}

// backslash says how to write what a backslash can't: the service's dialect has none.
func backslash(rest string) error {
	next, _ := utf8.DecodeRuneInString(rest)
	instead := map[rune]string{
		'd': "[0-9]", 'D': "[^0-9]", 'w': "[A-Za-z0-9_]", 'W': "[^A-Za-z0-9_]", 's': "[ ]", 'S': "[^ ]", 'h': "[ ]",
	}[next]
	switch {
	case instead != "":
		return fmt.Errorf("\\%c isn't understood: write %s", next, instead)
	case next == 'b' || next == 'B':
		return fmt.Errorf("\\%c isn't understood: name what stands before and behind, as (^|[ ])", next)
	case rest != "" && (unicode.IsPunct(next) || unicode.IsSymbol(next)):
		return fmt.Errorf("\\%c isn't understood everywhere: write [%c]", next, next)
	case next >= '1' && next <= '9':
		return fmt.Errorf("\\%c isn't understood: there are no back-references", next)
	}
	return errors.New("a backslash isn't understood: write the character itself")
}

// tryRegex matches texts as the service does, whether or not it goes by case, which it doesn't say; nil: Go reads the pattern otherwise.
func tryRegex(pattern string) func(text string) bool {
	if alike, err := scanRegex(pattern); err != nil || !alike {
		return nil
	}
	exact, err := regexp.Compile("(?s)" + pattern)
	if err != nil {
		return nil
	}
	folded, err := regexp.Compile("(?is)" + pattern)
	if err != nil {
		return nil
	}
	return func(text string) bool { return exact.MatchString(text) || folded.MatchString(text) }
}
