package slackconn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/internal/delay"
)

// Times of a link.
const (
	helloWithin = 10 * time.Second        // to connect and receive hello
	renewEvery  = 3 * time.Second         // how often its slot is renewed in the store, and a ping is sent
	silentFor   = 15 * time.Second        // without a frame or pong it is dead
	writeWithin = 2 * time.Second         // one frame
	AckWithin   = 2400 * time.Millisecond // an envelope is acknowledged by then in any case; Slack waits 3 s
	leaveWithin = time.Second             // for Slack to close its side
	leaveEvery  = 5 * time.Millisecond    // how often a link that is left looks whether all is acknowledged
)

// Largest frame in bytes, and how many envelopes are handled at once. More wait. The longest message that a person can
// write makes a frame of 1.2 MB: 40,000 characters, twice, each escaped in up to 12 bytes. A larger frame ends its
// link.
const (
	maxFrame     = 2 << 20
	maxEnvelopes = 256
)

// link is one Socket Mode connection.
type link struct {
	id     string // of its slot
	max    int    // of links taken, this one included
	conn   *websocket.Conn
	slots  chan struct{}
	ending chan struct{} // closed when Slack announces a renewal
	ended  chan struct{} // closed when nothing more can arrive
	reason string        // Slack's reason for an end that is no renewal; "": none yet

	writing sync.Mutex // one frame at a time

	mu      sync.Mutex
	leaving bool // new envelopes are ignored: they could not be acknowledged
	begun   sync.WaitGroup
}

// frame is one message of Slack over a link.
type frame struct {
	Type     string          `json:"type"` // hello, disconnect, or an envelope's
	Reason   string          `json:"reason"`
	Envelope string          `json:"envelope_id"`
	Payload  json.RawMessage `json:"payload"`
}

// dialLink connects and waits for Slack's hello. The address is valid for one connection and must stay secret.
func dialLink(ctx context.Context, address string) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	conn, err := dialWebSocket(ctx, address)
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn, slots: make(chan struct{}, maxEnvelopes), ending: make(chan struct{}),
		ended: make(chan struct{})}
	conn.SetReadLimit(maxFrame)
	waited := context.AfterFunc(ctx, func() { _ = conn.Close() })
	var first frame
	if err := conn.ReadJSON(&first); err != nil || !waited() {
		_ = conn.Close()
		return nil, fmt.Errorf("wait for hello of link: %w", cmp.Or(ctx.Err(), err))
	}
	if first.Type != "hello" {
		_ = conn.Close()
		return nil, fmt.Errorf("link got no hello: %w", ended(first.Reason))
	}
	l.alive()
	conn.SetPongHandler(func(string) error { l.alive(); return nil })
	answer := conn.PingHandler()
	conn.SetPingHandler(func(data string) error { l.alive(); return answer(data) })
	conn.SetCloseHandler(func(int, string) error {
		l.begun.Wait() // after the close nothing can be acknowledged
		return l.close()
	})
	return l, nil
}

// ended explains Slack's reason for ending a link.
func ended(reason string) error {
	switch reason {
	case "too_many_websockets":
		return errors.New("too_many_websockets: all ten links of the app are open; does another wafbot use it, with another Redis?")
	case "link_disabled":
		return errors.New("link_disabled: Socket Mode is switched off in the app's settings")
	}
	return fmt.Errorf("slack ended it (%q)", reason)
}

// alive postpones the time at which the link counts as dead.
func (l *link) alive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leaving {
		_ = l.conn.SetReadDeadline(time.Now().Add(silentFor))
	}
}

// begin counts an envelope in. It returns false if the link is being closed.
func (l *link) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leaving {
		l.begun.Add(1)
	}
	return !l.leaving
}

// leave closes the link from this side after every envelope was acknowledged. Until then Slack delivers more, which is
// acknowledged, too: only what comes in the moment of the close isn't.
func (l *link) leave() {
	for end := time.Now().Add(AckWithin); len(l.slots) > 0 && time.Now().Before(end); {
		time.Sleep(leaveEvery)
	}
	l.mu.Lock()
	l.leaving = true
	_ = l.conn.SetReadDeadline(time.Now().Add(AckWithin + leaveWithin))
	l.mu.Unlock()
	l.begun.Wait()
	_ = l.close()
	_ = l.conn.SetReadDeadline(time.Now().Add(leaveWithin))
}

// close sends a close frame. It may be called twice.
func (l *link) close() error {
	return l.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""),
		time.Now().Add(leaveWithin))
}

