package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/human"
)

// answered is what a run of the program left.
type answered struct {
	code     int
	out, err string
}

// typed runs the program as from a script: there is no person to ask.
func typed(t testing.TB, environ []string, args ...string) answered {
	t.Helper()
	return runWith(t, terminal{environ: environ, args: args, in: strings.NewReader("")})
}

// typedAtTerminal runs it with a person who gives an answer when asked.
func typedAtTerminal(t testing.TB, environ []string, answer string, args ...string) answered {
	t.Helper()
	return runWith(t, terminal{environ: environ, args: args, in: strings.NewReader(answer), asks: true})
}

func runWith(t testing.TB, with terminal) answered {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, err bytes.Buffer
	with.out, with.err, with.hangup = &out, &err, make(chan os.Signal, 1)
	code := run(ctx, with)
	requireForPeople(t, out.String()+err.String())
	return answered{code, out.String(), err.String()}
}

// requireForPeople holds that no line shows how wafbot is built, but for those of the log and for programs.
func requireForPeople(t testing.TB, said string) {
	t.Helper()
	for line := range strings.Lines(said) {
		if trimmed := strings.TrimSpace(line); !strings.HasPrefix(line, "time=") && !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, `"`) {
			assert.Empty(t, human.Inside(line), line)
		}
	}
}

// running is a program that goes on until it is stopped.
type running struct {
	out  *bufio.Reader
	stop func() answered
}

func start(t testing.TB, environ []string, args ...string) running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	var errs bytes.Buffer // read when the program has ended
	code := make(chan int, 1)
	go func() {
		defer func() { _ = writer.Close() }()
		code <- run(ctx, terminal{environ: environ, args: args, out: writer, err: &errs})
	}()
	stop := sync.OnceValue(func() answered {
		cancel()
		rest, _ := io.ReadAll(reader)
		return answered{<-code, string(rest), errs.String()}
	})
	t.Cleanup(func() { stop() })
	return running{bufio.NewReader(reader), stop}
}

// line is the next line of standard output, without its end.
func (r running) line(t testing.TB) string {
	t.Helper()
	line, err := r.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the program ended: %+v", r.stop())
	}
	return strings.TrimSuffix(line, "\n")
}

// closedAddress is an address at which nothing listens, nor will: it takes root to open that port.
const closedAddress = "127.0.0.1:1"

func TestUsage(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "wafbot.yaml")
	for _, tt := range []struct {
		name     string
		environ  []string
		args     []string
		code     int
		out, err string // parts
	}{
		{name: "nothing typed", code: exitUsage, err: "wafbot demo"},
		{name: "--help", args: []string{"--help"}, code: exitDone, out: "wafbot demo"},
		{name: "-h", args: []string{"-h"}, code: exitDone, out: "Exit codes: 0 done"},
		{name: "help needs no configuration", args: []string{"help"}, code: exitDone, out: "deny 203.0.113.7 4h: block a source"},
		{name: "help for a verb", args: []string{"help", "deny"}, code: exitDone, out: "denylist"},
		{name: "help for an alias", args: []string{"help", "ban"}, code: exitDone, out: "denylist"},
		{name: "--help behind a verb", args: []string{"deny", "--help"}, code: exitDone, out: "denylist"},
		{name: "-h behind words", args: []string{"deny", "203.0.113.7", "-h"}, code: exitDone, out: "denylist"},
		{name: "help for a program", args: []string{"help", "serve"}, code: exitDone, out: "--config=FILE"},
		{name: "--help behind a program", args: []string{"demo", "--help"}, code: exitDone, out: "--listen"},
		{name: "help for no verb", args: []string{"help", "dney"}, code: exitUsage, err: "did you mean deny?"},
		{name: "no verb", args: []string{"dney", "203.0.113.7"}, code: exitUsage, err: "did you mean deny?"},
		{name: "no verb at all like it", args: []string{"frobnicate"}, code: exitUsage, err: "Unknown command: frobnicate"},
		{name: "a program's unknown option", args: []string{"serve", "--confg", "x"}, code: exitUsage, err: "unknown flag --confg, did you mean \"--config\"?; wafbot serve --help says more"},
		{name: "a program's option without value", args: []string{"serve", "--config"}, code: exitUsage, err: "wafbot: --config needs a value; wafbot serve --help"},
		{name: "a program's extra word", args: []string{"demo", "now"}, code: exitUsage, err: "unexpected argument now"},
		{name: "a speed of 0", args: []string{"demo", "--speed=0"}, code: exitUsage, err: "--speed must be above 0"},
		{name: "a bot that has no address", args: []string{"sandbox", "--deliver", "127.0.0.1:80"}, code: exitUsage, err: "--deliver is no web address"},
		{name: "a line's option without value", args: []string{"status", "--config"}, code: exitUsage, err: "--config needs a file"},
		{name: "a missing configuration", args: []string{"status", "--config", missing}, code: exitUsage, err: "read config: open " + missing},
		{name: "a missing configuration for serve", args: []string{"serve", "--config=" + missing}, code: exitUsage, err: "read config: open " + missing},
		{name: "no configuration", args: []string{"status"}, code: exitUsage, err: "accounts: there is none"},
		{name: "a variable mistyped", environ: []string{"WAFBOT_RESPONDER=U1"}, args: []string{"serve"}, code: exitUsage, err: "WAFBOT_RESPONDER: unknown variable; did you mean \"WAFBOT_RESPONDERS\"?"},
		{name: "a missing file of targets", args: []string{"deny", "--from", missing}, code: exitUsage, err: "read targets: open " + missing},
		{name: "an argument given twice", args: []string{"deny", "for=1h", "for=2h"}, code: exitUsage, err: "Given twice: for="},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := typed(t, tt.environ, tt.args...)
			require.Equal(t, tt.code, got.code, "%+v", got)
			require.Contains(t, got.out, tt.out)
			require.Contains(t, got.err, tt.err)
			if tt.out == "" {
				require.Empty(t, got.out)
			}
			if tt.err == "" {
				require.Empty(t, got.err)
			}
		})
	}
}

func TestServeNamesMissingSecrets(t *testing.T) {
	t.Parallel()
	got := typed(t, []string{"WAFBOT_API_URL=https://api.example.com", "WAFBOT_API_TOKEN=token-of-acme", "WAFBOT_CHANNEL=C0123ABCD"}, "serve")
	require.Equal(t, exitUsage, got.code)
	require.Empty(t, got.out)
	require.Contains(t, got.err, "slack.bot_token: missing")
	require.Contains(t, got.err, "slack.app_token: missing, and slack.signing_secret too")
	require.Contains(t, got.err, "for signed HTTP give WAFBOT_SLACK_SIGNING_SECRET")
	require.NotContains(t, got.err, "token-of-acme")
}

func TestServeOnABusyPort(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	world := openWorld(t)
	got := typed(t, append(world.Env(), "WAFBOT_LISTEN="+busy.Addr().String()), "serve")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "address already in use; set listen (WAFBOT_LISTEN) to a free address")
}

func TestOnlyATerminalIsOne(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	require.False(t, isTerminal(null), "cron gives the null device, which answers nothing")
	require.NoError(t, null.Close())

	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	require.False(t, isTerminal(file))
	require.NoError(t, file.Close())
	require.False(t, isTerminal(file), "closed")

	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.False(t, isTerminal(read))
	require.NoError(t, write.Close())
	require.NoError(t, read.Close())

	if pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err == nil { // where there are such things
		require.True(t, isTerminal(pty))
		require.NoError(t, pty.Close())
	}
}
