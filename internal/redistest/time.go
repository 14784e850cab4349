package redistest

import (
	"regexp"
	"strconv"
	"time"
)

// answeredTime is the time in answers of scripts, in microseconds.
var answeredTime = regexp.MustCompile(`(\$16\r\n)(\d{16})(\r\n)`)

// WrongTime is what a server answers whose clock is ahead by so much, for the filter of a proxy before it: only what clients are told is changed.
func WrongTime(answer []byte, by time.Duration) []byte {
	return answeredTime.ReplaceAllFunc(answer, func(found []byte) []byte {
		part := answeredTime.FindSubmatch(found)
		n, _ := strconv.ParseInt(string(part[2]), 10, 64) // digits
		return append(strconv.AppendInt(part[1][:len(part[1]):len(part[1])], n+by.Microseconds(), 10), part[3]...)
	})
}
