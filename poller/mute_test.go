package poller_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/poller"
)

// mutes are the muted attacks, by id.
type mutes struct {
	mu    sync.Mutex
	ids   map[string]bool
	away  bool
	reads int
}

func (m *mutes) set(ids ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids = map[string]bool{}
	for _, id := range ids {
		m.ids[id] = true
	}
}

func (m *mutes) read(context.Context) (func(apiclient.Attack) bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if m.away {
		return nil, errors.New("store is unreachable")
	}
	ids := m.ids
	return func(a apiclient.Attack) bool { return ids[a.ID] }, nil
}

func (m *mutes) asked() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, m.reads = m.reads, 0
	return n
}

// muted is an account that is watched already, with what is muted in it.
func muted(t *testing.T) (*account, *mutes, *poller.Poller) {
	a, m := newAccount(t), &mutes{}
	a.muted = m.read
	p := a.start()
	require.NoError(t, p.Poll(t.Context()))
	a.store.takeNames()
	m.asked()
	return a, m, p
}

func polls(t *testing.T, a *account, p *poller.Poller, after time.Duration) []string {
	t.Helper()
	a.at(after)
	require.NoError(t, p.Poll(t.Context()))
	return a.store.takeNames()
}

func hit(a *account, id string, after time.Duration, hits int) {
	a.change(id, func(r *attackRecord) { r.last, r.hits = noon.Add(after), hits })
}

func TestAMuteDelaysAndLosesNothing(t *testing.T) {
	t.Parallel()
	a, m, p := muted(t)
	m.set("new", "notified")
	a.add("new", 0)
	require.Empty(t, polls(t, a, p, 0))
	m.set()
	a.add("notified", 0)
	m.set("new")
	require.Equal(t, []string{"new attack notified"}, polls(t, a, p, time.Second))
	m.set("new", "notified")
	hit(a, "notified", 2*time.Minute, 50_000)
	require.Empty(t, polls(t, a, p, 2*time.Minute), "neither worse nor other figures")
	require.Empty(t, polls(t, a, p, 3*time.Minute))

	// Nothing changes at the service any more, and the mutes end.
	m.set()
	require.Equal(t, []string{"worsened notified", "new attack new"}, polls(t, a, p, 4*time.Minute))
	require.Empty(t, polls(t, a, p, 4*time.Minute))
	require.Equal(t, []string{"grew notified", "grew new"}, polls(t, a, p, 8*time.Minute), "nothing more is seen of them")
	require.Equal(t, []string{"quiet new"}, polls(t, a, p, 16*time.Minute))
	m.set("notified")
	require.Empty(t, polls(t, a, p, 20*time.Minute), "that it is quiet waits, too")
	m.set()
	require.Equal(t, []string{"quiet notified"}, append(polls(t, a, p, 21*time.Minute), polls(t, a, p, 22*time.Minute)...))
}

func TestAnUnreadRecordIsNotifiedWhenItsMuteEnds(t *testing.T) {
	t.Parallel()
	a, m, p := muted(t)
	m.set("x:1")
	a.add("x:1", 0)
	require.Empty(t, polls(t, a, p, 0))
	const others = 150 // so that it stands on the second page, which is not read
	for i := range others {
		a.add("blocked "+string(rune('a'+i%26))+string(rune('a'+i/26)), -3*time.Minute, func(r *attackRecord) { r.status = "blocked" })
	}
	require.Empty(t, polls(t, a, p, 3*time.Minute))
	require.Empty(t, polls(t, a, p, 6*time.Minute))
	a.asked("")
	m.set()
	require.Equal(t, []string{"new attack x:1"}, polls(t, a, p, 6*time.Minute+time.Second))
	require.Len(t, a.asked("/v1/objects/attack"), 1)
}

func TestTheSilenceOfAMutedAttackIsNotChecked(t *testing.T) {
	t.Parallel()
	a, m, p := muted(t)
	a.add("x:1", 0)
	require.Len(t, polls(t, a, p, 0), 1)
	m.set("x:1")
	for i := range 150 {
		a.add("blocked "+string(rune('a'+i%26))+string(rune('a'+i/26)), -20*time.Minute, func(r *attackRecord) { r.status = "blocked" })
	}
	require.Empty(t, polls(t, a, p, 20*time.Minute))
	require.Empty(t, polls(t, a, p, 23*time.Minute))
	a.asked("")
	require.Empty(t, polls(t, a, p, 23*time.Minute+time.Second))
	require.Len(t, a.asked("/v1/objects/attack"), 1, "it stands on the second page")
}

