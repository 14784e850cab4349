package pager

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/text"
)

// Failure is why an event was not accepted.
type Failure struct {
	Text       string        // for people, after "the pager can't be called: "
	Final      bool          // the same event will never be accepted
	RetryAfter time.Duration // how long the pager asks to wait, 5 min at most; 0: it doesn't say
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

// How much of an answer is read, and shown, and how long the pager may ask to wait.
const (
	maxAnswer     = 4 << 10         // bytes
	maxMessage    = 200             // characters
	maxRetryAfter = 5 * time.Minute // a person has to be paged
)

// failure is what an answer other than "accepted" says.
func (p *Pager) failure(res *http.Response, answer []byte, readErr error) *Failure {
	f := &Failure{RetryAfter: min(apiclient.RetryAfter(res.Header), maxRetryAfter), Err: readErr}
	switch status := res.StatusCode; {
	case status == http.StatusTooManyRequests:
		f.Text = "it says there are too many requests (429)"
	case status/100 == 3:
		f.Text = fmt.Sprintf("it sends wafbot elsewhere (%d), which isn't followed: is the address right?", status)
	case status == http.StatusBadRequest:
		f.Final = true
		f.Text = "it refuses the call (400)"
		if said := p.message(answer); said != "" {
			f.Text += ": " + said
		}
	default:
		f.Text = fmt.Sprintf("it answers with status %d", status)
	}
	return f
}

// message is what a refusal says, without the key and the address, should it repeat them.
func (p *Pager) message(answer []byte) string {
	said := struct {
		Message string   `json:"message"`
		Errors  []string `json:"errors"`
	}{}
	words := string(answer)
	if json.Unmarshal(answer, &said) == nil && said.Message != "" {
		words = strings.Join(append([]string{said.Message}, said.Errors...), "; ")
	}
	for _, secret := range p.secrets() {
		words = strings.ReplaceAll(words, secret, "[redacted]")
	}
	return text.Cut(strings.Join(strings.Fields(strings.ToValidUTF8(words, "")), " "), maxMessage)
}

// shortestSecret is how long a part of an address is, in bytes, that may be a key.
const shortestSecret = 6

// secrets are the key, and all parts of the address, behind its host, that may be one: a receiver may repeat a part of
// what it was asked.
func (p *Pager) secrets() (all []string) {
	if key := p.key.Reveal(); key != "" {
		all = append(all, key)
	}
	u, err := url.Parse(p.address.Reveal())
	if err != nil {
		return all
	}
	rest := []string{u.EscapedPath(), u.RawQuery, u.Path}
	for _, values := range u.Query() {
		rest = append(rest, values...)
	}
	for _, part := range rest {
		for _, word := range strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune("/?&=:;", r) }) {
			if len(word) >= shortestSecret {
				all = append(all, word)
			}
		}
	}
	slices.SortFunc(all, func(x, y string) int { return len(y) - len(x) }) // one may begin with another
	return all
}
