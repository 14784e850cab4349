package words

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// AnyAttack is the attack type of a patch that blocks every request that has its part, clean ones too.
const AnyAttack = "any"

// Rule is a rule in words, as Scope says which requests it is for.
func Rule(a *config.Account, r apiclient.Rule) string {
	scope, part := Scope(a, r.Conditions), text.Field(r.Point.String())
	switch {
	case r.Type == apiclient.RuleMode && len(r.Conditions) == 0:
		return fmt.Sprintf("mode %s, the account's own: for %s", text.Field(r.Mode), ModeApp(a, apiclient.AllApps))
	case r.Type == apiclient.RuleMode:
		return fmt.Sprintf("mode %s %s", text.Field(r.Mode), scope)
	case r.Type == apiclient.RuleRegex:
		return fmt.Sprintf("indicator (%s) %s on %s, %s", text.Field(r.AttackType), text.Sanitize(r.Regex, text.MaxPath),
			part, scope)
	case r.Type == apiclient.RulePatch && r.AttackType == AnyAttack:
		return fmt.Sprintf("%s blocks every request that has %s, %s", r.Type, part, scope)
	case r.Type != apiclient.RulePatch:
		return fmt.Sprintf("%s, %s", text.Field(r.Type), scope)
	}
	return fmt.Sprintf("%s %s in %s, %s", r.Type, text.Field(r.AttackType), part, scope)
}

// ModeOf is the application whose whole mode a rule sets; apiclient.AllApps of the account's own, which has no
// conditions.
func ModeOf(r apiclient.Rule) (app int, ok bool) {
	if r.Type != apiclient.RuleMode || len(r.Conditions) > 1 {
		return 0, false
	}
	scope, ok := apiclient.ConditionsScope(r.Conditions)
	return int(scope.App.N), ok && (scope.App.Known || len(r.Conditions) == 0)
}

// ModeRules are the rules that set a mode: the one for exactly this application, and those that have more conditions.
// Of apiclient.AllApps they are the account's own, and all others. Of two for the same the last written wins.
func ModeRules(rules []apiclient.Rule, app int) (own *apiclient.Rule, narrower []apiclient.Rule) {
	for i := range rules {
		rule := &rules[i]
		if rule.Type != apiclient.RuleMode {
			continue
		}
		of, whole := ModeOf(*rule)
		switch {
		case whole && of == app:
			if own == nil || cmp.Or(rule.Updated.Compare(own.Updated), cmp.Compare(rule.ID, own.ID)) > 0 {
				own = rule
			}
		case app == apiclient.AllApps, !whole && partOf(*rule, app):
			narrower = append(narrower, *rule)
		}
	}
	return own, narrower
}

// partOf reports whether a rule is for requests to an application.
func partOf(r apiclient.Rule, app int) bool {
	scope, ok := apiclient.ConditionsScope(r.Conditions)
	return ok && scope.App == apiclient.Known(int64(app))
}

// ModeRuleInForce is the rule that sets an application's mode: its own, or else the account's; nil where neither is
// listed.
func ModeRuleInForce(rules []apiclient.Rule, app int) *apiclient.Rule {
	own, _ := ModeRules(rules, app)
	if own == nil || own.Mode == apiclient.ModeDefault {
		own, _ = ModeRules(rules, apiclient.AllApps)
	}
	return own
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
func ModeApp(a *config.Account, app int) string {
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
func RuleRow(a *config.Account, r apiclient.Rule, made record.Change) text.Text {
	line := text.Newf("`%v`| |%v%v", r.ID, Rule(a, r), ByService(r, ", ", ""))
	switch {
	case !made.DueAt().IsZero():
		return text.Newf("%v|, |made by wafbot for %v (`%v`), until %v", line, made.Actor.Name, made.ID, made.DueAt())
	case made.ID != "":
		return text.Newf("%v|, |made by wafbot for %v (`%v`)", line, made.Actor.Name, made.ID)
	case r.Comment != "":
		return text.Newf("%v| |(%v)", line, text.Sanitize(withoutID(r.Comment), 120))
	}
	return line
}

// Targets names targets, the first three of many.
func Targets(ts []grammar.Target) string {
	return text.Enumerate(ts, 3, func(t grammar.Target) text.Text { return text.New(t.String()) }).String()
}

// Sources are an entry's sources as the grammar writes them.
func Sources(e apiclient.IPRule) string {
	return text.Sanitize(targets(e, ", "), text.MaxPath)
}

func targets(e apiclient.IPRule, between string) string {
	var all []string
	for _, t := range grammar.TargetsOf(e) {
		all = append(all, t.String())
	}
	return strings.Join(all, between)
}

// ListName is an IP list for people.
func ListName(list string) string {
	names := map[string]string{apiclient.ListDeny: "denylist", apiclient.ListAllow: "allowlist",
		apiclient.ListGray: "graylist"}
	return cmp.Or(names[list], "list "+text.Field(list))
}

// ShortEntry says that an entry may hold longer than so short a time; "": the service's console has entries that short.
func ShortEntry(length time.Duration) string {
	if length == grammar.Never || length >= apiclient.ShortestEntry {
		return ""
	}
	return fmt.Sprintf("the service's console lets a list entry live %s at least: this one may hold longer than %s",
		text.Duration(apiclient.ShortestEntry), text.Duration(length))
}

// Until says when an entry ends, with the space before it.
func Until(t time.Time) text.Text {
	switch {
	case t.IsZero():
		return text.New(" (until when, the service doesn't say)")
	case !t.Before(apiclient.Forever):
		return text.New(" forever")
	}
	return text.New(" until ", t)
}

// personIn is the person in a reason that wafbot wrote, with the id that stands there for programs.
var personIn = regexp.MustCompile(`^(wafbot c[0-9a-z]{8} by .*?) \((?:[UW][A-Z0-9]+|cli:[^)\s]*)\)`)

// withoutID is the reason of an entry or rule for people: who made it stands there by name alone.
func withoutID(reason string) string { return personIn.ReplaceAllString(reason, "$1") }

// Author says who made an entry: by its reason, where wafbot names the person, or else its author at the service.
func Author(e apiclient.IPRule) text.Text {
	switch {
	case e.Reason != "":
		return text.Newf(" (%v)", text.Sanitize(withoutID(e.Reason), 120))
	case e.Author != "":
		return text.Newf(" (by %v)", text.Field(e.Author))
	}
	return nil
}