// serve reads a link to its end: Slack ends it, or the context ends, or a spare link makes room for another replica.
func (s *Socket) serve(ctx context.Context, l *link) {
	read, kept := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(kept)
		delay.RunAgain(ctx, s.cfg.Log, "a link's pings", func() { s.keepAlive(ctx, l, read) })
	}()
	err := delay.Try(s.cfg.Log, "a link", func() error { return s.read(ctx, l) })
	close(read)
	<-kept
	l.begun.Wait()
	_ = l.conn.Close()
	s.dropSlot(ctx, l.id)
	s.closed(l, err)
	close(l.ended)
}

// keepAlive renews a link's slot until read is closed. It closes the link when the context ends or another replica
// needs the slot.
func (s *Socket) keepAlive(ctx context.Context, l *link, read <-chan struct{}) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-read:
			return
		case <-ctx.Done():
			l.leave()
			return
		case <-tick.C:
		}
		_ = l.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWithin)) // the read deadline finds a dead link
		held, err := s.cfg.Links.TakeLink(ctx, l.id, l.max)
		if !held && err == nil && l.max == maxSpares {
			s.cfg.Log.InfoContext(ctx, "spare socket mode link given up: all of the app's are taken")
			l.leave()
			return
		}
	}
}

// read reads frames until the link is closed. It doesn't wait for envelopes to be handled.
func (s *Socket) read(ctx context.Context, l *link) error {
	for {
		_, data, err := l.conn.ReadMessage()
		if err != nil {
			return err
		}
		l.alive()
		f, err := readFrame(data)
		if err != nil {
			s.cfg.Log.WarnContext(ctx, "read frame of link", "envelope", f.Envelope, "err", err)
		}
		switch {
		case f.Type == "disconnect":
			l.announced(f.Reason)
		case f.Envelope != "" && l.begin():
			l.slots <- struct{}{}
			go func() {
				defer l.begun.Done()
				defer func() { <-l.slots }()
				s.handle(ctx, l, f)
			}()
		}
	}
}

// announced records why Slack ends the link. Slack still delivers over it for some seconds.
func (l *link) announced(reason string) {
	switch {
	case reason != "warning" && reason != "refresh_requested":
		l.reason = reason
	case !l.renewed():
		close(l.ending)
	}
}

// renewed reports whether Slack asked for a new link, as it does every few hours.
func (l *link) renewed() bool {
	select {
	case <-l.ending:
		return true
	default:
		return false
	}
}

// envelopeID finds the id in a frame that can't be decoded: it must be acknowledged, too.
var envelopeID = regexp.MustCompile(`"envelope_id"\s*:\s*"([^"\\]+)"`)

func readFrame(data []byte) (frame, error) {
	var f frame
	err := json.Unmarshal(data, &f)
	if err == nil {
		return f, nil
	}
	f = frame{}
	if id := envelopeID.FindSubmatch(data); id != nil {
		f.Envelope = string(id[1])
	}
	return f, fmt.Errorf("decode frame: %w", err)
}

// handle passes an envelope to the handler and acknowledges it, in time even if the handler is slow.
func (s *Socket) handle(ctx context.Context, l *link, f frame) {
	begun := time.Now()
	var answer atomic.Pointer[slack.ViewSubmissionResponse]
	ack := sync.OnceFunc(func() { s.ack(l, acknowledgement{f.Envelope, answer.Load()}, begun) })
	late := time.AfterFunc(AckWithin, ack)
	defer late.Stop()
	if delay.Run(s.cfg.Log, "an envelope", func() {
		answer.Store(s.cfg.Handle(context.WithoutCancel(ctx), f.Envelope, f.Type, f.Payload))
	}) {
		ack() // else Slack tells the person that it failed
	}
}

// acknowledgement answers an envelope.
type acknowledgement struct {
	Envelope string                        `json:"envelope_id"`
	Payload  *slack.ViewSubmissionResponse `json:"payload,omitempty"` // of a form only, and small: Slack silently drops acknowledgements of 20 kB
}

// ack acknowledges an envelope on its own link. Slack ignores it on another one.
func (s *Socket) ack(l *link, a acknowledgement, begun time.Time) {
	l.writing.Lock()
	defer l.writing.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeWithin))
	if err := l.conn.WriteJSON(a); err != nil {
		s.cfg.Log.Warn("acknowledge envelope", "err", err)
		_ = l.conn.Close() // else later envelopes would be carried out and Slack would report that they failed
		return
	}
	s.cfg.Acknowledged.Observe(time.Since(begun).Seconds())
}

// closed counts a link out and logs an unexpected end.
func (s *Socket) closed(l *link, err error) {
	s.mu.Lock()
	s.state.Open--
	s.mu.Unlock()
	switch {
	case l.leaving: // nothing writes it any more
	case l.reason != "":
		s.fail(ended(l.reason))
	case l.renewed():
		s.cfg.Log.Info("socket mode link renewed by slack")
	default:
		s.fail(fmt.Errorf("link ended: %w", err))
	}
}
