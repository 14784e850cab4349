package grammar

import (
	"github.com/wafbot/wafbot/internal/text"
)

// hint is " (did you mean …?)" when one of the known words is near enough to what was typed.
func Hint(typed string, known []string) text.Text {
	best, least := "", 3
	for _, k := range known {
		if d := distance(typed, k); d < least {
			best, least = k, d
		}
	}
	if best == "" || least >= len(typed) {
		return nil
	}
	return text.New(" (did you mean ", text.Code(best), "?)")
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
