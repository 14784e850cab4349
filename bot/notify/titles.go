package notify

import (
	"context"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/delay"
)

// Vulnerabilities lists an account's vulnerabilities.
type Vulnerabilities interface {
	Vulnerabilities(ctx context.Context, f apiclient.VulnFilter) iter.Seq2[apiclient.Vulnerability, error]
}

// Titles are the titles of an account's vulnerabilities. No card waits for one: it is drawn without, and again once the title is known. The service's
// listing has no filter by id, so one reading serves all cards.
type Titles struct {
	api  Vulnerabilities
	log  *slog.Logger
	wake chan struct{} // a title is wanted

	mu      sync.Mutex
	failing bool                    // the last reading failed
	known   map[string]string       // by the vulnerability's id
	wanted  map[string]*wantedTitle // likewise
}

// wantedTitle is a title that isn't known.
type wantedTitle struct {
	attacks map[string]time.Time // when the cards that show it were last drawn without, by attack
	missing time.Time            // when the service last listed no such vulnerability; zero: not yet
}

const (
	titleMissing = time.Minute      // how long a vulnerability that isn't listed is taken to be missing
	titleWanted  = 10 * time.Minute // how long a title is looked for after a card was drawn without it
	titleIdle    = 5 * time.Second  // how long a reading may stand still
)

// NewTitles makes Titles. Nothing is read yet.
func NewTitles(api Vulnerabilities, log *slog.Logger) *Titles {
	return &Titles{api: api, log: log, wake: make(chan struct{}, 1), known: map[string]string{}, wanted: map[string]*wantedTitle{}}
}

// title is the title of a vulnerability for an attack's card; "" if it isn't known. Then the card becomes stale when it is. untitled reports that the
// service has yet to be asked.
func (t *Titles) title(id, attack string) (title string, untitled bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if title, ok := t.known[id]; ok {
		return title, false
	}
	w := t.wanted[id]
	if w == nil {
		w = &wantedTitle{attacks: map[string]time.Time{}}
		t.wanted[id] = w
		signal(t.wake)
	}
	w.attacks[attack] = time.Now()
	return "", w.missing.IsZero()
}

// untitled tells of which attacks' cards the service has yet to be asked for the title: of all while it fails, whether they are known here or not.
func (t *Titles) untitled() (is func(attack string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	failing, some := t.failing, map[string]time.Time{}
	for _, w := range t.wanted {
		if w.missing.IsZero() {
			maps.Copy(some, w.attacks)
		}
	}
	return func(attack string) bool { return failing || !some[attack].IsZero() }
}

// run reads titles that cards want until ctx ends, and has these cards redrawn. After a failure it waits, however many more want one.
func (t *Titles) run(ctx context.Context, redraw func(ctx context.Context, attacks []string) error) {
	for failures := 0; ctx.Err() == nil; {
		wait := t.due()
		if failures > 0 {
			_ = delay.Sleep(ctx, delay.Backoff(failures-1, time.Second, titleMissing))
		} else if wait > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			case <-t.wake:
			}
			continue
		}
		err := t.read(ctx)
		if err == nil {
			err = redraw(ctx, t.found())
		}
		if err == nil {
			t.dropKnown()
			failures = 0
			continue
		}
		t.fail()
		if failures++; failures == 1 && ctx.Err() == nil {
			t.log.Warn("show titles of vulnerabilities: cards have none until that works", "err", err)
		}
	}
}

// fail notes that a reading failed.
func (t *Titles) fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failing = true
}

// due is how long until the service is to be asked; it forgets what no card has wanted lately, for the marks of these cards stand.
func (t *Titles) due() (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.wanted, func(_ string, w *wantedTitle) bool {
		maps.DeleteFunc(w.attacks, func(_ string, drawn time.Time) bool { return time.Since(drawn) >= titleWanted })
		return len(w.attacks) == 0
	})
	wait = whenWoken
	for _, w := range t.wanted {
		wait = min(wait, max(time.Until(w.missing.Add(titleMissing)), 0))
	}
	return wait
}

// read reads all vulnerabilities, unless the service stands still.
func (t *Titles) read(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(titleIdle, cancel)
	defer idle.Stop()
	wanted, titles := t.all(), map[string]string{}
	for v, err := range t.api.Vulnerabilities(ctx, apiclient.VulnFilter{}) {
		if err != nil {
			return err
		}
		idle.Reset(titleIdle)
		titles[v.ID] = v.Title
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known, t.failing = titles, false
	for _, w := range wanted { // one that came to be wanted meanwhile may be missing only in what was read before
		w.missing = time.Now()
	}
	return nil
}

// all are those that are wanted.
func (t *Titles) all() []*wantedTitle {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.wanted))
}

// found are the attacks whose cards wanted a title that is known by now.
func (t *Titles) found() (attacks []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, w := range t.wanted {
		if t.known[id] != "" {
			attacks = slices.AppendSeq(attacks, maps.Keys(w.attacks))
		}
	}
	return attacks
}

// dropKnown forgets who wanted the titles that are known.
func (t *Titles) dropKnown() {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.wanted, func(id string, _ *wantedTitle) bool { _, ok := t.known[id]; return ok })
}
