package commands

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"
)

// minAlone is how many characters a reason for acting alone has at least: somebody will read it in the morning.
const minAlone = 10

func alone() *Command {
	return &Command{
		Name: "alone", Role: Responder,
		Summary: "nobody answers: do alone, for a short time, what you asked a second person for; the leads are told",
		Args:    []Arg{argRequest, {Name: "reason", Required: true, Label: "Why it can't wait", Help: "why it can't wait, in at least 10 characters"}},
		Form:    aloneForm,
		Decide:  doAlone,
	}
}

func doAlone(ctx context.Context, c *Call) (Result, error) {
	if err := c.changesOn(); err != nil {
		return Result{}, err
	}
	q, err := c.requestTyped(ctx)
	if err != nil {
		return Result{}, err
	}
	reason := strings.Join(strings.Fields(c.Line.Keys["reason"]), " ")
	line := q.Line.shortened(c.cfg.Policy.Alone.longest()).With("reason", reason)
	if c.mine(q, RequestAlone) && c.Actor.ID == q.Asker.ID && !c.Ask {
		return c.goOnWith(ctx, q, line)
	}
	if err := c.mayAlone(q); err != nil {
		return Result{}, err
	}
	if utf8.RuneCountInString(reason) < minAlone {
		return Result{}, about(usage(Say("say why it can't wait, in at least ", minAlone, " characters: it is told and kept. Nothing was done")), "reason", "")
	}
	if c.Ask {
		return Result{}, nil // whatever changed since is told when it is done
	}
	return c.carry(ctx, q, RequestAlone, reason, line)
}

// aloneForm says what would be done, and for how long.
func aloneForm(ctx context.Context, c *Call, f *Form) {
	f.Title, f.Submit = "Do it alone", "Do it alone"
	f.relabel("reason", "Why it can't wait", "at least 10 characters: it is told and kept")
	if c.Account == nil || len(c.Line.Words) == 0 {
		return
	}
	q, err := c.requestTyped(ctx)
	if err != nil {
		return
	}
	f.drop("request")
	f.Base.Words = []string{q.ID}
	f.Intro = append(f.Intro, RequestLine(q, c.Now), Say("Without a second person it holds for ", HumanDuration(c.cfg.Policy.Alone.longest()), " at most. It is recorded as done alone, and the channel is told"))
	if refusal := (*Refusal)(nil); errors.As(c.mayAlone(q), &refusal) {
		f.Intro = append(f.Intro, Say(Bold("Not by you, or not now"), ": ", refusal.Text))
	}
}

// mayAlone refuses to do alone what is somebody else's, can't be done alone, or can't yet.
func (c *Call) mayAlone(q Request) error {
	if err := c.undecided(q); err != nil {
		return err
	}
	never := q.neverAlone()
	if never == "" && (q.AloneAt.IsZero() || c.cfg.Policy.Alone.After == 0) {
		never = "nothing is done alone here (policy.alone.after in the configuration)"
	}
	switch {
	case c.Actor.ID != q.Asker.ID:
		return &Refusal{Kind: ErrDenied, Text: Say("only ", Visible(q.Asker.Name, maxField), ", who asked, may do it alone. ", q.WhoDecides(""), ". Nothing was done")}
	case never != "":
		return guarded(Say(never, ". ", q.WhoDecides(""), ". Nothing was done"))
	case c.Now.Before(q.AloneAt):
		return guarded(Say("not before ", q.AloneAt, ": somebody may answer yet. ", q.WhoDecides(""), ". Nothing was done"))
	}
	return nil
}

// shortened is the line with every duration cut to the longest.
func (l Line) shortened(longest time.Duration) Line {
	for _, key := range []string{"for", "patch"} {
		if d, err := parseDuration(l.Keys[key]); err == nil && d > longest {
			l = l.With(key, durationText(longest))
		}
	}
	return l
}
