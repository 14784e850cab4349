package poller

import (
	"context"
	"errors"
	"slices"
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

// noteHealth notes how a poll went that began then. It logs each cause of an outage once.
func (p *Poller) noteHealth(err error, begin time.Time) {
	h, log := &p.health, p.cfg.Log
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		if len(p.causes) > 0 {
			log.Info("polling works again", "after", time.Since(h.Since).Round(time.Second))
		}
		p.causes, p.failures, h.Failing, h.Since = nil, 0, "", time.Time{}
		return
	}
	if apiclient.KindOf(err) != 0 {
		p.failures++
	}
	h.Failing = inWords(err)
	if _, store := errors.AsType[*storeError](err); store {
		h.Failing = "the bot's store can't be reached"
	}
	if h.Since.IsZero() {
		h.Since = begin
	}
	if !slices.Contains(p.causes, h.Failing) {
		p.causes = append(p.causes, h.Failing)
		log.Error("polling fails", "why", h.Failing, "error", err)
	}
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
	h := p.health
	least := max(outageAfter*p.cfg.Interval, leastOutage)
	if kind == apiclient.Unauthenticated || kind == apiclient.Forbidden { // for good, until a person fixes it
		least = leastOutage
	}
	if !p.st.outage.From.IsZero() || p.failures < outageFailures || time.Since(h.Since) < least {
		return
	}
	facts := record.UnreachableFacts{Outage: record.Outage{From: h.Since.UTC(), Why: h.Failing}, Fix: fix(kind)}
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
		return "wafbot doctor says more"
	}
	return ""
}
