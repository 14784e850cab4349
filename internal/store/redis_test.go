package store_test

import (
	"context"
	"flag"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	"go.uber.org/goleak"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/redistest"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

func TestMain(m *testing.M) {
	redis.SetLogger(&logging.VoidLogger{}) // the client's own words about the faults that tests make
	// miniredis makes a state of Lua for each script that it runs: most of what these tests allocated.
	lua.RegistrySize, lua.CallStackSize = 1024, 64
	flag.Parse()
	full.Checks(6, 60)                  // of many steps each
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
	wire   *wire                // to a Redis on an emulated clock, which no network reaches; nil: it has an address
}

// onEach runs a test on a miniredis and, in make full, on a real Redis. What commands rely on is tried on a real one
// each time (conformance_test.go). On a miniredis the clock is emulated: nothing waits, times are exact, and no command
// times out because the machine is busy.
func onEach(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { test(t, newDialled(t)) })
	})
	onReal(t, test)
}

// onEachWaiting is onEach without an emulated clock: for tests that ask until something changes, and so never let an
// emulated clock go on.
func onEachWaiting(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	t.Run("miniredis", func(t *testing.T) { t.Parallel(); test(t, newMini(t)) })
	onReal(t, test)
}

func onReal(t *testing.T, test func(t *testing.T, w *world)) {
	if full.On() {
		t.Run("redis", func(t *testing.T) { t.Parallel(); test(t, newReal(t)) })
	}
}

// newDialled is a miniredis on the emulated clock of a bubble.
func newDialled(t testing.TB) *world {
	time.Sleep(time.Until(noon)) // tests store what was then
	mini := miniredis.NewMiniRedis()
	mini.ClockTTL(true)
	t.Cleanup(mini.Close)
	direct := dialledWire(mini.Dial)
	t.Cleanup(direct.Close)
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: direct.Dial}) // no name is looked up
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	return &world{rdb: rdb, mini: mini, wire: direct}
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

// prefixed is the same Redis as another installation uses it.
func (w *world) prefixed(prefix string) *world {
	other := *w
	other.prefix = prefix
	return &other
}

// flush empties the Redis.
func (w *world) flush(t testing.TB) {
	require.NoError(t, w.rdb.FlushAll(t.Context()).Err())
	time.Sleep(time.Millisecond) // no entry of a stream gets the id of an earlier one
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
	return w.openWith(t, store.Config{})
}

// openWith has patience with a Redis on a real network. What tests of outages need goes over a wire instead.
func (w *world) openWith(t testing.TB, cfg store.Config) *store.Store {
	cfg.KeyPrefix = w.prefix
	if w.wire != nil {
		return w.wire.openWith(t, cfg)
	}
	cfg.Address.URL = "redis://" + w.addr + "/0"
	cfg.Timeout = patience
	return openWith(t, cfg)
}

// newWire is a network to the Redis that can go wrong.
func (w *world) newWire(t tester) *wire {
	if w.wire == nil {
		return newWire(t, w.addr)
	}
	net := dialledWire(w.mini.Dial)
	t.Cleanup(net.Close)
	return net
}

func openURL(t tester, url string) *store.Store {
	return openWith(t, store.Config{Address: address.Options{URL: url}})
}

func openWith(t tester, cfg store.Config) *store.Store {
	s, err := store.Open(cfg)
	require.NoError(t, err)
	return opened(t, s)
}

func opened(t tester, s *store.Store) *store.Store {
	s.AddHook(sending(oneSlot))
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// requireWithin holds how long something took, where the clock is emulated.
func (w *world) requireWithin(t testing.TB, limit, took time.Duration) {
	t.Helper()
	if w.wire != nil {
		require.LessOrEqual(t, took, limit)
	}
}

// requireNever holds that something doesn't happen for a while, where the clock is emulated: a machine that is busy
// enough lets anything come late.
func (w *world) requireNever(t testing.TB, happens func() bool, while time.Duration) {
	t.Helper()
	if w.wire != nil {
		time.Sleep(while)
		require.False(t, happens())
	}
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

// patience is how long a test waits before it says that something never came. It is no measure of speed: a busy machine
// takes long.
const patience = 2 * time.Minute

// must is what was read without an error.
func must[T any](v T, err error) func(t tester) T {
	return func(t tester) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// await waits for what comes.
func await[T any](t tester, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

// running starts a function that ends with its context, as it must before the test does; what it returns comes through
// the channel.
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

// sending is a hook that sees the commands of a round trip to Redis. After an error they are not sent.
type sending func(ctx context.Context, cmds ...redis.Cmder) error

// DialHook implements redis.Hook.
func (sending) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (see sending) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := see(ctx, cmd); err != nil {
			return err
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (see sending) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := see(ctx, cmds...); err != nil {
			return err
		}
		return next(ctx, cmds)
	}
}
