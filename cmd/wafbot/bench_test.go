package main

import (
	"bufio"
	"fmt"
	"io"
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

	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// BenchmarkAcknowledgeClick is from sending a signed click that changes something to its acknowledgement, by which it is written down in Redis.
// The one before is carried out by then. The ratio is to a bare round trip of the same body.
func BenchmarkAcknowledgeClick(b *testing.B) {
	s := newStage(b, unlimited())
	s.serve(b)
	click := s.click(b)
	var clicks, bare durations
	sample(b, enough, func(n int) {
		body, header := click(n)
		bare.add(post(b, s.url+"/bare", body, header))
		clicks.add(post(b, s.bot+"/slack/interactions", body, header))
		<-s.answers
	})
	report(b, clicks, bare)
}

// BenchmarkNotifyAttack is from the answer of the service that holds a new attack to the arrival of its card at Slack.
func BenchmarkNotifyAttack(b *testing.B) {
	s := newStage(b, unlimited())
	s.serve(b)
	body, header := s.click(b)(0)
	var notified, bare, idle durations
	sample(b, enough, func(n int) {
		idle.add(post(b, s.url+"/bare", body, header)) // after the same silence that the bot's own requests come after
		bare.add(post(b, s.url+"/bare", body, header))
		path := "/notified/" + strconv.Itoa(n)
		_, err := s.waf.StartAttack(waf.AttackSpec{Path: path, Hits: 100, Started: waf.Duration(time.Minute)})
		require.NoError(b, err)
		notified.add(s.await(b, "slack "+path).Sub(s.await(b, "service "+path)))
	})
	report(b, notified, bare)
	b.ReportMetric(float64(notified.median())/float64(idle.median()), "idle-roundtrips")
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

// enough samples make a median; the slow benchmarks would stop after a handful.
const enough = 25

func sample(b *testing.B, least int, take func(n int)) {
	n := 0
	for b.Loop() {
		take(n)
		n++
	}
	for ; n < least; n++ {
		take(n)
	}
}

type durations []time.Duration

func (d *durations) add(one time.Duration) { *d = append(*d, one) }

func (d durations) median() time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func report(b *testing.B, measured, bare durations) {
	b.ReportMetric(float64(measured.median())/float64(bare.median()), "roundtrips")
	b.ReportMetric(float64(measured.median().Microseconds()), "µs")
	b.ReportMetric(float64(bare.median().Microseconds()), "bare-µs")
	b.ReportMetric(0, "ns/op") // it has waiting in it
}

// coldStart runs the binary once: how long until it answers, and how many MB it holds after two seconds of polls.
func (s *stage) coldStart(b *testing.B, binary string) (started time.Duration, resident float64) {
	b.Helper()
	address := freeAddress(b)
	cmd := exec.Command(binary, "serve")
	cmd.Env = append(s.environ, "WAFBOT_LISTEN="+address)
	logs, err := cmd.StderrPipe()
	require.NoError(b, err)
	begun := time.Now()
	require.NoError(b, cmd.Start())
	lines := bufio.NewScanner(logs)
	for lines.Scan() && !strings.Contains(lines.Text(), "msg=listening") {
	}
	res, err := http.Get("http://" + address + "/healthz")
	require.NoError(b, err)
	started = time.Since(begun)
	res.Body.Close()
	require.Equal(b, http.StatusOK, res.StatusCode)
	for range 8 { // a poll each 250 ms
		<-s.polls
	}
	resident = residentMB(b, cmd.Process.Pid)
	require.NoError(b, cmd.Process.Signal(os.Interrupt))
	_, _ = io.Copy(io.Discard, logs)
	require.NoError(b, cmd.Wait())
	return started, resident
}

// residentMB is the memory that a process holds; 0 where the system doesn't report it in Linux' way.
func residentMB(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if runtime.GOOS != "linux" {
		return 0
	}
	require.NoError(b, err)
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(b, err)
	return kb * 1024 / 1e6
}
