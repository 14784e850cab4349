package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands"
)

// lineOptions are what a line of the terminal has beside the grammar's words.
type lineOptions struct {
	config string
	from   string // a file with targets
	json   bool
	yes    bool
	words  []string
}

// options takes the terminal's own options out of the arguments. They may stand anywhere before a bare --.
func options(args []string) (o lineOptions, err error) {
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		switch {
		case args[i] == "--":
			o.words = append(o.words, args[i+1:]...)
			return o, nil
		case args[i] == "--json":
			o.json = true
		case args[i] == "-y" || args[i] == "--yes":
			o.yes = true
		case name == "--config" || name == "--from":
			if !hasValue {
				if i++; i == len(args) {
					return o, fmt.Errorf("%s needs a file", name)
				}
				value = args[i]
			}
			if name == "--config" {
				o.config = value
			} else {
				o.from = value
			}
		default:
			o.words = append(o.words, args[i])
		}
	}
	return o, nil
}

// runLine runs one command of the bot, with the same words, roles, guards and audit as in Slack.
func runLine(ctx context.Context, t terminal) int {
	o, err := options(t.args)
	if err != nil {
		fmt.Fprintln(t.err, "wafbot:", err)
		return exitUsage
	}
	line, err := parseLine(o)
	if err != nil {
		return t.refuse(o, time.UTC, err)
	}
	if line.Name == "help" {
		return t.help(o, line)
	}
	cfg, warnings, err := loadConfig(o.config, t.environ)
	if err != nil {
		fmt.Fprintln(t.err, err)
		return exitUsage
	}
	for _, w := range warnings {
		fmt.Fprintln(t.err, "wafbot:", w)
	}
	a, err := build(cfg, slog.New(slog.NewTextHandler(t.err, &slog.HandlerOptions{Level: slog.LevelError})), t.err)
	if err != nil {
		fmt.Fprintln(t.err, "wafbot:", err)
		return exitUsage
	}
	defer a.store.Close()
	clear(a.pollers) // nothing is polled from here
	inv := commands.Invocation{Line: line, Actor: osActor(), ID: rand.Text(), At: time.Now(), Anyway: o.yes}
	if !o.yes && a.runner.Changes(line) {
		if code, ok := t.ask(ctx, a, o, &inv); !ok {
			return code
		}
	}
	res, err := a.runner.Do(ctx, inv)
	if err != nil {
		return t.refuse(o, cfg.Timezone, err)
	}
	return t.show(o, cfg.Timezone, res)
}

// parseLine reads the words, and the targets of a file where --from names one.
func parseLine(o lineOptions) (commands.Line, error) {
	line, err := commands.ParseArgs(o.words)
	if err != nil || o.from == "" {
		return line, err
	}
	text, err := os.ReadFile(o.from)
	if err != nil {
		return line, fmt.Errorf("read targets: %w", err)
	}
	for row := range strings.Lines(string(text)) {
		row, _, _ = strings.Cut(row, "#")
		line.Words = append(line.Words, strings.Fields(row)...)
	}
	return line, nil
}

// osActor is the user of the operating system.
func osActor() commands.Actor {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return commands.Actor{ID: "cli:" + name, Name: name, Via: commands.ViaCLI}
}

// ask shows what would be done and asks for a yes. Without a terminal there is nobody to ask.
func (t terminal) ask(ctx context.Context, a *app, o lineOptions, inv *commands.Invocation) (code int, ok bool) {
	look := *inv
	look.Ask = true
	res, err := a.runner.Do(ctx, look)
	var refusal *commands.Refusal
	if err == nil {
		return t.show(o, a.cfg.Timezone, res), false // nothing to do, or a rehearsal
	}
	if !errors.Is(err, commands.ErrAsk) || !errors.As(err, &refusal) {
		return t.refuse(o, a.cfg.Timezone, err), false
	}
	fmt.Fprintln(t.err, refusal.Text.In(a.cfg.Timezone))
	if !isTerminal(t.in) {
		fmt.Fprintln(t.err, "wafbot: there is no terminal to ask; add -y if that is what you want. Nothing was done")
		return exitUsage, false
	}
	fmt.Fprint(t.err, "Do it? [y/N] ")
	answer, _ := bufio.NewReader(t.in).ReadString('\n')
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		fmt.Fprintln(t.err, "Nothing was done")
		return exitFailed, false
	}
	inv.Anyway = true
	return exitDone, true
}

func isTerminal(f *os.File) bool {
	if f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (t terminal) help(o lineOptions, line commands.Line) int {
	verb := ""
	if len(line.Words) > 0 {
		verb = line.Words[0]
	}
	lines, err := commands.Help(verb)
	if err != nil {
		return t.refuse(o, time.UTC, err)
	}
	return t.show(o, time.UTC, commands.Result{Lines: lines})
}

// show prints a result.
func (t terminal) show(o lineOptions, zone *time.Location, res commands.Result) int {
	if o.json {
		return t.printJSON(res, exitDone)
	}
	for _, l := range res.Lines {
		fmt.Fprintln(t.out, l.In(zone))
	}
	return exitDone
}

// outcomes name the refusals for programs.
var outcomes = []struct {
	kind error
	name string
	code int
}{
	{commands.ErrUsage, "usage", exitUsage},
	{commands.ErrUnknown, "unknown", exitUsage},
	{commands.ErrDenied, "refused", exitFailed},
	{commands.ErrGuarded, "refused", exitFailed},
	{commands.ErrNothing, "nothing", exitFailed},
	{commands.ErrNeedsSecond, "needs_second_person", exitFailed},
	{commands.ErrAway, "away", exitFailed},
	{commands.ErrService, "failed", exitFailed},
	{commands.ErrAsk, "asked", exitFailed},
}

// refuse prints why something was not done.
func (t terminal) refuse(o lineOptions, zone *time.Location, err error) int {
	name, code := "failed", exitFailed
	for _, known := range outcomes {
		if errors.Is(err, known.kind) {
			name, code = known.name, known.code
			break
		}
	}
	text := err.Error()
	var refusal *commands.Refusal
	if errors.As(err, &refusal) {
		text = refusal.Text.In(zone)
	}
	if o.json {
		return t.printJSON(map[string]string{"outcome": name, "error": text}, code)
	}
	fmt.Fprintln(t.err, "wafbot:", text)
	return code
}

func (t terminal) printJSON(v any, code int) int {
	enc := json.NewEncoder(t.out)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		fmt.Fprintln(t.err, "wafbot:", err)
		return exitFailed
	}
	return code
}
