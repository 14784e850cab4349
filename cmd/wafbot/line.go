package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// The terminal's options of a line, by name.
const (
	optConfig = "config"
	optJSON   = "json"
	optYes    = "yes"
	optFrom   = "from"
	optHelp   = "help"
)

// options are the terminal's options of a line, in the order of the usage text. The grammar takes them out of the line.
func options() []grammar.Option {
	return []grammar.Option{
		{Name: optConfig, Value: "FILE", Help: "the configuration; left out: WAFBOT_CONFIG, else the environment alone"},
		{Name: optJSON, Help: "for programs: {outcome, lines, changes, data}, or {outcome, error}"},
		{Name: optYes, Short: "y", Help: "don't ask before changing something"},
		{Name: optFrom, Value: "FILE", Help: "take targets from a file as well, one a line"},
		{Name: optHelp, Short: "h", Help: "explain the verb"},
	}
}

// typedLine is a line at the terminal: its options, and what was read for them.
type typedLine struct {
	terminal
	grammar.Given
	file  string         // with targets
	lines map[string]int // of that file, where each target stands first
	zone  *time.Location // for times in answers
}

// runLine runs one command of the bot, with the same words, roles, guards and audit as in Slack.
func runLine(ctx context.Context, t terminal) int {
	line, given, err := grammar.ParseArgs(t.args, options()...)
	l := typedLine{terminal: t, Given: given, zone: time.UTC}
	if err != nil {
		return l.refuse(err)
	}
	if l.Has(optHelp) || line.Name == "help" {
		return l.help(line)
	}
	if _, err := verb.Help(line.Name); err != nil {
		return l.refuse(err) // before the configuration is read: a mistyped verb doesn't depend on it
	}
	if from := given[optFrom]; from != "" {
		words, err := l.readTargets(from)
		if err != nil {
			return l.refuse(misused{fmt.Errorf("read targets: %w", err)})
		}
		line.Words = append(line.Words, words...)
	}
	cfg, err := config.Load(given[optConfig], t.environ)
	if err != nil {
		return l.refuse(misused{err})
	}
	l.zone = cfg.Timezone
	log := t.log(config.Log{Level: "error", Format: cfg.Log.Format})
	a, err := build(cfg, botOptions{log: log, audit: &lineWriter{out: io.Discard}, settle: t.settle})
	if err != nil {
		return l.refuse(misused{err})
	}
	defer a.Close()
	_ = a.Replicas.Hear(ctx) // for its clock; where Redis is away, the line itself is refused
	if a.runner.Changes(line) {
		a.rebuildFor(ctx, line, t)
	}
	return l.do(ctx, a, call.Invocation{Line: line, Actor: osActor(), ID: rand.Text(), At: a.clocks.Now(),
		Yes: l.Has(optYes)})
}

// do runs a line, after asking for confirmation where the line needs it: first it shows what would be done.
func (l typedLine) do(ctx context.Context, a *app, inv call.Invocation) int {
	inv.Ask = !inv.Yes && a.runner.Confirms(inv.Line)
	res, err := carryOut(ctx, a, inv)
	if errors.Is(err, refusal.ErrAsk) { // also of a line that changes the store alone, or in spite of -y
		if code := l.confirm(ctx, err, inv.Yes); code != exitDone {
			return code
		}
		inv.Ask, inv.Anyway = false, true
		res, err = carryOut(ctx, a, inv)
	}
	if err != nil {
		return l.refuse(err)
	}
	return l.show(res)
}

// carryOut runs a line, unless it changes something and can't hear whether changes are switched off: since it was asked
// about they may have been.
func carryOut(ctx context.Context, a *app, inv call.Invocation) (call.Result, error) {
	if err := a.Replicas.Hear(ctx); err != nil && a.runner.Changes(inv.Line) {
		return call.Result{}, refusal.Away(err)
	}
	res, err := a.runner.Do(ctx, inv)
	return res, a.forPeople(ctx, inv, err)
}

// forPeople logs a fault, and puts words in its place that say under which reference.
func (a *app) forPeople(ctx context.Context, inv call.Invocation, err error) error {
	words, fault := call.ForPeople(inv, err)
	switch {
	case err == nil || !fault:
		return err
	case ctx.Err() != nil:
		return errors.New("stopped before there was an answer: look at wafbot status before you try it again")
	}
	a.log.ErrorContext(record.WithRequest(ctx, inv.RequestID()), "carry out request", "err", err)
	return errors.New(words.String())
}

