package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The programs that are compared. Each runs in a process of its own, so that it can be killed, and that what it costs is known without the emulation.
// All are the test binary, told which by a variable.
const (
	theBot          = "wafbot"
	carelessPoller  = "careless poller"
	carelessClicker = "careless clicker"

	programVariable = "BENCH_PROGRAM"
	stageVariable   = "BENCH_STAGE" // where careless ones find the service and the workspace
)

// beProgram runs a program in place of the tests, and doesn't return.
func beProgram(name string) {
	if name == theBot {
		os.Args = []string{"wafbot", "serve"}
		main()
	}
	c := newCareless(os.Getenv(stageVariable))
	if name == carelessPoller {
		go c.poll()
	}
	l, err := net.Listen("tcp", os.Getenv("WAFBOT_LISTEN"))
	if err == nil {
		fmt.Fprintln(os.Stderr, "msg=listening address="+l.Addr().String())
		err = http.Serve(l, http.HandlerFunc(c.takeClick))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(exitFailed)
}

// program is a program that runs.
type program struct {
	cmd     *exec.Cmd
	address string
	stop    func() // kills it
}

// run starts a program that works on the stage, until it is stopped or the benchmark ends.
func (s *stage) run(b testing.TB, name string) *program {
	b.Helper()
	self, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.Command(cmp.Or(s.binary, self), "serve")
	cmd.Env = append(slices.Clone(s.environ), "WAFBOT_LISTEN=127.0.0.1:0", programVariable+"="+name, stageVariable+"="+s.url)
	cmd.Stdout = s.logs
	address, kill := launch(b, cmd)
	p := &program{cmd: cmd, address: "http://" + address, stop: kill}
	if name == theBot {
		s.slack.DeliverTo(p.address)
	}
	return p
}

// listening is the line that a program logs when it does, and where.
var listening = regexp.MustCompile(`(?i)msg="?listening.* address=(\S+)`)

// launch starts a process and returns when and where it listens. What it logs goes where its output goes.
func launch(b testing.TB, cmd *exec.Cmd) (address string, kill func()) {
	b.Helper()
	logs, err := cmd.StderrPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	b.Cleanup(kill)
	lines := bufio.NewReader(logs)
	for said := ""; ; {
		line, err := lines.ReadString('\n')
		said += line
		if found := listening.FindStringSubmatch(line); found != nil {
			address = found[1]
			break
		}
		require.NoError(b, err, said)
	}
	go func() { _, _ = io.Copy(cmp.Or(cmd.Stdout, io.Discard), lines) }()
	return address, kill
}

// cpu is the processor time that the program has used; 0 where the system doesn't report it in Linux' way.
func (p *program) cpu(b *testing.B) time.Duration {
	b.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	require.NoError(b, err)
	_, rest, _ := strings.Cut(string(stat), ") ") // behind the name
	fields := strings.Fields(rest)
	var ticks int64
	for _, field := range fields[11:13] { // in user mode and in the kernel
		n, err := strconv.ParseInt(field, 10, 64)
		require.NoError(b, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond // Linux counts hundredths of a second
}

// waiting reports whether wafbot has events left to be notified: what is in doubt could still come twice.
func (p *program) waiting(b *testing.B) bool {
	b.Helper()
	_, text := fetch(b, p.address+"/metrics")
	return regexp.MustCompile(`(?m)^wafbot_events_waiting\{.*\} [1-9]`).MatchString(text)
}

// awaitRecorded waits until wafbot has no events left to be notified.
func (p *program) awaitRecorded(b *testing.B) {
	b.Helper()
	for deadline := time.Now().Add(patienceOfBench); p.waiting(b); time.Sleep(20 * time.Millisecond) {
		require.True(b, time.Now().Before(deadline), "events are left to be notified")
	}
}
