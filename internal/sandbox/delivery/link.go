package delivery

import (
	"errors"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	linkLife      = 18_060 * time.Second // of a link that nothing ends earlier
	debugLinkLife = 360 * time.Second    // with debug_reconnects=true
	warningTime   = 10 * time.Second     // between the warning and the end of a link
	closeTime     = time.Second          // for the app to close its side
	writeTime     = 3 * time.Second      // for a frame; only a closed connection refuses it
	missedPongs   = 3                    // pings in a row without an answer drop a link
	linkHost      = "applink-sandbox"

	reasonWarning  = "warning"
	reasonRefresh  = "refresh_requested"
	reasonDisabled = "link_disabled"
	reasonTooMany  = "too_many_websockets"
)

// link is one WebSocket of the bot. The lock of linkSet guards warned, delivered, acked and awaited.
type link struct {
	id      string
	since   time.Time
	conn    *websocket.Conn
	life    time.Duration
	refresh chan time.Duration // starts a refresh; the time between warning and end
	end     chan string        // ends the link for a reason
	gone    chan struct{}      // closed when nothing more can come over it

	warned           bool
	delivered, acked int
	awaited          []*awaited

	writing sync.Mutex
	ended   bool // its last frame was written
}

func newLink(conn *websocket.Conn, id string, since time.Time, life time.Duration) *link {
	return &link{
		id: id, since: since, conn: conn, life: life,
		refresh: make(chan time.Duration, 1), end: make(chan string, 1), gone: make(chan struct{}),
	}
}

var errEnded = errors.New("the link has ended")

// write writes one frame. A client that reads too slowly loses the link.
func (l *link) write(frame []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.ended {
		return errEnded
	}
	return l.writeLocked(frame)
}

func (l *link) writeLocked(frame []byte) error {
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeTime))
	return l.conn.WriteMessage(websocket.TextMessage, frame)
}

// hello writes the first frame. No other frame may come before it.
func (l *link) hello(app string, links int) error {
	return l.writeLocked(marshal(map[string]any{
		"type": "hello", "num_connections": links, "connection_info": map[string]any{"app_id": app},
		"debug_info": map[string]any{"host": linkHost, "build_number": 1, "approximate_connection_time": int(l.life.Seconds())},
	}))
}

func disconnect(reason string) []byte {
	return marshal(map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": linkHost}})
}

// bye writes the last frame with the reason, and the close frame. What the app sends until it closes its side still counts.
func (l *link) bye(reason string) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.ended = true
	_ = l.writeLocked(disconnect(reason)) // the client may be gone
	_ = l.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(closeTime))
}

// attend pings, refreshes and ends a link. It returns when the link is gone.
func (s *linkSet) attend(l *link) {
	pings, life := time.NewTicker(s.cfg.PingEvery), time.NewTimer(l.life-warningTime)
	defer pings.Stop()
	defer life.Stop()
	var refreshed, closed <-chan time.Time
	bye := func(reason string) {
		s.drop(l)
		l.bye(reason)
		pings.Stop()
		refreshed, closed = nil, time.After(closeTime)
	}
	for {
		select {
		case <-l.gone:
			return
		case <-s.ctx.Done():
			l.cut()
			return
		case <-pings.C:
			_ = l.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(s.cfg.PingEvery)) // a missing pong shows the failure
		case <-life.C:
			_ = s.Refresh(warningTime, l.id) // the link may have closed meanwhile
		case after := <-l.refresh:
			_ = l.write(disconnect(reasonWarning))
			refreshed = time.After(after)
		case <-refreshed:
			bye(reasonRefresh)
		case reason := <-l.end:
			bye(reason)
		case <-closed:
			l.cut()
		}
	}
}

// cut closes TCP without a close frame.
func (l *link) cut() { _ = l.conn.Close() }

// read takes acknowledgements until the link is gone. A link without pongs ends.
func (s *linkSet) read(l *link) {
	defer func() {
		s.drop(l) // before a waiting delivery is sent again
		close(l.gone)
	}()
	l.conn.SetReadLimit(maxAnswer)
	extend := func(string) error { return l.conn.SetReadDeadline(time.Now().Add(missedPongs * s.cfg.PingEvery)) }
	l.conn.SetPongHandler(extend)
	err := extend("")
	for err == nil {
		var raw []byte
		if _, raw, err = l.conn.ReadMessage(); err == nil {
			s.acknowledge(l, raw)
		}
	}
}
