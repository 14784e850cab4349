package commands

import (
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

// ruleText is a rule in words.
func ruleText(r apiclient.Rule) string {
	scope, part := scopeText(r.Conditions), Visible(r.Point.String(), maxField)
	switch {
	case r.Type == apiclient.RuleMode:
		return fmt.Sprintf("mode %s %s", Visible(r.Mode, maxField), scope)
	case r.Type == apiclient.RuleRegex:
		return fmt.Sprintf("indicator (%s) %s on %s, %s", Visible(r.AttackType, maxField), Visible(r.Regex, maxPath), part, scope)
	case r.Type == apiclient.RulePatch && r.AttackType == anyAttack:
		return fmt.Sprintf("%s blocks every request that has %s, %s", r.Type, part, scope)
	case r.Type != apiclient.RulePatch:
		return fmt.Sprintf("%s, %s", Visible(r.Type, maxField), scope)
	}
	return fmt.Sprintf("%s %s in %s, %s", r.Type, Visible(r.AttackType, maxField), part, scope)
}

// scopeText is which requests a rule is for, in words.
func scopeText(conditions []apiclient.Condition) string {
	if len(conditions) == 0 {
		return "everywhere"
	}
	if s, ok := apiclient.ConditionsScope(conditions); ok {
		words := []string{Visible(s.Method, 10), Visible(s.Host, maxHost) + Visible(s.Path, maxPath)}
		if s.App.Known {
			words = append(words, fmt.Sprintf("app=%d", s.App.N))
		}
		return "for " + strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	}
	var all []string
	for _, c := range conditions {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", apiclient.Point{c.Point}, c.Type, c.Value)))
	}
	return "where " + Visible(strings.Join(all, ", "), maxPath)
}
