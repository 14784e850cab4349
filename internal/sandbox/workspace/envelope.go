package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// An acknowledgement of this many bytes or more is dropped.
const maxAck = 20_000

// envelope is what goes over a link.
type envelope struct {
	EnvelopeID             string          `json:"envelope_id"`
	Type                   string          `json:"type"`
	AcceptsResponsePayload bool            `json:"accepts_response_payload"`
	Payload                json.RawMessage `json:"payload"`
	RetryAttempt           *int            `json:"retry_attempt,omitempty"` // of events alone
	RetryReason            *string         `json:"retry_reason,omitempty"`
}

// awaited is an envelope that was sent and can still be acknowledged.
type awaited struct {
	id      string
	payload bool          // the acknowledgement may hold one
	done    chan struct{} // closed with the acknowledgement
	acked   bool
	body    string // the payload it held
}

// enveloped is a delivery in an envelope of its own.
func enveloped(d Delivery) Delivery {
	return retried(d, 0, "")
}

// retried is a delivery in a new envelope that says the how manieth retry it is, and why.
func retried(d Delivery, attempt int, reason string) Delivery {
	e := envelope{EnvelopeID: randomID(), Type: d.Type, AcceptsResponsePayload: answerable(d), Payload: d.Payload}
	if d.Type == typeEvent {
		e.RetryAttempt, e.RetryReason = &attempt, &reason
	}
	d.EnvelopeID, d.EnvelopeBody = e.EnvelopeID, string(marshal(e))
	return d
}

// answerable tells whether an acknowledgement may hold a payload.
func answerable(d Delivery) bool {
	var payload struct{ Type string }
	_ = json.Unmarshal(d.Payload, &payload) // without a type there is nothing to answer
	return d.Type == typeCommand || payload.Type == "view_submission" || payload.Type == "block_suggestion"
}

// SendRaw sends an envelope as it is given, which must be an object with an envelope_id, over any open link.
func (w *Workspace) SendRaw(ctx context.Context, raw string) (Delivery, error) {
	e := opened(raw)
	if e.EnvelopeID == "" {
		return Delivery{}, errors.New("send raw envelope: without an envelope_id nothing can acknowledge it")
	}
	return w.send(ctx, Delivery{Type: e.Type, Via: IngressSocket, Payload: e.Payload, EnvelopeID: e.EnvelopeID, EnvelopeBody: raw})
}

// opened reads of an envelope what can be read.
func opened(raw string) envelope {
	var e envelope
	_ = json.Unmarshal([]byte(raw), &e)
	return e
}

// sendEnvelope sends an envelope over one link and waits for its acknowledgement.
func (w *Workspace) sendEnvelope(ctx context.Context, d Delivery) (Delivery, error) {
	start := time.Now()
	a := &awaited{id: d.EnvelopeID, payload: opened(d.EnvelopeBody).AcceptsResponsePayload, done: make(chan struct{})}
	l := w.write(a, []byte(d.EnvelopeBody))
	if l == nil {
		d.Err, d.Warning, d.reason = "no link is open", noResponse, "timeout"
		return d, nil
	}
	d.Link = l.id
	late := time.NewTimer(patience)
	defer late.Stop()
	var why string
	select {
	case <-a.done:
	case <-ctx.Done():
	case <-l.gone:
		why = "the link closed before the acknowledgement"
	case <-late.C:
		why = "no acknowledgement within 3 seconds"
	}
	d.Body, d.Acked = w.endWait(l, a)
	d.Took = time.Since(start)
	switch {
	case d.Acked:
		d.Status = http.StatusOK
	case why == "":
		return d, fmt.Errorf("deliver to bot: %w", ctx.Err())
	default:
		d.Err, d.Warning, d.reason = why, noResponse, "timeout"
	}
	return d, nil
}

// write sends bytes over a link that is open, each in turn; nil when there is none.
func (w *Workspace) write(a *awaited, raw []byte) *link {
	for {
		l := w.next(a)
		if l == nil {
			return nil
		}
		err := l.write(raw)
		if err == nil {
			return l
		}
		w.drop(l) // it can't be written to, so it is as good as closed
	}
}

// next chooses a link and counts the envelope to it, before it is written: an acknowledgement may come at once.
func (w *Workspace) next(a *awaited) *link {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.links) == 0 {
		return nil
	}
	w.turn++
	l := w.links[w.turn%len(w.links)]
	l.awaited = append(l.awaited, a)
	l.delivered++
	w.notify()
	return l
}

// endWait says what came of an envelope; an acknowledgement that comes later is ignored.
func (w *Workspace) endWait(l *link, a *awaited) (body string, acked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.awaited = slices.DeleteFunc(l.awaited, func(other *awaited) bool { return other == a })
	return a.body, a.acked
}

// acknowledge takes what a link sent as an acknowledgement of an envelope of its own, if it is one.
func (w *Workspace) acknowledge(l *link, raw []byte) {
	var ack struct {
		EnvelopeID string          `json:"envelope_id"`
		Payload    json.RawMessage `json:"payload"`
	}
	if len(raw) >= maxAck || json.Unmarshal(raw, &ack) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(l.awaited, func(a *awaited) bool { return a.id == ack.EnvelopeID })
	if i < 0 {
		return
	}
	a := l.awaited[i]
	l.awaited = slices.Delete(l.awaited, i, i+1)
	l.acked++
	a.acked = true
	if payload := compact(string(ack.Payload)); a.payload && string(payload) != "{}" {
		a.body = string(payload)
	}
	close(a.done)
	w.notify()
}
