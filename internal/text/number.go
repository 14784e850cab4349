package text

import (
	"strconv"
	"strings"
)

// Number is a whole number with thousands separated by commas.
func Number[T int | int64](n T) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Count is a number with its noun.
func Count[T int | int64](n T, noun string) string { return Number(n) + " " + Plural(int64(n), noun) }
