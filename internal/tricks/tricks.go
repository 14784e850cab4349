// Package tricks is a corpus of what attackers write, and says of what wafbot made of it whether it is harmless. Tests alone import it.
package tricks

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed corpus.txt
var corpus string

// Trick is a text that an attacker writes.
type Trick struct {
	Text  string
	Tries string // what it is to do
}

// All is the corpus. It panics when the corpus can't be read.
func All() []Trick {
	var all []Trick
	for line := range strings.Lines(corpus) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			panic(fmt.Sprintf("read trick %s: %v", line, err))
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			panic(fmt.Sprintf("read trick %s: %v", line, err))
		}
		tries, n := strings.TrimSpace(line[len(quoted):]), 1
		if many, ok := strings.CutPrefix(tries, "x "); ok {
			times, rest, _ := strings.Cut(many, " ")
			if n, err = strconv.Atoi(times); err != nil {
				panic(fmt.Sprintf("read trick %s: %v", line, err))
			}
			tries = strings.TrimSpace(rest)
		}
		all = append(all, Trick{Text: strings.Repeat(text, n), Tries: tries})
	}
	return all
}
