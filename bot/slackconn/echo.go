package slackconn

import (
	"bytes"
	"encoding/json"
	"io"
)

// unechoedBody is the body of an answer without the message that Slack took, which it repeats there: slack-go would decode that block by block, for nothing.
type unechoedBody struct {
	io.ReadCloser
	rest *bytes.Reader // nil: nothing was read yet
}

// Read implements io.Reader.
func (b *unechoedBody) Read(p []byte) (int, error) {
	if b.rest == nil {
		text, err := io.ReadAll(b.ReadCloser)
		if err != nil {
			return 0, err
		}
		b.rest = bytes.NewReader(withoutMessage(text))
	}
	return b.rest.Read(p)
}

// withoutMessage is an answer without the field message. What is no JSON object stays as it is.
func withoutMessage(answer []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(answer, &fields) != nil {
		return answer
	}
	delete(fields, "message")
	short, err := json.Marshal(fields)
	if err != nil {
		return answer
	}
	return short
}
