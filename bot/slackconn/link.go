package slackconn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
)

// Times of a link.
const (
	helloWithin = 10 * time.Second        // to connect and be greeted
	renewEvery  = 3 * time.Second         // how often it is renewed in the memory, and Slack is asked for a sign of life
	silentFor   = 15 * time.Second        // without any sign of life it is dead
	writeWithin = 2 * time.Second         // one frame
	AckWithin   = 2400 * time.Millisecond // whatever happens meanwhile; Slack waits 3 s
	leaveWithin = time.Second             // for the other side to close, too
)

// How large a frame may be, in bytes, and how many are handled at once. More wait, and are read then.
const (
	maxFrame     = 16 << 20
	maxEnvelopes = 256
)

// link is one Socket Mode connection.
type link struct {
	id     string // of its slot
	max    int    // how many links may be taken with it
	conn   *websocket.Conn
	slots  chan struct{}
	ending chan struct{} // closed when Slack announces that it renews the link
	ended  chan struct{} // closed when nothing more can come
	reason string        // that Slack gave for an end that is no renewal; "" while it gave none

	writing sync.Mutex // of frames: one at a time

	mu      sync.Mutex
	leaving bool // nothing is taken any more: it could not be acknowledged
	begun   sync.WaitGroup
}

// frame is what comes over a link.
type frame struct {
	Type     string          `json:"type"` // hello, disconnect, or an envelope's
	Reason   string          `json:"reason"`
	Envelope string          `json:"envelope_id"`
	Payload  json.RawMessage `json:"payload"`
}

// dialLink connects and waits for Slack's greeting. The address is good for one connection and is told to nobody.
func dialLink(ctx context.Context, address string) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: helloWithin}
	conn, res, err := dialer.DialContext(ctx, address, nil)
	if err != nil {
		return nil, fmt.Errorf("connect link: %w", WithoutURL(err))
	}
	_ = res.Body.Close() // empty: the connection is the link's now
	l := &link{conn: conn, slots: make(chan struct{}, maxEnvelopes), ending: make(chan struct{}), ended: make(chan struct{})}
	conn.SetReadLimit(maxFrame)
	waited := context.AfterFunc(ctx, func() { _ = conn.Close() })
	var first frame
	if err := conn.ReadJSON(&first); err != nil || !waited() {
		_ = conn.Close()
		return nil, fmt.Errorf("wait for greeting of link: %w", cmp.Or(ctx.Err(), err))
	}
	if first.Type != "hello" {
		_ = conn.Close()
		return nil, fmt.Errorf("link was not greeted: %w", ended(first.Reason))
	}
	l.alive()
	conn.SetPongHandler(func(string) error { l.alive(); return nil })
	answer := conn.PingHandler()
	conn.SetPingHandler(func(data string) error { l.alive(); return answer(data) })
	conn.SetCloseHandler(func(int, string) error {
		l.begun.Wait() // nothing can be acknowledged once this side has closed, too
		return l.close()
	})
	return l, nil
}

// ended is what the reason means that Slack gives for ending a link.
func ended(reason string) error {
	switch reason {
	case "too_many_websockets":
		return errors.New("too_many_websockets: all ten links of the app are open; does another wafbot use it, with another Redis?")
	case "link_disabled":
		return errors.New("link_disabled: Socket Mode is switched off in the app's settings")
	}
	return fmt.Errorf("slack ended it (%q)", reason)
}

// alive puts off the time at which the link counts as dead.
func (l *link) alive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leaving {
		_ = l.conn.SetReadDeadline(time.Now().Add(silentFor))
	}
}

// begin takes an envelope into hand, unless the link is being left.
func (l *link) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leaving {
		l.begun.Add(1)
	}
	return !l.leaving
}

// leave closes the link from this side, when all that is in hand was acknowledged.
func (l *link) leave() {
	l.mu.Lock()
	l.leaving = true
	_ = l.conn.SetReadDeadline(time.Now().Add(AckWithin + leaveWithin))
	l.mu.Unlock()
	l.begun.Wait()
	_ = l.close()
	_ = l.conn.SetReadDeadline(time.Now().Add(leaveWithin))
}

