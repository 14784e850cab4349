// Command wafbot brings attacks to Slack and carries out what people decide there. This package holds the flags, the
// wiring and the terminal front end.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/alecthomas/kong"
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/text"
	"github.com/wafbot/wafbot/internal/version"
)

// The exit codes of the contract.
const (
	exitDone   = 0
	exitFailed = 1 // failed, refused, waiting
	exitUsage  = 2 // wrong usage, a bad config, or a question without terminal and without -y
)

// terminal is what main takes from the operating system.
type terminal struct {
	args    []string
	environ []string
	in      io.Reader
	asks    bool // in is a terminal, so that questions can be asked
	out     io.Writer
	err     io.Writer

	hangup chan os.Signal // takes SIGHUP while serve runs; else that ends the process, as when its terminal is closed
	settle time.Duration  // see botOptions
	helped bool           // help was asked for, and printed

	handed *handover            // by the start before this one; nil: there was none
	again  func(handover) error // starts the program again in place; nil: serve ends instead

	libraries func(*slog.Logger) // makes libraries log there, too; nil: they log as they like
}

// log is the program's log as the configuration wants it, for the libraries as well.
func (t *terminal) log(cfg config.Log) *slog.Logger {
	log := logAs(t.err, cfg)
	if t.libraries != nil {
		t.libraries(log)
	}
	return log
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	store.LogCalls()
	context.AfterFunc(ctx, stop) // a second signal ends at once
	handed := takeHandover()
	code := run(ctx, terminal{
		args: os.Args[1:], environ: os.Environ(), in: os.Stdin, asks: isTerminal(os.Stdin), out: os.Stdout, err: os.Stderr,
		hangup: make(chan os.Signal, 1), handed: handed, again: startAgain, libraries: slog.SetDefault,
	})
	stop()
	os.Exit(code)
}

// isTerminal distinguishes a terminal from files, pipes and the null device, which cron and service managers give.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// programs are the commands that run or check the bot. Every other word is a verb of the grammar.
type programs struct {
	Demo       demoCmd       `cmd:"" help:"The whole thing in an emulated world on loopback: open the printed address."`
	Sandbox    sandboxCmd    `cmd:"" help:"The emulated world alone; prints the environment that points a bot at it."`
	Serve      serveCmd      `cmd:"" help:"The bot."`
	Doctor     doctorCmd     `cmd:"" help:"Checks configuration, Slack, accounts and Redis, and says how to fix what is wrong."`
	Config     configCmd     `cmd:"" help:"Checks a configuration (check), shows it as it counts (show), or prints its JSON schema (schema)."`
	Manifest   manifestCmd   `cmd:"" help:"The Slack app manifest as YAML; the link that creates the app goes to standard error."`
	Version    versionCmd    `cmd:"" help:"Version, commit, date and Go version; also --version."`
	Completion completionCmd `cmd:"" help:"What makes bash, zsh or fish complete words: the script goes to standard output."`
}

// run does what the arguments say and returns the exit code. The first word distinguishes a program, which kong parses,
// from a line of the grammar.
func run(ctx context.Context, t terminal) int {
	parser, err := newParser(&t)
	if err != nil {
		return t.fail(misused{err})
	}
	programs := parser.Model.Children
	if len(t.args) == 0 {
		fmt.Fprint(t.err, usage(programs))
		return exitUsage
	}
	switch first := t.args[0]; {
	case first == "-h" || first == "--help":
		fmt.Fprint(t.out, usage(programs))
		return exitDone
	case first == completeWord:
		t.complete(programs, t.args[1:])
		return exitDone
	case first == "--version":
		t.args = []string{"version"}
	case first == "help" && len(t.args) == 2 && named(programs, t.args[1]) != nil:
		t.args = []string{t.args[1], "--help"}
	case named(programs, first) == nil:
		return runLine(ctx, t)
	}
	cmd, err := parser.Parse(t.args)
	switch {
	case t.helped:
		return exitDone
	case err != nil:
		return t.fail(misused{fmt.Errorf("%s; wafbot %s --help says more", plainly(err), t.args[0])})
	}
	cmd.BindTo(ctx, (*context.Context)(nil))
	if err = cmd.Run(&t, t.log(config.Log{})); err == nil || errors.Is(err, context.Canceled) {
		return exitDone
	}
	return t.fail(err)
}

