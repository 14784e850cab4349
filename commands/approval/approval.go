// Package approval says who may do what: roles, sources that are never denied, what needs approval, requests and their
// override.
package approval

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// ChangeID is the id of the change that a plan of the call becomes.
func ChangeID(c *call.Call, p call.Plan, i int) string {
	return record.ChangeID(c.Account.Name, c.ID, cmp.Or(p.Part, strconv.Itoa(i)))
}

// DueAt is when wafbot has to check the request by itself: when the asker may override, when its time is over, or when
// it must have been carried out; zero for never.
func DueAt(r record.ApprovalRequest) time.Time {
	switch {
	case r.InHand():
		return r.DecidedAt.Add(MaxAge)
	case r.State != record.RequestWaiting:
		return time.Time{}
	case !r.OverrideAt.IsZero() && !r.OverrideOpen:
		return r.OverrideAt
	}
	return r.Until
}

// NewRequest is the request for a change that needs approval.
func NewRequest(c *call.Call, plans []call.Plan) record.ApprovalRequest {
	now := c.Now.Truncate(time.Second).UTC() // Redis wakes at whole seconds
	q := record.ApprovalRequest{
		ID: record.RequestID(c.Account.Name, c.ID), Account: c.Account.Name, Line: c.Line, Needs: c.Needs, Role: c.Cmd.Role,
		Asker: c.Actor, Reason: c.Line.Keys["reason"],
		At: now, Until: now.Add(c.Policy.Approval.Timeout), Premise: premiseOf(plans), State: record.RequestWaiting,
		Does: DoesText(plans), AttackID: c.AttackID(),
	}
	if len(plans) == 1 {
		q.Line = plans[0].Line
	}
	for _, p := range toDo(plans) {
		q.Role = max(q.Role, p.Role)
		for _, s := range p.Steps {
			addReach(&q, words.Reach(c.Account, s))
		}
		if p.Until.Before(p.Renews) {
			q.Reach = append(q.Reach, "it is extended while it keeps trying, for "+text.Duration(p.Renews.Sub(now))+" at most")
		}
		for _, n := range p.Notes {
			q.Reach = append(q.Reach, n.String())
		}
		for _, w := range p.Warnings {
			q.Warnings = append(q.Warnings, w.Text.String())
		}
	}
	q.Role = approverRole(c, q.Asker, q.Role)
	if after := c.Policy.Approval.OverrideAfter; after > 0 && after < c.Policy.Approval.Timeout &&
		words.NeverOverridden(q) == "" {
		q.OverrideAt = now.Add(after)
	}
	return q
}

// addReach adds whom it hits, unless that is said already.
func addReach(r *record.ApprovalRequest, whom string) {
	said := func(n record.ApprovalReason) bool {
		return n.What == config.ApproveBroad && strings.Contains(n.Why, policy.NeverVisitors) &&
			strings.Contains(whom, policy.NeverVisitors)
	}
	if whom != "" && !slices.Contains(r.Reach, whom) && !slices.ContainsFunc(r.Needs, said) {
		r.Reach = append(r.Reach, whom)
	}
}

// AuditEntry is the audit entry of what the actor did about a request.
func AuditEntry(c *call.Call, q record.ApprovalRequest, outcome string) record.AuditEntry {
	e := c.AuditEntry(outcome)
	e.Request, e.Attack, e.Why = q.ID, q.AttackID, q.Why
	return e
}

// Unbegun are the plans that haven't started. The others must not mistake their own work for somebody else's.
func Unbegun(c *call.Call, asked *call.Call, plans []call.Plan) (left []call.Plan) {
	for i, p := range plans {
		if record.IndexChange(c.Changes, ChangeID(asked, p, i)) < 0 {
			left = append(left, p)
		}
	}
	return left
}

// joinWords puts "; " between two texts that are there.
func joinWords(a, b string) string { return strings.Trim(a+"; "+b, "; ") }

// toDo are the plans without those that have nothing to do.
func toDo(plans []call.Plan) []call.Plan {
	return slices.DeleteFunc(slices.Clone(plans), func(p call.Plan) bool { return len(p.Nothing) > 0 })
}

// DoesText says what the plans do, without those that have nothing to do.
func DoesText(plans []call.Plan) (does string) {
	for _, p := range toDo(plans) {
		does = joinWords(does, p.Does)
	}
	return does
}

// Reasons is why approval is needed.
func Reasons(needs []record.ApprovalReason) (why string) {
	for _, need := range needs {
		why = joinWords(why, need.Why)
	}
	return why
}

// Note says before the change that it needs approval.
func Note(c *call.Call) text.Text {
	if c.Policy.ChangesNow() != config.ChangesOn {
		return text.New("It would need approval first: ", Reasons(c.Needs))
	}
	return text.Newf("*It needs approval first*: %v. It waits for %v, and nothing is sent before",
		Reasons(c.Needs), text.Duration(c.Policy.Approval.Timeout))
}

// WaitingLines answer who has asked, or asks again.
func WaitingLines(c *call.Call, q record.ApprovalRequest) text.Lines {
	if !q.Waits(c.Now) {
		return text.Lines{words.Approval(q, c.Now)}
	}
	first := text.Newf("*Waiting for approval*: %v. `%v`", q.Does, q.ID)
	if q.ID != record.RequestID(q.Account, c.ID) {
		first.Addf(", asked already by %v at %v", q.Asker.Name, q.At)
	}
	lines := text.Lines{first, text.New("Why: ", Reasons(q.Needs)), words.Deciders(q, c.Policy.Approval.Approvers)}
	if offer := words.OverrideOffer(q, c.Now); offer != nil {
		lines.Addf("%v: `override %v reason=\"…\"`", offer, q.ID)
	}
	return lines
}

