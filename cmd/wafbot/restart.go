package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
)

// restarts begin the process again in place, with the configuration as it is then. What it had in hand is in Redis.
type restarts struct {
	load     func() (*config.Config, error)
	hangup   <-chan os.Signal
	files    [sha256.Size]byte // digest of those that were loaded
	listener net.Listener
	handed   *handover // by the start before; nil: there was none

	next handover // for the next start
}

// errRestart ends a bot that is to begin again.
var errRestart = errors.New("restarting")

const (
	watchEvery  = time.Second            // how often it is looked whether mounted files were replaced
	retryEvery  = time.Second            // how often a good configuration that has to wait is tried again
	checkWithin = 10 * time.Second       // how long Slack and Redis may take to say whether it is good
	linkedEvery = 100 * time.Millisecond // how often it is looked whether deliveries come in again
)

// due waits until the process is to begin again: on SIGHUP, or when mounted files were replaced, as soon as the
// configuration is good and no other replica restarts. It returns false when the context ends.
func (r *restarts) due(ctx context.Context, a *app) bool {
	if r == nil {
		return false
	}
	for look := time.Tick(watchEvery); ; {
		why := "SIGHUP"
		select {
		case <-ctx.Done():
			return false
		case <-r.hangup:
		case <-look:
			files := mounted(a.cfg)
			if files == r.files {
				continue
			}
			r.files, why = files, "its files were replaced"
		}
		if r.ready(ctx, a) {
			a.log.Info("restarting in place", "why", why)
			return true
		}
	}
}

// ready waits until a good configuration can be taken. It returns false where the configuration can't be used: then the
// log has why.
func (r *restarts) ready(ctx context.Context, a *app) bool {
	for waits := false; ; {
		err := r.try(ctx, a)
		a.misconfigured.Store(errors.As(err, &misused{}))
		switch {
		case err == nil:
			return true
		case a.misconfigured.Load():
			if bad, ok := errors.AsType[*config.Error](err); ok {
				for _, p := range bad.Problems {
					a.log.Error("configuration is wrong", "at", p.At.String(), "key", cmp.Or(p.Variable, p.Key), "what", p.Text)
				}
			}
			a.log.Error("configuration can't be used: the one before counts", "err", err)
			return false
		}
		if !waits {
			a.log.Warn("a changed configuration has to wait", "err", err)
		}
		waits = true
		if delay.Sleep(ctx, retryEvery) != nil {
			return false
		}
	}
}

