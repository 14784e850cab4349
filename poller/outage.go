package poller

import (
	"context"

	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// Health is how polling goes.
type Health struct {
	LastGood time.Time // when the last complete poll ended, on this machine's clock; zero: there was none yet
	Failing  string    // why it fails, in words for people; "": it does not
	Since    time.Time // when it began to fail, on this machine's clock
}

// Known reports whether a poll of this process has ended, well or not.
func (h Health) Known() bool { return !h.LastGood.IsZero() || h.Failing != "" }

// healthLog follows how polling goes, and logs each cause of an outage once.
type healthLog struct {
	log *slog.Logger

	mu       sync.Mutex
	now      Health
	failures int      // of the service, in this outage
	causes   []string // of this outage, in words for people
}

func (h *healthLog) get() Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// good notes that a poll is complete.
func (h *healthLog) good() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now.LastGood = time.Now()
}

// reset drops all, as when another replica polls from now on.
func (h *healthLog) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now, h.failures, h.causes = Health{}, 0, nil
}

// note takes down how a poll went that began then.
func (h *healthLog) note(err error, begin time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		if len(h.causes) > 0 {
			h.log.Info("polling works again", "after", time.Since(h.now.Since).Round(time.Second))
		}
		h.causes, h.failures, h.now.Failing, h.now.Since = nil, 0, "", time.Time{}
		return
	}
	if apiclient.KindOf(err) != 0 {
		h.failures++
	}
	why := inWords(err)
	if _, store := errors.AsType[*storeError](err); store {
		why = "the bot's store can't be reached"
	}
	if h.now.Since.IsZero() {
		h.now.Since = begin
	}
	h.now.Failing = why
	if !slices.Contains(h.causes, why) {
		h.causes = append(h.causes, why)
		h.log.Error("polling fails", "why", why, "error", err)
	}
}

// outage is this outage: why it goes on, each of its causes, and how many polls failed because of the service.
func (h *healthLog) outage() (now Health, causes []string, failures int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now, slices.Clone(h.causes), h.failures
}

// inWords says for people why the service can't be read.
func inWords(err error) string {
	switch apiclient.KindOf(err) {
	case apiclient.Unauthenticated:
		return "the service refuses the token"
	case apiclient.Forbidden:
		return "the token lacks the permission to read"
	case apiclient.RateLimited:
		return "the service says there are too many requests"
	case apiclient.Server:
		return "the service answers with errors"
	case apiclient.Network:
		return "the service can't be reached"
	case apiclient.NotFound, apiclient.Invalid:
		return "the service refuses the request: is the account's address or client id wrong?"
	}
	return "the service can't be read"
}

// notifyOutage notifies once in an outage that the account can't be polled. Failures of the store are no such event: it could not be saved.
func (p *Poller) notifyOutage(ctx context.Context, err error) {
	kind := apiclient.KindOf(err)
	if kind == 0 {
		return
	}
	h, _, failures := p.health.outage()
	refused := kind == apiclient.Unauthenticated || kind == apiclient.Forbidden // for good, until a person fixes it
	lasts := time.Since(h.Since) >= outageAfter*p.cfg.Interval
	if !p.st.outage.From.IsZero() || failures < 2 || !refused && !lasts {
		return
	}
	facts := record.UnreachableFacts{Outage: record.Outage{From: h.Since.UTC(), Why: h.Failing}, Mend: fix(kind)}
	if !p.st.lastGood.IsZero() {
		facts.LastGood = p.st.lastGood.Add(-p.skew)
	}
	events := []record.Event{p.cfg.accountEvent(record.APIUnreachable, h.Since.UnixMilli(), time.Now().UTC(), facts)}
	if err := p.save(ctx, Update{LastGood: p.st.lastGood, Outage: &facts.Outage, Stale: p.st.ongoing(), Events: events}); err != nil {
		p.loaded = false
		p.cfg.Log.Error("the outage can't be saved yet, so no one is notified", "err", err)
		return
	}
	p.cfg.Notifier.Notify(p.cfg.Account, events)
}

// fix says for people what can be done about an account that can't be polled.
func fix(kind apiclient.ErrorKind) string {
	switch kind {
	case apiclient.Unauthenticated:
		return "who manages the service's tokens makes a new one; written into the account's token_file, it is read by itself"
	case apiclient.Forbidden:
		return "an admin of the service gives the token's user a role that may read attacks"
	case apiclient.NotFound, apiclient.Invalid:
		return "wafbot doctor tells more"
	}
	return ""
}
