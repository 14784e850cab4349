package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
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

// lineOptions are the terminal's own options of a line.
type lineOptions struct {
	config  string
	from    string   // a file with targets
	logs    []string // files with audit entries that wafbot printed
	json    bool
	yes     bool
	help    bool
	words   []string
	targets targets        // those of the file
	zone    *time.Location // for times in answers
}

// options takes the terminal's own options out of the arguments. They may stand anywhere before a bare --: kong can't parse them, because it takes no
// words after a flag.
func options(args []string) (o lineOptions, err error) {
	o.zone = time.UTC
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
		case args[i] == "-h" || args[i] == "--help":
			o.help = true
		case name == "--config" || name == "--from" || name == "--log":
			if !hasValue {
				if i++; i == len(args) {
					return o, misused{fmt.Errorf("%s needs a file", name)}
				}
				value = args[i]
			}
			switch name {
			case "--config":
				o.config = value
			case "--from":
				o.from = value
			case "--log":
				o.logs = append(o.logs, value)
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
		return t.refuse(o, err)
	}
	line, err := grammar.ParseArgs(o.words)
	if err != nil {
		return t.refuse(o, err)
	}
	if o.help || line.Name == "help" {
		return t.help(o, line)
	}
	if _, err := verb.Help(line.Name); err != nil {
		return t.refuse(o, err) // before the configuration is read: a mistyped verb doesn't depend on it
	}
	if line.Name == "drill" && slices.Contains(line.Flags, "sandbox") {
		return t.sandboxDrill(ctx, o)
	}
	if o.from != "" {
		if o.targets, err = readTargets(o.from); err != nil {
			return t.refuse(o, err)
		}
		line.Words = append(line.Words, o.targets.words...)
	}
	a, err := t.connect(&o)
	if err != nil {
		return t.refuse(o, err)
	}
	defer a.store.Close()
	if a.runner.Changes(line) {
		a.recallFor(ctx, line, t)
	}
	logs, err := t.open(o.logs)
	if err != nil {
		return t.refuse(o, err)
	}
	defer func() { _ = logs.Close() }() // they were only read
	return t.do(ctx, a, o, call.Invocation{Line: line, Actor: osActor(), ID: rand.Text(), At: time.Now(), Anyway: o.yes, Log: logs.reader()})
}

// do runs a line, after asking for confirmation where the line needs it.
func (t terminal) do(ctx context.Context, a *app, o lineOptions, inv call.Invocation) int {
	if !o.yes && a.runner.Confirms(inv.Line) {
		if code, ok := t.ask(ctx, a, o, inv); !ok {
			return code
		}
		inv.Anyway = true
	}
	if isDrill(inv.Line) {
		return t.drill(ctx, a, o, inv)
	}
	res, err := a.runner.Do(ctx, inv)
	if err != nil {
		return t.refuse(o, err)
	}
	return t.show(o, res)
}

// connect puts the bot together from the configuration, for one line.
func (t terminal) connect(o *lineOptions) (*app, error) {
	cfg, err := config.Load(o.config, t.environ)
	if err != nil {
		return nil, misused{err}
	}
	o.zone = cfg.Timezone
	audit := t.err // a script keeps it
	if t.asks {
		audit = io.Discard // a person reads the answer
	}
	a, err := build(cfg, botOptions{log: newLog(t.err, slog.LevelError), audit: audit, settle: t.settle})
	if err != nil {
		return nil, misused{err}
	}
	clear(a.pollers) // nothing is polled from here
	return a, nil
}

// targets are the words of a file, each with the number of its line.
type targets struct {
	file  string
	words []string
	lines []int
}

// readTargets reads a file with targets: words, and comments from # to the end of a line.
func readTargets(file string) (targets, error) {
	t := targets{file: file}
	text, err := os.ReadFile(file)
	if err != nil {
		return t, misused{fmt.Errorf("read targets: %w", err)}
	}
	n := 0
	for row := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		n++
		row, _, _ = strings.Cut(row, "#")
		for word := range strings.FieldsSeq(row) {
			t.words, t.lines = append(t.words, word), append(t.lines, n)
		}
	}
	if len(t.words) == 0 {
		return t, misused{fmt.Errorf("read targets: %s holds none", file)}
	}
	return t, nil
}

