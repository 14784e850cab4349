package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

// process is a replica with what it has in hand.
type process struct {
	*replica
	resume func() // nil: it isn't paused
	claim  *store.Claim
	draft  *store.Draft
	drawn  int // how many writes were known when the draft was begun

	work context.CancelFunc
	hand []job
}

// GoString is what a failure shows of it.
func (p *process) GoString() string { return p.name }

// protocol is some replicas on a Redis, and what the store should do with them.
type protocol struct {
	*rapid.T
	mini  *miniredis.Miniredis
	rdb   *redis.Client // reads behind the store's back
	watch *watch

	living, all []*process
	flushed     bool
	writes      int // numbers all writes

	accepted map[string]string   // delivery's id → its work
	finished map[string]int      // by work
	lanes    map[string][]string // by lane, the work whose turn it is and what waits behind it
	events   map[string]string   // delivery's id → where its message is; "": nowhere yet
	tried    map[string]time.Time
	begun    bool // the account has a state

	written int // writes as drafts, and under claims, that are known to have taken place

	poll, change fenced
}

// fenced is a value that only the holder of a lease may write.
type fenced struct {
	value   int
	writers map[int]*process // of values that may come
	holders []*process       // since the last check, and then
}

func newProtocol(t *rapid.T) *protocol {
	p := &protocol{
		T: t, mini: miniredis.NewMiniRedis(), accepted: map[string]string{}, finished: map[string]int{}, lanes: map[string][]string{}, events: map[string]string{}, tried: map[string]time.Time{},
		poll: fenced{writers: map[int]*process{}}, change: fenced{writers: map[int]*process{}},
	}
	p.mini.ClockTTL(true)
	t.Cleanup(p.mini.Close)
	direct := dialledWire(p.mini.Dial)
	t.Cleanup(direct.Close)
	p.rdb = redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: direct.Dial}) // no name is looked up
	t.Cleanup(func() { require.NoError(t, p.rdb.Close()) })
	p.watch = newWatch(t, "acme", "beta", "gamma")
	p.watch.asynchronous = true // checked here
	return p
}

// start starts a replica.
func (p *protocol) start(*rapid.T) {
	if len(p.living) == 4 {
		return
	}
	net := dialledWire(p.mini.Dial)
	p.Cleanup(net.Close)
	s := net.open(p)
	one := &process{replica: p.watch.start(fmt.Sprint("process ", len(p.all)), s, net)}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	one.work = func() { stop(); <-ended }
	p.Cleanup(one.work)
	go func() {
		defer close(ended)
		_ = s.Inbox.Work(ctx, func(p *store.Piece) { one.hand = append(one.hand, job{p, string(p.Work())}) })
	}()
	p.living, p.all = append(p.living, one), append(p.all, one)
}

// one draws a replica that lives.
func (p *protocol) one(t *rapid.T) *process {
	if len(p.living) == 0 {
		t.Skip("there is none")
	}
	return rapid.SampledFrom(p.living).Draw(t, "replica")
}

// awake draws a replica that lives and isn't paused.
func (p *protocol) awake(t *rapid.T) *process {
	one := p.one(t)
	if one.resume != nil {
		t.Skip("it is paused")
	}
	return one
}

func (p *protocol) gone(one *process) {
	p.living = slices.DeleteFunc(p.living, func(other *process) bool { return other == one })
}

func (p *protocol) kill(t *rapid.T) {
	one := p.one(t)
	p.gone(one)
	one.kill()
	if one.resume != nil {
		one.resume() // what it had sent arrives all the same
	}
	one.work()
	one.run()
}

func (p *protocol) stop(t *rapid.T) {
	one := p.awake(t)
	p.gone(one)
	one.work()
	one.stop()
	require.NoError(t, await(t, one.ended))
}

func (p *protocol) pause(t *rapid.T) { one := p.awake(t); one.resume = one.net.Stall() }

func (p *protocol) goOn(t *rapid.T) {
	one := p.one(t)
	if one.resume != nil {
		one.resume()
		one.resume = nil
	}
}

