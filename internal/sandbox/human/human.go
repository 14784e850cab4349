// Package human finds, in what people read, what only who built a program understands.
package human

import (
	"regexp"
	"slices"
	"strings"
)

// inside is what formatted values, Go's types and errors of libraries look like. %!v(MISSING) is what attackers write in tests; go vet finds ours.
var inside = regexp.MustCompile(`%!\(|%!\w\(([*\[\]\w.]+=|PANIC)|\[\{|&\{|map\[|<nil>|\b0x[0-9a-f]{6,}|still lacks|` +
	`\*?\b(call|record|apiclient|store|config|refusal|time|net|http|json|strconv)\.[A-Z]\w+|` +
	`context (deadline exceeded|canceled)|redis: |\bEOF\b|i/o timeout|runtime error|invalid character '|goroutine \d`)

// hints are in what may be such a thing: the expression takes much longer to say that nothing is.
var hints = []string{
	"%!", "[{", "&{", "map[", "<nil>", "0x", "still lacks", "call.", "record.", "apiclient.", "store.", "config.", "refusal.", "time.", "net.",
	"http.", "json.", "strconv.", "context ", "redis: ", "EOF", "i/o timeout", "runtime error", "invalid character '", "goroutine ",
}

// Inside is the first such thing in a text; "": there is none.
func Inside(said string) string {
	if !slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(said, hint) }) {
		return ""
	}
	return inside.FindString(said)
}
