package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var versions = flag.Duration("chaos.versions", 0, "how long TestTwoVersions lets each version work; 0: it is skipped")

// later is an overlay for go build: the version of the state is one that no wafbot has yet.
func later(t *testing.T) string {
	t.Helper()
	return overlaid(t, "99", map[string]string{"internal/store/lease.go": "stateVersion"})
}

// TestTwoVersions isn't part of make test: what it changes must not move away unnoticed.
func TestWhatALaterVersionChangesIsThere(t *testing.T) {
	t.Parallel()
	later(t)
}

// TestTwoVersions follows docs/upgrading.md over a new version of the state and back, while attacks begin and people
// click and type.
func TestTwoVersions(t *testing.T) {
	if *versions == 0 {
		t.Skip("takes minutes, and compiles the program twice: make versions")
	}
	r := openRound(t, build(t), plan{seed: *seed, mix: kept, lasts: time.Hour, replicas: 2})
	r.roll(build(t, "-overlay", later(t)))
	v := r.settle()
	fmt.Print(r.report(v))
	require.True(t, v.clean(), "lost or done twice; logs in %s\n%s", r.logs, v.lines())
}

// roll upgrades and goes back under load, until all of it has settled.
func (r *round) roll(newer string) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	var busy sync.WaitGroup
	busy.Go(func() { r.attack(ctx, r.plan.random(1)) })
	for n := range people() {
		busy.Go(func() { r.act(ctx, people()[n], r.plan.random(uint64(10+n))) })
	}
	older, first := r.replicas[0].binary, r.replicas[0].config
	works := func() { pause(ctx, *versions) }

	works()
	r.refuses(newer, first, "older wafbot") // a rolling update begins, and the older ones go on
	works()
	r.replace(newer, r.prefixed("v99:"))
	works()
	r.refuses(older, r.replicas[0].config, "newer wafbot")
	works()
	r.replace(older, r.prefixed("back:"))
	works()

	cancel()
	busy.Wait()
}

// prefixed is the replicas' configuration with another redis.key_prefix.
func (r *round) prefixed(prefix string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.logs, "wafbot.yaml"))
	require.NoError(r.t, err)
	require.Equal(r.t, 1, strings.Count(string(text), "redis: {"))
	config := filepath.Join(r.logs, strings.TrimSuffix(prefix, ":")+".yaml")
	require.NoError(r.t, os.WriteFile(config, []byte(strings.Replace(string(text), "redis: {", `redis: {key_prefix: "`+prefix+`", `, 1)), 0o600))
	return config
}

// refuses starts a replica of another version beside the others. It ends by itself, says why, and has done nothing.
func (r *round) refuses(binary, config, why string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), startPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "serve", "--config", config)
	cmd.Env = append(os.Environ(), "WAFBOT_LISTEN=127.0.0.1:0")
	var audit, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &audit, &log
	_ = cmd.Run() // it fails, as its code says
	require.Equal(r.t, 1, cmd.ProcessState.ExitCode(), "%s", &log)
	require.Contains(r.t, log.String(), why)
	require.Empty(r.t, audit.String())
	r.count("refused: " + why)
}

// replace stops all replicas, then starts as many of another version, which know nothing but what Slack and the service
// hold.
func (r *round) replace(binary, config string) {
	r.t.Helper()
	var stopped sync.WaitGroup
	for _, one := range r.replicas {
		stopped.Go(func() {
			if err := one.terminate(); err != nil {
				r.t.Error(err)
			}
		})
	}
	stopped.Wait()
	for _, one := range r.replicas {
		one.binary, one.config = binary, config
		require.NoError(r.t, one.start())
	}
	r.count("all stopped, and another version started")
}

var soaks = flag.Duration("chaos.soak", 0, "how long TestSoak lasts; 0: it is skipped")

// A soak has so much to do, all the time.
const (
	attackEvery = 600 * time.Millisecond // 100 a minute
	clickEvery  = 3 * time.Second        // 20 a minute
	steadyAfter = 3 * time.Minute        // as much begins as ends from then on
)

// TestSoak runs long after as much ends as begins, without faults: from then on nothing may grow.
func TestSoak(t *testing.T) {
	if *soaks == 0 {
		t.Skip("takes ten minutes: make soak")
	}
	require.Greater(t, *soaks, steadyAfter, "nothing to compare")
	binary := build(t, "-overlay", shortened(t))
	t.Setenv("GOGC", "20") // so memory is hardly more than what is in use
	t.Setenv("GODEBUG", "schedtrace=10000,scheddetail=1")
	r := openRound(t, binary, plan{seed: *seed, mix: kept, lasts: *soaks, replicas: 3, brief: true})
	steady, last := r.soak()
	fmt.Print(grown(steady, last))
	for _, one := range []struct {
		what     string
		from, to int
		margin   float64
	}{
		{"goroutines", steady.goroutines, last.goroutines, 1.1}, {"resident memory", steady.memory, last.memory, 1.15},
		{"keys in Redis", steady.keys, last.keys, 1.15}, {"bytes in Redis", steady.bytes, last.bytes, 1.15},
	} {
		require.LessOrEqual(t, float64(one.to), float64(one.from)*one.margin, "%s grew from %d to %d", one.what, one.from, one.to)
	}
}

