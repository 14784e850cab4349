package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
)

func planContain(c *call.Call) ([]call.Plan, error) {
	targets, err := change.Targets(c)
	if err != nil {
		return nil, err
	}
	spec, err := change.PatchOfAttack(c)
	if err != nil {
		return nil, err
	}
	denied, err := change.Denying.PlanFor(c, targets, c.Line.Keys["for"])
	if err != nil {
		return nil, err
	}
	patched, err := spec.Plan(c, c.Line.Keys["patch"])
	if err != nil {
		return nil, err
	}
	// The line is complete: run later, it is about the same source, for as long.
	c.Line = c.Line.With("for", denied.Line.Keys["for"]).With("patch", patched.Line.Keys["for"])
	c.Line.Words = denied.Line.Words
	return []call.Plan{denied, patched}, nil
}
