package verb

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func rules() *call.Command {
	return &call.Command{
		Name: "rules", Role: record.Viewer, Flags: []string{"all"},
		Summary: "patches, indicators and modes, the last changed first, and which of them wafbot made",
		Args:    []call.Arg{{Name: "condition", Help: "only those of one set of conditions, as conditions numbers them", Read: readNumber}, call.ArgPage},
		Example: "rules condition=5001",
		Read:    readRules,
	}
}

// readNumber takes a number that the service has given.
func readNumber(value string, _ *call.Account) (string, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n <= 0 {
		return "", refusal.Usage(text.New(refusal.Typed(value), " is no number: ", text.Code("rules"), " and ", text.Code("conditions"), " list them"))
	}
	return strconv.FormatInt(n, 10), nil
}

// ruleRow is a rule for programs, with the change of wafbot's that made it.
type ruleRow struct {
	apiclient.Rule
	Change string `json:"change,omitempty"`
}

func readRules(c *call.Call) (call.Result, error) {
	var f apiclient.RuleFilter
	if typed := c.Line.Keys["condition"]; typed != "" {
		var err error
		if f.ConditionID, err = strconv.ParseInt(typed, 10, 64); err != nil {
			return call.Result{}, fmt.Errorf("read condition %q: %w", typed, err)
		}
	}
	all, err := c.Given().Rules(f)
	if err != nil {
		return call.Result{}, refusal.FromService(err)
	}
	var away error
	c.Changes, away = c.Facts(c.Account.Name).Changes()
	makers := change.ChangesByRule(c)
	data, known, others := []ruleRow{}, []apiclient.Rule{}, map[string]int{}
	for _, r := range all {
		data = append(data, ruleRow{r, makers[r.ID].ID})
		if readable(r) {
			known = append(known, r)
		} else {
			others[text.Sanitize(r.Type, text.MaxField)+byService(r, " (", ")")]++
		}
	}
	res, err := listing(c, counted(c, len(all), "rule"), known, func(r apiclient.Rule) text.Text { return ruleLine(r, makers[r.ID]) })
	if err != nil {
		return call.Result{}, err
	}
	res.Data = data
	if away != nil {
		res.Lines = slices.Insert(res.Lines, 1, text.New("Which of them wafbot made is unknown: its store (Redis) can't be reached"))
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(others)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", others[kind], kind))
	}
	if len(kinds) > 0 {
		return res.And(text.New("And ", len(all)-len(known), " of other kinds, which wafbot leaves alone: ", text.Sanitize(strings.Join(kinds, ", "), 300))), nil
	}
	return res, nil
}

// readable reports whether a rule is of a kind that wafbot knows; a listing holds many more.
func readable(r apiclient.Rule) bool {
	return slices.Contains([]string{apiclient.RulePatch, apiclient.RuleRegex, apiclient.RuleMode}, r.Type)
}

// byService says that a rule is the service's own, between the given; "" of another.
func byService(r apiclient.Rule, before, after string) string {
	if r.System {
		return before + "the service's own" + after
	}
	return ""
}

// ruleLine is a rule in one line; made is the change of wafbot's that made it, if one did.
func ruleLine(r apiclient.Rule, made record.Change) text.Text {
	line := text.New(text.Code(fmt.Sprint(r.ID)), " ", describe.Rule(r), byService(r, ", ", ""))
	switch {
	case !made.DueAt().IsZero():
		return text.New(line, ", made by wafbot for ", made.Actor.Name, " (", text.Code(made.ID), "), until ", made.DueAt())
	case made.ID != "":
		return text.New(line, ", made by wafbot for ", made.Actor.Name, " (", text.Code(made.ID), ")")
	case r.Comment != "":
		return text.New(line, " (", text.Sanitize(r.Comment, 120), ")")
	}
	return line
}

func conditions() *call.Command {
	return &call.Command{
		Name: "conditions", Role: record.Viewer, Flags: []string{"all"},
		Summary: "which requests rules are for: sets of conditions, and how many rules each has",
		Args:    []call.Arg{call.ArgPage},
		Read:    readConditions,
	}
}

// conditionRow is a set of conditions for programs.
type conditionRow struct {
	ID         int64                 `json:"id"`
	Conditions []apiclient.Condition `json:"conditions"`
	Rules      int                   `json:"rules"`
}

func readConditions(c *call.Call) (call.Result, error) {
	sets, err := c.Given().Conditions()
	if err != nil {
		return call.Result{}, refusal.FromService(err)
	}
	rules, err := c.Given().Rules(apiclient.RuleFilter{})
	if err != nil {
		return call.Result{}, refusal.FromService(err)
	}
	attached := map[int64]int{}
	for _, r := range rules {
		attached[r.ConditionID]++
	}
	var rows []conditionRow
	for _, s := range sets {
		rows = append(rows, conditionRow{s.ID, s.Conditions, attached[s.ID]})
	}
	return listing(c, counted(c, len(rows), "set", " of conditions"), rows, func(row conditionRow) text.Text {
		return text.New(text.Code(fmt.Sprint(row.ID)), " ", describe.Scope(row.Conditions), ": ", text.Count(row.Rules, "rule"))
	})
}

func deleteRule() *call.Command {
	return &call.Command{
		Name: "delete-rule", Aliases: []string{"unrule"}, Role: record.Admin,
		Summary: "delete a rule",
		Args:    []call.Arg{{Name: "rule", Object: true, Required: true, Help: "the rule's number, as rules shows it", Read: readNumber}, form.ArgAttack, form.ArgReason},
		Plan:    planDeleteRule,
	}
}

