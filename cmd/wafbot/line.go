package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
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

// lineOptions are the options of a line, and what was read for them.
type lineOptions struct {
	grammar.Given
	targets targets        // those of the file
	zone    *time.Location // for times in answers
	audit   *bytes.Buffer  // what wafbot printed of its audit log, for after the answer
}

// runLine runs one command of the bot, with the same words, roles, guards and audit as in Slack.
func runLine(ctx context.Context, t terminal) int {
	line, given, err := grammar.ParseArgs(t.args, options()...)
	o := lineOptions{Given: given, zone: time.UTC, audit: &bytes.Buffer{}}
	if err != nil {
		return t.refuse(o, err)
	}
	if o.Has(optHelp) || line.Name == "help" {
		return t.help(o, line)
	}
	if _, err := verb.Help(line.Name); err != nil {
		return t.refuse(o, err) // before the configuration is read: a mistyped verb doesn't depend on it
	}
	if from := o.Given[optFrom]; from != "" {
		if o.targets, err = readTargets(from); err != nil {
			return t.refuse(o, err)
		}
		line.Words = append(line.Words, o.targets.words...)
	}
	cfg, err := config.Load(o.Given[optConfig], t.environ)
	if err != nil {
		return t.refuse(o, misused{err})
	}
	o.zone = cfg.Timezone
	log := t.log(config.Log{Level: "error", Format: cfg.Log.Format})
	a, err := build(cfg, botOptions{log: log, audit: &lineWriter{out: o.audit}, settle: t.settle})
	if err != nil {
		return t.refuse(o, misused{err})
	}
	defer a.Close()
	_ = a.Replicas.Hear(ctx) // for its clock; where Redis is away, the line itself is refused
	if a.runner.Changes(line) {
		a.rebuildFor(ctx, line, t)
	}
	code := t.do(ctx, a, o, call.Invocation{Line: line, Actor: osActor(), ID: rand.Text(), At: a.clocks.Now(), Yes: o.Has(optYes)})
	if !t.asks { // a script keeps it, a person has read the answer
		_, _ = o.audit.WriteTo(t.err)
	}
	return code
}

// do runs a line, after asking for confirmation where the line needs it: first it shows what would be done.
func (t terminal) do(ctx context.Context, a *app, o lineOptions, inv call.Invocation) int {
	inv.Ask = !inv.Yes && a.runner.Confirms(inv.Line)
	res, err := carryOut(ctx, a, inv)
	if errors.Is(err, refusal.ErrAsk) { // also of a line that changes the store alone, or in spite of -y
		if code, ok := t.confirm(ctx, o, err, inv.Yes); !ok {
			return code
		}
		inv.Ask, inv.Anyway = false, true
		res, err = carryOut(ctx, a, inv)
	}
	if err != nil {
		return t.refuse(o, err)
	}
	return t.show(o, res)
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

// targets are the words of a file, and the number of the line where each stands first.
type targets struct {
	file  string
	words []string
	lines map[string]int
}

// readTargets reads a file with targets: words, and comments from # to the end of a line.
func readTargets(file string) (targets, error) {
	t := targets{file: file, lines: map[string]int{}}
	content, err := os.ReadFile(file)
	if err != nil {
		return t, misused{fmt.Errorf("read targets: %w", err)}
	}
	n := 0
	for row := range strings.Lines(strings.TrimPrefix(string(content), "\ufeff")) {
		n++
		row, _, _ = strings.Cut(row, "#")
		for word := range strings.FieldsSeq(row) {
			t.words = append(t.words, word)
			said := text.Sanitize(word, len(word))
			t.lines[said] = cmp.Or(t.lines[said], n)
		}
	}
	if len(t.words) == 0 {
		return t, misused{fmt.Errorf("read targets: %s holds none", file)}
	}
	return t, nil
}

// place is FILE:LINE of the target that a refusal is about; "" if it is about none in the file. A refusal begins with
// what it is about.
func (t targets) place(words text.Text) string {
	about := slices.IndexFunc(words, func(s text.Span) bool { return s.Kind == text.KindCode })
	if about < 0 || t.lines[words[about].Text] == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", t.file, t.lines[words[about].Text])
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

// help explains the line's verb, or the one after the word help.
func (t terminal) help(o lineOptions, line record.Line) int {
	v := line.Name
	if v == "help" && len(line.Words) > 0 {
		v = line.Words[0]
	} else if v == "help" && !o.Has(optHelp) {
		v = ""
	}
	lines, err := verb.Help(v)
	if err != nil {
		return t.refuse(o, err)
	}
	return t.show(o, call.Result{Lines: lines})
}

// show prints a result.
func (t terminal) show(o lineOptions, res call.Result) int {
	code := exitDone
	if res.Outcome == "failed" || res.Outcome == string(record.RequestWaiting) { // nothing was done yet
		code = exitFailed
	}
	switch {
	case res.Stream != nil:
		return t.stream(res.Stream)
	case o.Has(optJSON):
		res.Outcome = cmp.Or(res.Outcome, "done")
		return t.printJSON(res, code)
	case res.Document != "":
		fmt.Fprint(t.out, res.Document)
		return code
	}
	if err := t.printLines(res.Lines, o.zone); err != nil {
		return t.fail(fmt.Errorf("print: %w", err))
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
func (t terminal) refuse(o lineOptions, err error) int {
	refused, ok := errors.AsType[*refusal.Refusal](err)
	switch {
	case ok:
		words := o.targets.place(refused.Text) + refused.Text.In(o.zone)
		if refused.Next != nil {
			words += "\n" + refused.Next.In(o.zone)
		}
		code := exitFailed
		if refused.Kind == refusal.ErrUsage || refused.Kind == refusal.ErrUnknown {
			code = exitUsage
		}
		return t.answer(o, outcomes[refused.Kind], words, code)
	case !o.Has(optJSON):
		o.audit.Reset()
		return t.fail(err)
	case errors.As(err, &misused{}):
		return t.answer(o, "usage", err.Error(), exitUsage)
	}
	return t.answer(o, "failed", err.Error(), exitFailed)
}

// answer prints an outcome other than done.
func (t terminal) answer(o lineOptions, outcome, text string, code int) int {
	o.audit.Reset() // of what was not done the reason alone is shown
	if o.Has(optJSON) {
		return t.printJSON(struct {
			Outcome string `json:"outcome"`
			Error   string `json:"error"`
		}{outcome, text}, code)
	}
	t.complain(errors.New(text))
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
