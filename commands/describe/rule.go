package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// AnyAttack is the attack type of a patch that blocks every request that has its part, clean ones too.
const AnyAttack = "any"

// Rule is a rule in words, as Scope says which requests it is for.
func Rule(a *call.Account, r apiclient.Rule) string {
	scope, part := Scope(a, r.Conditions), text.Sanitize(r.Point.String(), text.MaxField)
	switch {
	case r.Type == apiclient.RuleMode:
		return fmt.Sprintf("mode %s %s", text.Sanitize(r.Mode, text.MaxField), scope)
	case r.Type == apiclient.RuleRegex:
		return fmt.Sprintf("indicator (%s) %s on %s, %s", text.Sanitize(r.AttackType, text.MaxField), text.Sanitize(r.Regex, text.MaxPath), part, scope)
	case r.Type == apiclient.RulePatch && r.AttackType == AnyAttack:
		return fmt.Sprintf("%s blocks every request that has %s, %s", r.Type, part, scope)
	case r.Type != apiclient.RulePatch:
		return fmt.Sprintf("%s, %s", text.Sanitize(r.Type, text.MaxField), scope)
	}
	return fmt.Sprintf("%s %s in %s, %s", r.Type, text.Sanitize(r.AttackType, text.MaxField), part, scope)
}

// Scope is which requests a rule is for, in words. It names applications as the account does; without one by their numbers, which don't change with
// the configuration.
func Scope(a *call.Account, conditions []apiclient.Condition) string {
	if len(conditions) == 0 {
		return "everywhere"
	}
	if s, ok := apiclient.ConditionsScope(conditions); ok {
		words := []string{text.Sanitize(s.Method, 10), text.Sanitize(s.Host, text.MaxHost) + text.Sanitize(s.Path, text.MaxPath)}
		switch {
		case s.App.Known && a == nil:
			words = append(words, fmt.Sprintf("app=%d", s.App.N))
		case s.App.Known && s.Host != "":
			words = append(words, "on "+text.Sanitize(a.AppName(s.App), text.MaxField))
		case s.App.Known:
			words = append(words, text.Sanitize(a.AppName(s.App), text.MaxField))
		}
		return "for " + strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	}
	var all []string
	for _, c := range conditions {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", apiclient.Point{c.Point}, c.Type, c.Value)))
	}
	return "where " + text.Sanitize(strings.Join(all, ", "), text.MaxPath)
}

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
	for i := range rules {
		rule := &rules[i]
		if rule.Type != apiclient.RuleMode {
			continue
		}
		scope, ok := apiclient.ConditionsScope(rule.Conditions)
		switch {
		case !ok || scope.App != apiclient.Known(int64(app)):
		case len(rule.Conditions) > 1:
			narrower = append(narrower, *rule)
		case own == nil || rule.Updated.After(own.Updated):
			own = rule
		}
	}
	return own, narrower
}

// AccountModeRule is the rule that sets the mode of all applications without one of their own: it has no conditions. nil: the service lists none.
func AccountModeRule(rules []apiclient.Rule) (of *apiclient.Rule) {
	for i := range rules {
		rule := &rules[i]
		if rule.Type == apiclient.RuleMode && len(rule.Conditions) == 0 && (of == nil || rule.Updated.After(of.Updated)) {
			of = rule
		}
	}
	return of
}

// ModeRuleInForce is the rule that sets an application's mode: its own, or else the account's; nil where neither is listed.
func ModeRuleInForce(rules []apiclient.Rule, app int) *apiclient.Rule {
	if own, _ := ModeRules(rules, app); own != nil && own.Mode != apiclient.ModeDefault {
		return own
	}
	return AccountModeRule(rules)
}

// ModeByRules is the application's mode as its own rule sets it, or else the account's; "" where neither is listed.
func ModeByRules(rules []apiclient.Rule, app int) string {
	if rule := ModeRuleInForce(rules, app); rule != nil && rule.Mode != apiclient.ModeDefault {
		return rule.Mode
	}
	return ""
}

// ModeName is a mode for people.
func ModeName(mode string) string { return cmp.Or(mode, "inherited, not visible") }

// ModeApp is an application in a text about its mode; apiclient.AllApps stands for those that have the account's.
func ModeApp(a *call.Account, app int) string {
	if app == apiclient.AllApps {
		return "all applications without a mode of their own"
	}
	return a.AppName(apiclient.Known(int64(app)))
}

// KnownKind reports whether a rule is of a kind that wafbot knows; a listing holds many more.
func KnownKind(r apiclient.Rule) bool {
	return slices.Contains([]string{apiclient.RulePatch, apiclient.RuleRegex, apiclient.RuleMode}, r.Type)
}

// ByService says that a rule is the service's own, between the given; "" of another.
func ByService(r apiclient.Rule, before, after string) string {
	if r.System {
		return before + "the service's own" + after
	}
	return ""
}

// RuleRow is a rule in one line; made is the change of wafbot's that made it, if one did.
func RuleRow(a *call.Account, r apiclient.Rule, made record.Change) text.Text {
	line := text.New(text.Code(fmt.Sprint(r.ID)), text.Cell(" "), Rule(a, r), ByService(r, ", ", ""))
	switch {
	case !made.DueAt().IsZero():
		return text.New(line, text.Cell(", "), "made by wafbot for ", made.Actor.Name, " (", text.Code(made.ID), "), until ", made.DueAt())
	case made.ID != "":
		return text.New(line, text.Cell(", "), "made by wafbot for ", made.Actor.Name, " (", text.Code(made.ID), ")")
	case r.Comment != "":
		return text.New(line, text.Cell(" "), "(", text.Sanitize(withoutID(r.Comment), 120), ")")
	}
	return line
}
