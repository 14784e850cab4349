package chaos

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
)

var restarts = flag.Int("chaos.restarts", 3, "how often the configuration is changed while people click; one in four is broken")

// What logs say, once for each time.
const (
	listens = "msg=listening "
	refuses = `msg="configuration can't be used: the one before counts"`
)

// widestGap is for how long an app with one replica may be without a link at a restart.
const widestGap = 2 * time.Second

// A changed configuration is taken by a restart in place, one replica after the other, and a broken one isn't, while
// people click and attacks arrive.
func TestRestartsInPlace(t *testing.T) {
	full.Only(t)
	binary := build(t)
	for _, c := range []struct {
		name string
		plan plan
	}{
		{"http", plan{seed: 3, mix: kept, replicas: 1}},
		{"socket mode, two replicas", plan{seed: 1, mix: kept, replicas: 2}},
		{"socket mode, one replica", plan{seed: 1, mix: kept, replicas: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			besideEachOther(t)
			r := openRound(t, binary, c.plan)
			gaps := r.restart(*restarts)
			v := r.settle()
			t.Logf("%s: %d changes, %d requests, %d not acknowledged, %d cards; links gone for %v",
				c.name, *restarts, len(r.requests), len(r.unheard), v.attacks, gaps)
			require.True(t, v.clean(), "lost or done twice; logs in %s\n%s", r.logs, v.lines())
			if r.ways == "http" || c.plan.replicas > 1 {
				require.Empty(t, r.unheard, "not acknowledged; logs in %s", r.logs)
				require.True(t, r.ways == "http" || len(gaps) == 0, "there was no link: %v", gaps)
				return
			}
			for _, gap := range gaps {
				require.Less(t, gap, widestGap)
			}
		})
	}
}

// restart changes the configuration so many times under load. It returns for how long there was no link.
func (r *round) restart(times int) (gaps []time.Duration) {
	ctx, stop := context.WithCancel(context.Background())
	var busy sync.WaitGroup
	busy.Go(func() { r.attack(ctx, r.plan.random(1)) })
	for n := range 2 * len(people()) {
		busy.Go(func() { r.act(ctx, people()[n%len(people())], r.plan.random(uint64(10+n))) })
	}
	busy.Go(func() { gaps = r.gaps(ctx) })
	defer busy.Wait()
	defer stop()
	file := r.replicas[0].config
	good, err := os.ReadFile(file)
	require.NoError(r.t, err)
	many := 15 * len(r.replicas) // between two changes: Slack lets an app open 50 links a minute
	for n := range times {
		r.acted(many)
		text, says := fmt.Appendf(slices.Clone(good), "runbooks: {sqli: 'https://runbooks.example.com/%d'}\n", n), listens
		if n%4 == 2 {
			text, says = append(text, "polcy: {}\n"...), refuses
		}
		require.NoError(r.t, os.WriteFile(file, text, 0o600))
		before := r.logged(says)
		for _, one := range r.replicas {
			one.process.signal(syscall.SIGHUP)
		}
		require.Eventually(r.t, func() bool {
			now := r.logged(says)
			for i := range now {
				if now[i] == before[i] {
					return false
				}
			}
			return true
		}, startPatience, 20*time.Millisecond, "change %d: %s; logs in %s", n, says, r.logs)
	}
	r.acted(many)
	return gaps
}

// logged is how often each replica's log says something.
func (r *round) logged(what string) (all []int) {
	for _, one := range r.replicas {
		log, err := os.ReadFile(filepath.Join(r.logs, fmt.Sprintf("replica%d.001.err", one.number)))
		require.NoError(r.t, err)
		all = append(all, bytes.Count(log, []byte(what)))
	}
	return all
}

// acted waits until people have acted so many times more.
func (r *round) acted(times int) {
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.requests)
	}
	before := count()
	enough := func() bool { return count() >= before+times }
	require.Eventually(r.t, enough, startPatience, 20*time.Millisecond, "nobody acts")
}

// gaps are the times for which there was no link, until the context ends.
func (r *round) gaps(ctx context.Context) (all []time.Duration) {
	if r.ways == "http" {
		return nil
	}
	var since time.Time
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for ctx.Err() == nil {
		<-look.C
		var slack struct{ Links int }
		if err := r.world.get("/slack", &slack); err != nil {
			r.t.Errorf("look for links: %v", err)
			return all
		}
		switch {
		case slack.Links == 0 && since.IsZero():
			since = time.Now()
		case slack.Links > 0 && !since.IsZero():
			all = append(all, time.Since(since).Round(time.Millisecond))
			since = time.Time{}
		}
	}
	return all
}
