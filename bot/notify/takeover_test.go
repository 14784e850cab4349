package notify

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/record"
)

// oneAttack is what is stored of an attack, and of a change that was made because of it.
type oneAttack struct {
	tries
	state record.AttackState
	cards []record.Place // one after another
	waits []record.Event
}

func newOneAttack(state record.AttackState) *oneAttack {
	box := &oneAttack{tries: tries{tried: map[string]time.Time{}}, state: state}
	box.change = record.Change{ID: "c1", Account: "acme", AttackID: record.AttackID("acme", through.ID), Does: "Deny 203.0.113.7", State: record.StateDone, Actor: record.Actor{ID: "U0ANN"}, At: time.Now()}
	return box
}

func (o *oneAttack) stores() Stores {
	return Stores{Outbox: o, Cards: o, Attacks: o, Triage: o, Changes: o, Redraws: o, Drills: o, Pace: o}
}

func (o *oneAttack) card() (at record.Place) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.cards) > 0 {
		at = o.cards[len(o.cards)-1]
	}
	return at
}

func (o *oneAttack) Card(context.Context, string, string) (channel, ts string, err error) {
	at := o.card()
	return at.Channel, at.TS, nil
}

func (o *oneAttack) Details(context.Context, string, string) (record.AttackDetails, error) {
	return record.AttackDetails{State: o.state, Card: o.card()}, nil
}

func (o *oneAttack) BeginCard(ctx context.Context, account, attack, delivery string, now time.Time) (d record.AttackDetails, begun record.Attempt, err error) {
	if d, err = o.Details(ctx, account, attack); err == nil {
		begun, err = o.BeginNotify(ctx, account, delivery, now)
	}
	return d, begun, err
}

func (o *oneAttack) AttackState(context.Context, string, string) (record.AttackState, bool, error) {
	return o.state, true, nil
}

func (o *oneAttack) Waiting(context.Context, string) ([]record.Event, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waits, nil
}

func (o *oneAttack) Announce(context.Context, record.Event) error { return nil }

func (o *oneAttack) MarkStale(context.Context, string, string, record.Urgency) error { return nil }

func (o *oneAttack) Notified(_ context.Context, _ record.Event, channel, ts string, card bool) (double bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if card {
		o.cards = append(o.cards, record.Place{Channel: channel, TS: ts})
	}
	return false, nil
}

// began is the event that the attack began.
func began() record.Event { return waits(firstPost, record.NewAttack, 1) }

// postedBefore has C1 hold the card that a replica posted which then died; these events wait.
func (o *oneAttack) postedBefore(s *choosy, waits ...record.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waits = waits
	o.tried[firstPost] = time.Now()
	s.show(inHistory{"C1", time.Now(), fmt.Sprintf(`{"ts":"1.9","bot_id":"B0OURS","metadata":{"event_type":"wafbot_card","event_payload":{"delivery":%q}}}`, firstPost)})
}

// Slack's history goes by another clock than the service: a card that was posted is found there, however far ahead the
// service's is.
func TestACardIsPostedOnceThoughTheServicesClockIsAhead(t *testing.T) {
	t.Parallel()
	owningWith(t, once(posts, ""), func(cfg *Config) {
		cfg.Stores = newOneAttack(record.AttackState{Attack: through, Revision: 1, Notified: true, Channel: "C1"}).stores()
		cfg.Clocks = clock.New()
		cfg.Clocks.Service("acme").Note(time.Now(), time.Now().Add(5*time.Minute))
	}, func(n *Notifier, s *choosy) {
		n.Notify("acme", []record.Event{began()})
		time.Sleep(time.Minute)
		require.Zero(t, waiting(n))
		require.Len(t, s.all(), 1)
	})
}

// A replica posted a card, and died before it recorded that. The change that was made on it is more urgent, and belongs
// under it.
func TestAChangeIsSaidUnderTheCardOfADeadReplica(t *testing.T) {
	t.Parallel()
	box := newOneAttack(record.AttackState{Attack: through, Revision: 1, Notified: true, Channel: "C1"})
	owningWith(t, func(string, string) string { return "" }, func(cfg *Config) {
		cfg.Stores, cfg.MessagesPerSecond = box.stores(), 1
	}, func(n *Notifier, s *choosy) {
		settled := record.Event{ID: "c1:done", Account: "acme", Kind: record.ChangeSettled, Channel: "C1", At: now, Payload: record.ChangeFacts{Change: "c1"}}
		box.postedBefore(s, began(), settled)
		n.Notify("acme", box.waits)
		time.Sleep(time.Minute)
		require.Zero(t, waiting(n))
		require.Equal(t, []record.Place{{Channel: "C1", TS: "1.9"}}, box.cards)
		require.Len(t, s.all(), 1)
		require.Contains(t, s.all()[0], "C1/1.9 ")
	})
}

// forgetful holds no place of a card, whatever it is told: as where somebody's value lies in its place.
type forgetful struct{ *oneAttack }

func (forgetful) Card(context.Context, string, string) (channel, ts string, err error) {
	return "", "", nil
}

func (f forgetful) Details(ctx context.Context, account, attack string) (record.AttackDetails, error) {
	d, err := f.oneAttack.Details(ctx, account, attack)
	d.Card = record.Place{}
	return d, err
}

func (f forgetful) BeginCard(ctx context.Context, account, attack, delivery string, now time.Time) (record.AttackDetails, record.Attempt, error) {
	d, begun, err := f.oneAttack.BeginCard(ctx, account, attack, delivery, now)
	d.Card = record.Place{}
	return d, begun, err
}

// What is said of an attack goes under the card that was found, also where the store doesn't keep that. Each time it
// was handled once more within itself, for ever: the channel got nothing else, and the process would have run out of
// stack.
func TestWhatIsSaidUnderAFoundCardEnds(t *testing.T) {
	t.Parallel()
	box := newOneAttack(record.AttackState{Attack: incident(), Revision: 2, Notified: true, Channel: "C1"})
	became := record.Event{ID: "e1", Account: "acme", Kind: record.BecameIncident, Channel: "C1", At: now, Payload: changed(incident(), 2)}
	owningWith(t, func(string, string) string { return "" }, func(cfg *Config) {
		cfg.Stores = box.stores()
		cfg.Stores.Cards = forgetful{box}
	}, func(n *Notifier, s *choosy) {
		box.postedBefore(s, began(), became)
		n.Notify("acme", []record.Event{became})
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
	became := record.Event{ID: "e1", Account: "acme", Kind: record.BecameIncident, Channel: "C2", At: now, Payload: changed(incident(), 2)}
	box := newOneAttack(record.AttackState{Attack: incident(), Revision: 2, Notified: true, Channel: "C2"})
	owningWith(t, func(string, string) string { return "" }, func(cfg *Config) { cfg.Stores = box.stores() }, func(n *Notifier, s *choosy) {
		box.postedBefore(s, began(), became)
		n.Notify("acme", []record.Event{became}) // the channels have turns of their own: this one is first
		time.Sleep(time.Minute)
		require.Zero(t, waiting(n))
		require.Equal(t, []record.Place{{Channel: "C1", TS: "1.9"}, {Channel: "C1", TS: "1.1"}}, box.cards, "each is recorded: the store has the former become a link")
		require.Len(t, s.all(), 1)
		require.Contains(t, s.all()[0], "C2 ")
	})
}
