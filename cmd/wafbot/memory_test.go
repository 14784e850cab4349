package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// alone is the environment of a bot that has nothing: no Redis, no Slack, no service. It still receives.
func alone(address string) []string {
	return []string{
		programVariable + "=" + theBot, "WAFBOT_LISTEN=" + address, "WAFBOT_SLACK_BOT_TOKEN=xoxb-1", "WAFBOT_SLACK_SIGNING_SECRET=" + benchSecret,
		"WAFBOT_SLACK_API_URL=http://127.0.0.1:1/api/", "WAFBOT_REDIS_URL=redis://127.0.0.1:1/0", "WAFBOT_API_URL=http://127.0.0.1:1", "WAFBOT_API_TOKEN=token", "WAFBOT_CHANNEL=C0WAF0001",
	}
}

// flood sends requests over so many connections, each but for its last byte, and waits until each is answered or closed.
func flood(t *testing.T, address string, connections int, headers string) {
	t.Helper()
	head := fmt.Sprintf("POST /slack/events HTTP/1.1\r\nHost: bot\r\nContent-Length: %d\r\n%s\r\n", 1<<20, headers)
	rest := bytes.Repeat([]byte("x"), 1<<20-1)
	var open sync.WaitGroup
	for range connections {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		open.Go(func() {
			defer conn.Close()
			if _, err := io.WriteString(conn, head); err == nil {
				_, _ = conn.Write(rest) // it may be refused meanwhile
			}
			_, _ = http.ReadResponse(bufio.NewReader(conn), nil)
		})
	}
	open.Wait()
}

// inCgroup has a command run with a limit of memory, as a container does. That takes rights on the machine's cgroups.
func inCgroup(t *testing.T, cmd *exec.Cmd, bytes int) {
	t.Helper()
	root, file := "/sys/fs/cgroup", "memory.max"
	if _, err := os.Stat(root + "/memory"); err == nil {
		root, file = root+"/memory", "memory.limit_in_bytes" // version 1
	}
	group, err := os.MkdirTemp(root, "wafbot-test-")
	if err == nil {
		t.Cleanup(func() { _ = os.Remove(group) })
		err = os.WriteFile(filepath.Join(group, file), []byte(strconv.Itoa(bytes)), 0o600)
	}
	if err != nil {
		t.Skipf("no cgroup can be made: %v", err)
	}
	cmd.Args = []string{"/bin/sh", "-c", `echo $$ >"$1/cgroup.procs" && exec "$2"`, "sh", group, cmd.Path}
	cmd.Path = "/bin/sh"
}

// The garbage collector knows the container's limit, and GOMEMLIMIT wins.
func TestMemoryIsLimitedAsTheContainersIs(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	self, err := os.Executable()
	require.NoError(t, err)
	starts := func(environ ...string) string {
		cmd := exec.Command(self)
		cmd.Env = append(alone(taken.Addr().String()), environ...)
		inCgroup(t, cmd, 256<<20)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "address already in use")
		return string(out)
	}
	require.Contains(t, starts(), fmt.Sprintf(`msg="memory is limited" bytes=%d`, 256<<20*9/10))
	require.Contains(t, starts("GOMEMLIMIT=64MiB"), fmt.Sprintf(`msg="memory is limited" bytes=%d`, 64<<20))
}
