package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
)

func blockPath() *call.Command {
	return &call.Command{
		Name: "block-path", Aliases: []string{"close"}, Role: record.Admin,
		Summary: "block every request to one path, clean ones too",
		Needs:   call.Needs{Rules: call.AllRules}.Always(),
		Args: []call.Arg{
			{Name: "method", Object: true, Required: true, Help: "GET, POST, …: only this one is blocked"},
			{Name: "place", Object: true, Required: true, Help: "HOST/PATH, exactly; without HOST: this path on every host"},
			{Name: "for", Label: "How long", Required: true, Help: "how long: 30m, 12h", Read: call.ReadDuration, Bare: grammar.IsDuration, Options: form.Lengths},
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
	return one(spec.Plan(c, c.Line.Keys["for"]))
}
