package approval

import (
	"slices"
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
