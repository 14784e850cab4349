package chaos

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startPatience is how long a program may take to say that it is ready.
const startPatience = time.Minute

// logsOf is a directory for logs, which stay when the test fails.
func logsOf(t testing.TB, of string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wafbot-"+of+"-")
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			fmt.Printf("%s: the logs of %s are kept in %s\n", of, t.Name(), dir)
			return
		}
		require.NoError(t, os.RemoveAll(dir))
	})
	return dir
}

// process is a program that was started. What it prints goes into files.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// start starts a program, waits until it prints a match of the pattern, and returns the pattern's group. Its logs are
// NAME.out and NAME.err.
func start(t testing.TB, logs, name string, cmd *exec.Cmd, ready *regexp.Regexp) (*process, string, error) {
	out, err := os.Create(filepath.Join(logs, name+".out"))
	if err != nil {
		return nil, "", err
	}
	stderr, err := os.Create(filepath.Join(logs, name+".err"))
	if err != nil {
		return nil, "", err
	}
	said := &watched{pattern: ready, found: make(chan string, 1)}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, said), io.MultiWriter(stderr, said)
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // how it ended is in its log
		_ = out.Close()
		_ = stderr.Close()
	}()
	t.Cleanup(p.kill)
	select {
	case found := <-said.found:
		return p, found, nil
	case <-p.ended:
		return nil, "", fmt.Errorf("start %s: it ended, see its log", name)
	case <-time.After(startPatience):
		p.kill()
		return nil, "", fmt.Errorf("start %s: it was not ready within %s", name, startPatience)
	}
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop asks the process to end, and kills it when it doesn't; that is reported.
func (p *process) stop(patience time.Duration) error {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		p.kill()
		return fmt.Errorf("%s did not end within %s of SIGTERM", p.cmd.Path, patience)
	}
}

// watched waits for a pattern in what is written.
type watched struct {
	pattern *regexp.Regexp
	found   chan string

	mu   sync.Mutex
	text bytes.Buffer
	done bool
}

// Write implements io.Writer.
func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return len(p), nil
	}
	w.text.Write(p)
	if m := w.pattern.FindSubmatch(w.text.Bytes()); m != nil {
		w.done = true
		w.found <- string(m[1])
	}
	return len(p), nil
}
