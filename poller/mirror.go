package poller

import (
	"context"
	"iter"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// mirrorEvery is how often lists and rules are read, apart from refreshes. When in the minute is drawn by lot, so that
// the accounts of one process don't all read in the same second.
const mirrorEvery = time.Minute

// mirror keeps a copy of the service's lists and rules until ctx ends.
func (p *Poller) mirror(ctx context.Context) {
	next := time.NewTimer(delay.Jitter(0, mirrorEvery))
	defer next.Stop()
	for {
		failing := p.Settings().Err
		s, err := p.readSettings(ctx)
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		p.settings = s
		p.mu.Unlock()
		if s.Err != "" && failing == "" {
			p.cfg.Log.Error("reading lists and rules fails", "why", s.Err, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			next.Reset(mirrorEvery)
		case <-p.asks:
		}
	}
}

// readSettings reads lists and rules, each of which stays as it was when it can't be read: a token may be allowed one
// and not the other.
func (p *Poller) readSettings(ctx context.Context) (record.Settings, error) {
	begin, s := p.cfg.Clock.Now(), p.Settings()
	entries, err := collect(p.cfg.API.IPRules(ctx, ""), func(apiclient.IPRule) bool { return true })
	if err == nil {
		s.Entries = entries
	}
	rules, rulesErr := collect(p.cfg.API.Rules(ctx, 0), func(r apiclient.Rule) bool {
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
