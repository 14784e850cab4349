package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// modes are the filtration modes from mild to strict.
var modes = []string{apiclient.ModeOff, apiclient.ModeMonitoring, apiclient.ModeSafeBlocking, apiclient.ModeBlock}

func mode() *Command {
	return &Command{
		Name: "mode", Role: record.Viewer,
		Summary: "show an application's filtration mode, or switch it for a time",
		Args: []Arg{
			{Name: "app", Object: true, Required: true, Help: "the application's id or name, or app:default", Label: "Application", Read: readApp, Options: configuredApps},
			{Name: "mode", Object: true, Help: "off, monitoring, safe_blocking, block or default", Read: oneOf(append(modes, apiclient.ModeDefault)...), Options: modeOptions},
			argFor(nil), argAttack, argReason,
		},
		Flags:   []string{flagLocked},
		Example: "mode Shop block for=2h",
		Changes: func(l record.Line) bool { return len(l.Words) > 1 },
		Form:    modeForm,
		Read:    showMode, Plan: planMode,
	}
}

// modeRules are the rules that set a mode: the one for exactly this application, and those that have more conditions.
func modeRules(rules []apiclient.Rule, app int) (own *apiclient.Rule, narrower []apiclient.Rule) {
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
	if own, _ := modeRules(rules, app); own != nil && own.Mode != apiclient.ModeDefault {
		return own.Mode
	}
	return ""
}

func showMode(c *Call) (Result, error) {
	app, err := strconv.Atoi(c.Line.Words[0])
	if err != nil {
		return Result{}, fmt.Errorf("read application %q: %w", c.Line.Words[0], err)
	}
	rules, err := c.given().Rules(apiclient.RuleFilter{})
	if err != nil {
		return Result{}, forPeople(err)
	}
	mode := ModeByRules(rules, app)
	name := c.Account.AppName(apiclient.Known(int64(app)))
	lines := []text.Text{text.New("Mode of ", name, " by rules: ", text.Bold(modeName(mode)), " (a node's own setting can override it)")}
	_, narrower := modeRules(rules, app)
	for _, rule := range narrower {
		lines = append(lines, text.New("• for a part of it: ", ruleText(rule), ", rule ", text.Code(fmt.Sprint(rule.ID))))
	}
	return Result{Lines: lines, Data: map[string]any{"application": app, "mode": mode}}, nil
}

func modeName(mode string) string { return cmp.Or(mode, "inherited, not visible") }

func planMode(c *Call) ([]Plan, error) {
	app, err := strconv.Atoi(c.Line.Words[0])
	if err != nil {
		return nil, fmt.Errorf("read application %q: %w", c.Line.Words[0], err)
	}
	to := c.Line.Words[1]
	length, err := c.length(c.Line.Keys["for"], c.Policy.modeFor(to))
	if err != nil {
		return nil, err
	}
	rules, err := c.given().Rules(apiclient.RuleFilter{})
	if err != nil {
		return nil, err
	}
	old, narrower := modeRules(rules, app)
	from := ModeByRules(rules, app)
	if err := c.guardMode(app, to); err != nil {
		return nil, err
	}
	name := c.Account.AppName(apiclient.Known(int64(app)))
	p := Plan{
		Line: c.complete(record.Line{Name: "mode", Words: c.Line.Words}, length),
		Does: fmt.Sprintf("Switch %s to %s %s", name, to, lasting(length)), When: ruleWorks, Until: end(c.Now, length), Role: modeRole(from, to),
	}
	if from == to || old != nil && old.Mode == to {
		p.Nothing = text.New(name, " is in mode ", text.Bold(to), " already, ", c.byRule(old.ID))
		return []Plan{p}, nil
	}
	p.Steps = modeSteps(app, to, old)
	p.Warnings = append(modeWarnings(name, from, to, length, narrower), c.locked()...)
	return []Plan{p}, nil
}

// modeSteps switch a mode: the new rule first, so that there is never none.
func modeSteps(app int, to string, old *apiclient.Rule) []record.Step {
	rule := apiclient.Rule{Type: apiclient.RuleMode, Mode: to, Conditions: []apiclient.Condition{
		{Type: "equal", Value: strconv.Itoa(app), Point: []any{"instance"}},
	}}
	steps := []record.Step{{Kind: record.CreateRule, Rule: &rule}}
	if old != nil {
		steps = append(steps, record.Step{Kind: record.DeleteRule, Rule: old})
	}
	return steps
}

func (c *Call) guardMode(app int, to string) error {
	if to == apiclient.ModeOff {
		c.needsSecond(SecondModeOff, text.New("mode off lets everything through"))
	}
	blocks := to == apiclient.ModeBlock || to == apiclient.ModeSafeBlocking
	if blocks && c.Account.Applications[app].CannotBlock {
		return refusal.Guarded(text.New(c.Account.AppName(apiclient.Known(int64(app))), " can't block (", text.Code("can_block: false"), " in the configuration): mode ", to, " would stop nothing. Nothing was done"))
	}
	return nil
}

// modeRole is who may switch: a stricter mode needs a responder, a milder one an admin. From an unknown mode only block is surely not milder.
func modeRole(from, to string) record.Role {
	f, t := slices.Index(modes, from), slices.Index(modes, to)
	if to == apiclient.ModeBlock || f >= 0 && t >= f {
		return record.Responder
	}
	return record.Admin
}

func modeWarnings(name, from, to string, length time.Duration, narrower []apiclient.Rule) []refusal.Warning {
	var ws []refusal.Warning
	until := "until it returns by itself, in " + text.HumanDuration(length)
	if length == grammar.Never {
		until = "until somebody switches it back"
	}
	if to == apiclient.ModeBlock || to == apiclient.ModeSafeBlocking {
		ws = append(ws, refusal.Warning{InDialog: true, Text: text.New("incidents are registered only in monitoring mode: ", until, ", wafbot can't tell you whether an attack on ", name, " worked")})
	}
	if to == apiclient.ModeBlock {
		ws = append(ws, refusal.Warning{InDialog: true, Text: text.New("requests that only look like attacks are blocked too")})
	}
	if modeRole(from, to) == record.Admin {
		now := text.New("milder than now (", from, "): less is blocked ")
		if from == "" {
			now = text.New("the mode now is inherited and not visible: perhaps less is blocked than now, ")
		}
		ws = append(ws, refusal.Warning{Text: text.New(now, lasting(length))})
	}
	if len(narrower) > 0 {
		ws = append(ws, refusal.Warning{Text: text.New("rules that set the mode for parts of it, and stay as they are: ", len(narrower))})
	}
	return ws
}
