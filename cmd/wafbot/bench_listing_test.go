package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// listing lists the emulated service's attacks from records that are written beforehand, so that what is measured is not the emulation, and so that
// many appear in one go. Until the first are prepared, and for all else, the service answers itself.
type listing struct {
	service http.Handler
	polls   chan struct{} // a poll began; not counted while nobody waits for it
	seen    *sightings

	mu      sync.Mutex
	records []*listedAttack // the newest first
	hidden  int             // of the newest, not listed yet
}

type listedAttack struct {
	text     json.RawMessage
	path     string
	incident bool
	seen     bool // in an answer
}

// prepare starts attacks that aren't listed before they are revealed. What was prepared before is.
func (l *listing) prepare(b *testing.B, service *waf.Service, specs []waf.AttackSpec) {
	b.Helper()
	for _, spec := range specs {
		_, err := service.StartAttack(spec)
		require.NoError(b, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records, l.hidden = readListing(b, service), len(specs)
}

// readListing is all that the service lists.
func readListing(b *testing.B, service http.Handler) (records []*listedAttack) {
	b.Helper()
	records = []*listedAttack{} // that none is listed is prepared, too
	for {
		query := fmt.Sprintf(`{"filter":{"clientid":[5]},"order_by":"last_time","order_desc":true,"offset":%d,"limit":1000}`, len(records))
		r := httptest.NewRequest(http.MethodPost, "/v1/objects/attack", strings.NewReader(query))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-ServiceApi-Token", "token")
		answer := httptest.NewRecorder()
		service.ServeHTTP(answer, r)
		var page struct{ Body []json.RawMessage }
		require.NoError(b, json.Unmarshal(answer.Body.Bytes(), &page), answer.Body)
		for _, text := range page.Body {
			var fields struct {
				Path   string
				VulnID *int
			}
			require.NoError(b, json.Unmarshal(text, &fields))
			records = append(records, &listedAttack{text: text, path: fields.Path, incident: fields.VulnID != nil})
		}
		if len(page.Body) == 0 {
			return records
		}
	}
}

// reveal lists so many more, the oldest first.
func (l *listing) reveal(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hidden -= n
}

// awaitPolls waits until a poll has begun, and so many more.
func (l *listing) awaitPolls(more int) {
	for range 1 + more {
		<-l.polls
	}
}

// ServeHTTP implements http.Handler.
func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/objects/attack" {
		l.service.ServeHTTP(w, r)
		return
	}
	var query struct {
		Filter        map[string]any
		Offset, Limit int
	}
	body := readBody(r)
	_ = json.Unmarshal(body, &query)
	_, incidents := query.Filter["!vulnid"]
	if query.Offset == 0 && !incidents {
		select {
		case l.polls <- struct{}{}:
		default:
		}
	}
	if answer, ok := l.page(query.Offset, query.Limit, incidents); ok {
		_, _ = w.Write(answer)
		return
	}
	l.service.ServeHTTP(w, r)
}

// page is an answer, unless nothing is prepared.
func (l *listing) page(offset, limit int, incidents bool) (answer []byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.records == nil {
		return nil, false
	}
	listed := l.records[l.hidden:]
	if incidents {
		listed = slices.DeleteFunc(slices.Clone(listed), func(a *listedAttack) bool { return !a.incident })
	}
	listed = listed[min(offset, len(listed)):min(offset+limit, len(listed))]
	answer = []byte(`{"status":200,"body":[`)
	for i, a := range listed {
		if i > 0 {
			answer = append(answer, ',')
		}
		answer = append(answer, a.text...)
		if !a.seen {
			a.seen = true
			l.seen.add("listed", a.path, time.Now())
		}
	}
	return append(answer, `]}`...), true
}
