//go:build image

package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// image is what scripts/image-test has built and mounted.
type image struct {
	root   string
	config imageConfig
}

type imageConfig struct {
	User            string
	Env             []string
	Entrypoint, Cmd []string
	Labels          map[string]string
}

func openImage(t *testing.T) image {
	t.Helper()
	i := image{root: os.Getenv("IMAGE_ROOT")}
	require.NotEmpty(t, i.root, "run make image-test")
	text, err := os.ReadFile(os.Getenv("IMAGE_FACTS"))
	require.NoError(t, err)
	var facts struct {
		OCIv1 struct{ Config imageConfig }
	}
	require.NoError(t, json.Unmarshal(text, &facts))
	i.config = facts.OCIv1.Config
	return i
}

// files lists the image's files, with their sizes in bytes.
func (i image) files(t *testing.T) map[string]int64 {
	t.Helper()
	files := map[string]int64{}
	require.NoError(t, filepath.WalkDir(i.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		files[strings.TrimPrefix(path, i.root)] = info.Size()
		return err
	}))
	return files
}

// addresses gives each service its own address, as an engine's network does.
func (f composeFile) addresses() map[string]string {
	addresses := map[string]string{}
	for n, name := range slices.Sorted(maps.Keys(f.Services)) {
		addresses[name] = fmt.Sprintf("127.0.0.%d", n+2)
	}
	return addresses
}

// prepare does to the root file system what an engine does before it starts a container: names for the other ones, files, then read-only.
func (i image) prepare(t *testing.T, s setup, addresses map[string]string) {
	t.Helper()
	var hosts strings.Builder
	for name, address := range addresses {
		fmt.Fprintln(&hosts, address, name)
	}
	etc, run := filepath.Join(i.root, "etc"), filepath.Join(i.root, "run")
	require.NoError(t, os.Mkdir(etc, 0o755))
	t.Cleanup(func() { require.NoError(t, errors.Join(os.RemoveAll(etc), os.RemoveAll(run))) })
	for _, m := range s.mounts {
		m.lay(t, i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(etc, "hosts"), []byte(hosts.String()), 0o644))
	if s.bot.ReadOnly {
		require.NoError(t, syscall.Mount(i.root, i.root, "", syscall.MS_BIND, ""))
		t.Cleanup(func() { require.NoError(t, syscall.Unmount(i.root, syscall.MNT_DETACH)) })
		require.NoError(t, syscall.Mount("", i.root, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		require.ErrorIs(t, os.WriteFile(filepath.Join(i.root, "probe"), nil, 0o600), syscall.EROFS)
	}
}

// command is the image's entrypoint in the image's root, as the image's user. Without arguments it is the service's command, or the image's.
func (i image) command(t *testing.T, s service, env map[string]string, args ...string) *exec.Cmd {
	t.Helper()
	if len(args) == 0 {
		args = s.Command
	}
	if len(args) == 0 {
		args = i.config.Cmd
	}
	who := i.config.User
	if s.User != "" {
		who = s.User
	}
	uid, gid, _ := strings.Cut(who, ":")
	args = append(slices.Clone(i.config.Entrypoint), args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: i.root, Credential: &syscall.Credential{Uid: number(t, uid), Gid: number(t, gid)}}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

func number(t *testing.T, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	require.NoError(t, err, "without an engine, users are numbers")
	return uint32(n)
}

// environment is what the image itself sets.
func (i image) environment() map[string]string {
	env := map[string]string{}
	for _, pair := range i.config.Env {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return env
}

// process is a running program.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	ended chan error

	mu    sync.Mutex
	out   bytes.Buffer
	ready chan struct{}
	until string // what it prints when it is ready
}

// start starts a program and waits until it prints that it is ready.
func start(t *testing.T, cmd *exec.Cmd, until string) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, ended: make(chan error, 1), ready: make(chan struct{}), until: until}
	cmd.Stdout, cmd.Stderr = p, p
	require.NoError(t, cmd.Start())
	go func() { p.ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	select {
	case <-p.ready:
	case err := <-p.ended:
		t.Fatalf("%s ended: %v\n%s", cmd.Path, err, p)
	case <-time.After(patience):
		t.Fatalf("%s did not print %q\n%s", cmd.Path, until, p)
	}
	return p
}

// Write implements io.Writer.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := strings.Contains(p.out.String(), p.until)
	n, err := p.out.Write(text)
	if !before && strings.Contains(p.out.String(), p.until) {
		close(p.ready)
	}
	return n, err
}

// String is all that it printed.
func (p *process) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// stop signals it and returns how it ended.
func (p *process) stop(signal os.Signal, grace time.Duration) error {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(signal))
	select {
	case err := <-p.ended:
		return err
	case <-time.After(grace):
		p.t.Fatalf("%s did not end within %s\n%s", p.cmd.Path, grace, p)
		return nil
	}
}
