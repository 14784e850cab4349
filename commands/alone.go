package commands

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// minAlone is how many characters a reason for acting alone has at least: somebody will read it in the morning.
const minAlone = 10

func alone() *Command {
	return &Command{
		Name: "alone", Role: record.Responder,
		Summary: "no answer: override, for a short time, what you asked approval for; the leads are told",
		Args:    []Arg{argRequest, {Name: "reason", Required: true, Label: "Why it can't wait", Help: "why it can't wait, in at least 10 characters"}},
		Form:    aloneForm,
		Decide:  doAlone,
	}
}

func doAlone(c *Call) (Decision, error) {
	if err := c.changesOn(); err != nil {
		return Decision{}, err
	}
	q, err := c.requestTyped()
	if err != nil {
		return Decision{}, err
	}
	reason := strings.Join(strings.Fields(c.Line.Keys["reason"]), " ")
	line := lineShortened(q.Line, c.Policy.Alone.longest()).With("reason", reason)
	if c.mine(q, record.RequestAlone) && c.Actor.ID == q.Asker.ID && !c.Ask {
		return Decision{Request: q, As: record.RequestAlone, Line: line, Begun: true}, nil
	}
	if err := c.mayAlone(q); err != nil {
		return Decision{}, err
	}
	if utf8.RuneCountInString(reason) < minAlone {
		return Decision{}, refusal.About(refusal.Usage(text.New("say why it can't wait, in at least ", minAlone, " characters: it is told and kept. Nothing was done")), "reason", "")
	}
	return Decision{Request: q, As: record.RequestAlone, Why: reason, Line: line}, nil
}

// aloneForm says what would be done, and for how long.
func aloneForm(c *Call, f *Form) {
	f.Title, f.Submit = "Override", "Override"
	f.relabel("reason", "Why it can't wait", "at least 10 characters: it is told and kept")
	if c.Account == nil || len(c.Line.Words) == 0 {
		return
	}
	q, err := c.requestTyped()
	if err != nil {
		return
	}
	f.drop("request")
	f.Base.Words = []string{q.ID}
	f.Intro = append(f.Intro, RequestLine(q, c.Now), text.New("Without approval it holds for ", text.HumanDuration(c.Policy.Alone.longest()), " at most. It is recorded as done alone, and the channel is told"))
	if refusal := (*refusal.Refusal)(nil); errors.As(c.mayAlone(q), &refusal) {
		f.Intro = append(f.Intro, text.New(text.Bold("Not by you, or not now"), ": ", refusal.Text))
	}
}

// mayAlone refuses to do alone what is somebody else's, can't be done alone, or can't yet.
func (c *Call) mayAlone(q record.ApprovalRequest) error {
	if err := c.undecided(q); err != nil {
		return err
	}
	never := approvalRequestNeverAlone(q)
	if never == "" && (q.AloneAt.IsZero() || c.Policy.Alone.After == 0) {
		never = "nothing is overridden here (policy.approval.override.after in the configuration)"
	}
	switch {
	case c.Actor.ID != q.Asker.ID:
		return &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New("only ", text.Sanitize(q.Asker.Name, text.MaxField), ", who asked, may override. ", ApprovalRequestWhoDecides(q, ""), ". Nothing was done")}
	case never != "":
		return refusal.Guarded(text.New(never, ". ", ApprovalRequestWhoDecides(q, ""), ". Nothing was done"))
	case c.Now.Before(q.AloneAt):
		return refusal.Guarded(text.New("not before ", q.AloneAt, ": somebody may answer yet. ", ApprovalRequestWhoDecides(q, ""), ". Nothing was done"))
	}
	return nil
}

// shortened is the line with every duration cut to the longest.
func lineShortened(l record.Line, longest time.Duration) record.Line {
	for _, key := range []string{"for", "patch"} {
		if d, err := grammar.ParseDuration(l.Keys[key]); err == nil && d > longest {
			l = l.With(key, grammar.DurationText(longest))
		}
	}
	return l
}
