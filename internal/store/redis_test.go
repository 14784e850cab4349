package store_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

func TestMain(m *testing.M) {
	redis.SetLogger(&logging.VoidLogger{}) // the client's own words about the faults that tests make
	flag.Parse()
	_ = flag.Set("rapid.checks", "60")  // of many steps each
	_ = flag.Set("test.parallel", "12") // these tests wait most of their time, for Redis' clock
	// The client looks once a second whether the pool, whose server refuses connections, was closed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// world is one Redis, empty at first.
type world struct {
	addr   string
	rdb    *redis.Client        // reads behind the store's back
	mini   *miniredis.Miniredis // nil: it is a real one
	prefix string               // of the stores' keys
}

// onEach runs a test on a miniredis and, unless -short, on a real Redis.
func onEach(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	t.Run("miniredis", func(t *testing.T) { t.Parallel(); test(t, newMini(t)) })
	if !testing.Short() {
		t.Run("redis", func(t *testing.T) { t.Parallel(); test(t, newReal(t)) })
	}
}

func newMini(t testing.TB) *world {
	m := miniredis.RunT(t)
	m.ClockTTL(true)
	return &world{addr: m.Addr(), rdb: client(t, m.Addr()), mini: m}
}

func newReal(t testing.TB) *world {
	addr := redistest.Start(t).Addr
	return &world{addr: addr, rdb: client(t, addr)}
}

func client(t testing.TB, addr string) *redis.Client {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	return rdb
}

func freeAddress(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// open is a replica's store. Everything that tests send is checked for hash slots.
func (w *world) open(t testing.TB) *store.Store {
	return opened(t, store.Config{Address: address.Options{URL: "redis://" + w.addr + "/0"}, KeyPrefix: w.prefix})
}

func openURL(t tester, url string) *store.Store {
	return opened(t, store.Config{Address: address.Options{URL: url}})
}

func opened(t tester, cfg store.Config) *store.Store {
	s, err := store.Open(cfg)
	require.NoError(t, err)
	s.AddHook(oneSlot{})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// keys are all keys there are.
func (w *world) keys(t testing.TB) []string {
	keys, err := w.rdb.Keys(context.WithoutCancel(t.Context()), "*").Result()
	require.NoError(t, err)
	return keys
}

// tester is what helpers need of a test.
type tester interface {
	require.TestingT
	proxytest.TB
}

// within fails the test when what it waits for does not come in time. It is no measure of speed.
func within[T any](t tester, limit time.Duration, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(limit):
		require.FailNow(t, fmt.Sprintf("nothing came within %s", limit))
		panic("unreachable")
	}
}

// running starts a function that ends with its context, as it must before the test does; what it returns comes through the channel.
func running(t testing.TB, run func(ctx context.Context) error) (stop func(), ended <-chan error) {
	ctx, cancel := context.WithCancel(t.Context())
	result, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		result <- run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return cancel, result
}
