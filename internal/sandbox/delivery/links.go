package delivery

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const maxLinks = 10 // of an app

// Link is an open Socket Mode link of the bot.
type Link struct {
	ID        string    `json:"id"`
	Since     time.Time `json:"since"`
	Warned    bool      `json:"warned"`    // it will be closed soon
	Delivered int       `json:"delivered"` // envelopes sent over it
	Acked     int       `json:"acked"`     // of them acknowledged in time
}

// linkSet holds the Socket Mode links of the bot.
type linkSet struct {
	cfg     Config
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup // a link each

	mu      sync.Mutex
	open    []*link
	opened  int                  // links so far
	turn    int                  // counts envelopes, to choose a link in turn
	off     bool                 // Socket Mode is switched off
	tickets map[string]time.Time // unused tickets and when they expire
}

func newLinkSet(cfg Config) *linkSet {
	ctx, stop := context.WithCancel(context.Background())
	return &linkSet{cfg: cfg, ctx: ctx, stop: stop, tickets: map[string]time.Time{}}
}

// Links lists the open links, oldest first.
func (s *linkSet) Links() []Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	links := []Link{}
	for _, l := range s.open {
		links = append(links, Link{l.id, l.since, l.warned, l.delivered, l.acked})
	}
	return links
}

// Refresh starts the refresh of the named links, or of all if none is named: a warning, and after that time (0: 10 s) the end.
func (s *linkSet) Refresh(after time.Duration, ids ...string) error {
	if after <= 0 {
		after = warningTime
	}
	return s.each(ids, func(l *link) {
		if !l.warned {
			l.warned = true
			l.refresh <- after
		}
	})
}

// RefreshEvery starts the refresh of one link per interval, the oldest first, until the context ends.
func (s *linkSet) RefreshEvery(ctx context.Context, every, after time.Duration) {
	due := time.NewTicker(every)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
			links := s.Links()
			if i := slices.IndexFunc(links, func(l Link) bool { return !l.Warned }); i >= 0 {
				_ = s.Refresh(after, links[i].ID) // the link may have closed meanwhile
			}
		}
	}
}

// CutLinks closes TCP of the named links, or of all if none is named, without a close frame.
func (s *linkSet) CutLinks(ids ...string) error {
	return s.each(ids, (*link).cut)
}

// SetSocketMode switches Socket Mode on or off. Off ends all links.
func (s *linkSet) SetSocketMode(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = !on
	if s.off {
		for _, l := range s.open {
			l.end <- reasonDisabled
		}
		s.open = nil
	}
	s.cfg.Changed()
}

// SocketMode reports whether Socket Mode is switched on.
func (s *linkSet) SocketMode() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.off
}

// each calls a function with the named links, or with all if none is named.
func (s *linkSet) each(ids []string, do func(*link)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	named := func(l *link) bool { return len(ids) == 0 || slices.Contains(ids, l.id) }
	for _, id := range ids {
		if !slices.ContainsFunc(s.open, func(l *link) bool { return l.id == id }) {
			return fmt.Errorf("find link %q: no such link is open", id)
		}
	}
	for _, l := range s.open {
		if named(l) {
			do(l)
		}
	}
	s.cfg.Changed()
	return nil
}

// ServeLink opens a link with a ticket, and serves it until it ends.
func (s *linkSet) ServeLink(rw http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !s.takeTicket(query.Get("ticket")) {
		http.Error(rw, "the ticket is unknown, used or too old", http.StatusNotFound)
		return
	}
	defer s.running.Done()
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }} // the ticket authenticates
	conn, err := upgrader.Upgrade(rw, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	defer func() { _ = conn.Close() }() // it may be closed already
	life := linkLife
	if query.Get("debug_reconnects") == "true" {
		life = debugLinkLife
	}
	l := s.connect(conn, life)
	if l == nil {
		return
	}
	s.running.Go(func() { s.attend(l) })
	s.read(l)
}

// takeTicket uses up a ticket. On success the link counts as running.
func (s *linkSet) takeTicket(ticket string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ends, ok := s.tickets[ticket]
	delete(s.tickets, ticket)
	if !ok || s.cfg.Now().After(ends) || s.ctx.Err() != nil {
		return false
	}
	s.running.Add(1)
	return true
}

// connect greets a link and adds it to the open ones. A link over the limit, or while Socket Mode is off or after Close, gets a disconnect frame and is
// only read to its end.
func (s *linkSet) connect(conn *websocket.Conn, life time.Duration) *link {
	s.mu.Lock()
	l := newLink(conn, "L"+strconv.Itoa(s.opened+1), s.cfg.Now(), life)
	s.opened++
	refused := ""
	switch {
	case s.off || s.ctx.Err() != nil:
		refused = reasonDisabled
	case len(s.open) >= maxLinks:
		refused = reasonTooMany
	default:
		l.writing.Lock() // so that hello is the first frame
		defer l.writing.Unlock()
		s.open = append(s.open, l)
	}
	links := len(s.open)
	s.mu.Unlock()
	if refused != "" {
		l.end <- refused
		return l
	}
	if l.hello(s.cfg.AppID, links) != nil {
		s.drop(l)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Changed()
	return l
}

// drop removes a link from the open ones.
func (s *linkSet) drop(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(other *link) bool { return other == l })
	s.cfg.Changed()
}

// Close cuts all links and waits until they have ended.
func (s *linkSet) Close() {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock() // from here on no link starts
	s.running.Wait()
}

func (s *linkSet) anyOpen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) > 0
}

// ticketLife is how long a link can be opened with a ticket.
const ticketLife = 30 * time.Second

// NewLinkURL returns an address at which one link can be opened once within 30 seconds. It returns false while Socket Mode is switched off.
func (s *linkSet) NewLinkURL() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		return "", false
	}
	now := s.cfg.Now()
	for ticket, ends := range s.tickets {
		if now.After(ends) {
			delete(s.tickets, ticket)
		}
	}
	ticket := rand.Text()
	s.tickets[ticket] = now.Add(ticketLife)
	query := url.Values{"ticket": {ticket}, "app_id": {s.cfg.AppID}}
	return "ws" + strings.TrimPrefix(s.cfg.BaseURL, "http") + "/link/?" + query.Encode(), true
}
