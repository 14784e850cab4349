package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
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

// Duration is a duration in its two largest units, short enough for a button; less than two days are hours, as people say them.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	var parts []string
	for _, u := range []struct {
		length time.Duration
		name   string
	}{{day, "days"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if u.length == day && d < 2*day {
			continue
		}
		if n := d / u.length; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, u.name))
			d %= u.length
		}
	}
	if len(parts) == 0 {
		return "under a second"
	}
	return strings.Join(parts[:min(2, len(parts))], " ")
}

// Plural is the noun for that many, by its ending.
func Plural(n int64, noun string) string {
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "try"):
		return strings.TrimSuffix(noun, "y") + "ies"
	}
	return noun + "s"
}
