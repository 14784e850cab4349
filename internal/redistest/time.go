package redistest

import (
	"regexp"
	"strconv"
	"time"
)

// The time in answers: of TIME in seconds and microseconds, of scripts in microseconds.
var (
	answeredTime = regexp.MustCompile(`(\*2\r\n\$10\r\n)(\d{10})(\r\n\$\d\r\n\d+\r\n)`)
	scriptTime   = regexp.MustCompile(`(\$16\r\n)(\d{16})(\r\n)`)
)

// WrongTime is what a server answers whose clock is ahead by so much, for the filter of a proxy before it: only what clients are told is changed.
func WrongTime(answer []byte, by time.Duration) []byte {
	shifted := func(pattern *regexp.Regexp, unit time.Duration) {
		answer = pattern.ReplaceAllFunc(answer, func(found []byte) []byte {
			part := pattern.FindSubmatch(found)
			n, _ := strconv.ParseInt(string(part[2]), 10, 64) // digits
			return append(strconv.AppendInt(part[1][:len(part[1]):len(part[1])], n+int64(by/unit), 10), part[3]...)
		})
	}
	shifted(answeredTime, time.Second)
	shifted(scriptTime, time.Microsecond)
	return answer
}
