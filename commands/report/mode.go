package report

import (
	"fmt"
	"strconv"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/text"
)

// ShowMode answers with an application's mode as the rules set it.
func ShowMode(c *call.Call) (res call.Result, err error) {
	app, err := call.ModeApp(c.Line.Words[0])
	if err != nil {
		return res, err
	}
	rules, err := c.Facts.Rules.Get()
	if err != nil {
		return res, refusal.FromService(err)
	}
	mode := words.ModeByRules(rules, app)
	own, narrower := words.ModeRules(rules, app)
	inherited := ""
	if by := words.ModeRuleInForce(rules, app); by != nil && (by != own || app == apiclient.AllApps) {
		inherited = "the account's, by rule " + strconv.FormatInt(by.ID, 10) + "; "
	}
	lines := text.Lines{text.Newf("Mode of %v by rules: *%v* (%va node's own setting can override it)",
		words.ModeApp(c.Account, app), words.ModeName(mode), inherited)}
	for _, rule := range narrower {
		lines.Addf("• for a part of it: %v, rule `%v`", words.Rule(c.Account, rule), fmt.Sprint(rule.ID))
	}
	return call.Result{Lines: lines, Data: map[string]any{"application": app, "mode": mode}}, nil
}
