package describe

import (
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/text"
)

// AnyAttack is the attack type of a patch that blocks every request that has its part, clean ones too.
const AnyAttack = "any"

// Rule is a rule in words.
func Rule(r apiclient.Rule) string {
	scope, part := Scope(r.Conditions), text.Sanitize(r.Point.String(), text.MaxField)
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

// Scope is which requests a rule is for, in words.
func Scope(conditions []apiclient.Condition) string {
	if len(conditions) == 0 {
		return "everywhere"
	}
	if s, ok := apiclient.ConditionsScope(conditions); ok {
		words := []string{text.Sanitize(s.Method, 10), text.Sanitize(s.Host, text.MaxHost) + text.Sanitize(s.Path, text.MaxPath)}
		if s.App.Known {
			words = append(words, fmt.Sprintf("app=%d", s.App.N))
		}
		return "for " + strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	}
	var all []string
	for _, c := range conditions {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", apiclient.Point{c.Point}, c.Type, c.Value)))
	}
	return "where " + text.Sanitize(strings.Join(all, ", "), text.MaxPath)
}
