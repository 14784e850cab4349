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
	"github.com/wafbot/wafbot/commands/policy"
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
		ID: record.RequestID(c.Account.Name, c.ID), Account: c.Account.Name, Line: c.Line, Needs: c.Needs, Role: c.Cmd.Role, Asker: c.Actor, Reason: c.Line.Keys["reason"],
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
		return n.What == config.ApproveBroad && strings.Contains(n.Why, policy.NeverVisitors) && strings.Contains(whom, policy.NeverVisitors)
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
