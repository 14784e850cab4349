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
		Decide:  approveRequest,
	}
}

func approveRequest(c *call.Call) (call.Decision, error) {
	if err := approval.RequireChangesOn(c); err != nil {
		return call.Decision{}, err
	}
	q, err := approval.ByLine(c)
	if err != nil {
		return call.Decision{}, err
	}
	d := call.Decision{Request: q, As: record.RequestApproved, Line: q.Line}
	if d.Begun = approval.DecidedBefore(c, q, record.RequestApproved) && !c.Ask; d.Begun {
		return d, nil
	}
	return d, approval.MayApprove(c, q)
}

func reject() *call.Command {
	return &call.Command{
		Name: "reject", Role: record.Responder,
		Summary: "reject what another user asked for",
		Args:    []call.Arg{argRequest, {Name: "reason", Help: "why, for the one who asked and the audit log"}},
		Decide:  rejectRequest,
	}
}

func rejectRequest(c *call.Call) (call.Decision, error) {
	q, err := approval.ByLine(c)
	if err != nil {
		return call.Decision{}, err
	}
	d := call.Decision{Request: q, As: record.RequestRejected, Why: c.Line.Keys["reason"]}
	if d.Begun = approval.DecidedBefore(c, q, record.RequestRejected); d.Begun {
		return d, nil
	}
	return d, approval.MayApprove(c, q)
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
	if err := approval.RequireChangesOn(c); err != nil {
		return call.Decision{}, err
	}
	q, err := approval.ByLine(c)
	if err != nil {
		return call.Decision{}, err
	}
	reason := strings.Join(strings.Fields(c.Line.Keys["reason"]), " ")
	line := approval.Shorten(q.Line, c.Policy.Override.AtMost()).With("reason", reason)
	if approval.DecidedBefore(c, q, record.RequestOverridden) && c.Actor.ID == q.Asker.ID && !c.Ask {
		return call.Decision{Request: q, As: record.RequestOverridden, Line: line, Begun: true}, nil
	}
	if err := approval.MayOverride(c, q); err != nil {
		return call.Decision{}, err
	}
	if utf8.RuneCountInString(reason) < approval.MinOverrideReason {
		return call.Decision{}, refusal.About(refusal.Usage(text.New("say why it can't wait, in at least ", approval.MinOverrideReason, " characters: it is posted and kept. Nothing was done")), "reason", "")
	}
	return call.Decision{Request: q, As: record.RequestOverridden, Why: reason, Line: line}, nil
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
