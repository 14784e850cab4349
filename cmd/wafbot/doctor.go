package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wafbot/wafbot/internal/text"
)

// doctorCmd looks whether everything that the bot needs is there. It writes nothing: no message but with --post, and in Redis only a key
// that ends within a minute.
type doctorCmd struct {
	Config string `help:"The configuration file; left out: WAFBOT_CONFIG, else the environment alone." placeholder:"FILE"`
	JSON   bool   `name:"json" help:"Print for programs: {ok, findings: [{check, subject, state, text, mend}]}."`
	Post   bool   `help:"Post a test card to the channel of each route. It mentions nobody."`
}

// How long doctor waits: for one answer, and for all of them.
const (
	answerTimeout = 10 * time.Second
	doctorTimeout = time.Minute
)

// slowAfter is when an answer is late enough to be worth a word.
const slowAfter = 2 * time.Second

// state says how bad a finding is.
type state string

const (
	wrong state = "wrong" // must be mended
	warn  state = "warn"  // works, but perhaps not as meant
	note  state = "note"  // can't be known from here, or merely worth knowing
	good  state = "ok"
)

// rank is how late a state is told.
func (s state) rank() int { return slices.Index([]state{wrong, warn, note, good}, s) }

// finding is what doctor found out about one thing.
type finding struct {
	Check   string `json:"check"`   // what kind of thing: config, redis, slack, scope, channel, people, account, route, post
	Subject string `json:"subject"` // which one, with its id
	State   state  `json:"state"`
	Text    string `json:"text"`
	Mend    string `json:"mend"` // "": nothing to do
}

// shown is the finding safe to print: names come from Slack and from the service.
func (f finding) shown() finding {
	const longest = 1_000
	f.Subject, f.Text, f.Mend = text.Sanitize(f.Subject, longest), text.Sanitize(f.Text, longest), text.Sanitize(f.Mend, longest)
	return f
}

// Run prints the findings, what must be mended first. Its error is that something is wrong.
func (d *doctorCmd) Run(ctx context.Context, t *terminal) error {
	look, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	found := d.examine(look, t)
	if ctx.Err() != nil {
		return errors.New("stopped before everything was looked at")
	}
	for i := range found {
		found[i] = found[i].shown()
	}
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(a.State.rank(), b.State.rank()) })
	bad := 0
	for _, f := range found {
		if f.State == wrong {
			bad++
		}
	}
	if d.JSON {
		t.printJSON(struct {
			OK       bool      `json:"ok"`
			Findings []finding `json:"findings"`
		}{bad == 0, found}, exitDone)
	} else {
		printFindings(t.out, found)
	}
	if bad > 0 {
		return fmt.Errorf("%d %s wrong; mend what is said first, and run doctor again", bad, map[bool]string{true: "thing is", false: "things are"}[bad == 1])
	}
	return nil
}

func printFindings(out io.Writer, found []finding) {
	for _, f := range found {
		label := string(f.State)
		if f.State == wrong {
			label = strings.ToUpper(label)
		}
		fmt.Fprintf(out, "%-5s %s: %s\n", label, strings.TrimSpace(f.Check+" "+f.Subject), f.Text)
		if f.Mend != "" {
			fmt.Fprintf(out, "      → %s\n", f.Mend)
		}
	}
}

// checkup is one run of doctor over a configuration that could be read.
type checkup struct {
	cfg      *Config
	patience time.Duration // for one answer
	post     bool
}

// examine looks at everything at the same time. What fails hides nothing else, and the order doesn't depend on who answers first.
func (d *doctorCmd) examine(ctx context.Context, t *terminal) []finding {
	cfg, err := loadConfig(d.Config, t.environ)
	if err != nil {
		return append(configProblems(err), finding{Check: "config", State: note, Text: "nothing else was looked at: that takes a configuration that can be read"})
	}
	c := checkup{cfg: cfg, patience: cmp.Or(t.patience, answerTimeout), post: d.Post}
	looks := []func(context.Context) []finding{
		func(context.Context) []finding { return c.config() },
		c.redis,
		c.slack,
		c.ingress,
	}
	for i := range cfg.Accounts {
		looks = append(looks, func(ctx context.Context) []finding { return c.account(ctx, i) })
	}
	found := sideBySide(looks, func(look func(context.Context) []finding) []finding { return look(ctx) })
	for i, f := range found {
		found[i].Subject = cmp.Or(cfg.origins.variableOf(f.Subject), cfg.origins.asWritten(f.Subject))
		found[i].Text, found[i].Mend = cfg.origins.asWritten(f.Text), cfg.origins.asWritten(f.Mend)
	}
	return found
}

// sideBySide looks at many things at the same time, and keeps their order.
func sideBySide[T any](things []T, look func(T) []finding) []finding {
	found := make([][]finding, len(things))
	var wg sync.WaitGroup
	for i, thing := range things {
		wg.Go(func() { found[i] = look(thing) })
	}
	wg.Wait()
	return slices.Concat(found...)
}
