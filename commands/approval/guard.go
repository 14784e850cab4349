package approval

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Need notes what the policy requires approval for. Planning goes on, so that all of it is asked for at once.
func Need(c *call.Call, what string, why text.Text) {
	need := record.ApprovalReason{What: what, Why: why.String()}
	if slices.Contains(c.Policy.RequiredFor, what) && !slices.Contains(c.Needs, need) {
		c.Needs = append(c.Needs, need)
	}
}

// GuardSource refuses what hits, or contains, a named source or a range that is never denied. It looks at all of them:
// a range can contain several, and what may be denied with approval can lie in what is never denied.
func GuardSource(c *call.Call, t grammar.Target) error {
	for _, s := range append(c.PolicyNow().Named(), policy.Builtin()...) {
		what := s.HitBy(t)
		if what == nil {
			continue
		}
		if s.Deny != policy.DenyApproval {
			return refusal.Guarded(text.New(what, ", which is never denied. Nothing was done"))
		}
		Need(c, policy.ApproveSource, what)
	}
	return nil
}

// GuardWidth refuses what is wider than the service takes; what is wider than one person may decide on needs a second one.
func GuardWidth(c *call.Call, t grammar.Target) error {
	p := c.Policy
	if t.Kind != apiclient.KindRange {
		Need(c, policy.ApproveBroad, text.New(text.Code(t.String()), " is broad: it hits everybody there, and "+policy.NeverVisitors))
		return nil
	}
	widest, hardest := p.Widest(t)
	if t.Prefix.Bits() < hardest {
		return refusal.Guarded(text.New(text.Code(t.String()), " is wider than the service takes (/", hardest, "). Nothing was done"))
	}
	if t.Prefix.Bits() < widest {
		Need(c, policy.ApproveBroad, text.New(text.Code(t.String()), " is wider than /", widest))
	}
	return nil
}

// GuardDuration refuses what lasts longer than allowed.
func GuardDuration(c *call.Call, d time.Duration) error {
	if d == grammar.Never {
		Need(c, policy.ApproveForever, text.New("it would never end"))
		return nil
	}
	if longest := c.Policy.LongestDuration(); d > longest {
		return refusal.Guarded(text.New(text.Code(grammar.DurationText(d)), " is longer than the longest allowed, ", text.Code(grammar.DurationText(longest)), ". Nothing was done"))
	}
	return nil
}

// GuardProtecting refuses what is so wide that hardly anything could be denied any more, and asks about what is merely wide.
func GuardProtecting(c *call.Call, targets []grammar.Target) error {
	p := call.Plan{Line: c.Line, Does: "Protect " + describe.Targets(targets)}
	for _, t := range targets {
		if !c.Policy.Protectable(t) {
			return refusal.Guarded(text.New(text.Code(t.String()), " is too wide to be protected: nothing in it could ever be denied again, whoever attacks from there. Nothing was changed"))
		}
		if c.Policy.Wide(t) {
			p.Warnings = append(p.Warnings, refusal.Warning{Text: text.New(text.Code(t.String()), " is wide: nothing in it can be denied any more, whoever attacks from there")})
		}
	}
	return RequireConfirmation(c, []call.Plan{p})
}
