package verb

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// argRequest is the approval request that is decided.
var argRequest = call.Arg{Name: "request", Object: true, Required: true, Help: "the request's id, as r7k2m9xw4", Options: form.WaitingRequests}

func approve() *call.Command {
	return &call.Command{
		Name: "approve", Role: record.Responder,
		Summary: "approve what another user asked for",
		Args:    []call.Arg{argRequest},
		Decide: func(c *call.Call) (call.Decision, error) {
			return decide(c, record.RequestApproved, func(d *call.Decision) error {
				d.Line = d.Request.Line
				return approval.MayApprove(c, d.Request)
			})
		},
	}
}

func reject() *call.Command {
	return &call.Command{
		Name: "reject", Role: record.Responder,
		Summary: "reject what another user asked for",
		Args:    []call.Arg{argRequest, {Name: "reason", Help: "why, for the one who asked and the audit log"}},
		Decide: func(c *call.Call) (call.Decision, error) {
			return decide(c, record.RequestRejected, func(d *call.Decision) error {
				d.Why = c.Line.Keys["reason"]
				return approval.MayApprove(c, d.Request)
			})
		},
	}
}

func override() *call.Command {
	return &call.Command{
		Name: "override", Aliases: []string{"alone", "break-glass"}, Role: record.Responder,
		Summary: "no answer: do what you asked approval for, for a short time; the leads are notified",
		Args:    []call.Arg{argRequest, {Name: "reason", Required: true, Label: "Why it can't wait", Help: "why it can't wait, in at least 10 characters"}},
		Form:    overrideForm,
		Decide:  decideOverride,
	}
}

func decideOverride(c *call.Call) (call.Decision, error) {
	return decide(c, record.RequestOverridden, func(d *call.Decision) error {
		d.Why = strings.Join(strings.Fields(c.Line.Keys["reason"]), " ")
		d.Line = approval.Shorten(d.Request.Line, c.Policy.Override.AtMost()).With("reason", d.Why)
		if err := approval.MayOverride(c, d.Request); err != nil {
			return err
		}
		if utf8.RuneCountInString(d.Why) < approval.MinOverrideReason {
			return refusal.About(refusal.Usage(text.New("say why it can't wait, in at least ", approval.MinOverrideReason, " characters: it is posted and kept. Nothing was done")), "reason", "")
		}
		return nil
	})
}

// decide is a decision about the request that the line names, unless may, which also says what follows from it, refuses. What this very
// delivery decided before is begun, and was allowed then.
func decide(c *call.Call, as record.RequestState, may func(d *call.Decision) error) (call.Decision, error) {
	if as != record.RequestRejected {
		if err := approval.RequireChangesOn(c); err != nil {
			return call.Decision{}, err
		}
	}
	q, err := approval.ByLine(c)
	if err != nil {
		return call.Decision{}, err
	}
	d := call.Decision{Request: q, As: as}
	err = may(&d)
	d.Begun = approval.DecidedBefore(c, q, as) && !c.Ask && (as != record.RequestOverridden || c.Actor.ID == q.Asker.ID)
	if d.Begun {
		return d, nil
	}
	return d, err
}

// overrideForm says what would be done, and for how long.
func overrideForm(c *call.Call, f *call.Form) {
	f.Title, f.Submit = "Override", "Override"
	f.Relabel("reason", "Why it can't wait", "at least 10 characters: it is posted and kept")
	if c.Account == nil || len(c.Line.Words) == 0 {
		return
	}
	q, err := approval.ByLine(c)
	if err != nil {
		return
	}
	f.Drop("request")
	f.Base.Words = []string{q.ID}
	f.Intro = append(f.Intro, describe.Approval(q, c.Now), text.New("Without approval it holds for ", text.Duration(c.Policy.Override.AtMost()), " at most. It is recorded as an override, and posted to the channel"))
	if refusal := (*refusal.Refusal)(nil); errors.As(approval.MayOverride(c, q), &refusal) {
		f.Intro = append(f.Intro, text.New(text.Bold("Not by you, or not now"), ": ", refusal.Text))
	}
}
