package notify

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/record"
)

func takesAll(string, string) string { return "" }

// began is the event that the attack began.
func began() record.Event { return waits(firstPost, record.NewAttack, 1) }

// postedBefore has C1 hold the card that a replica posted which then died; these events wait.
func (b *box) postedBefore(s *choosy, waits ...record.Event) {
	b.announce(waits...)
	_, err := b.Outbox.BeginNotify(b.t.Context(), "acme", firstPost, time.Now())
	require.NoError(b.t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.show(inHistory{"C1", time.Now(), fmt.Sprintf(`{"ts":"1.9","bot_id":"B0OURS","metadata":{"event_type":"wafbot_card","event_payload":{"delivery":%q}}}`, firstPost)})
}

// Slack's history goes by another clock than the service: a card that was posted is found there, however far ahead the
// service's is.
func TestACardIsPostedOnceThoughTheServicesClockIsAhead(t *testing.T) {
	t.Parallel()
	owningWith(t, once(posts, ""), func(cfg *Config, b *box) {
		b.holds(record.AttackState{Attack: through, Revision: 1, Notified: true, Channel: "C1"})
		cfg.Clocks = clock.New()
		cfg.Clocks.Service("acme").Note(time.Now(), time.Now().Add(5*time.Minute))
	}, func(n *Notifier, s *choosy) {
		n.queue("acme").add([]record.Event{began()})
		time.Sleep(time.Minute)
		require.Zero(t, waiting(n))
		require.Len(t, s.all(), 1)
	})
}

// A replica posted a card, and died before it recorded that. The change that was made on it is more urgent, and belongs
// under it.
func TestAChangeIsSaidUnderTheCardOfADeadReplica(t *testing.T) {
	t.Parallel()
	var stored *box
	owningWith(t, takesAll, func(cfg *Config, b *box) {
		stored, cfg.MessagesPerSecond = b, 1
		b.holds(record.AttackState{Attack: through, Revision: 1, Notified: true, Channel: "C1"})
	}, func(n *Notifier, s *choosy) {
		settled := record.Event{ID: "c1:done", Account: "acme", Kind: record.ChangeSettled, Channel: "C1", At: now, Detail: record.ChangeFacts{Change: "c1"}}
		stored.postedBefore(s, began(), settled)
		n.queue("acme").add([]record.Event{began(), settled})
		time.Sleep(time.Minute)
		require.Zero(t, waiting(n))
		require.Equal(t, []record.Place{{Channel: "C1", TS: "1.9"}}, stored.cards)
		require.Len(t, s.all(), 1)
		require.Contains(t, s.all()[0], "C1/1.9 ")
	})
}

// What is said of an attack goes under the card that was found, also where the store doesn't keep that. Each time it
// was handled once more within itself, for ever: the channel got nothing else, and the process would have run out of
// stack.
func TestWhatIsSaidUnderAFoundCardEnds(t *testing.T) {
	t.Parallel()
	var stored *box
	became := waits("e1", record.BecameIncident, 2)
	owningWith(t, takesAll, func(_ *Config, b *box) {
		stored = b
		b.holds(record.AttackState{Attack: incident(), Revision: 2, Notified: true, Channel: "C1"})
		b.meets = func() { b.redis.Del("{a:acme}:cards") } // as where somebody's value lies in its place
	}, func(n *Notifier, s *choosy) {
		stored.postedBefore(s, began(), became)
		n.queue("acme").add([]record.Event{became})
		time.Sleep(time.Minute)
		require.Zero(t, waiting(n))
		require.Len(t, s.all(), 1)
		require.Contains(t, s.all()[0], "C1/1.9 ")
	})
}

// A replica posted a card, and died before it recorded that. The attack's incident has another channel: the card moves
// there, and leaves no card behind that isn't known.
func TestTheCardOfADeadReplicaMoves(t *testing.T) {
	t.Parallel()
	became := waits("e1", record.BecameIncident, 2)
	became.Channel = "C2"
	var stored *box
	owningWith(t, takesAll, func(_ *Config, b *box) {
		stored = b
		b.holds(record.AttackState{Attack: incident(), Revision: 2, Notified: true, Channel: "C2"})
	}, func(n *Notifier, s *choosy) {
		stored.postedBefore(s, began(), became)
		n.Pending("acme", 2)
		time.Sleep(time.Minute)
		require.Zero(t, waiting(n))
		require.Equal(t, []record.Place{{Channel: "C1", TS: "1.9"}, {Channel: "C1", TS: "1.1"}}, stored.cards,
			"each is recorded: the store has the former become a link")
		require.Len(t, s.all(), 1)
		require.Contains(t, s.all()[0], "C2 ")
	})
}
