package verb

import (
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/text"
)

func readPatchType(value string, _ *config.Account) (string, error) {
	value = strings.ToLower(value)
	if value != words.AnyAttack && !apiclient.Patchable(value) {
		return "", refusal.Invalid("type of attack for a patch", value, "sqli", "One of ",
			strings.Join(append(apiclient.PatchTypes(), words.AnyAttack), ", "))
	}
	return value, nil
}

func readPart(value string, _ *config.Account) (string, error) {
	point, err := apiclient.ParsePoint(value)
	if err != nil {
		return "", refusal.Invalid("part of a request", value, "post.form_urlencoded.login", "As ", text.Code("get.q"), ", ",
			text.Code("header.X"), " or ", text.Code("uri"))
	}
	return point.String(), nil
}

// planPatch makes the Plan of a command whose line describes a patch.
func planPatch(said func(*call.Call) (change.Patch, error)) func(*call.Call) ([]call.Plan, error) {
	return func(c *call.Call) ([]call.Plan, error) {
		spec, err := said(c)
		if err != nil {
			return nil, err
		}
		return one(spec.Plan(c, c.Line.Keys["for"]))
	}
}
