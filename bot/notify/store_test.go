package notify

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// box is a store on a Redis of its own, reached without a network, so that a bubble's time passes.
type box struct {
	*store.Store
	t     testing.TB
	redis *miniredis.Miniredis
	wire  *proxytest.Proxy
	meets func() // after each answer of Redis; nil: nothing does

	mu    sync.Mutex
	reads []string       // keys of hashes, of which a round trip read the first value
	cards []record.Place // of the one attack, one after another
}

func newBox(t testing.TB) *box {
	t.Helper()
	b := &box{t: t, redis: miniredis.NewMiniRedis()}
	t.Cleanup(b.redis.Close)
	b.redis.ClockTTL(true)
	b.wire = proxytest.New(b.redis.Dial)
	t.Cleanup(b.wire.Close)
	var err error
	b.Store, err = store.Open(store.Config{Address: address.Options{URL: "redis://127.0.0.1:6379/0"},
		Timeout: time.Minute})
	require.NoError(t, err)
	b.AddHook(b)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// DialHook implements redis.Hook, like the next two.
func (b *box) DialHook(redis.DialHook) redis.DialHook { return b.wire.Dial }

// ProcessHook notes what is sent.
func (b *box) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer b.note(cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook notes that.
func (b *box) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer b.note(cmds...)
		return next(ctx, cmds)
	}
}

func (b *box) note(cmds ...redis.Cmder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cmds[0].Name() == "hget" {
		b.reads = append(b.reads, cmds[0].Args()[1].(string))
	}
	if at := record.ReadPlace(b.redis.HGet("{a:acme}:cards", theAttack)); at.TS != "" &&
		(len(b.cards) == 0 || b.cards[len(b.cards)-1].TS != at.TS) {
		b.cards = append(b.cards, record.Place{Channel: at.Channel, TS: at.TS})
	}
	if b.meets != nil {
		b.meets()
	}
}

// put stores something of acme, as JSON.
func (b *box) put(of, id string, value any) {
	text, err := json.Marshal(value)
	require.NoError(b.t, err)
	b.redis.HSet("{a:acme}:"+of, id, string(text))
}

// announce has events wait.
func (b *box) announce(events ...record.Event) {
	for _, e := range events {
		require.NoError(b.t, b.Outbox.Announce(b.t.Context(), e))
	}
}

// theAttack is the id of the one attack, as people see it.
var theAttack = record.AttackID("acme", through.ID)

// holds has the one attack stored, and a change that was made because of it.
func (b *box) holds(state record.AttackState) {
	b.put("attacks", theAttack, state)
	b.put("changes", "c1", record.Change{ID: "c1", Account: "acme", AttackID: theAttack, Does: "Deny 203.0.113.7",
		State: record.StateDone, Actor: record.Actor{ID: "U0ANN"}, At: time.Now()})
}
