package workspace

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
)

const maxLinks = 10 // of an app

// Link is an open Socket Mode link of the bot's.
type Link struct {
	ID        string    `json:"id"`
	Since     time.Time `json:"since"`
	Warned    bool      `json:"warned"`    // it will be closed soon
	Delivered int       `json:"delivered"` // envelopes sent over it
	Acked     int       `json:"acked"`     // of them acknowledged in time
}

// Links lists the open links, oldest first.
func (w *Workspace) Links() []Link {
	w.mu.Lock()
	defer w.mu.Unlock()
	links := []Link{}
	for _, l := range w.links {
		links = append(links, Link{l.id, l.since, l.warned, l.delivered, l.acked})
	}
	return links
}

// Refresh starts the refresh of the named links, without names of all: a warning, and after that time (0: 10 s) the end.
func (w *Workspace) Refresh(after time.Duration, ids ...string) error {
	if after <= 0 {
		after = warningTime
	}
	return w.each(ids, func(l *link) {
		if !l.warned {
			l.warned = true
			l.refresh <- after
		}
	})
}

// RefreshEvery starts the refresh of one link every so often, the oldest first, until the context ends.
func (w *Workspace) RefreshEvery(ctx context.Context, every, after time.Duration) {
	due := time.NewTicker(every)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			links := w.Links()
			if i := slices.IndexFunc(links, func(l Link) bool { return !l.Warned }); i >= 0 {
				_ = w.Refresh(after, links[i].ID) // it may have been closed just now
			}
		}
	}
}

// CutLinks closes TCP of the named links, without names of all, and sends no frame before.
func (w *Workspace) CutLinks(ids ...string) error {
	return w.each(ids, (*link).cut)
}

// SetSocketMode switches Socket Mode off, which ends all links, or on again.
func (w *Workspace) SetSocketMode(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.socketOff = !on
	if w.socketOff {
		for _, l := range w.links {
			l.end <- reasonDisabled
		}
		w.links = nil
	}
	w.notify()
}

// SocketMode tells whether Socket Mode is switched on.
func (w *Workspace) SocketMode() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.socketOff
}

// each does something to the named links, without names to all.
func (w *Workspace) each(ids []string, do func(*link)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	named := func(l *link) bool { return len(ids) == 0 || slices.Contains(ids, l.id) }
	for _, id := range ids {
		if !slices.ContainsFunc(w.links, func(l *link) bool { return l.id == id }) {
			return fmt.Errorf("find link %q: no such link is open", id)
		}
	}
	for _, l := range w.links {
		if named(l) {
			do(l)
		}
	}
	w.notify()
	return nil
}

// serveLink opens a link with a ticket, and serves it until it ends.
func (w *Workspace) serveLink(rw http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !w.takeTicket(query.Get("ticket")) {
		http.Error(rw, "the ticket is unknown, used or too old", http.StatusNotFound)
		return
	}
	defer w.running.Done()
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }} // the ticket says who it is
	conn, err := upgrader.Upgrade(rw, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	defer func() { _ = conn.Close() }() // it is gone in any case
	life := linkLife
	if query.Get("debug_reconnects") == "true" {
		life = debugLinkLife
	}
	l := w.open(conn, life)
	if l == nil {
		return
	}
	w.running.Go(func() { w.attend(l) })
	w.read(l)
}

// takeTicket uses up a ticket, and on success counts the link among what is running.
func (w *Workspace) takeTicket(ticket string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	ends, ok := w.tickets[ticket]
	delete(w.tickets, ticket)
	if !ok || w.cfg.Now().After(ends) || w.ctx.Err() != nil {
		return false
	}
	w.running.Add(1)
	return true
}

// open greets a link and puts it among those that are open; one too many, or one that
// comes when Socket Mode is off or the workspace is closed, is told so and is only read to its end.
func (w *Workspace) open(conn *websocket.Conn, life time.Duration) *link {
	w.mu.Lock()
	l := newLink(conn, "L"+strconv.Itoa(w.opened+1), w.cfg.Now(), life)
	w.opened++
	refused := ""
	switch {
	case w.socketOff || w.ctx.Err() != nil:
		refused = reasonDisabled
	case len(w.links) >= maxLinks:
		refused = reasonTooMany
	default:
		l.writing.Lock() // before anybody can choose it, until it was greeted
		defer l.writing.Unlock()
		w.links = append(w.links, l)
	}
	links := len(w.links)
	w.mu.Unlock()
	if refused != "" {
		l.end <- refused
		return l
	}
	if l.hello(w.cfg.AppID, links) != nil {
		w.drop(l)
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notify()
	return l
}

// drop takes a link from those that are open.
func (w *Workspace) drop(l *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links = slices.DeleteFunc(w.links, func(other *link) bool { return other == l })
	w.notify()
}

// Close cuts all links and ends what goes on in the background. The workspace is of no use afterwards.
func (w *Workspace) Close() {
	w.mu.Lock()
	w.stop()
	w.mu.Unlock() // from here on nothing new begins
	w.running.Wait()
}
