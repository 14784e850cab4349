package verb

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// readMode takes a mode, also as people call it.
func readMode(value string, _ *config.Account) (string, error) {
	mode := strings.ReplaceAll(strings.ToLower(value), "-", "_")
	switch mode {
	case "blocking":
		mode = apiclient.ModeBlock
	case "monitor":
		mode = apiclient.ModeMonitoring
	case "safe":
		mode = apiclient.ModeSafeBlocking
	}
	if known := append(slices.Clone(change.Modes), apiclient.ModeDefault); !slices.Contains(known, mode) {
		return "", refusal.Invalid("mode", value, apiclient.ModeBlock, "One of ", strings.Join(known, ", "))
	}
	return mode, nil
}

func planMode(c *call.Call) ([]call.Plan, error) {
	app, err := call.ModeApp(c.Line.Words[0])
	if err != nil {
		return nil, err
	}
	to := c.Line.Words[1]
	length, err := change.Length(c, c.Line.Keys["for"], c.Policy.ModeFor(to))
	if err != nil {
		return nil, err
	}
	rules, err := c.Facts.Rules.Get()
	if err != nil {
		return nil, err
	}
	old, narrower := words.ModeRules(rules, app)
	from, by := words.ModeByRules(rules, app), words.ModeRuleInForce(rules, app)
	if err := change.GuardMode(c, app, to); err != nil {
		return nil, err
	}
	name := words.ModeApp(c.Account, app)
	p := change.ForTime(c, record.Line{Name: "mode", Words: c.Line.Words},
		fmt.Sprintf("Switch %s to %s", name, to), length)
	p.Role = change.ModeRole(from, to)
	if old != nil && old.Mode == to { // also default
		by, from = old, to
	}
	if from == to {
		is := text.New(name, " is in mode ")
		if app == apiclient.AllApps {
			is = text.New("the account's own mode is ")
		}
		p.Nothing = text.Newf("%v*%v* already, %v", is, to, change.ByRule(c, by.ID))
		return []call.Plan{p}, nil
	}
	if p.Steps, err = change.ModeSteps(app, to, rules); err != nil {
		return nil, err
	}
	p.Warnings = append(change.ModeWarnings(name, from, to, length, narrower), change.LockedWarnings(c)...)
	return []call.Plan{p}, nil
}

// switchesMode reports whether a line does more than show the mode.
func switchesMode(l record.Line) bool { return len(l.Words) > 1 }