// readTargets reads a file with targets: words, and comments from # to the end of a line.
func (l *typedLine) readTargets(file string) (words []string, err error) {
	l.file, l.lines = file, map[string]int{}
	content, err := os.ReadFile(file)
	n := 0
	for row := range strings.Lines(strings.TrimPrefix(string(content), "\ufeff")) {
		n++
		row, _, _ = strings.Cut(row, "#")
		for word := range strings.FieldsSeq(row) {
			words = append(words, word)
			said := text.Sanitize(word, len(word))
			l.lines[said] = cmp.Or(l.lines[said], n)
		}
	}
	if err == nil && words == nil {
		err = errors.New(file + " holds none")
	}
	return words, err
}

// place is FILE:LINE of the target that a refusal is about; "" if it is about none in the file. A refusal begins with
// what it is about.
func (l typedLine) place(words text.Text) string {
	about := slices.IndexFunc(words, func(s text.Span) bool { return s.Kind == text.KindCode })
	if about < 0 || l.lines[words[about].Text] == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", l.file, l.lines[words[about].Text])
}

// osActor is the user of the operating system, by name or else by number. The environment isn't asked: anyone can set
// it.
func osActor() record.Actor {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	return record.Actor{ID: "cli:" + name, Name: name, Via: record.ViaCLI}
}

// help explains the line's verb, or the one after the word help, and the terminal's options.
func (l typedLine) help(line record.Line) int {
	v := line.Name
	if v == "help" && len(line.Words) > 0 {
		v = line.Words[0]
	} else if v == "help" && !l.Has(optHelp) {
		v = ""
	}
	lines, err := verb.Help(v)
	if err != nil {
		return l.refuse(err)
	}
	lines.Add(text.Lead("At the terminal, anywhere in the line"))
	for _, o := range options() {
		lines.Addf("`%v`: %v", o.String(), o.Help)
	}
	return l.show(call.Result{Lines: lines})
}

// show prints a result.
func (l typedLine) show(res call.Result) int {
	code := exitDone
	if res.Outcome == "failed" || res.Outcome == string(record.RequestWaiting) { // nothing was done yet
		code = exitFailed
	}
	switch {
	case res.Stream != nil:
		return l.stream(res.Stream)
	case l.Has(optJSON):
		res.Outcome = cmp.Or(res.Outcome, "done")
		return l.printJSON(res, code)
	case res.Document != "":
		fmt.Fprint(l.out, res.Document)
		return code
	}
	if err := l.printLines(res.Lines); err != nil {
		return l.fail(fmt.Errorf("print: %w", err))
	}
	return code
}

// outcomes name the refusals for programs.
var outcomes = map[error]string{
	refusal.ErrUsage: "usage", refusal.ErrUnknown: "unknown", refusal.ErrDenied: "refused", refusal.ErrGuarded: "refused",
	refusal.ErrNothing: "nothing", refusal.ErrNeedsApproval: "needs_approval", refusal.ErrAway: "away",
	refusal.ErrService: "failed", refusal.ErrAsk: "asked",
}

// refuse prints why something was not done.
func (l typedLine) refuse(err error) int {
	refused, ok := errors.AsType[*refusal.Refusal](err)
	switch {
	case ok:
		words := l.place(refused.Text) + refused.Text.In(l.zone)
		if refused.Next != nil {
			words += "\n" + refused.Next.In(l.zone)
		}
		code := exitFailed
		if errors.Is(err, refusal.ErrUsage) || errors.Is(err, refusal.ErrUnknown) {
			code = exitUsage
		}
		return l.answer(outcomes[refused.Kind], words, code)
	case !l.Has(optJSON):
		return l.fail(err)
	case errors.As(err, &misused{}):
		return l.answer("usage", err.Error(), exitUsage)
	}
	return l.answer("failed", err.Error(), exitFailed)
}

// answer prints an outcome other than done.
func (l typedLine) answer(outcome, text string, code int) int {
	if l.Has(optJSON) {
		return l.printJSON(struct {
			Outcome string `json:"outcome"`
			Error   string `json:"error"`
		}{outcome, text}, code)
	}
	l.complain(errors.New(text))
	return code
}

func (t terminal) printJSON(v any, code int) int {
	words, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(t.out, "%s\n", text.SanitizeJSON(words))
	}
	if err != nil {
		t.complain(err)
		return exitFailed
	}
	return code
}
