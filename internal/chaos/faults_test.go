package chaos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/redistest"
)

// fault is a fault that ends. do gets how long it lasts, and a random number that chooses the details.
type fault struct {
	name   string
	weight int
	on     string // its target; a target has one fault at a time
	do     func(ctx context.Context, lasts time.Duration, n int) error
	most   time.Duration
}

// wreck injects faults until the context ends, and then waits until all have ended.
func (r *round) wreck(ctx context.Context, dice *rand.Rand) {
	var busy sync.WaitGroup
	defer busy.Wait()
	faults, held := r.faults(), held{}
	for {
		pause(ctx, between(dice, 100*time.Millisecond, 1500*time.Millisecond))
		if ctx.Err() != nil {
			return
		}
		f := choose(dice, faults)
		lasts, n := between(dice, 50*time.Millisecond, f.most), dice.IntN(1<<16)
		last, ok := held.take(f.on, len(r.replicas))
		if !ok {
			continue
		}
		if last {
			lasts = min(lasts, 2*time.Second) // no other replica runs
		}
		r.count(f.name)
		busy.Go(func() {
			defer held.release(f.on)
			if err := f.do(ctx, lasts, n); err != nil {
				r.t.Errorf("%s: %v", f.name, err)
			}
		})
	}
}

func choose(dice *rand.Rand, faults []fault) fault {
	sum := 0
	for _, f := range faults {
		sum += f.weight
	}
	at := dice.IntN(sum)
	for _, f := range faults {
		if at -= f.weight; at < 0 {
			return f
		}
	}
	panic("unreachable")
}

func between(dice *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(dice.Int64N(int64(most-least)+1))
}

// held are the targets with a fault.
type held struct {
	mu  sync.Mutex
	all map[string]bool
}

// take takes a target unless it has a fault. last reports that no other replica is without one.
func (h *held) take(thing string, replicas int) (last, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if thing != "" && h.all[thing] {
		return false, false
	}
	if h.all == nil {
		h.all = map[string]bool{}
	}
	h.all[thing] = true
	down := 0
	for n := range replicas {
		if h.all[replicaName(n)] {
			down++
		}
	}
	return down == replicas, true
}

func (h *held) release(thing string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, thing)
}

func replicaName(n int) string { return fmt.Sprintf("replica %d", n) }

// faults lists the faults of this round.
func (r *round) faults() []fault {
	var all []fault
	for n, one := range r.replicas {
		all = append(all,
			fault{"kill -9 of a replica", 6, replicaName(n), func(ctx context.Context, lasts time.Duration, _ int) error {
				one.kill()
				pause(ctx, lasts)
				return one.start()
			}, 4 * time.Second},
			fault{"SIGSTOP of a replica", 3, replicaName(n), func(ctx context.Context, lasts time.Duration, _ int) error {
				one.pause()
				pause(ctx, lasts)
				one.resume()
				return nil
			}, 12 * time.Second},
			fault{"SIGTERM of a replica", 2, replicaName(n), func(ctx context.Context, lasts time.Duration, _ int) error {
				if err := one.terminate(); err != nil {
					return err
				}
				pause(ctx, lasts)
				return one.start()
			}, 3 * time.Second})
	}
	for _, w := range r.wires {
		kinds := disturbances()
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			weight := map[string]int{"cut": 2}[kind]
			all = append(all, fault{"wire to " + w.name + " " + kind, max(1, weight), w.name, func(ctx context.Context, lasts time.Duration, _ int) error {
				return w.disturb(ctx, kinds[kind], lasts)
			}, 4 * time.Second})
		}
	}
	return append(append(all, r.redisFaults()...), r.menuFaults()...)
}

// redisFaults lists the faults of Redis itself.
func (r *round) redisFaults() []fault {
	if r.set != nil {
		return r.setFaults()
	}
	all := []fault{{"kill -9 of Redis, kept", 3, "redis server", func(ctx context.Context, lasts time.Duration, _ int) error {
		r.single.Kill()
		pause(ctx, lasts)
		return r.single.Restart()
	}, 3 * time.Second}}
	if r.plan.mix == emptied {
		all = append(all, fault{"kill -9 of Redis, emptied", 3, "redis server", func(context.Context, time.Duration, int) error {
			r.lost()
			return r.single.Empty()
		}, time.Second})
	}
	return all
}

