package delivery

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// An acknowledgement of this many bytes or more is dropped.
const maxAck = 20_000

// envelope is a delivery as it goes over a link.
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

// enveloped is a delivery in a new envelope. For an event it carries the number of the attempt, the first being 0, and the reason of a retry.
func enveloped(d Delivery, attempt int, reason string) Delivery {
	e := envelope{EnvelopeID: rand.Text(), Type: d.Type, AcceptsResponsePayload: answerable(d), Payload: d.Payload}
	if d.Type == TypeEvent {
		e.RetryAttempt, e.RetryReason = &attempt, &reason
	}
	d.EnvelopeID, d.EnvelopeBody = e.EnvelopeID, string(marshal(e))
	return d
}

// answerable reports whether an acknowledgement may hold a payload.
func answerable(d Delivery) bool {
	var payload struct{ Type string }
	_ = json.Unmarshal(d.Payload, &payload) // a payload without a type takes no answer
	return d.Type == TypeCommand || payload.Type == "view_submission" || payload.Type == "block_suggestion"
}

// SendRaw sends an envelope as given over any open link. It must be an object with an envelope_id.
func (s *Sender) SendRaw(ctx context.Context, raw string) (Delivery, error) {
	e := opened(raw)
	if e.EnvelopeID == "" {
		return Delivery{}, errors.New("send raw envelope: it has no envelope_id, so it can't be acknowledged")
	}
	return s.Replay(ctx, Delivery{Type: e.Type, Via: Socket, Payload: e.Payload, EnvelopeID: e.EnvelopeID, EnvelopeBody: raw})
}

// opened reads an envelope as far as it can be read.
func opened(raw string) envelope {
	var e envelope
	_ = json.Unmarshal([]byte(raw), &e)
	return e
}

// sendEnvelope sends an envelope over one link and waits for its acknowledgement.
func (s *linkSet) sendEnvelope(ctx context.Context, d Delivery) (Delivery, error) {
	start := time.Now()
	a := &awaited{id: d.EnvelopeID, payload: opened(d.EnvelopeBody).AcceptsResponsePayload, done: make(chan struct{})}
	l := s.write(a, []byte(d.EnvelopeBody))
	if l == nil {
		d.Err, d.Warning, d.reason = "no link is open", NoResponse, "timeout"
		return d, nil
	}
	d.Link = l.id
	late := time.NewTimer(s.cfg.Patience)
	defer late.Stop()
	var why string
	select {
	case <-a.done:
	case <-ctx.Done():
	case <-l.gone:
		why = "the link closed before the acknowledgement"
	case <-late.C:
		why = fmt.Sprintf("no acknowledgement within %g seconds", s.cfg.Patience.Seconds())
	}
	d.Body, d.Acked = s.endWait(l, a)
	d.Took = time.Since(start)
	switch {
	case d.Acked:
		d.Status = http.StatusOK
	case why == "":
		return d, fmt.Errorf("deliver to bot: %w", ctx.Err())
	default:
		d.Err, d.Warning, d.reason = why, NoResponse, "timeout"
	}
	return d, nil
}

// write sends bytes over one of the open links in turn. It returns nil when none is open.
func (s *linkSet) write(a *awaited, raw []byte) *link {
	for {
		l := s.next(a)
		if l == nil {
			return nil
		}
		err := l.write(raw)
		if err == nil {
			return l
		}
		s.drop(l) // a link that can't be written to is closed
	}
}

// next chooses a link and records the envelope before it is written, because an acknowledgement may come at once.
func (s *linkSet) next(a *awaited) *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 {
		return nil
	}
	s.turn++
	l := s.open[s.turn%len(s.open)]
	l.awaited = append(l.awaited, a)
	l.delivered++
	s.cfg.Changed()
	return l
}

// endWait returns the result of an envelope. A later acknowledgement is ignored.
func (s *linkSet) endWait(l *link, a *awaited) (body string, acked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.awaited = slices.DeleteFunc(l.awaited, func(other *awaited) bool { return other == a })
	return a.body, a.acked
}

// acknowledge reads what came over a link. It is ignored unless it acknowledges an envelope of this link.
func (s *linkSet) acknowledge(l *link, raw []byte) {
	var ack struct {
		EnvelopeID string          `json:"envelope_id"`
		Payload    json.RawMessage `json:"payload"`
	}
	if len(raw) >= maxAck || json.Unmarshal(raw, &ack) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(l.awaited, func(a *awaited) bool { return a.id == ack.EnvelopeID })
	if i < 0 {
		return
	}
	a := l.awaited[i]
	l.awaited = slices.Delete(l.awaited, i, i+1)
	l.acked++
	a.acked = true
	if payload := compact(ack.Payload); a.payload && payload != "{}" {
		a.body = payload
	}
	close(a.done)
	s.cfg.Changed()
}

// compact is JSON without spaces; null and what is no JSON are "".
func compact(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil || out.String() == "null" {
		return ""
	}
	return out.String()
}
