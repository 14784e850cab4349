package poller

import (
	"context"
	"iter"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/delay"
)

// mirrorEvery is how often it is read, apart from refreshes. When in the minute is drawn by lot, so that the accounts of one process don't
// all read in the same second.
const mirrorEvery = time.Minute

// Settings mirrors what is in force, for previews.
type Settings struct {
	At      time.Time          // when all of it was last read, on this machine's clock; zero: never yet
	Entries []apiclient.IPRule // all IP lists
	Rules   []apiclient.Rule   // modes and virtual patches only
	Err     string             // why the last reading failed, in words for people; what it could not read is as old as At
}

// Settings returns the mirror, which must not be changed.
func (p *Poller) Settings() Settings {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
}

// Refresh has the mirror read again as soon as Run can, as after a change. It never blocks.
func (p *Poller) Refresh() {
	select {
	case p.refresh <- struct{}{}:
	default: // asked for already
	}
}

// mirror reads what is in force until ctx ends.
func (p *Poller) mirror(ctx context.Context) {
	next := time.NewTimer(delay.Jitter(0, mirrorEvery))
	defer next.Stop()
	failing := ""
	for {
		s, err := p.readSettings(ctx)
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		p.relisted = append(p.relisted, differing(p.settings.Entries, s.Entries)...)
		p.settings = s
		p.mu.Unlock()
		if s.Err != "" && failing == "" {
			p.cfg.Log.Error("reading lists and rules fails", "why", s.Err, "error", err)
		}
		failing = s.Err
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			next.Reset(mirrorEvery)
		case <-p.refresh:
		}
	}
}

// readSettings reads lists and rules, each of which stays as it was when it can't be read: a token may be allowed one
// and not the other.
func (p *Poller) readSettings(ctx context.Context) (Settings, error) {
	begin := time.Now()
	s := p.Settings()
	entries, err := collect(p.cfg.API.IPRules(ctx, apiclient.IPRuleFilter{}), func(apiclient.IPRule) bool { return true })
	if err == nil {
		s.Entries = entries
	}
	rules, rulesErr := collect(p.cfg.API.Rules(ctx, apiclient.RuleFilter{}), func(r apiclient.Rule) bool {
		return r.Type == apiclient.RuleMode || r.Type == apiclient.RulePatch
	})
	if rulesErr == nil {
		s.Rules = rules
	}
	switch {
	case err != nil:
		s.Err = "IP lists: " + inWords(err)
	case rulesErr != nil:
		s.Err, err = "rules: "+inWords(rulesErr), rulesErr
	default:
		s.Err, s.At = "", begin
	}
	return s, err
}

func collect[T any](list iter.Seq2[T, error], keep func(T) bool) (kept []T, err error) {
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		if keep(item) {
			kept = append(kept, item)
		}
	}
	return kept, nil
}
