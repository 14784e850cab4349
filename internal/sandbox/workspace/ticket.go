package workspace

import (
	"net/url"
	"strings"
	"time"
)

const (
	connectionsOpen = "apps.connections.open"
	ticketLife      = 30 * time.Second
)

// appsConnectionsOpen answers with an address at which one Socket Mode link can be opened, once and soon.
func appsConnectionsOpen(w *Workspace, _ args) (answer, error) {
	if w.socketOff {
		return nil, refuse("socket_mode_not_enabled")
	}
	now := w.cfg.Now()
	for ticket, ends := range w.tickets {
		if now.After(ends) {
			delete(w.tickets, ticket)
		}
	}
	ticket := randomID()
	w.tickets[ticket] = now.Add(ticketLife)
	query := url.Values{"ticket": {ticket}, "app_id": {w.cfg.AppID}}
	return answer{"url": "ws" + strings.TrimPrefix(w.cfg.BaseURL, "http") + "/link/?" + query.Encode()}, nil
}