func (p *protocol) wait(t *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(1, 6000).Draw(t, "ms")) * time.Millisecond)
}

// flush has Redis lose everything.
func (p *protocol) flush(t *rapid.T) {
	require.NoError(t, p.rdb.FlushAll(t.Context()).Err())
	time.Sleep(time.Millisecond) // no entry of the stream is called like an earlier one
	p.flushed, p.begun = true, false
	clear(p.accepted)
	clear(p.lanes)
	clear(p.events)
	clear(p.tried)
	p.poll.value, p.change.value = 0, 0
}

// check looks at what must be true all the time.
func (p *protocol) check(t *rapid.T) {
	synctest.Wait()
	if !p.flushed {
		require.Empty(t, p.watch.overlaps())
	}
	for len(p.watch.begun) > 0 {
		if h := <-p.watch.begun; h.account == "acme" {
			i := slices.IndexFunc(p.all, func(one *process) bool { return one.replica == h.replica })
			p.poll.holders = append(p.poll.holders, p.all[i])
		}
	}
	good, _ := p.rdb.Get(t.Context(), "{a:acme}:last_good").Int()
	p.poll.check(t, good)
	var ch record.Change
	if text, _ := p.rdb.HGet(t.Context(), "{a:acme}:changes", "c1").Result(); text != "" {
		require.NoError(t, json.Unmarshal([]byte(text), &ch))
	}
	n, _ := strconv.Atoi(ch.Does)
	p.change.check(t, n)
}

// check reads what is written now: only a holder since the last check may have written it.
func (w *fenced) check(t *rapid.T, now int) {
	if now != w.value {
		require.Contains(t, w.holders, w.writers[now])
		w.value = now
	}
	w.holders = w.holders[max(0, len(w.holders)-1):]
}

// settle has everybody go on, and everything be finished.
func (p *protocol) settle(t *rapid.T) {
	for _, one := range p.living {
		if one.resume != nil {
			one.resume()
			one.resume = nil
		}
	}
	p.start(t)
	for i := 0; len(p.stream(t)) > 0; i++ {
		require.Less(t, i, 30, "%v is never finished", p.stream(t))
		time.Sleep(time.Second)
		synctest.Wait()
		for _, one := range p.living {
			for p.settleOne(t, one, false) {
			}
		}
	}
	time.Sleep(10 * time.Second)
	p.check(t)
	require.Equal(t, evenly(3, len(p.living)), p.watch.shares())
	for _, work := range p.accepted {
		require.Equal(t, 1, p.finished[work], work)
	}
	for work, n := range p.finished {
		require.Equal(t, 1, n, work)
	}
	require.NotContains(t, strings.Join(p.mini.Keys(), "\n"), "}:lane:")
}

// Whatever replicas do, and whatever is done to them: nothing is lost, nothing is done twice, and who lost a lease
// writes nothing.
//
// The tests of leases, work and takeover run the same code with the race detector, on real servers, too.
func TestProtocol(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ testing.TB }{t}, func(t *rapid.T) { // a bubble's test may not be asked for its deadline
			p := newProtocol(t)
			for range rapid.IntRange(1, 3).Draw(t, "replicas") {
				p.start(t)
			}
			actions := map[string]func(*rapid.T){
				"": p.check, "start": p.start, "kill": p.kill, "stop": p.stop, "pause": p.pause, "go on": p.goOn, "wait": p.wait,
				"deliver": p.deliver, "deliver more": p.deliver, "finish": p.finish, "finish more": p.finish, "pass": p.pass,
				"announce": p.announce, "notify": p.notify, "save poll": p.savePoll, "claim": p.claim, "save": p.save, "draft": p.draft, "save draft": p.saveDraft, "late": p.late,
			}
			if rapid.IntRange(0, 3).Draw(t, "redis is emptied") == 0 {
				actions["flush"] = p.flush
			}
			t.Repeat(actions)
			p.settle(t)
		})
	})
}
