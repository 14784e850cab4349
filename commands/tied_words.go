package commands

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// unreadable is a service of which nothing can be read: what is planned over it is what there is to do if nothing stands there yet.
type unreadable struct{ API }

func nothingOf[T any](func(T, error) bool) {}

// Attacks implements AttackReader.
func (unreadable) Attacks(context.Context, apiclient.AttackFilter) iter.Seq2[apiclient.AttackPage, error] {
	return nothingOf[apiclient.AttackPage]
}

// IPRules implements IPLists.
func (unreadable) IPRules(context.Context, apiclient.IPRuleFilter) iter.Seq2[apiclient.IPRule, error] {
	return nothingOf[apiclient.IPRule]
}

// Rules implements RuleSet.
func (unreadable) Rules(context.Context, apiclient.RuleFilter) iter.Seq2[apiclient.Rule, error] {
	return nothingOf[apiclient.Rule]
}

// ConditionSets implements ReadOnly.
func (unreadable) ConditionSets(context.Context) iter.Seq2[apiclient.ConditionSet, error] {
	return nothingOf[apiclient.ConditionSet]
}

// ByHand is a step in words for whoever does it in the service's console.
func (a *Account) ByHand(s Step) Text {
	switch s.Kind {
	case AddEntry:
		reason := s.Entry.Reason
		if ours, rest, ok := strings.Cut(reason, " by "); ok && strings.HasPrefix(ours, "wafbot") {
			reason = "by " + rest // an entry that names a change of wafbot's would be taken for wafbot's own
		}
		return Say("add to the ", listName(s.Entry.List), ": ", Code(names(*s.Entry)), ", ", a.appsText(s.Entry.Apps), ",", untilText(s.Entry.Expires), ", reason ", Code(Visible(reason, maxReason)))
	case DeleteEntry:
		return Say("take off the ", listName(s.Entry.List), ": ", Code(names(*s.Entry)), ", ", a.appsText(s.Entry.Apps))
	case CreateRule:
		if app, ok := modeOf(s); ok {
			return Say("set the mode of ", a.AppName(app), " to ", Code(Visible(s.Rule.Mode, maxField)))
		}
		return Say("create the rule: ", Code(ruleText(*s.Rule)))
	}
	return Say("delete rule ", Code(fmt.Sprint(s.Rule.ID)), ": ", Code(ruleText(*s.Rule)))
}

// modeOf is the application whose mode a step is about.
func modeOf(s Step) (app apiclient.Figure, ok bool) {
	if s.Rule == nil || s.Rule.Type != apiclient.RuleMode {
		return app, false
	}
	scope, ok := apiclient.ConditionsScope(s.Rule.Conditions)
	return scope.App, ok && len(s.Rule.Conditions) == 1
}

// DueLine says what the end of a change would bring, and whether it is late.
func (a *Account) DueLine(ch Change, now time.Time) Text {
	what := Say("The end of ", Bold(ch.Does), " is due")
	if i := slices.IndexFunc(ch.Steps, func(s Step) bool { _, ok := modeOf(s); return ok && s.Kind == CreateRule }); i >= 0 {
		app, _ := modeOf(ch.Steps[i])
		to := "the mode that it inherits"
		if old := slices.IndexFunc(ch.Steps, func(s Step) bool { return s.Kind == DeleteRule && s.Done }); old >= 0 {
			to = Visible(ch.Steps[old].Rule.Mode, maxField)
		}
		what = Say(Bold(a.AppName(app) + " should return to " + to))
	}
	if now.Before(ch.Until) {
		return Say(what, " at ", ch.Until, ": it can't as long as this lasts")
	}
	return Say(what, " at ", ch.Until, ": ", Bold("NOT done"))
}

// DueMeanwhile are the changes that wafbot has to end within the next half day and can't, what comes first first. What was tried already is among
// what was refused.
func (t Tied) DueMeanwhile(changes []Change, now time.Time) []Change {
	due := slices.DeleteFunc(slices.Clone(changes), func(ch Change) bool {
		tried := slices.ContainsFunc(t.Refused, func(r Refused) bool { return r.Ends == ch.ID })
		return tried || ch.DueAt().IsZero() || ch.DueAt().After(now.Add(12*time.Hour)) || !slices.ContainsFunc(powers(ch.Steps), t.lacks)
	})
	slices.SortFunc(due, func(x, y Change) int { return x.DueAt().Compare(y.DueAt()) })
	return due
}

// Cannot is what wafbot can't do, in words.
func (t Tied) Cannot() string {
	if slices.Contains(t.Lacks, PowerAll) || len(t.Lacks) == 0 {
		return string(PowerAll)
	}
	if lists, rules := t.lacks(PowerLists), t.lacks(PowerRules); lists && rules && t.lacks(PowerModes) {
		return string(PowerAll)
	} else if lists && rules {
		return "change IP lists, patches and other rules"
	}
	var words []string
	for _, p := range t.Lacks {
		words = append(words, string(p))
	}
	return strings.Join(words, " or ")
}

// Mend says who can untie wafbot's hands, and where.
func (t Tied) Mend() Text {
	where := map[Power]string{PowerLists: "/v4/ip_rules", PowerModes: "/v1/objects/hint", PowerRules: "/v1/objects/hint"}
	if slices.Contains(t.Lacks, PowerAll) {
		return Say("The service doesn't accept wafbot's token: it was revoked or has expired. Who manages the service's tokens makes a new one; written into the account's ",
			Code("token_file"), " it is read again by itself, anywhere else it needs a restart")
	}
	var may []Text
	for _, p := range t.Lacks {
		may = append(may, Say(string(p), " (", Code(where[p]), ")"))
	}
	return Say("wafbot's token may not ", joined(may, ", nor "), ": an admin of the service can give its user a role that may. Nothing needs a restart")
}

// TryNow is the button, beside a refused change, that asks for it again.
func (t Tied) TryNow(r Refused) Suggestion {
	return Suggestion{
		Label: "Try now", Spoken: "Try now: " + r.Does, Title: "Try it now?", OK: "Try now", Line: r.Line.With("account", t.Account),
		Confirm: Visible(r.Does+". If the service refuses again, nothing changes.", maxConfirm),
	}
}
