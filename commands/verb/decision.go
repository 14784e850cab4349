package verb

import (
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
)

// decide makes the Decide of approve, reject and override: it decides the request that the line names, unless may
// refuses. If this very delivery decided it before, may isn't asked again.
func decide(
	as record.RequestState, may func(*call.Call, record.ApprovalRequest) error,
) func(*call.Call) (call.Decision, error) {
	return func(c *call.Call) (d call.Decision, err error) {
		if as != record.RequestRejected {
			if err := approval.RequireChangesOn(c); err != nil {
				return d, err
			}
		}
		q, err := approval.ByLine(c)
		if err != nil {
			return d, err
		}
		d = call.Decision{Request: q, As: as, Why: c.Line.Keys["reason"], Line: q.Line}
		if as == record.RequestOverridden {
			d.Why = whyAlone(c)
			d.Line = approval.Shorten(q.Line, policy.LongestOverride).With("reason", d.Why)
		}
		d.Begun = approval.DecidedBefore(c, q, as) && !c.Ask && (as != record.RequestOverridden || c.Actor.Is(q.Asker))
		if !d.Begun {
			err = may(c, q)
		}
		return d, err
	}
}
