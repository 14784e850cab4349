package poller

import (
	"context"
	"iter"
	"log/slog"
	"sync"

	"github.com/wafbot/wafbot/apiclient"
)

// Vulnerabilities lists an account's vulnerabilities.
type Vulnerabilities interface {
	Vulnerabilities(ctx context.Context, f apiclient.VulnFilter) iter.Seq2[apiclient.Vulnerability, error]
}

// Titles are the titles of an account's vulnerabilities. Each is read from the service once.
type Titles struct {
	api Vulnerabilities
	log *slog.Logger

	mu    sync.Mutex
	known map[string]string // by id; "": the service has no such vulnerability
}

// NewTitles makes Titles. Nothing is read yet.
func NewTitles(api Vulnerabilities, log *slog.Logger) *Titles {
	return &Titles{api: api, log: log, known: map[string]string{}}
}

// Title is the title of a vulnerability. ok is false if it isn't known.
func (t *Titles) Title(ctx context.Context, id string) (title string, ok bool) {
	t.mu.Lock()
	title, ok = t.known[id]
	t.mu.Unlock()
	if ok {
		return title, title != ""
	}
	for v, err := range t.api.Vulnerabilities(ctx, apiclient.VulnFilter{}) {
		if err != nil {
			t.log.Warn("look up vulnerability", "err", err)
			return "", false
		}
		if v.ID == id {
			title = v.Title
			break
		}
	}
	t.mu.Lock()
	t.known[id] = title
	t.mu.Unlock()
	return title, title != ""
}
