package store_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/poller"
)

// process is a replica with what it has in hand.
type process struct {
	*replica
	resume func() // nil: it isn't paused
	lock   commands.Lock

	work context.CancelFunc
	mu   sync.Mutex
	hand []job
}

// GoString is what a failure shows of it.
func (p *process) GoString() string { return p.name }

// protocol is some replicas on a Redis, and what the store should do with them.
type protocol struct {
	*rapid.T
	mini  *miniredis.Miniredis
	rdb   *redis.Client // looks behind the store's back
	watch *watch

	living, all []*process
	flushed     bool
	writes      int // numbers all writes

	accepted map[string]string // delivery's id → its work
	finished map[string]int    // by work
	news     map[string]string // delivery's id → where it was told; "": not yet
	tried    map[string]time.Time
	begun    bool // the account has a memory

	poll, case_ written
}

// written is a value that only the holder of a lease may write.
type written struct {
	value   int
	writers map[int]*process // of values that may come
	holders []*process       // since the last look, and then
}

func newProtocol(t *rapid.T) *protocol {
	p := &protocol{
		T: t, mini: miniredis.NewMiniRedis(), accepted: map[string]string{}, finished: map[string]int{}, news: map[string]string{}, tried: map[string]time.Time{},
		poll: written{writers: map[int]*process{}}, case_: written{writers: map[int]*process{}},
	}
	p.mini.ClockTTL(true)
	t.Cleanup(p.mini.Close)
	direct := laid(p.mini.Dial)
	t.Cleanup(direct.takeAway)
	p.rdb = redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: direct.dial}) // nobody looks a name up
	t.Cleanup(func() { require.NoError(t, p.rdb.Close()) })
	p.watch = newWatch(t, "acme", "beta", "gamma")
	p.watch.asynchronous = true // looked at here
	return p
}

// start starts a replica.
func (p *protocol) start(t *rapid.T) {
	if len(p.living) == 4 {
		return
	}
	net := laid(p.mini.Dial)
	p.Cleanup(net.takeAway)
	s := store.OpenDialling(net.dial)
	p.Cleanup(func() { require.NoError(t, s.Close()) })
	s.AddHook(oneSlot{})
	one := &process{replica: p.watch.start(fmt.Sprint("process ", len(p.all)), s, net)}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	one.work = func() { stop(); <-ended }
	p.Cleanup(one.work)
	go func() {
		defer close(ended)
		_ = s.Work(ctx, func(work []byte, mine func(context.Context) bool, done func(context.Context) error) {
			one.mu.Lock()
			defer one.mu.Unlock()
			one.hand = append(one.hand, job{string(work), mine, done})
		})
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
	require.NoError(t, within(t, 5*time.Second, one.ended))
}

func (p *protocol) pause(t *rapid.T) { one := p.awake(t); one.resume = one.net.stall() }

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
	clear(p.news)
	clear(p.tried)
	p.poll.value, p.case_.value = 0, 0
}

func (p *protocol) deliver(t *rapid.T) {
	one, id := p.awake(t), fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "id"))
	p.writes++
	work := fmt.Sprint(id, "/", p.writes)
	fresh, err := one.store.Accept(t.Context(), []byte(work), id)
	require.NoError(t, err)
	_, known := p.accepted[id]
	require.Equal(t, !known, fresh)
	if fresh {
		p.accepted[id] = work
	}
}

// finish finishes what a replica has in hand, its own or what was taken over by another meanwhile.
func (p *protocol) finish(t *rapid.T) { p.finishOne(t, p.awake(t)) }

func (p *protocol) finishOne(t *rapid.T, one *process) {
	one.mu.Lock()
	if len(one.hand) == 0 {
		one.mu.Unlock()
		return
	}
	i := rapid.IntRange(0, len(one.hand)-1).Draw(t, "in hand")
	j := one.hand[i]
	one.hand = slices.Delete(one.hand, i, i+1)
	one.mu.Unlock()
	before, mine := p.stream(t), j.mine(t.Context())
	if mine && slices.Contains(before, j.work) {
		p.requireNobodyElse(t, one, j.work)
	}
	require.NoError(t, j.done(t.Context()))
	if mine && slices.Contains(before, j.work) {
		p.finished[j.work]++
		before = slices.DeleteFunc(before, func(work string) bool { return work == j.work })
	}
	require.ElementsMatch(t, before, p.stream(t))
}

// requireNobodyElse looks that work is one replica's at a time.
func (p *protocol) requireNobodyElse(t *rapid.T, one *process, work string) {
	for _, other := range p.living {
		if other == one || other.resume != nil {
			continue
		}
		for _, j := range other.hand {
			require.False(t, j.work == work && j.mine(t.Context()), "%s and %s have %s", one.name, other.name, work)
		}
	}
}

// stream is the work that isn't done.
func (p *protocol) stream(t *rapid.T) (all []string) {
	msgs, err := p.rdb.XRange(t.Context(), "{work}:stream", "-", "+").Result()
	require.NoError(t, err)
	for _, m := range msgs {
		all = append(all, m.Values["work"].(string))
	}
	return all
}

func (p *protocol) announce(t *rapid.T) {
	one, id := p.awake(t), fmt.Sprint("n", rapid.IntRange(0, 2).Draw(t, "id"))
	if _, known := p.news[id]; !known {
		require.NoError(t, one.store.Announce(t.Context(), news(id, "x:1")))
		p.news[id] = ""
	}
}

