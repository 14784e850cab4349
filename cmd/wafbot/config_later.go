package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// laterKey is a key that is accepted, but does nothing in this version. A change that acts upon it deletes its row.
type laterKey struct {
	key    string // without indexes
	values string // only values that begin so; "" means any
	why    string
}

func laterKeys() []laterKey {
	return nil
}

// notYet warns of each key that was set and does nothing.
func (c *Config) notYet() []string {
	index := regexp.MustCompile(`\[\d+\]`)
	var warnings []string
	for _, key := range slices.Sorted(maps.Keys(c.origins.keys)) {
		from := c.origins.keys[key]
		for _, later := range laterKeys() {
			if index.ReplaceAllString(key, "[]") == later.key && strings.HasPrefix(from.value, later.values) && !from.empty {
				warnings = append(warnings, fmt.Sprintf("%s: accepted, not acted upon by this version yet: %s", key, later.why))
			}
		}
	}
	return warnings
}
