package poller

import (
	"context"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/delay"
)

// mirrorEvery is how often it is read, apart from refreshes. When in the minute is drawn by lot, so that the accounts
// of one process don't all read in the same second.
const mirrorEvery = time.Minute

// mirror keeps a copy of the service's lists and rules.
type mirror struct {
	api   API
	clock Clock
	log   *slog.Logger
	asks  chan struct{} // for a reading

	mu       sync.Mutex
	settings Settings
}

func newMirror(cfg *Config) *mirror {
	return &mirror{api: cfg.API, clock: cfg.Clock, log: cfg.Log, asks: make(chan struct{}, 1)}
}

func (m *mirror) get() Settings {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings
}

func (m *mirror) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settings = Settings{}
}

// run reads what is in force until ctx ends.
func (m *mirror) run(ctx context.Context) {
	next := time.NewTimer(delay.Jitter(0, mirrorEvery))
	defer next.Stop()
	failing := ""
	for {
		s, err := m.read(ctx)
		if ctx.Err() != nil {
			return
		}
		m.mu.Lock()
		m.settings = s
		m.mu.Unlock()
		if s.Err != "" && failing == "" {
			m.log.Error("reading lists and rules fails", "why", s.Err, "error", err)
		}
		failing = s.Err
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			next.Reset(mirrorEvery)
		case <-m.asks:
		}
	}
}

// read reads lists and rules, each of which stays as it was when it can't be read: a token may be allowed one
// and not the other.
func (m *mirror) read(ctx context.Context) (Settings, error) {
	begin := m.clock.Now()
	s := m.get()
	entries, err := collect(m.api.IPRules(ctx, apiclient.IPRuleFilter{}), func(apiclient.IPRule) bool { return true })
	if err == nil {
		s.Entries = entries
	}
	rules, rulesErr := collect(m.api.Rules(ctx, apiclient.RuleFilter{}), func(r apiclient.Rule) bool {
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
