package sandbox

import (
	"fmt"
	"net/http"
	"time"
)

// eventPause is the least time between two events: at most five a second.
const eventPause = 200 * time.Millisecond

// serveEvents streams which side changed, until the client goes or the world ends. The first
// event comes at once and names both sides, so that a client need not read before.
func (w *World) serveEvents(rw http.ResponseWriter, req *http.Request) {
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.Header().Set("Cache-Control", "no-store")
	stream := http.NewResponseController(rw)
	slack, service := w.Slack.Watch(), w.WAF.Watch()
	slackChanged, serviceChanged := true, true
	for {
		_, err := fmt.Fprintf(rw, "event: changed\ndata: {\"slack\":%t,\"service\":%t}\n\n", slackChanged, serviceChanged)
		if err != nil || stream.Flush() != nil || !pause(req) {
			return
		}
		select {
		case <-req.Context().Done():
			return
		case <-slack:
		case <-service:
		}
		// A change after the new watch is sent next time, however slowly the client reads.
		if slackChanged = isClosed(slack); slackChanged {
			slack = w.Slack.Watch()
		}
		if serviceChanged = isClosed(service); serviceChanged {
			service = w.WAF.Watch()
		}
	}
}

// pause waits between two events. It returns false when the client is gone.
func pause(req *http.Request) bool {
	due := time.NewTimer(eventPause)
	defer due.Stop()
	select {
	case <-req.Context().Done():
		return false
	case <-due.C:
		return true
	}
}

func isClosed(changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	default:
		return false
	}
}
