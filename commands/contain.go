package commands

import (
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
)

func contain() *Command {
	return &Command{
		Name: "contain", Role: record.Responder, Parts: 2, Flags: []string{flagShared, flagLocked},
		Summary: "deny the attack's top source, and patch the hole behind it",
		Args: []Arg{
			{Name: "target", Object: true, Read: readTarget, Help: "the source; left out: the attack's top source"},
			{Name: "attack", Required: true, Help: argAttack.Help, Options: ongoingAttacks},
			argFor(denying.lasts),
			{
				Name: "patch", Label: "How long the patch lasts", Help: "how long the patch lasts; left out: as configured", Read: readDuration, Options: lengthsOrEver,
				Default: func(c *Call) string { return grammar.DurationText(c.Policy.patchFor()) },
			},
			argReason,
		},
		Example: "contain attack=ak7q2m9xw for=4h",
		Plan:    planContain,
	}
}

func planContain(c *Call) ([]Plan, error) {
	targets, err := c.targets()
	if err != nil {
		return nil, err
	}
	spec, err := patchOfAttack(c)
	if err != nil {
		return nil, err
	}
	denied, err := denying.planFor(c, targets, c.Line.Keys["for"])
	if err != nil {
		return nil, err
	}
	patched, err := spec.plan(c, c.Line.Keys["patch"])
	if err != nil {
		return nil, err
	}
	// The line is complete: run later, it is about the same source, for as long.
	c.Line = c.Line.With("for", denied.Line.Keys["for"]).With("patch", patched.Line.Keys["for"])
	c.Line.Words = denied.Line.Words
	return []Plan{denied, patched}, nil
}
