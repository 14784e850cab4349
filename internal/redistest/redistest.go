// Package redistest starts real Redis servers for tests: a single one, a cluster, or a master with replicas and
// sentinels. They can be killed and restarted.
package redistest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long a server may take to get ready, or a set of them to agree.
const patience = 30 * time.Second

// Server is a redis-server on a free port. Its methods but Alive may not be called at the same time.
type Server struct {
	// Addr is its HOST:PORT. It stays the same over restarts.
	Addr string

	secured *Secured // nil: it speaks plain text, and asks for no password
	program string
	args    []string
	dir     string
	ready   string // what it logs when it is ready
	cmd     *exec.Cmd
	ended   chan struct{} // closed when cmd has ended; nil: never started
}

// Start starts a server that ends with the test. Flags are redis-server's: without any it keeps nothing on disk.
func Start(t testing.TB, flags ...string) *Server {
	t.Helper()
	return StartSecured(t, nil, flags...)
}

// StartSecured starts a server to which others connect as secured says; nil: as they like.
func StartSecured(t testing.TB, secured *Secured, flags ...string) *Server {
	t.Helper()
	return start(t, secured, func(s *Server) {
		s.args = slices.Concat(s.args, secured.users(), []string{"--save", "", "--appendonly", "no"}, flags)
	})
}

// durable has a server write each change to a file before it acknowledges it, so that a kill loses nothing. It doesn't
// wait for the disk, which only a machine that loses its power would need: on a busy disk that takes longer than wafbot
// waits for Redis.
func durable() []string { return []string{"--appendonly", "yes", "--appendfsync", "no"} }

// StartDurable starts a server that loses nothing when it is killed.
func StartDurable(t testing.TB) *Server {
	t.Helper()
	return Start(t, durable()...)
}

// start starts a server as set up. Another process may take the port meanwhile, so it tries several.
func start(t testing.TB, secured *Secured, setUp func(s *Server)) *Server {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("there is no redis-server: run make tools, or go test -short")
	}
	for range 5 {
		addr := freeAddress(t)
		_, port, _ := net.SplitHostPort(addr)
		s := &Server{Addr: addr, secured: secured, program: program, dir: t.TempDir(), ready: "Ready to accept connections"}
		s.args = append([]string{"--bind", "127.0.0.1", "--dir", s.dir}, secured.flags(port)...)
		setUp(s)
		t.Cleanup(s.Kill)
		if err = s.Restart(); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// URL is the address as wafbot's configuration takes it.
func (s *Server) URL() string { return s.secured.url("redis", s.Addr+"/0") }

// Kill ends the server as a power failure does. One that is not running stays so.
func (s *Server) Kill() {
	if s.Alive() {
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// Alive reports whether the server runs.
func (s *Server) Alive() bool {
	if s.ended == nil {
		return false
	}
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// Restart starts a killed server again, with what it has on disk, and waits until it takes connections.
func (s *Server) Restart() error {
	cmd := exec.Command(s.program, s.args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	ready, ended := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.Contains(lines.Text(), s.ready) {
				ready <- true
				break
			}
		}
		close(ready)
		_, _ = io.Copy(io.Discard, out) // a full pipe would stop it
		_ = cmd.Wait()
	}()
	s.cmd, s.ended = cmd, ended
	select {
	case ok := <-ready:
		if !ok {
			return fmt.Errorf("start redis-server: it ended: %s", strings.Join(s.args, " "))
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("start redis-server: it did not print %q", s.ready)
	}
}

// Written is what a killed server wrote to its append-only file since it last wrote that anew.
func (s *Server) Written() (string, error) {
	files, _ := filepath.Glob(filepath.Join(s.dir, "appendonlydir", "*.incr.aof")) // a good pattern doesn't fail
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read what redis-server wrote: %w", err)
		}
		all.Write(text)
	}
	return all.String(), nil
}

// Empty kills the server and restarts it without data.
func (s *Server) Empty() error {
	s.Kill()
	files, _ := filepath.Glob(filepath.Join(s.dir, "*")) // a good pattern doesn't fail
	for _, file := range files {
		if err := os.RemoveAll(file); err != nil {
			return fmt.Errorf("empty redis-server: %w", err)
		}
	}
	return s.Restart()
}

// askPatience is how long a server may take to answer a question about itself.
const askPatience = time.Second

// ask sends a command whose answer is one text.
func (s *Server) ask(command string) (string, error) {
	conn, err := s.secured.dial(s.Addr)
	if err != nil {
		return "", fmt.Errorf("ask redis %s: %w", command, err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(askPatience))
	answer, length := bufio.NewReader(conn), 0
	if s.secured != nil {
		_, _ = fmt.Fprintf(conn, "AUTH %s\r\n", s.secured.admin)
		if said, _ := answer.ReadString('\n'); said != "+OK\r\n" {
			return "", fmt.Errorf("log in at redis: %q", said)
		}
	}
	_, _ = fmt.Fprintf(conn, "%s\r\n", command) // what isn't sent isn't answered
	if _, err := fmt.Fscanf(answer, "$%d\n", &length); err != nil {
		return "", fmt.Errorf("ask redis %s: %w", command, err)
	}
	text := make([]byte, length)
	_, err = io.ReadFull(answer, text)
	return string(text), err
}

// until checks a condition every 50 ms until it holds or patience is over.
func until(what string, ok func() bool) error {
	for end := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("wait for redis: never %s", what)
		}
	}
	return nil
}

// answeredTime is the time in answers of scripts, in microseconds.
var answeredTime = regexp.MustCompile(`(\$16\r\n)(\d{16})(\r\n)`)

// WrongTime is an answer as a server gives it whose clock is ahead. A proxy's filter uses it, so the server keeps its
// own time.
func WrongTime(answer []byte, by time.Duration) []byte {
	return answeredTime.ReplaceAllFunc(answer, func(found []byte) []byte {
		part := answeredTime.FindSubmatch(found)
		n, _ := strconv.ParseInt(string(part[2]), 10, 64) // digits
		return append(strconv.AppendInt(part[1][:len(part[1]):len(part[1])], n+by.Microseconds(), 10), part[3]...)
	})
}
