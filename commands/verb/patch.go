package verb

import (
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func patch() *call.Command {
	return &call.Command{
		Name: "patch", Role: record.Responder, Flags: []string{call.FlagLocked},
		Summary: "virtual patch: block one type of attack in exactly one part of the requests to one path",
		Args: []call.Arg{
			{Name: "target", Object: true, Many: true, Help: "[METHOD] HOST/PATH; left out with attack=: the attack's own"},
			form.ArgAttack,
			{Name: "type", Help: "the type of attack: " + strings.Join(apiclient.PatchTypes(), ", "), Read: readPatchType, Options: form.PatchTypes},
			{Name: "part", Help: "the part of the request: get.q, post.form_urlencoded.login, header.X, uri", Read: readPart},
			{Name: "app", Help: "one application by id or name; left out: the attack's, or all", Label: "Application", Read: call.ReadApp, Options: form.ConfiguredApps},
			form.ArgFor(policy.Policy.PatchFor), form.ArgReason,
		},
		Example: "patch POST shop.example.com/login type=sqli part=post.form_urlencoded.login for=7d",
		Missing: form.PatchMisses, Form: form.PatchForm,
		Plan: func(c *call.Call) ([]call.Plan, error) {
			spec, err := change.PatchOf(c)
			if err != nil {
				return nil, err
			}
			return one(spec.Plan(c, c.Line.Keys["for"]))
		},
	}
}

func readPatchType(value string, _ *call.Account) (string, error) {
	value = strings.ToLower(value)
	if value == describe.AnyAttack {
		return "", refusal.Usage(text.New(text.Code(describe.AnyAttack), " blocks every request that has the part, clean ones too: name the type"))
	}
	if !apiclient.Patchable(value) {
		return "", refusal.Usage(text.New("attacks of type ", refusal.Typed(value), " can't be patched: one of ", strings.Join(apiclient.PatchTypes(), ", ")))
	}
	return value, nil
}

func readPart(value string, _ *call.Account) (string, error) {
	point, err := apiclient.ParsePoint(value)
	if err != nil {
		return "", refusal.Usage(text.New(refusal.Typed(value), " is no part of a request: write ", text.Code("get.q"), ", ", text.Code("post.form_urlencoded.login"), ", ", text.Code("header.X"), " or ", text.Code("uri")))
	}
	return point.String(), nil
}

func blockPath() *call.Command {
	return &call.Command{
		Name: "block-path", Aliases: []string{"close"}, Role: record.Admin,
		Summary: "block every request to one path, clean ones too",
		Args: []call.Arg{
			{Name: "method", Object: true, Required: true, Help: "GET, POST, …: only this one is blocked"},
			{Name: "place", Object: true, Required: true, Help: "HOST/PATH, exactly"},
			{Name: "for", Label: "How long", Required: true, Help: "how long: 30m, 12h", Read: call.ReadDuration, Options: form.Lengths},
			{Name: "app", Help: "one application by id or name; left out: all that have this path", Label: "Application", Read: call.ReadApp, Options: form.ConfiguredApps},
			form.ArgAttack, form.ArgReason,
		},
		Example: "block-path POST shop.example.com/login for=30m",
		Plan:    planBlockPath,
	}
}

func planBlockPath(c *call.Call) ([]call.Plan, error) {
	spec, err := change.BlockPath(c)
	if err != nil {
		return nil, err
	}
	approval.Need(c, policy.ApproveBlockPath, text.New("blocking a path blocks every user there"))
	return one(spec.Plan(c, c.Line.Keys["for"]))
}

func contain() *call.Command {
	return &call.Command{
		Name: "contain", Role: record.Responder, Parts: 2, Flags: []string{call.FlagShared, call.FlagLocked},
		Summary: "deny the attack's top source, and patch what it attacks",
		Args: []call.Arg{
			{Name: "target", Object: true, Read: call.ReadTarget, Help: "the source; left out: the attack's top source"},
			argAttack,
			form.ArgFor(change.Denying.Lasts),
			{
				Name: "patch", Label: "How long the patch lasts", Help: "how long the patch lasts; left out: as configured", Read: call.ReadDuration, Options: form.LengthsOrEver,
				Default: func(c *call.Call) string { return grammar.DurationText(c.Policy.PatchFor()) },
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