// place is FILE:LINE of the target that a refusal is about; "" if it is about none in the file. A refusal begins with what it is about.
func (t targets) place(words text.Text) string {
	about := slices.IndexFunc(words, func(s text.Span) bool { return s.Code != "" })
	if about < 0 {
		return ""
	}
	i := slices.IndexFunc(t.words, func(word string) bool { return text.Sanitize(word, len(word)) == words[about].Code })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", t.file, t.lines[i])
}

// osActor is the user of the operating system, by name or else by number. The environment isn't asked: anyone can set it.
func osActor() record.Actor {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	return record.Actor{ID: "cli:" + name, Name: name, Via: record.ViaCLI}
}

// ask shows what would be done and asks for a yes. Without a terminal it refuses.
func (t terminal) ask(ctx context.Context, a *app, o lineOptions, inv call.Invocation) (code int, yes bool) {
	inv.Ask = true
	res, err := a.runner.Do(ctx, inv)
	if err == nil {
		return t.show(o, res), false // nothing to do, or a dry run
	}
	var refused *refusal.Refusal
	if !errors.Is(err, refusal.ErrAsk) || !errors.As(err, &refused) {
		return t.refuse(o, err), false
	}
	if !t.asks {
		text := refused.Text.In(o.zone)
		return t.answer(o, "asked", text+"\nThere is no terminal to ask: add -y if that is what you want. Nothing was done", exitUsage), false
	}
	fmt.Fprintf(t.err, "%s\nDo it? [y/N] ", refused.Text.In(o.zone))
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(t.readLine(ctx))) {
		return t.answer(o, "asked", "nothing was done", exitFailed), false
	}
	return exitDone, true
}

// readLine reads a typed line until the context ends. The read itself can't be cancelled: it ends with the process.
func (t terminal) readLine(ctx context.Context) string {
	typed := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(t.in).ReadString('\n')
		typed <- strings.TrimSpace(text)
	}()
	select {
	case text := <-typed:
		return text
	case <-ctx.Done():
		fmt.Fprintln(t.err)
		return ""
	}
}

// help explains the line's verb, or the one after the word help.
func (t terminal) help(o lineOptions, line record.Line) int {
	v := line.Name
	if v == "help" && len(line.Words) > 0 {
		v = line.Words[0]
	} else if v == "help" && !o.help {
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
	case o.json:
		res.Outcome = cmp.Or(res.Outcome, "done")
		return t.printJSON(res, code)
	case res.Document != "":
		fmt.Fprint(t.out, res.Document)
		return code
	}
	for _, l := range res.Lines {
		fmt.Fprintln(t.out, l.In(o.zone))
	}
	return code
}

// outcomes name the refusals for programs.
var outcomes = []struct {
	kind error
	name string
	code int
}{
	{refusal.ErrUsage, "usage", exitUsage},
	{refusal.ErrUnknown, "unknown", exitUsage},
	{refusal.ErrDenied, "refused", exitFailed},
	{refusal.ErrGuarded, "refused", exitFailed},
	{refusal.ErrNothing, "nothing", exitFailed},
	{refusal.ErrNeedsApproval, "needs_approval", exitFailed},
	{refusal.ErrAway, "away", exitFailed},
	{refusal.ErrService, "failed", exitFailed},
	{refusal.ErrAsk, "asked", exitFailed},
}

// refuse prints why something was not done.
func (t terminal) refuse(o lineOptions, err error) int {
	for _, known := range outcomes {
		if refusal := (*refusal.Refusal)(nil); errors.Is(err, known.kind) && errors.As(err, &refusal) {
			return t.answer(o, known.name, o.targets.place(refusal.Text)+refusal.Text.In(o.zone), known.code)
		}
	}
	switch {
	case !o.json:
		return t.fail(err)
	case errors.As(err, &misused{}):
		return t.answer(o, "usage", err.Error(), exitUsage)
	}
	return t.answer(o, "failed", err.Error(), exitFailed)
}

// answer prints an outcome other than done.
func (t terminal) answer(o lineOptions, outcome, text string, code int) int {
	if o.json {
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
		_, err = fmt.Fprintf(t.out, "%s\n", text.SeenJSON(words))
	}
	if err != nil {
		t.complain(err)
		return exitFailed
	}
	return code
}
