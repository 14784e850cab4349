package webhook

import (
	"fmt"
	"net/http"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Failure is why a message was not accepted.
type Failure struct {
	Text       string        // for people, after "the webhook doesn't take events: "
	Refused    bool          // it is about this message: others may be accepted
	Gone       bool          // the receiver wants no more messages
	RetryAfter time.Duration // how long the receiver asks to wait, 1 h at most; 0: it doesn't say
	Err        error         // the cause, where there was no answer
}

// Error says why, with the cause.
func (f *Failure) Error() string {
	if f.Err != nil {
		return f.Text + ": " + f.Err.Error()
	}
	return f.Text
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

const maxRetryAfter = time.Hour

// failure is what an answer says; nil: the message was accepted.
func failure(res *http.Response) error {
	f := &Failure{Text: fmt.Sprintf("it answers with status %d", res.StatusCode), RetryAfter: min(apiclient.RetryAfter(res.Header), maxRetryAfter)}
	switch status := res.StatusCode; status {
	case http.StatusGone:
		f.Gone, f.Text = true, "it wants no more events (410)"
	case http.StatusTooManyRequests:
		f.Text = "it says there are too many requests (429)"
	case http.StatusUnauthorized, http.StatusForbidden:
		f.Text = fmt.Sprintf("it doesn't let wafbot in (%d): does it have the same secret?", status)
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusProxyAuthRequired:
	default:
		switch status / 100 {
		case 2:
			return nil
		case 3:
			f.Text = fmt.Sprintf("it sends wafbot elsewhere (%d), which isn't followed: is the address right?", status)
		case 4:
			f.Refused, f.Text = true, fmt.Sprintf("it refuses the event (%d)", status)
		}
	}
	return f
}