// close says that nothing more comes from this side. It may be said twice.
func (l *link) close() error {
	return l.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(leaveWithin))
}

func (l *link) left() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leaving
}

// serve reads a link to its end, which comes from Slack, or with the context, or when a spare link has to make room for another replica.
func (s *Socket) serve(ctx context.Context, l *link) {
	read, tended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(tended)
		s.keepAlive(ctx, l, read)
	}()
	err := s.read(ctx, l)
	close(read)
	<-tended
	l.begun.Wait()
	_ = l.conn.Close()
	s.dropSlot(ctx, l.id)
	s.closed(l, err)
	close(l.ended)
}

// tend keeps a link until it was read to its end, and leaves it when the context ends or another replica needs it.
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
		_ = l.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWithin)) // a dead link is noticed by its silence
		held, err := s.cfg.Links.TakeLink(ctx, l.id, l.max)
		if !held && err == nil && l.max == maxSpares {
			s.cfg.Log.Info("spare socket mode link given up: all of the app's are taken")
			l.leave()
			return
		}
	}
}

// read takes what comes over a link until it is closed. It never waits for what an envelope asks for.
func (s *Socket) read(ctx context.Context, l *link) error {
	for {
		_, data, err := l.conn.ReadMessage()
		if err != nil {
			return err
		}
		l.alive()
		f, err := readFrame(data)
		if err != nil {
			s.cfg.Log.Warn("read frame of link", "envelope", f.Envelope, "err", err)
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

// announced notes why Slack ends the link. It goes on delivering over it for some seconds.
func (l *link) announced(reason string) {
	switch {
	case reason != "warning" && reason != "refresh_requested":
		l.reason = reason
	case !l.renewed():
		close(l.ending)
	}
}

// renewed reports whether Slack wants another link in this one's place, as it does every few hours.
func (l *link) renewed() bool {
	select {
	case <-l.ending:
		return true
	default:
		return false
	}
}

// envelopeID finds the id in a frame that can't be read otherwise: it must be acknowledged all the same.
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

// handle carries out, or writes down, what an envelope asks for, and acknowledges it.
func (s *Socket) handle(ctx context.Context, l *link, f frame) {
	begun := time.Now()
	var answer atomic.Pointer[slack.ViewSubmissionResponse]
	ack := sync.OnceFunc(func() { s.ack(l, acknowledgement{f.Envelope, answer.Load()}, begun) })
	late := time.AfterFunc(AckWithin, ack)
	defer late.Stop()
	defer ack()
	answer.Store(s.cfg.Handler.Envelope(context.WithoutCancel(ctx), Envelope{f.Envelope, f.Type, f.Payload}))
}

// acknowledgement is what goes back for an envelope.
type acknowledgement struct {
	Envelope string                        `json:"envelope_id"`
	Payload  *slack.ViewSubmissionResponse `json:"payload,omitempty"` // of a form alone, and small: Slack drops acknowledgements of 20 kB without a word
}

// ack acknowledges an envelope on the link that it came by; on another it would count for nothing.
func (s *Socket) ack(l *link, a acknowledgement, begun time.Time) {
	l.writing.Lock()
	defer l.writing.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeWithin))
	if err := l.conn.WriteJSON(a); err != nil {
		s.cfg.Log.Warn("acknowledge envelope", "err", err)
		_ = l.conn.Close() // nothing can be written any more: what still came would be done, and told to have failed
		return
	}
	s.cfg.Acknowledged.Observe(time.Since(begun).Seconds())
}

// closed counts a link out, and says why it ended unless that was to be expected.
func (s *Socket) closed(l *link, err error) {
	s.mu.Lock()
	s.open--
	s.mu.Unlock()
	switch {
	case l.left():
	case l.reason != "":
		s.fail(ended(l.reason))
	case l.renewed():
		s.cfg.Log.Info("socket mode link renewed by slack")
	default:
		s.fail(fmt.Errorf("link ended: %w", err))
	}
}