// A soak isn't part of make test: what it shortens must not move away unnoticed.
func TestWhatASoakShortensIsThere(t *testing.T) {
	t.Parallel()
	shortened(t)
}

// shortened is an overlay for go build: what is kept for an hour or for days is kept for a minute.
func shortened(t *testing.T) string {
	t.Helper()
	return overlaid(t, "time.Minute", map[string]string{
		"poller/decision.go": "keptAfterEvent", "internal/store/cards.go": "cardAtFor", "internal/store/changes.go": "endedFor",
		"internal/store/evidence.go": "evidenceFor", "internal/store/outbox.go": "notifiedFor", "internal/store/work.go": "deliveryFor",
	})
}

// overlaid is an overlay for go build in which constants, each of its file, have another value.
func overlaid(t *testing.T, value string, constants map[string]string) string {
	t.Helper()
	dir, replaced := t.TempDir(), map[string]string{}
	for file, constant := range constants {
		path, err := filepath.Abs("../../" + file)
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		found := regexp.MustCompile(`(?m)^(\s*(?:const )?` + constant + `\s*= ).*$`)
		require.Len(t, found.FindAll(text, -1), 1, "%s has no constant %s", file, constant)
		replaced[path] = filepath.Join(dir, constant+".go")
		require.NoError(t, os.WriteFile(replaced[path], found.ReplaceAll(text, []byte("${1}"+value)), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	return file
}

// sample is how much there is of everything.
type sample struct {
	requests, goroutines int
	memory, keys, bytes  int            // memory of all replicas
	kinds                map[string]int // bytes in Redis, by kind of key
}

// soak starts attacks and clicks evenly, prints each minute how much there is, and returns the figures of the third
// minute and of the last.
func (r *round) soak() (steady, last sample) {
	attacks, clicks, minutes, over := time.NewTicker(attackEvery), time.NewTicker(clickEvery), time.NewTicker(time.Minute), time.After(*soaks+time.Second)
	defer attacks.Stop()
	defer clicks.Stop()
	defer minutes.Stop()
	dice, n := r.plan.random(1), 0
	fmt.Println("minute  attacks  requests  goroutines  memory MB  keys  KB in Redis")
	for {
		select {
		case <-attacks.C:
			n++
			r.startAttack(accounts()[n%2], dice, n)
		case <-clicks.C:
			r.clickCard(people()[dice.IntN(3)], dice)
		case <-minutes.C:
			since := time.Since(r.begun).Round(time.Minute)
			last = r.sample()
			fmt.Printf("%6.0f  %7d  %8d  %10d  %9.1f  %4d  %11d\n", since.Minutes(), n, last.requests, last.goroutines, float64(last.memory)/1e6, last.keys, last.bytes/1000)
			if since == steadyAfter {
				steady = last
			}
		case <-over:
			return steady, last
		}
	}
}

func (r *round) sample() sample {
	s := sample{requests: len(r.requests), kinds: map[string]int{}}
	for _, one := range r.replicas {
		s.memory += int(residentOf(r.t, one.process))
		s.goroutines += one.goroutines()
	}
	all, err := askRedis(r.single.Addr, "KEYS *")
	require.NoError(r.t, err)
	for _, key := range all.words {
		used, err := askRedis(r.single.Addr, fmt.Sprintf("MEMORY USAGE %q SAMPLES 0", key))
		require.NoError(r.t, err)
		n, err := strconv.Atoi(strings.Trim(string(used.raw), ":\r\n"))
		if err != nil {
			continue // it has expired
		}
		s.keys, s.bytes = s.keys+1, s.bytes+n
		s.kinds[ownName.ReplaceAllString(key, ":$1:*")] += n
	}
	return s
}

// goroutines counts those of the last whole trace that the replica's scheduler printed; those of status 6 have ended.
func (r *replica) goroutines() int {
	text, err := os.ReadFile(filepath.Join(r.logs, fmt.Sprintf("replica%d.%03d.err", r.number, r.lives)))
	require.NoError(r.t, err)
	traces := strings.Split(string(text), "\nSCHED ")
	require.Greater(r.t, len(traces), 2, "there is no trace")
	return len(regexp.MustCompile(`(?m)^\s+G\d+: status=[^6]`).FindAllString(traces[len(traces)-2], -1))
}

// grown lists what takes most in Redis, and how much it did.
func grown(from, to sample) string {
	var b strings.Builder
	for _, kind := range slices.SortedFunc(maps.Keys(to.kinds), func(a, b string) int { return to.kinds[b] - to.kinds[a] }) {
		fmt.Fprintf(&b, "%9d → %9d bytes  %s\n", from.kinds[kind], to.kinds[kind], kind)
	}
	return b.String()
}
