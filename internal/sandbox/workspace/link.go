package workspace

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
	missedPongs   = 3                    // pings in a row without an answer drop a link
	linkHost      = "applink-sandbox"

	reasonWarning  = "warning"
	reasonRefresh  = "refresh_requested"
	reasonDisabled = "link_disabled"
	reasonTooMany  = "too_many_websockets"
)

// link is one WebSocket of the bot's. What is under the second heading is guarded by the workspace's lock.
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

// write writes one frame. Whoever reads too slowly for it loses the link.
func (l *link) write(frame []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.ended {
		return errEnded
	}
	return l.writeLocked(frame)
}

func (l *link) writeLocked(frame []byte) error {
	_ = l.conn.SetWriteDeadline(time.Now().Add(patience)) // only a closed connection refuses
	return l.conn.WriteMessage(websocket.TextMessage, frame)
}

// hello is the first frame; until it is written no other is.
func (l *link) hello(app string, links int) error {
	return l.writeLocked(marshal(answer{
		"type": "hello", "num_connections": links, "connection_info": answer{"app_id": app},
		"debug_info": answer{"host": linkHost, "build_number": 1, "approximate_connection_time": int(l.life.Seconds())},
	}))
}

func disconnect(reason string) []byte {
	return marshal(answer{"type": "disconnect", "reason": reason, "debug_info": answer{"host": linkHost}})
}

// bye writes the last frame, which says why, and the close frame. What the app sends until it closes its side still counts.
func (l *link) bye(reason string) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.ended = true
	_ = l.writeLocked(disconnect(reason)) // whoever has gone need not be told
	_ = l.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(closeTime))
}

// attend pings, refreshes and ends a link until it is gone.
func (w *Workspace) attend(l *link) {
	pings, life := time.NewTicker(w.cfg.PingEvery), time.NewTimer(l.life-warningTime)
	defer pings.Stop()
	defer life.Stop()
	var refreshed, closed <-chan time.Time
	bye := func(reason string) {
		w.drop(l)
		l.bye(reason)
		pings.Stop()
		refreshed, closed = nil, time.After(closeTime)
	}
	for {
		select {
		case <-l.gone:
			return
		case <-w.ctx.Done():
			l.cut()
			return
		case <-pings.C:
			_ = l.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(w.cfg.PingEvery)) // a missing pong tells as much
		case <-life.C:
			_ = w.Refresh(warningTime, l.id) // it may have been closed just now
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

// cut closes TCP without a word.
func (l *link) cut() { _ = l.conn.Close() }

// read takes acknowledgements until nothing more comes. A link whose pongs stay away ends.
func (w *Workspace) read(l *link) {
	defer func() {
		w.drop(l) // before anybody who waited sends again
		close(l.gone)
	}()
	l.conn.SetReadLimit(maxBody)
	extend := func(string) error { return l.conn.SetReadDeadline(time.Now().Add(missedPongs * w.cfg.PingEvery)) }
	l.conn.SetPongHandler(extend)
	err := extend("")
	for err == nil {
		var raw []byte
		if _, raw, err = l.conn.ReadMessage(); err == nil {
			w.acknowledge(l, raw)
		}
	}
}
