package describe

import (
	"cmp"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// ModeOf is the application whose mode a step is about.
func ModeOf(s record.Step) (app apiclient.Figure, ok bool) {
	if s.Rule == nil || s.Rule.Type != apiclient.RuleMode {
		return app, false
	}
	scope, ok := apiclient.ConditionsScope(s.Rule.Conditions)
	return scope.App, ok && len(s.Rule.Conditions) == 1
}

// ModeRules are the rules that set a mode: the one for exactly this application, and those that have more conditions.
func ModeRules(rules []apiclient.Rule, app int) (own *apiclient.Rule, narrower []apiclient.Rule) {
	for _, rule := range rules {
		scope, ok := apiclient.ConditionsScope(rule.Conditions)
		if rule.Type != apiclient.RuleMode || !ok || scope.App != apiclient.Known(int64(app)) {
			continue
		}
		if len(rule.Conditions) > 1 {
			narrower = append(narrower, rule)
		} else if own == nil || rule.Updated.After(own.Updated) {
			own = &rule
		}
	}
	return own, narrower
}

// ModeByRules is the application's mode as its own rule sets it; "" where it is inherited, which the service does not show.
func ModeByRules(rules []apiclient.Rule, app int) string {
	if own, _ := ModeRules(rules, app); own != nil && own.Mode != apiclient.ModeDefault {
		return own.Mode
	}
	return ""
}

// ModeName is a mode for people.
func ModeName(mode string) string { return cmp.Or(mode, "inherited, not visible") }

// ModeApp is an application in a text about its mode: others have that of the default one.
func ModeApp(a *call.Account, app int) string {
	name := a.AppName(apiclient.Known(int64(app)))
	if app == apiclient.DefaultApp {
		name += " and all that inherit its mode"
	}
	return name
}