func TestAnIncidentIsNeverMuted(t *testing.T) {
	t.Parallel()
	a, m, p := muted(t)
	m.set("x:1", "x:2")
	a.add("x:1", 0, func(r *attackRecord) { r.vuln = 8 })
	a.add("x:2", 0)
	require.Equal(t, []string{"new incident x:1"}, polls(t, a, p, 0))
	hit(a, "x:1", time.Second, 50_000)
	require.Equal(t, []string{"worsened x:1"}, polls(t, a, p, time.Second))
	a.change("x:2", func(r *attackRecord) { r.vuln = 9 })
	require.Equal(t, []string{"new incident x:2"}, polls(t, a, p, 2*time.Second), "it was muted when it was none")
	m.set()
	a.add("x:3", 0)
	require.Equal(t, []string{"new attack x:3"}, polls(t, a, p, 3*time.Second))
	m.set("x:3")
	a.change("x:3", func(r *attackRecord) { r.vuln = 10 })
	require.Equal(t, []string{"became incident x:3"}, polls(t, a, p, 4*time.Second))
}

func TestAMuteOutlivesARestart(t *testing.T) {
	t.Parallel()
	a, m, p := muted(t)
	m.set("x:1")
	a.add("x:1", 0)
	require.Empty(t, polls(t, a, p, 0))
	p = a.start()
	require.Empty(t, polls(t, a, p, time.Minute))
	m.set()
	require.Equal(t, []string{"new attack x:1"}, polls(t, a, a.start(), 2*time.Minute))
}

func TestMutesAreReadWhenTheyMatter(t *testing.T) {
	t.Parallel()
	a, m, p := muted(t)
	for i := range 3 {
		polls(t, a, p, time.Duration(i)*time.Second)
	}
	require.Zero(t, m.asked(), "there was no event")
	a.add("x:1", 0)
	require.Len(t, polls(t, a, p, 3*time.Second), 1)
	require.LessOrEqual(t, m.asked(), 2, "for the first page and for the whole")
	m.set("x:2")
	a.add("x:2", 0)
	m.mu.Lock()
	m.away = true
	m.mu.Unlock()
	require.Equal(t, []string{"new attack x:2"}, polls(t, a, p, 4*time.Second), "rather notified than lost")
}

// A mute can outlast the lookback twice over: what it suppresses isn't deleted meanwhile.
func TestALongMuteLosesNothing(t *testing.T) {
	t.Parallel()
	a, m, p := muted(t)
	a.add("notified", 0)
	require.Equal(t, []string{"new attack notified"}, polls(t, a, p, 0))
	m.set("notified")
	for hours := range 72 {
		require.Empty(t, polls(t, a, p, time.Duration(hours)*time.Hour))
	}
	m.set()
	require.Equal(t, []string{"quiet notified"}, append(polls(t, a, p, 72*time.Hour), polls(t, a, p, 72*time.Hour+time.Second)...))
	require.Contains(t, a.store.state["acme"].Attacks, "notified")
	polls(t, a, p, 73*time.Hour)
	require.NotContains(t, a.store.state["acme"].Attacks, "notified", "now it is")
}

// A flood can push a muted attack out, and the store can say that this wasn't saved though it was. Then nothing is known of the attack any more.
func TestAFloodPushesAMutedAttackOut(t *testing.T) {
	t.Parallel()
	a, m, _ := muted(t)
	a.limits = poller.Limits{Attacks: 3, Bytes: 1 << 20, Time: 5 * time.Minute}
	p := a.start()
	a.add("x:1", 0)
	require.Equal(t, []string{"new attack x:1"}, polls(t, a, p, 0))
	m.set("x:1")
	require.Empty(t, polls(t, a, p, 20*time.Minute), "that it is quiet waits")

	for i := range 5 {
		a.add("flood "+string(rune('a'+i)), 0)
	}
	saves := 0
	a.store.breaks(func(write bool) (before, after bool) {
		if write {
			saves++
		}
		return false, write && saves == 2 // the first is of the new attacks, the second of what there is no room for
	})
	require.Error(t, p.Poll(t.Context()))
	require.NotContains(t, a.store.state["acme"].Attacks, "x:1", "it was saved all the same")
	a.store.takeNames()
	m.set()
	require.Empty(t, polls(t, a, p, 20*time.Minute+time.Second))
}
