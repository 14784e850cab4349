package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
)

func blockPath() *call.Command {
	return command(`block-path close: admin
block every request to one path, clean ones too
METHOD: GET, POST, …: only this one is blocked
PLACE: HOST/PATH, exactly; without HOST: this path on every host
for=: how long: 30m, 12h
[app=]: one application by id or name; left out: all that have this path
[attack=]
[reason=]
Example: block-path POST shop.example.com/login for=30m`, call.Command{
		Needs: call.Needs{Rules: call.AllRules}.Always(),
		Plan:  planBlockPath,
	})
}

func planBlockPath(c *call.Call) ([]call.Plan, error) {
	spec, err := change.BlockPath(c)
	if err != nil {
		return nil, err
	}
	return one(spec.Plan(c, c.Line.Keys["for"]))
}
