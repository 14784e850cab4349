package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkOneByOne is two hundred attacks one by one, at twenty a second: from the service's answer with it to the arrival of its card at Slack, by
// wafbot and by a careless poller.
func BenchmarkOneByOne(b *testing.B) {
	const attacks = 200
	var bot, careless durations
	sample(b, 1, func(int) {
		bot = append(bot, oneByOne(b, theBot, attacks)...)
		careless = append(careless, oneByOne(b, carelessPoller, attacks)...)
	})
	reportBeside(b, "", bot, careless)
}

func oneByOne(b *testing.B, name string, attacks int) (took durations) {
	b.Helper()
	s := newStage(b, unlimited())
	s.listing.prepare(b, s.waf, nil)
	p := s.run(b, name)
	defer p.stop()
	s.listing.awaitPolls(2)
	s.listing.prepare(b, s.waf, shownRow{attacks: attacks}.specs())
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range attacks {
		<-tick.C
		s.listing.reveal(1)
	}
	require.True(b, s.seen.until("posted", attacks), "not all were posted")
	listed, _ := s.seen.first("listed")
	posted, _ := s.seen.first("posted")
	for path, at := range posted {
		took.add(at.Sub(listed[path]))
	}
	return took
}

// BenchmarkColdStart is from the start of the built binary to its first answer on /healthz, and what memory it holds after some polls.
func BenchmarkColdStart(b *testing.B) {
	s := newStage(b, unlimited())
	binary := filepath.Join(b.TempDir(), "wafbot")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(b, err, string(out))
	var starts durations
	var memory []float64
	sample(b, 5, func(int) {
		started, resident := s.coldStart(b, binary)
		starts.add(started)
		memory = append(memory, resident)
	})
	slices.Sort(memory)
	b.ReportMetric(starts.median().Seconds()*1000, "ms")
	b.ReportMetric(memory[len(memory)/2], "MB")
	b.ReportMetric(0, "ns/op")
}

// enough samples make a median of what is fast.
const enough = 25

// longEnough is after how long a sample isn't taken again for the sake of its median: what lasts so long varies little.
const longEnough = time.Minute

func sample(b *testing.B, least int, take func(n int)) {
	begun, n := time.Now(), 0
	for b.Loop() {
		take(n)
		n++
	}
	for ; n < least && time.Since(begun) < longEnough; n++ {
		take(n)
	}
}

type durations []time.Duration

func (d *durations) add(one time.Duration) { *d = append(*d, one) }

func (d durations) median() time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// reportBeside reports the median of what wafbot took, and what that is as a ratio to a careless bot.
func reportBeside(b *testing.B, of string, bot, careless durations) {
	b.ReportMetric(float64(bot.median().Microseconds()), of+"µs")
	b.ReportMetric(float64(careless.median().Microseconds()), of+"careless-µs")
	b.ReportMetric(float64(bot.median())/float64(careless.median()), of+"x-careless")
	b.ReportMetric(0, "ns/op") // it has waiting in it
}

// coldStart runs the binary once: how long until it answers, and how many MB it holds after two seconds of polls.
func (s *stage) coldStart(b *testing.B, binary string) (started time.Duration, resident float64) {
	b.Helper()
	cmd := exec.Command(binary, "serve")
	cmd.Env = append(slices.Clone(s.environ), "WAFBOT_LISTEN=127.0.0.1:0")
	begun := time.Now()
	address, kill := launch(b, cmd)
	defer kill()
	status, _ := fetch(b, "http://"+address+"/healthz")
	started = time.Since(begun)
	require.Equal(b, http.StatusOK, status)
	s.listing.awaitPolls(7) // one each 250 ms
	return started, memoryMB(b, cmd.Process.Pid, "VmRSS")
}

// memoryMB is the memory that a process holds (VmRSS), or has held at most (VmHWM); 0 where the system doesn't report it in Linux' way.
func memoryMB(b testing.TB, pid int, field string) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if runtime.GOOS != "linux" {
		return 0
	}
	require.NoError(b, err)
	_, rest, _ := strings.Cut(string(status), field+":")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(b, err)
	return kb * 1024 / 1e6
}
