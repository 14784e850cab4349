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
)

// fakeStore keeps updates whole or not at all, as JSON, and refuses an event that comes a second time. It is the
// notifier too: it checks that events come only after they were saved.
type fakeStore struct {
	t  testing.TB
	mu sync.Mutex

	state    map[string]record.PollState
	kept     map[string]record.Evidence // by attack id
	gone     []record.Outage
	events   []record.Event
	waiting  []record.Event // of which Slack knows nothing yet
	notified []record.Event
	ids      map[string]bool
	seen     []map[string]record.SourceActivity
	redraw   []string // attack ids
	writes   int
	loads    int
	broken   func(write bool) (before, after bool) // fails before or after keeping
}

func newStore(t testing.TB) *fakeStore {
	return &fakeStore{t: t, state: map[string]record.PollState{}, kept: map[string]record.Evidence{}, ids: map[string]bool{}}
}

var errAway = errors.New("connection refused")

func (m *fakeStore) breaks(how func(write bool) (before, after bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = how
}

func (m *fakeStore) fails(write bool) (before, after bool) {
	if m.broken == nil {
		return false, false
	}
	return m.broken(write)
}

func (m *fakeStore) Load(ctx context.Context, account string) (record.PollState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loads++
	if before, after := m.fails(false); before || after {
		return record.PollState{}, errAway
	}
	return copied(m.t, m.state[account]), ctx.Err()
}

func (m *fakeStore) Save(ctx context.Context, account string, u record.PollUpdate) error {
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
		require.False(m.t, m.ids[n.ID], "an event twice: %s %s revision %d", n.Subject, n.Kind, n.Order)
		require.Equal(m.t, account, n.Account)
		if n.Subject != "" {
			if before := shown[n.Subject].Revision; before > 0 {
				require.Equal(m.t, before+1, n.Order, "revisions count the events")
			}
			require.Equal(m.t, n.Order, u.Attacks[n.Subject].Revision, "events and state belong together")
		}
		m.ids[n.ID] = true
	}
	maps.Copy(shown, u.Attacks)
	for _, id := range u.Delete {
		delete(shown, id)
	}
	for id, e := range u.Evidence {
		if _, kept := m.kept[id]; !kept {
			m.kept[id] = e
		}
	}
	if u.Gap != nil {
		m.gone = append(m.gone, *u.Gap)
	}
	if u.Outage != nil {
		s.Outage = *u.Outage
	}
	if u.Cap != nil {
		s.Cap = *u.Cap
	}
	m.state[account] = record.PollState{LastGood: u.LastGood, Attacks: shown, Outage: s.Outage, Cap: s.Cap}
	m.events = append(m.events, withStates(u)...)
	m.redraw = append(m.redraw, u.Stale...)
	if u.Sources != nil {
		m.seen = append(m.seen, seen(u.Sources))
	}
	if after {
		return errAway
	}
	return nil
}

func (m *fakeStore) Waiting(context.Context, string) ([]record.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting, nil
}

func (m *fakeStore) Saved(_ string, u record.PollUpdate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range u.Events {
		require.True(m.t, m.ids[n.ID], "notified before it was saved")
	}
	m.notified = append(m.notified, u.Events...)
}

// withStates are the events of an update with what it stores of their attacks.
func withStates(u record.PollUpdate) (events []record.Event) {
	for _, e := range u.Events {
		if s, ok := u.Attacks[e.Subject]; ok {
			e.Attack = &s
		}
		events = append(events, e)
	}
	return events
}

// takeNames returns the events saved since the last time, as "kind id", without those of outages: tests of other things
// leap over hours.
func (m *fakeStore) takeNames() []string {
	out := []string{}
	for _, n := range m.takeEvents() {
		if n.Kind != record.APIUnreachable && n.Kind != record.MonitoringGap {
			out = append(out, string(n.Kind)+" "+n.Subject)
		}
	}
	return out
}

func (m *fakeStore) takeEvents() []record.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := slices.Clone(m.events)
	m.events = nil
	return events
}

// takeSources returns what was counted of sources since the last time.
func (m *fakeStore) takeSources() []map[string]record.SourceActivity {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.seen
	m.seen = nil
	return all
}

func (m *fakeStore) counts() (loads, writes int) {
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
