// Package hostiletext holds samples of what attackers write, and checks whether a text that wafbot shows is harmless. Only tests import it.
package hostiletext

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed corpus.txt
var corpus string

// Sample is a text that an attacker writes.
type Sample struct {
	Text    string
	Purpose string // what the attacker wants it to do
}

// Samples returns the corpus. It panics when a line can't be read.
func Samples() []Sample {
	var all []Sample
	for line := range strings.Lines(corpus) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		one, err := parse(line)
		if err != nil {
			panic(fmt.Sprintf("read sample %s: %v", line, err))
		}
		all = append(all, one)
	}
	return all
}

// parse reads a line: a quoted Go string, optionally "x N" for N repetitions, the purpose.
func parse(line string) (Sample, error) {
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		return Sample{}, err
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return Sample{}, err
	}
	purpose, n := strings.TrimSpace(line[len(quoted):]), 1
	if repeated, ok := strings.CutPrefix(purpose, "x "); ok {
		times, rest, _ := strings.Cut(repeated, " ")
		if n, err = strconv.Atoi(times); err != nil {
			return Sample{}, err
		}
		purpose = strings.TrimSpace(rest)
	}
	return Sample{Text: strings.Repeat(text, n), Purpose: purpose}, nil
}