// tell has a replica tell something, whether or not another did already: it was paused, or the news was lost.
func (p *protocol) tell(t *rapid.T) {
	one, id := p.awake(t), fmt.Sprint("n", rapid.IntRange(0, 2).Draw(t, "id"))
	if rapid.Bool().Draw(t, "begin") {
		first, again, told, err := one.store.Trying(t.Context(), "acme", id, time.Now())
		require.NoError(t, err)
		before, tried := p.tried[id]
		require.Equal(t, p.news[id] != "", told)
		require.Equal(t, tried || told, again)
		if tried && !told {
			require.Equal(t, before.UnixMilli(), first.UnixMilli())
		} else if !told {
			p.tried[id] = time.Now()
		}
		return
	}
	double, err := one.store.Told(t.Context(), news(id, "x:1"), "C1", one.name, true)
	require.NoError(t, err)
	place, announced := p.news[id]
	require.Equal(t, place != "" && place != one.name, double)
	if _, tried := p.tried[id]; place == "" && (announced || tried) {
		p.news[id] = one.name
	}
}

// remember has any replica that ever was write down what it found, as if it had its lease.
func (p *protocol) remember(t *rapid.T) {
	if len(p.all) == 0 {
		t.Skip("there is none")
	}
	p.rememberAs(t, rapid.SampledFrom(p.all).Draw(t, "replica"))
}

func (p *protocol) rememberAs(t *rapid.T, one *process) {
	p.writes++
	p.poll.writers[p.writes] = one
	holds := p.watch.holds()["acme"]
	err := one.store.Remember(t.Context(), "acme", poller.Update{LastGood: time.UnixMilli(int64(p.writes))})
	if holds != nil && holds.replica != one.replica {
		require.Error(t, err)
	}
	if holds != nil && holds.replica == one.replica && one.resume == nil && !p.flushed && slices.Contains(p.living, one) {
		require.NoError(t, err)
	}
}

// lock takes the lock, unless somebody holds it who may go on for some time.
func (p *protocol) lock(t *rapid.T) {
	one := p.awake(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // whoever is paused loses it meanwhile
	defer cancel()
	_, l, err := one.store.Lock(ctx, "acme")
	if !p.begun {
		require.ErrorIs(t, err, commands.ErrForgotten)
		require.NoError(t, one.store.Restore(ctx, "acme", store.Recalled{Epoch: store.NewEpoch()}))
		p.begun = true
		return
	}
	if err == nil {
		one.lock = l
		p.Cleanup(l.Unlock)
		p.case_.holders = append(p.case_.holders, one)
	}
}

// save has anybody who ever had the lock write under it.
func (p *protocol) save(t *rapid.T) {
	if len(p.all) == 0 {
		t.Skip("there is none")
	}
	one := rapid.SampledFrom(p.all).Draw(t, "replica")
	if one.lock == nil {
		t.Skip("it never had it")
	}
	p.saveAs(t, one)
}

func (p *protocol) saveAs(t *rapid.T, one *process) {
	p.writes++
	p.case_.writers[p.writes] = one
	err := one.lock.SaveCase(t.Context(), "a1", commands.Case{Notes: []commands.Note{{ID: fmt.Sprint(p.writes)}}})
	if last := p.case_.holders[len(p.case_.holders)-1]; last != one {
		require.Error(t, err)
	}
}

// late has a replica write while it is paused, perhaps for longer than its leases last, so that what it wrote arrives afterwards.
func (p *protocol) late(t *rapid.T) {
	one := p.awake(t)
	if h := p.watch.holds()["acme"]; h == nil || h.replica != one.replica && one.lock == nil {
		t.Skip("it may write nothing")
	}
	one.resume = one.net.stall()
	p.rememberAs(t, one)
	if one.lock != nil {
		p.saveAs(t, one)
	}
	time.Sleep(time.Duration(rapid.IntRange(2, 9).Draw(t, "seconds")) * time.Second)
	one.resume()
	one.resume = nil
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
	good, _ := p.rdb.Get(t.Context(), "{a:acme}:good").Int()
	p.poll.look(t, good)
	c := 0
	if text, _ := p.rdb.HGet(t.Context(), "{a:acme}:cases", "a1").Result(); text != "" {
		_, err := fmt.Sscanf(text[len(`{"notes":[{"id":"`):], "%d", &c)
		require.NoError(t, err, text)
	}
	p.case_.look(t, c)
}

// look sees what is written now: only who was a holder since the last look may have written it.
func (w *written) look(t *rapid.T, now int) {
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
			for n := len(one.hand); n > 0; n-- {
				p.finishOne(t, one)
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
}

// Whatever replicas do, and whatever is done to them: nothing is lost, nothing is done twice, and who lost a lease writes nothing.
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
				"deliver": p.deliver, "deliver more": p.deliver, "finish": p.finish, "finish more": p.finish,
				"announce": p.announce, "tell": p.tell, "remember": p.remember, "lock": p.lock, "save": p.save, "late": p.late,
			}
			if rapid.IntRange(0, 3).Draw(t, "redis is emptied") == 0 {
				actions["flush"] = p.flush
			}
			t.Repeat(actions)
			p.settle(t)
		})
	})
}
