// Package delivery sends clicks, commands and events to the bot as Slack does: by signed requests, or in envelopes over Socket Mode links.
package delivery

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The types of deliveries, as envelopes name them.
const (
	TypeInteractive = "interactive"
	TypeCommand     = "slash_commands"
	TypeEvent       = "events_api"
)

const (
	// NoResponse is the warning that a person sees when a delivery was not acknowledged.
	NoResponse = "the app did not respond"
	// VerificationToken is the deprecated token field. A bot must not check it.
	VerificationToken = "sandbox-verification"

	maxAnswer = 1 << 20 // bytes
)

// Delivery is something sent to the bot, by a signed request or in an envelope over a link, and its result.
type Delivery struct {
	Type    string          `json:"type"`    // interactive, slash_commands or events_api
	Via     Ingress         `json:"via"`     // http or socket; empty: nothing was sent
	Payload json.RawMessage `json:"payload"` // the same for http and socket

	Path         string      `json:"path,omitempty"`        // of a request
	Headers      http.Header `json:"headers,omitempty"`     // of a request as sent, with its signature
	EnvelopeID   string      `json:"envelope_id,omitempty"` // of an envelope
	Link         string      `json:"link,omitempty"`        // id of the link that carried the envelope
	EnvelopeBody string      `json:"envelope_body"`         // as sent: the body of the request, or the envelope

	Acked       bool          `json:"acked"`  // in time, and for a request with a good status
	Status      int           `json:"status"` // of the answer, 200 for an acknowledged envelope; 0: no answer
	Body        string        `json:"body"`   // of the answer, or the payload of an acknowledgement that may have one
	Took        time.Duration `json:"took_ns"`
	Err         string        `json:"err,omitempty"`
	Warning     string        `json:"warning,omitempty"` // what the person sees when it was not acknowledged
	ResponseURL string        `json:"response_url,omitempty"`

	// Twin is what went over a link at the same time as this request, with ingress Both.
	Twin *Delivery `json:"twin,omitempty"`

	reason  string // of a retry, if there is one
	noRetry bool   // the bot asked for none
}

// Counts is the delivery whose acknowledgement counts: of a delivery and its twin the one with an answer.
func (d Delivery) Counts() Delivery {
	if d.Twin != nil && d.Twin.Acked && (!d.Acked || d.Body == "") {
		return *d.Twin
	}
	return d
}

// Final reports whether an event needs no retry: it was acknowledged, or the bot asked for none.
func (d Delivery) Final() bool { return d.Acked || d.noRetry }

// Config describes a sender. All fields but Deliver and Ingress are required.
type Config struct {
	BaseURL       string // of the workspace, without trailing slash
	AppID         string
	SigningSecret string
	Deliver       string // base address of signed requests, without trailing slash; empty: none
	Ingress       Ingress
	PingEvery     time.Duration // of pings over a link
	Patience      time.Duration // for an acknowledgement. After it the person sees a warning
	Now           func() time.Time
	Client        *http.Client
	Changed       func() // is called when a link or the ingress changed; must not call the sender
}

// Sender sends deliveries. All its methods may be called at the same time.
type Sender struct {
	*linkSet

	mu         sync.Mutex // taken before the one of linkSet
	cfg        Config
	overSocket bool   // the last delivery of Either
	verified   string // the base address that answered a challenge; events go nowhere else over HTTP
}

// New returns a sender without open links. Close ends it.
func New(cfg Config) *Sender { return &Sender{linkSet: newLinkSet(cfg), cfg: cfg} }

// Deliver sends a delivery in the current ingress, and replays it if twice. Errors are only those of this side.
func (s *Sender) Deliver(ctx context.Context, d Delivery, twice bool) (Delivery, error) {
	ways := s.Ways()
	prepared := s.packed(d, ways[0])
	if len(ways) > 1 {
		twin := s.packed(d, ways[1])
		prepared.Twin = &twin
	}
	sent, err := s.Replay(ctx, prepared)
	if err == nil && twice {
		_, err = s.Replay(ctx, sent)
	}
	return sent, err
}

// packed is a delivery ready for its way.
func (s *Sender) packed(d Delivery, way Ingress) Delivery {
	d.Via = way
	if way == Socket {
		return enveloped(d, 0, "")
	}
	return s.signed(d)
}

// Attempt sends an event newly signed or enveloped. The first attempt is 0; last is the result of the attempt before.
func (s *Sender) Attempt(ctx context.Context, d Delivery, attempt int, last Delivery) (Delivery, error) {
	if d.Via == Socket {
		d = enveloped(d, attempt, last.reason)
	} else {
		d = s.signed(d)
		if attempt > 0 {
			d.Headers.Set("X-Slack-Retry-Num", strconv.Itoa(attempt))
			d.Headers.Set("X-Slack-Retry-Reason", last.reason)
		}
	}
	sent, err := s.Replay(ctx, d)
	if err != nil {
		sent.Err, sent.reason = err.Error(), "connection_failed"
	}
	return sent, err
}

// Replay sends the same bytes again: the signed request, or the envelope over any open link. It sends the twin at the same time.
func (s *Sender) Replay(ctx context.Context, d Delivery) (Delivery, error) {
	if d.Twin == nil {
		return s.send(ctx, d)
	}
	twin := *d.Twin
	var twinErr error
	var twinSent sync.WaitGroup
	twinSent.Go(func() { twin, twinErr = s.send(ctx, twin) })
	sent, err := s.send(ctx, d)
	twinSent.Wait()
	sent.Twin = &twin
	if err == nil {
		err = twinErr
	}
	return sent, err
}

func (s *Sender) send(ctx context.Context, d Delivery) (Delivery, error) {
	d.Acked, d.Status, d.Body, d.Err, d.Warning, d.reason, d.noRetry = false, 0, "", "", "", "", false
	if d.Via == Socket {
		return s.sendEnvelope(ctx, d)
	}
	return s.sendRequest(ctx, d)
}

// echoes reports whether an answer is the challenge, as text, form or JSON.
func echoes(body, challenge string) bool {
	var answered struct{ Challenge string }
	if json.Unmarshal([]byte(body), &answered) == nil {
		return answered.Challenge == challenge
	}
	return strings.TrimPrefix(strings.TrimSpace(body), "challenge=") == challenge
}

// marshal is for values that json.Marshal can't refuse.
func marshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}
