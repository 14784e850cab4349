package slackconn

import (
	"fmt"
	"io"
)

// The largest answers that are read, in bytes after decompression. JSON is held whole, up to three times, while it is decoded. What Slack answers is far
// below: a page of 200 messages of wafbot's has 3 MB. All user groups come in one answer, to one caller at a time; 32 MiB hold two million memberships.
const (
	maxAnswer = 8 << 20
	maxGroups = 32 << 20
)

// tooLargeError says that an answer of Slack was not read to its end.
type tooLargeError struct {
	method string
	most   int64 // bytes
}

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("slack's answer to %s has over %d MiB: the rest is not read", e.method, e.most>>20)
}

// boundedBody is the body of an answer, which fails where it gets too large.
type boundedBody struct {
	io.ReadCloser
	left    int64
	tooMuch *tooLargeError
}

func newBoundedBody(body io.ReadCloser, method string) *boundedBody {
	most := int64(maxAnswer)
	if method == methodGroups {
		most = maxGroups
	}
	return &boundedBody{body, most, &tooLargeError{method, most}}
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, b.tooMuch
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