// try checks the configuration as a start does, takes this replica's turn, and keeps the listening socket for the next
// start. It fails with misused where the configuration can't be used; other errors pass.
func (r *restarts) try(ctx context.Context, a *app) error {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	cfg, err := r.load()
	if err != nil {
		return err
	}
	next, err := build(cfg, botOptions{log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return misused{err}
	}
	defer next.Close()
	if cfg.Listen != a.cfg.Listen {
		l, err := net.Listen("tcp", cfg.Listen)
		if err != nil {
			return misused{fmt.Errorf("listen: %w", err)}
		}
		_ = l.Close()
	}
	if err := cmp.Or(checkTokens(ctx, a, next), checkGone(ctx, a, next)); err != nil {
		return err
	}
	token := rand.Text()
	may, err := a.Replicas.BeginRestart(ctx, token)
	if err == nil && !may {
		err = errors.New("another replica restarts")
	}
	if err != nil {
		return err
	}
	r.next = handover{listenAt: a.cfg.Listen, lock: token}
	r.next.socket, err = keepOpen(r.listener)
	return err
}

// checkTokens asks Slack about new tokens: with a wrong one nothing could be posted.
func checkTokens(ctx context.Context, before, next *app) (err error) {
	was, is := before.cfg.Slack, next.cfg.Slack
	if was.BotToken != is.BotToken {
		err = next.slack.Usable(ctx)
	}
	if is.AppToken != "" && was.AppToken != is.AppToken {
		_, refused := next.slack.TrySocket(ctx)
		err = cmp.Or(err, refused)
	}
	if slackconn.ErrorName(err) != "" {
		return misused{fmt.Errorf("slack doesn't take a new token: %w", err)}
	}
	return err
}

// checkGone finds accounts that were there before and have open changes: nothing would end them.
func checkGone(ctx context.Context, before, next *app) error {
	for _, name := range before.names() {
		if next.tenants[name] != nil {
			continue
		}
		open, err := before.Replicas.Open(ctx, name)
		if err != nil {
			return fmt.Errorf("account %s was taken out; read what is open on it: %w", name, err)
		}
		if len(open) > 0 {
			return misused{fmt.Errorf("account %s was taken out, and nothing would end what is open on it: %s; "+
				"put it back until then, or undo them first", name, record.SayOpen(open))}
		}
	}
	return nil
}

// over lets the next replica restart once this one receives again: as long as Slack gives it no link, those of the
// others must stay.
func (r *restarts) over(ctx context.Context, a *app) {
	if r == nil || r.handed == nil {
		return
	}
	for a.cfg.Slack.AppToken != "" && a.server.Socket.State().Open == 0 {
		_ = a.Replicas.KeepRestart(ctx, r.handed.lock) // else the next time
		if delay.Sleep(ctx, linkedEvery) != nil {
			return
		}
	}
	if err := a.Replicas.EndRestart(ctx, r.handed.lock); err != nil {
		a.log.Warn("other replicas wait some seconds before they restart", "err", err)
	}
}

// mounted is a digest of the configuration's files that Kubernetes mounted from a ConfigMap or a Secret. Tokens of
// accounts aren't among them: they are read again by themselves.
func mounted(cfg *config.Config) (sum [sha256.Size]byte) {
	files := append(cfg.SecretFiles(), config.SecretFile{Path: cfg.File()})
	digest := sha256.New()
	for _, f := range files {
		_, err := os.Readlink(filepath.Join(filepath.Dir(f.Path), "..data"))
		if err != nil || strings.HasSuffix(f.Key, "].token_file") {
			continue
		}
		text, _ := os.ReadFile(f.Path) // one that can't be read counts as empty
		fmt.Fprintf(digest, "%s %d %s", f.Path, len(text), text)
	}
	return [sha256.Size]byte(digest.Sum(nil))
}

// handover is what a start gets from the one before, in the same process.
type handover struct {
	socket   int    // the listening socket's file descriptor
	listenAt string // the address as the configuration had it
	lock     string // the token of the restart
}

// handoverVariable holds a handover: FD TOKEN ADDRESS.
const handoverVariable = "WAFBOT_RESTARTED"

// takeHandover takes what the start before left in the environment; nil: there was none.
func takeHandover() *handover {
	h := &handover{}
	_, err := fmt.Sscan(os.Getenv(handoverVariable), &h.socket, &h.lock, &h.listenAt)
	if os.Unsetenv(handoverVariable) != nil || err != nil {
		return nil
	}
	return h
}

// startAgain has the program take this process' place. It returns only an error. A signal that comes meanwhile isn't
// lost: the next start reads the configuration after SIGHUP, and the others end the process.
func startAgain(h handover) error {
	signal.Ignore(syscall.SIGHUP)
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	value := fmt.Sprintf("%s=%d %s %s", handoverVariable, h.socket, h.lock, h.listenAt)
	program := "/proc/self/exe" // the same one, even if an upgrade has replaced its file
	if runtime.GOOS != "linux" {
		program, _ = os.Executable()
	}
	err := syscall.Exec(program, os.Args, append(os.Environ(), value))
	return fmt.Errorf("start again in place: %w", err)
}

// listen opens the address, or takes the socket that the start before had open there: connections wait in it.
func (h *handover) listen(address string) (net.Listener, error) {
	if h != nil {
		socket := os.NewFile(uintptr(h.socket), "the listening socket")
		defer socket.Close()
		if h.listenAt == address {
			return net.FileListener(socket)
		}
	}
	return net.Listen("tcp", address)
}

// keepOpen is another descriptor of a listening socket, which stays open when the program is started again.
func keepOpen(l net.Listener) (fd int, err error) {
	conn, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("keep the listening socket: %w", err)
	}
	if failed := conn.Control(func(socket uintptr) { fd, err = syscall.Dup(int(socket)) }); failed != nil {
		err = failed
	}
	return fd, err
}