// setFaults lists the faults of several servers, one at a time.
func (r *round) setFaults() []fault {
	all := []fault{{"kill -9 of a Redis master", 3, "redis", func(ctx context.Context, lasts time.Duration, n int) error {
		r.lost()
		killed, err := r.set.KillMaster(n)
		if err != nil {
			return err
		}
		if r.plan.copies() == 0 {
			posts, err := forgotten(killed, r.set.Masters())
			if err != nil {
				return err
			}
			r.lost(posts...) // also writes to the old master until all clients know the new one
		}
		pause(ctx, lasts)
		if err := killed.Restart(); err != nil {
			return err
		}
		return r.set.Whole()
	}, 3 * time.Second}}
	if r.plan.mix == reshard {
		all = append(all, fault{"slot of a Redis cluster moved", 12, "redis", func(_ context.Context, _ time.Duration, n int) error { return r.set.MoveSlot(n) }, time.Second})
	}
	return all
}

// attempted finds in what a Redis server wrote that a delivery was about to be posted, and when.
var attempted = regexp.MustCompile(`(\{a:[^}]+\}:attempt:(\S+))\r\n\$\d+\r\n(\d+)\r\n`)

// forgotten are the deliveries of which a killed master stored that they were about to be posted, and no master in its
// place did.
func forgotten(killed *redistest.Server, masters []*redistest.Server) (posts []string, err error) {
	written, err := killed.Written()
	if err != nil {
		return nil, err
	}
	for _, m := range attempted.FindAllStringSubmatch(written, -1) {
		key, delivery, at, kept := m[1], m[2], m[3], false
		for _, one := range masters {
			v, err := askRedis(one.Addr, "GET "+key)
			if err != nil {
				return nil, err
			}
			kept = kept || len(v.words) > 0 && (v.words[0] == at || strings.Contains(v.words[0], " ")) // a place; or else a later time: it began anew
		}
		if !kept {
			posts = append(posts, delivery)
		}
	}
	return posts, nil
}

// menuFaults lists the faults that the emulated world injects, those of links included.
func (r *round) menuFaults() []fault {
	slack := func(kinds ...string) func(context.Context, time.Duration, int) error {
		methods := []string{"chat.postMessage", "chat.postMessage", "chat.update", "chat.postEphemeral", "conversations.history", "response_url", "users.info"}
		return func(_ context.Context, _ time.Duration, n int) error {
			return r.world.post("/faults/slack", map[string]any{
				"kind": kinds[n%len(kinds)], "method": methods[n/16%len(methods)], "times": 1 + n/256%3,
			}, &struct{}{})
		}
	}
	endpoints := []string{"", "POST /v1/objects/attack", "GET /v4/ip_rules", "POST /v4/ip_rules", "DELETE /v4/ip_rules", "POST /v1/objects/hint", "POST /v1/objects/hint/create", "POST /v1/objects/hint/delete"}
	service := func(kinds ...string) func(context.Context, time.Duration, int) error {
		return func(_ context.Context, _ time.Duration, n int) error {
			return r.world.post("/faults/service", map[string]any{
				"kind": kinds[n%len(kinds)], "endpoint": endpoints[n/16%len(endpoints)], "account": accounts()[n/256%2].name, "times": 1 + n/512%4,
			}, &struct{}{})
		}
	}
	lists := []string{"GET /v4/ip_rules", "POST /v1/objects/hint"}
	late := func(_ context.Context, _ time.Duration, n int) error {
		return r.world.post("/faults/service", map[string]any{
			"kind": "lagging", "endpoint": lists[n%2], "account": accounts()[n/2%2].name, "times": 1 + n/4%8,
		}, &struct{}{})
	}
	links := func(path string, body any) func(context.Context, time.Duration, int) error {
		return func(context.Context, time.Duration, int) error {
			return r.world.post("/slack/links/"+path, body, &struct{}{})
		}
	}
	all := []fault{
		{"Slack: refused", 4, "", slack("ratelimited", "500", "timeout"), time.Second},
		{"Slack: refused but done", 5, "", slack("ratelimited_posted", "500_posted", "timeout_posted"), time.Second},
		{"Slack: click lost", 1, "", slack("lost_click"), time.Second},
		{"Slack: delivered twice", 2, "", slack("duplicate_delivery"), time.Second},
		{"service: refused", 4, "", service("status:500", "status:429", "html", "reset", "slow"), time.Second},
		{"service: refused but done", 5, "", service("500_applied", "reset_applied", "cut"), time.Second},
		{"service: lists 10 s late", 3, "", late, time.Second},
	}
	if r.ways != "http" {
		all = append(all,
			fault{"links cut", 1, "", links("cut", map[string]string{}), time.Second},
			fault{"links renewed", 2, "", links("refresh", map[string]string{"after": "500ms"}), time.Second})
	}
	return all
}