// RequireChangesOn refuses to have anything done while changes are not on: a request may have waited since before.
func RequireChangesOn(c *call.Call) error {
	if c.Policy.ChangesNow() == config.ChangesOn {
		return nil
	}
	return refusal.Guarded("changes are not on (`policy.changes`): nothing that was asked for is sent")
}

// ByLine is the request that the line means.
func ByLine(c *call.Call) (q record.ApprovalRequest, err error) {
	all, err := c.Facts.Approvals.Get()
	if err != nil {
		return q, refusal.Away(err)
	}
	typed := c.Line.Words[0]
	found := slices.DeleteFunc(all, func(q record.ApprovalRequest) bool { return !record.MatchID(q.ID, typed) })
	switch len(found) {
	case 0:
		words := text.Newf("Unknown request: `%v`, on %v", text.Field(typed), c.Account.Name)
		if len(c.Accounts) > 1 {
			words.Addf(". One of another account? Add `account=` with one of: %v.", call.AccountNames(c.Accounts))
		} else {
			words.Addf(".")
		}
		return q, refusal.About(refusal.Usage("%v It may be over a week old, or was lost with wafbot's store (Redis): "+
			"ask for the change again", words), "request", "")
	case 1:
		return found[0], nil
	}
	return q, refusal.About(refusal.Usage("Ambiguous id: `%v`. It fits several requests: type more of it",
		text.Field(typed)), "request", "")
}

// requireUndecided refuses to decide what is decided, or too late to be.
func requireUndecided(c *call.Call, q record.ApprovalRequest) error {
	if !q.Waits(c.Now) {
		return refusal.Nothing("%v", words.Approval(q, c.Now))
	}
	if Late(c) {
		return TooLate(c)
	}
	return nil
}

// MayApprove refuses a person who can't approve a request.
func MayApprove(c *call.Call, q record.ApprovalRequest) error {
	if err := requireUndecided(c, q); err != nil {
		return err
	}
	switch {
	case c.Actor.Via == record.ViaCLI:
		return refusal.Denied("the terminal can ask for approval and never give it: decide in Slack")
	case c.Actor.Is(q.Asker), isAtTerminal(c, q.Asker):
		return refusal.Denied("you asked for this yourself: another user has to decide. %v", words.Deciders(q, ""))
	}
	return RequireRole(c, approverRole(c, q.Asker, q.Role))
}

// approverRole is the role that an approver needs for what takes at least that one: where it isn't known who asks at
// the terminal, any responder might be that person.
func approverRole(c *call.Call, asker record.Actor, least record.Role) record.Role {
	if _, slack := policy.TerminalUser(c.Account.Policy, asker); asker.Via == record.ViaCLI && slack == "" {
		return record.Admin
	}
	return least
}

// isAtTerminal reports whether the person is the one who asked at the terminal, by what the configuration says.
func isAtTerminal(c *call.Call, asker record.Actor) bool {
	_, slack := policy.TerminalUser(c.Account.Policy, asker)
	return asker.Via == record.ViaCLI && slack == c.Actor.ID
}

// Decide puts the actor's decision into the request.
func Decide(c *call.Call, q *record.ApprovalRequest, state record.RequestState, why string) {
	q.State, q.Decided, q.DecidedAt, q.Delivery, q.Why = state, new(c.Actor), c.Now, c.ID, why
}

// DecidedBefore reports whether this very delivery decided the request so before, or another did and its outcome isn't
// known. The second one waits for what the first one claimed, or resumes it if that was cut short.
func DecidedBefore(c *call.Call, q record.ApprovalRequest, as record.RequestState) bool {
	return q.State == as && (q.Delivery == c.ID || q.InHand())
}

// MinOverrideReason is how many characters the reason of an override has at least: it is read in the morning.
const MinOverrideReason = 10

// MayOverride refuses to override a request of another person, one that can't be overridden, or one that can't be yet.
func MayOverride(c *call.Call, q record.ApprovalRequest) error {
	if err := requireUndecided(c, q); err != nil {
		return err
	}
	never := words.NeverOverridden(q)
	if never == "" && (q.OverrideAt.IsZero() || c.Policy.Approval.OverrideAfter == 0) {
		never = "nothing is overridden here (policy.approval.override_after in the configuration)"
	}
	switch {
	case !c.Actor.Is(q.Asker):
		return refusal.Denied("only %v, who asked, may override. %v", text.Field(q.Asker.Name), words.Deciders(q, ""))
	case never != "":
		return refusal.Guarded("%v. %v", never, words.Deciders(q, ""))
	case c.Now.Before(q.OverrideAt):
		return refusal.Guarded("not before %v: an approver may answer yet. %v", q.OverrideAt, words.Deciders(q, ""))
	}
	return nil
}

// Shorten is the line with every duration cut to the longest.
func Shorten(l record.Line, longest time.Duration) record.Line {
	for _, key := range []string{"for", "patch"} {
		if d, err := grammar.ParseDuration(l.Keys[key]); err == nil && d > longest {
			l = l.With(key, grammar.DurationText(longest))
		}
	}
	return l
}

// MaxAge is how long after it was asked a change may still be begun: later the world is another one.
const MaxAge = 10 * time.Minute

// Late reports whether the call was asked too long ago for anything to be begun.
func Late(c *call.Call) bool { return !c.Asked.IsZero() && c.Now.Sub(c.Asked) > MaxAge }

// TooLate refuses such a call.
func TooLate(c *call.Call) error {
	return refusal.Guarded("that was asked at %v, over %v ago: nothing was done. Ask again if it is still wanted",
		c.Asked, text.Duration(MaxAge))
}
