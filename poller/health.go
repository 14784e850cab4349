package poller

import (
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Health is how watching goes.
type Health struct {
	LastGood time.Time // when the last good poll ended, on this machine's clock; zero: there was none yet
	Failing  string    // why it fails, in words for people; "": it does not
	Since    time.Time // when it began to fail, on this machine's clock
}

// Health returns how watching goes.
func (p *Poller) Health() Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.health
}

// note takes down how a poll went that began then. In one spell of failures each cause is logged once.
func (p *Poller) note(err error, begin time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		if len(p.reported) > 0 {
			p.cfg.Log.Info("watching again", "away", time.Since(p.health.Since).Round(time.Second))
		}
		p.reported, p.failures, p.health.Failing, p.health.Since = nil, 0, "", time.Time{}
		return
	}
	why := inWords(err)
	if _, memory := errors.AsType[*memoryError](err); memory {
		why = "the bot's memory can't be reached"
	}
	if p.health.Since.IsZero() {
		p.health.Since = begin
	}
	p.health.Failing = why
	if !slices.Contains(p.reported, why) {
		p.reported = append(p.reported, why)
		p.cfg.Log.Error("watching fails", "why", why, "error", err)
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
