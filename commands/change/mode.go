package change

import (
	"slices"
	"strconv"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Modes are the filtration modes from mild to strict.
var Modes = []string{apiclient.ModeOff, apiclient.ModeMonitoring, apiclient.ModeSafeBlocking, apiclient.ModeBlock}

// ModeSteps switch a mode: the new rule first, so that there is never none.
func ModeSteps(app int, to string, old *apiclient.Rule) []record.Step {
	rule := apiclient.Rule{Type: apiclient.RuleMode, Mode: to, Conditions: []apiclient.Condition{
		{Type: "equal", Value: strconv.Itoa(app), Point: []any{"instance"}},
	}}
	steps := []record.Step{{Kind: record.CreateRule, Rule: &rule}}
	if old != nil {
		steps = append(steps, record.Step{Kind: record.DeleteRule, Rule: old})
	}
	return steps
}

// GuardMode refuses a mode where it would stop nothing, and notes that mode off needs approval.
func GuardMode(c *call.Call, app int, to string) error {
	if to == apiclient.ModeOff {
		approval.Need(c, policy.ApproveModeOff, text.New("mode off lets everything through"))
	}
	blocks := to == apiclient.ModeBlock || to == apiclient.ModeSafeBlocking
	if blocks && c.Account.Applications[app].CannotBlock {
		return refusal.Guarded(text.New(c.Account.AppName(apiclient.Known(int64(app))), " can't block (", text.Code("can_block: false"), " in the configuration): mode ", to, " would stop nothing. Nothing was done"))
	}
	return nil
}

// ModeRole is who may switch: a stricter mode needs a responder, a milder one an admin. From an unknown mode only block is surely not milder.
func ModeRole(from, to string) record.Role {
	f, t := slices.Index(Modes, from), slices.Index(Modes, to)
	if to == apiclient.ModeBlock || f >= 0 && t >= f {
		return record.Responder
	}
	return record.Admin
}

// ModeWarnings say what a switch of the mode brings, beside what was asked for.
func ModeWarnings(name, from, to string, length time.Duration, narrower []apiclient.Rule) []refusal.Warning {
	var ws []refusal.Warning
	until := "until it returns by itself, in " + text.Duration(length)
	if length == grammar.Never {
		until = "until somebody switches it back"
	}
	if to == apiclient.ModeBlock || to == apiclient.ModeSafeBlocking {
		ws = append(ws, refusal.Warning{InDialog: true, Text: text.New("incidents are registered only in monitoring mode: ", until, ", wafbot can't tell you whether an attack on ", name, " worked")})
	}
	if to == apiclient.ModeBlock {
		ws = append(ws, refusal.Warning{InDialog: true, Text: text.New("requests that only look like attacks are blocked too")})
	}
	if ModeRole(from, to) == record.Admin {
		now := text.New("milder than now (", from, "): less is blocked ")
		if from == "" {
			now = text.New("the mode now is inherited and not visible: perhaps less is blocked than now, ")
		}
		ws = append(ws, refusal.Warning{Text: text.New(now, policy.Lasting(length))})
	}
	if len(narrower) > 0 {
		ws = append(ws, refusal.Warning{Text: text.New("rules that set the mode for parts of it, and stay as they are: ", len(narrower))})
	}
	return ws
}
