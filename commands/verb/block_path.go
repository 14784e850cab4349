package verb

import (
	"fmt"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

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
	length, err := change.Length(c, c.Line.Keys["for"], 0)
	if err != nil {
		return nil, err
	}
	rule, err := spec.Rule()
	if err != nil {
		return nil, refusal.Guarded(text.New("that can't be blocked: ", text.Sanitize(err.Error(), 200), ". Nothing was done"))
	}
	where := describe.Where(apiclient.Attack{Method: spec.Scope.Method, Domain: spec.Scope.Host, Path: spec.Scope.Path})
	line := record.Line{Name: "block-path", Words: []string{spec.Scope.Method, spec.Scope.Host + spec.Scope.Path}}
	on := ""
	if spec.Scope.App.Known {
		line = line.With("app", fmt.Sprint(spec.Scope.App.N))
		on = " on " + c.Account.AppName(spec.Scope.App)
	}
	p, err := change.PlanRule(c, call.Plan{
		Line: change.Complete(c, line, length), When: describe.RuleWorks, Until: change.End(c.Now, length),
		Does: fmt.Sprintf("Block %s%s %s: every request is blocked", where, on, policy.Lasting(length)),
		Warnings: []refusal.Warning{{Text: text.New("no request gets through to ", text.Code(where), " any more, whatever it holds: those of your users neither. It works in every mode but off; ",
			"only allowlisted sources pass")}},
	}, rule, where+" is blocked")
	return []call.Plan{p}, err
}
