// Package nearest finds the word that a mistyped one was meant to be.
package nearest

import "github.com/hbollon/go-edlib"

// Word is the first of the known words that differ least from what was typed, "" if they all differ by more than most
// letters. A letter is inserted, deleted, replaced or swapped with its neighbour.
func Word(typed string, known []string, most int) string {
	best := ""
	for _, word := range known {
		if len(typed) > len(word)+most { // anybody may type what takes long to compare
			continue
		}
		if d := edlib.OSADamerauLevenshteinDistance(typed, word); d <= most {
			best, most = word, d-1
		}
	}
	return best
}