// usage lists the programs, the grammar's lines and their options.
func usage(programs []*kong.Node) string {
	var b strings.Builder
	b.WriteString("wafbot brings attacks to Slack and carries out what people decide there.\n\n")
	row := func(left, right string) { fmt.Fprintf(&b, "  %-26s %s\n", left, right) }
	for _, p := range programs {
		row("wafbot "+p.Name, p.Help)
	}
	row("wafbot help [WORD]", "Explains one of these commands, or lists the bot's.")
	row("wafbot VERB …", "Any command of the bot: status, attacks, deny, undo, audit, …")
	b.WriteString("\nOptions of the last line, anywhere in it before a bare --:\n")
	for _, o := range options() {
		row(o.String(), o.Help)
	}
	b.WriteString("\nExit codes: 0 done; 1 failed or refused, or doctor found something wrong; 2 wrong usage,\na bad configuration, or a question without a terminal to ask.\n")
	return b.String()
}

// newParser parses programs. It doesn't exit after help, so parsing may still fail.
func newParser(t *terminal) (*kong.Kong, error) {
	return kong.New(&programs{}, kong.Name("wafbot"), kong.Writers(t.out, t.err), kong.Exit(func(int) { t.helped = true }))
}

// plainly is kong's error in plain words.
func plainly(err error) string {
	if option, ok := strings.CutSuffix(err.Error(), ` value but got "EOL" (<EOL>)`); ok {
		option, _, _ = strings.Cut(option, ":")
		return option + " needs a value"
	}
	return err.Error()
}

// misused marks an error of usage or of the configuration: exit code 2.
type misused struct{ error }

// Unwrap is the error without the mark.
func (m misused) Unwrap() error { return m.error }

// complain prints an error.
func (t terminal) complain(err error) { t.say("wafbot: " + err.Error()) }

// say prints lines to standard error. It sanitizes them: errors hold what others wrote.
func (t terminal) say(words string) {
	const longest = 10_000 // of a line, in characters
	for line := range strings.SplitSeq(words, "\n") {
		fmt.Fprintln(t.err, text.Sanitize(line, longest))
	}
}

// fail prints an error and returns its exit code.
func (t terminal) fail(err error) int {
	if bad, ok := errors.AsType[*config.Error](err); ok {
		t.say(bad.Error()) // lines that begin with their file, as editors want them
		return exitUsage
	}
	t.complain(err)
	if errors.As(err, &misused{}) {
		return exitUsage
	}
	return exitFailed
}

// versionCmd prints which build this is.
type versionCmd struct{}

// Run prints it in one line.
func (*versionCmd) Run(t *terminal) error {
	_, err := fmt.Fprintln(t.out, version.Get())
	return err
}

// maxLogged is how much of one value a line of the log shows, in characters: an attacker's path may have 100,000, and
// journald cuts lines of 48 kB.
const maxLogged = 1_000

// logAs is the program's log as the configuration wants it, one line an event. Values are sanitized and cut: strangers
// wrote some of them.
func logAs(out io.Writer, cfg config.Log) *slog.Logger {
	level := slog.LevelInfo
	_ = level.UnmarshalText([]byte(cfg.Level)) // which was checked
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: logged}
	var lines slog.Handler = slog.NewTextHandler(out, options)
	if cfg.Format == config.LogJSON {
		lines = slog.NewJSONHandler(out, options)
	}
	return slog.New(ofRequest{lines})
}

// ofRequest names the request that a line is logged for.
type ofRequest struct{ slog.Handler }

// Handle implements slog.Handler.
func (h ofRequest) Handle(ctx context.Context, r slog.Record) error {
	if id := record.RequestOf(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h ofRequest) WithAttrs(all []slog.Attr) slog.Handler {
	return ofRequest{h.Handler.WithAttrs(all)}
}

// WithGroup implements slog.Handler.
func (h ofRequest) WithGroup(name string) slog.Handler { return ofRequest{h.Handler.WithGroup(name)} }

func logged(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string, error, []string:
		a.Value = slog.StringValue(text.Sanitize(fmt.Sprint(v), maxLogged))
	}
	return a
}

// boundMemory sets Go's memory limit to nine tenths of the container's (its cgroup's). Otherwise the heap grows to
// twice what is live before garbage is collected, and the kernel kills wafbot. GOMEMLIMIT in the environment wins.
func boundMemory(log *slog.Logger) {
	limit, err := memlimit.Set()
	switch {
	case errors.Is(err, memlimit.ErrCgroupsNotSupported), errors.Is(err, memlimit.ErrNoCgroup):
	case err != nil:
		log.Warn("memory limit of the container can't be read: set GOMEMLIMIT to nine tenths of it", "err", err)
	case limit < math.MaxInt64:
		log.Info("memory is limited", "bytes", limit)
	}
}
