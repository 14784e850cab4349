package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
)

func contain() *call.Command {
	return &call.Command{
		Name: "contain", Role: record.Responder, Parts: 2, Flags: []string{call.FlagShared, call.FlagLocked},
		Summary: "deny the attack's top source, and patch what it attacks",
		Needs:   call.Needs{Entries: call.AllLists, Rules: call.AllRules}.Always(),
		Args: []call.Arg{
			{Name: "target", Object: true, Read: call.ReadTarget, Help: "the source; left out: the attack's top source"},
			argAttack,
			form.ArgFor(change.Denying.Lasts),
			{
				Name: "patch", Label: "How long the patch lasts", Help: "how long the patch lasts; left out: as configured", Read: call.ReadDuration, Options: form.LengthsOrEver,
				Default: func(c *call.Call) string { return form.LengthOn(c, policy.Policy.PatchFor) },
			},
			form.ArgReason,
		},
		Example: "contain attack=ak7q2m9xw for=4h",
		Plan:    planContain,
	}
}

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
