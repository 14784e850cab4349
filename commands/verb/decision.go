package verb

import (
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// decide is a decision about the request that the line names, unless may, which also says what follows from it,
// refuses. What this very delivery decided before is begun, and was allowed then.
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
	d.Begun = approval.DecidedBefore(c, q, as) && !c.Ask && (as != record.RequestOverridden || c.Actor.Is(q.Asker))
	if d.Begun {
		return d, nil
	}
	return d, err
}