func planDeleteRule(c *call.Call) ([]call.Plan, error) {
	rules, err := c.Given().Rules(apiclient.RuleFilter{})
	if err != nil {
		return nil, err
	}
	typed := c.Line.Words[0]
	i := slices.IndexFunc(rules, func(r apiclient.Rule) bool { return fmt.Sprint(r.ID) == typed })
	if i < 0 {
		return nil, refusal.Nothing(text.New("there is no rule ", text.Code(typed), ": ", text.Code("rules"), " lists them. Nothing was sent"))
	}
	rule := rules[i]
	if err := deletable(rule); err != nil {
		return nil, err
	}
	made, ours := change.ChangesByRule(c)[rule.ID]
	p := call.Plan{
		Line: change.About(c, record.Line{Name: "delete-rule", Words: []string{typed}}),
		Does: fmt.Sprintf("Delete rule %s: %s", typed, describe.Rule(rule)), When: describe.RuleWorks, Steps: []record.Step{{Kind: record.DeleteRule, Rule: &rule}},
	}
	if !ours {
		p.Warnings = append(p.Warnings, refusal.Warning{Text: text.New("wafbot did not make this rule: ", ruleLine(rule, made))})
	}
	if words := modeAfter(c.Account, slices.Delete(slices.Clone(rules), i, i+1), rule); words != nil {
		if ours {
			words = text.New(words, ". ", text.Code("undo "+made.ID), " instead puts back what stood before")
		}
		p.Warnings = append(p.Warnings, refusal.Warning{Text: words})
	}
	return []call.Plan{p}, nil
}

// deletable refuses what is the service's own, and what could not be put back.
func deletable(r apiclient.Rule) error {
	id := strconv.FormatInt(r.ID, 10)
	switch {
	case r.System:
		return refusal.Guarded(text.New("rule ", text.Code(id), " is the service's own (", text.Sanitize(r.Type, text.MaxField), "): wafbot leaves it alone. Nothing was done"))
	case !readable(r) || !apiclient.SameRule(r, r): // a rule with a condition that can't be read is like none, not even itself
		return refusal.Guarded(text.New("rule ", text.Code(id), " (", text.Sanitize(r.Type, text.MaxField), ") is of a kind that wafbot could not put back: delete it in the service's console. Nothing was done"))
	}
	return nil
}

// modeAfter says which mode holds when a rule that sets one is gone; nil for other rules.
func modeAfter(a *call.Account, left []apiclient.Rule, gone apiclient.Rule) text.Text {
	scope, ok := apiclient.ConditionsScope(gone.Conditions)
	if gone.Type != apiclient.RuleMode || !ok || !scope.App.Known {
		return nil
	}
	return text.New("then the mode of ", a.AppName(scope.App), " by rules is ", text.Bold(describe.ModeName(describe.ModeByRules(left, int(scope.App.N)))))
}

func mode() *call.Command {
	return &call.Command{
		Name: "mode", Role: record.Viewer,
		Summary: "show an application's filtration mode, or switch it for a time",
		Args: []call.Arg{
			{Name: "app", Object: true, Required: true, Help: "the application's id or name, or app:default", Label: "Application", Read: call.ReadApp, Options: form.ConfiguredApps},
			{Name: "mode", Object: true, Help: "off, monitoring, safe_blocking, block or default", Read: call.OneOf(append(change.Modes, apiclient.ModeDefault)...), Options: form.ModeOptions},
			form.ArgFor(nil), form.ArgAttack, form.ArgReason,
		},
		Flags:   []string{call.FlagLocked},
		Example: "mode Shop block for=2h",
		Changes: func(l record.Line) bool { return len(l.Words) > 1 },
		Form:    form.ModeForm,
		Read:    report.ShowMode, Plan: planMode,
	}
}

func planMode(c *call.Call) ([]call.Plan, error) {
	app, err := strconv.Atoi(c.Line.Words[0])
	if err != nil {
		return nil, fmt.Errorf("read application %q: %w", c.Line.Words[0], err)
	}
	to := c.Line.Words[1]
	length, err := change.Length(c, c.Line.Keys["for"], c.Policy.ModeFor(to))
	if err != nil {
		return nil, err
	}
	rules, err := c.Given().Rules(apiclient.RuleFilter{})
	if err != nil {
		return nil, err
	}
	old, narrower := describe.ModeRules(rules, app)
	from := describe.ModeByRules(rules, app)
	if err := change.GuardMode(c, app, to); err != nil {
		return nil, err
	}
	name := c.Account.AppName(apiclient.Known(int64(app)))
	p := change.ForTime(c, record.Line{Name: "mode", Words: c.Line.Words}, fmt.Sprintf("Switch %s to %s", name, to), length)
	p.Role = change.ModeRole(from, to)
	if from == to || old != nil && old.Mode == to {
		p.Nothing = text.New(name, " is in mode ", text.Bold(to), " already, ", change.ByRule(c, old.ID))
		return []call.Plan{p}, nil
	}
	p.Steps = change.ModeSteps(app, to, old, rules)
	p.Warnings = append(change.ModeWarnings(name, from, to, length, narrower), change.LockedWarnings(c)...)
	return []call.Plan{p}, nil
}
