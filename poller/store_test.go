package poller_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// memory keeps updates whole or not at all, as JSON, and refuses news that comes a second time. It is the teller too:
// it checks that news is told only after it was remembered.
type memoryStore struct {
	t  testing.TB
	mu sync.Mutex

	state  map[string]poller.State
	kept   map[string]record.Evidence // by attack id
	gone   []record.Outage
	news   []record.Event
	told   []record.Event
	ids    map[string]bool
	seen   []map[string]record.SourceActivity
	redraw []string // attack ids
	writes int
	loads  int
	broken func(write bool) (before, after bool) // fails before or after keeping
}

func newMemory(t testing.TB) *memoryStore {
	return &memoryStore{t: t, state: map[string]poller.State{}, kept: map[string]record.Evidence{}, ids: map[string]bool{}}
}

var errAway = errors.New("connection refused")

func (m *memoryStore) breaks(how func(write bool) (before, after bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = how
}

func (m *memoryStore) fails(write bool) (before, after bool) {
	if m.broken == nil {
		return false, false
	}
	return m.broken(write)
}

func (m *memoryStore) Load(ctx context.Context, account string) (poller.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loads++
	if before, after := m.fails(false); before || after {
		return poller.State{}, errAway
	}
	return copied(m.t, m.state[account]), ctx.Err()
}

func (m *memoryStore) Save(ctx context.Context, account string, u poller.Update) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, after := m.fails(true)
	if before || ctx.Err() != nil {
		return errAway
	}
	m.writes++
	u = copied(m.t, u)
	s := m.state[account]
	shown := maps.Clone(s.Attacks)
	if shown == nil {
		shown = map[string]record.AttackState{}
	}
	for _, n := range u.Events {
		require.False(m.t, m.ids[n.ID], "told twice: %s %s revision %d", n.Attack().ID, n.Kind, n.Revision())
		require.Equal(m.t, account, n.Account)
		if n.Attack().ID != "" {
			require.Equal(m.t, shown[n.Attack().ID].Revision+1, n.Revision(), "revisions count the news")
			require.Equal(m.t, n.Revision(), u.Attacks[n.Attack().ID].Revision, "news and state belong together")
		}
		m.ids[n.ID] = true
	}
	maps.Copy(shown, u.Attacks)
	for _, id := range u.Delete {
		delete(shown, id)
	}
	maps.Copy(m.kept, u.Evidence)
	if u.Gap != nil {
		m.gone = append(m.gone, *u.Gap)
	}
	if u.Outage != nil {
		s.Outage = *u.Outage
	}
	m.state[account] = poller.State{LastGood: u.LastGood, Attacks: shown, Outage: s.Outage}
	m.news = append(m.news, u.Events...)
	m.redraw = append(m.redraw, u.Stale...)
	if u.Sources != nil {
		m.seen = append(m.seen, seen(u.Sources))
	}
	if after {
		return errAway
	}
	return nil
}

func (m *memoryStore) LoadEvidence(ctx context.Context, _ string, ids []string) (map[string]record.Evidence, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, after := m.fails(false); before || after {
		return nil, errAway
	}
	found := map[string]record.Evidence{}
	for _, id := range ids {
		if e, ok := m.kept[id]; ok {
			found[id] = copied(m.t, e)
		}
	}
	return found, ctx.Err()
}

func (m *memoryStore) Notify(_ string, news []record.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range news {
		require.True(m.t, m.ids[n.ID], "told before it was remembered")
	}
	m.told = append(m.told, news...)
}

// took returns the news remembered since the last time, as "reason id", without that of outages: tests of other things leap over hours.
func (m *memoryStore) took() []string {
	out := []string{}
	for _, n := range m.tookNews() {
		if n.Kind != record.APIUnreachable && n.Kind != record.MonitoringGap {
			out = append(out, string(n.Kind)+" "+n.Attack().ID)
		}
	}
	return out
}

func (m *memoryStore) tookNews() []record.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	news := slices.Clone(m.news)
	m.news = nil
	return news
}

// tookSeen returns what was counted of sources since the last time.
func (m *memoryStore) tookSeen() []map[string]record.SourceActivity {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.seen
	m.seen = nil
	return all
}

func (m *memoryStore) counts() (loads, writes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loads, m.writes
}

// copied is v through JSON, as a store would give it back.
func copied[T any](t testing.TB, v T) (out T) {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}
