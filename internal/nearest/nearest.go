// Package nearest finds the word that a mistyped one was meant to be.
package nearest

// Word is the first of the known words that differ least from what was typed, "" if they all differ by more than most letters.
func Word(typed string, known []string, most int) string {
	best := ""
	for _, word := range known {
		if len(typed) > len(word)+most { // anybody may type what takes long to compare
			continue
		}
		if d := distance(typed, word); d <= most {
			best, most = word, d-1
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with their neighbour (optimal string alignment).
func distance(a, b string) int {
	prev2, prev := []int(nil), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, prev[j]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, row
	}
	return prev[len(b)]
}
