package workspace

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

// What is delivered, by the name it has in an envelope.
const (
	typeInteractive = "interactive"
	typeCommand     = "slash_commands"
	typeEvent       = "events_api"
)

// What a delivery's failure is called in front of the person who waits for it.
const noResponse = "the app did not respond"

// Delivery is something sent to the bot, by a signed request or in an envelope over a link, and what became of it.
type Delivery struct {
	Type    string          `json:"type"`    // interactive, slash_commands or events_api
	Via     Ingress         `json:"via"`     // http or socket; empty: nothing was sent
	Payload json.RawMessage `json:"payload"` // what it says, alike for both ways

	Path         string      `json:"path,omitempty"`        // of a request
	Headers      http.Header `json:"headers,omitempty"`     // of a request as sent, the signature included
	EnvelopeID   string      `json:"envelope_id,omitempty"` // of an envelope
	Link         string      `json:"link,omitempty"`        // id of the link that an envelope went over
	EnvelopeBody string      `json:"envelope_body"`         // as sent: the body of the request, or the envelope

	Acked       bool          `json:"acked"`  // in time, and for a request with a good status
	Status      int           `json:"status"` // of the answer, 200 for an acknowledged envelope; 0: none came
	Body        string        `json:"body"`   // of the answer, or the payload of an acknowledgement that may have one
	Took        time.Duration `json:"took_ns"`
	Err         string        `json:"err,omitempty"`
	Warning     string        `json:"warning,omitempty"` // what the person is shown when it was not acknowledged
	ResponseURL string        `json:"response_url,omitempty"`

	// Twin is what went over a link beside this request, when each delivery goes both ways.
	Twin *Delivery `json:"twin,omitempty"`

	reason  string // of a retry, should there be one
	noRetry bool   // the bot asked for none
}

// Replay sends the same again: the same signed bytes, or the same envelope over any open link.
func (w *Workspace) Replay(ctx context.Context, d Delivery) (Delivery, error) {
	return w.send(ctx, d)
}

// deliver sends a click or command of that channel, unless a fault loses it or doubles it.
func (w *Workspace) deliver(ctx context.Context, d Delivery, channel string) (Delivery, error) {
	d, lost, twice := w.prepare(d, channel)
	if lost {
		d.Err, d.Warning = "delivery lost", noResponse
		return d, nil
	}
	sent, err := w.send(ctx, d)
	if err == nil && twice {
		_, err = w.Replay(ctx, sent)
	}
	return sent, err
}

// prepare makes a delivery ready for its way, and tells what faults do to it.
func (w *Workspace) prepare(d Delivery, channel string) (prepared Delivery, lost, twice bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	lost = w.takeDeliveryFault(lostClick, channel)
	twice = w.takeDeliveryFault(duplicateDelivery, channel)
	if lost {
		return d, true, twice
	}
	ways := w.ways()
	prepared = w.packed(d, ways[0])
	if len(ways) > 1 {
		twin := w.packed(d, ways[1])
		prepared.Twin = &twin
	}
	return prepared, false, twice
}

// packed is a delivery as it goes one way.
func (w *Workspace) packed(d Delivery, way Ingress) Delivery {
	d.Via = way
	if way == IngressSocket {
		return enveloped(d)
	}
	return w.signed(d)
}

// send sends a delivery, and its twin at the same time.
func (w *Workspace) send(ctx context.Context, d Delivery) (Delivery, error) {
	if d.Twin == nil {
		return w.sendOne(ctx, d)
	}
	twin := *d.Twin
	var twinErr error
	var beside sync.WaitGroup
	beside.Go(func() { twin, twinErr = w.sendOne(ctx, twin) })
	sent, err := w.sendOne(ctx, d)
	beside.Wait()
	sent.Twin = &twin
	if err == nil {
		err = twinErr
	}
	return sent, err
}

// sendOne sends over one way; errors are only those of this side.
func (w *Workspace) sendOne(ctx context.Context, d Delivery) (Delivery, error) {
	d.Acked, d.Status, d.Body, d.Err, d.Warning, d.reason, d.noRetry = false, 0, "", "", "", "", false
	if d.Via == IngressSocket {
		return w.sendEnvelope(ctx, d)
	}
	return w.sendRequest(ctx, d)
}

// echoes tells whether an answer is the challenge, as text, form or JSON.
func echoes(body, challenge string) bool {
	var answered struct{ Challenge string }
	if json.Unmarshal([]byte(body), &answered) == nil {
		return answered.Challenge == challenge
	}
	return strings.TrimPrefix(strings.TrimSpace(body), "challenge=") == challenge
}
