package verb

import (
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// arguments say how an argument is read and filled in, by its name. A command's name before it means that command only.
var arguments = allArguments()

func allArguments() map[string]call.Arg {
	attack := call.Arg{
		Help: "the attack's id, as on its card", Options: form.OngoingAttacks, Needs: func(n *call.Needs) { n.Stored = true },
	}
	undone := attack
	undone.Typed = true
	apps := call.Arg{
		Label: "Applications; none chosen: all", Read: call.ReadApps, Kind: call.FieldMany, Options: form.ConfiguredApps,
	}
	lasts := call.Arg{
		Label: "How long", Help: "how long: 30m, 12h, 7d, 2w; left out: as configured",
		Read: call.ReadDuration, Bare: grammar.IsDuration, Options: form.LengthsOrEver,
	}
	lasting := func(configured func(policy.Policy) time.Duration) call.Arg {
		arg := lasts
		arg.Default = func(c *call.Call) string {
			if c.Account == nil {
				return ""
			}
			return grammar.DurationText(configured(c.Policy))
		}
		return arg
	}
	closed, muted, patched := lasts, lasting(policy.Policy.MuteFor), lasting(policy.Policy.PatchFor)
	closed.Options, muted.Options = form.Lengths, form.Lengths // never forever
	patched.Bare = nil
	blocked := func(part func(method, place string) string) call.Arg {
		return call.Arg{Needs: func(n *call.Needs) { n.Storms = true }, Default: func(c *call.Call) string {
			if c.Attack == nil {
				return ""
			}
			var storm *record.Storm
			for _, s := range c.Facts.Storms.Value {
				if s.ID == c.Attack.ID {
					storm = &s.Storm
				}
			}
			if method, place, ok := change.Blockable(c.Attack.Attack, storm); ok {
				return part(method, place)
			}
			return ""
		}}
	}
	return map[string]call.Arg{
		"app":               {Label: "Application", Read: call.ReadApp, Options: form.ConfiguredApps},
		"deny app":          apps,
		"allow app":         apps,
		"gray app":          apps,
		"mode app":          {Label: "Application", Read: call.ReadModeApp, Options: form.ModeApps},
		"attack":            attack,
		"attack id":         attack,
		"undo attack":       undone,
		"change":            {Options: form.ChangesInForce, Needs: func(n *call.Needs) { n.Changes = true }},
		"condition":         {Read: call.ReadNumber},
		"deny":              {Read: call.OneOf("word", config.DenyNever, config.DenyApproval)},
		"for":               lasts,
		"deny for":          lasting(change.Denying.Lasts),
		"contain for":       lasting(change.Denying.Lasts),
		"allow for":         lasting(change.Allowing.Lasts),
		"gray for":          lasting(change.Graying.Lasts),
		"patch for":         lasting(policy.Policy.PatchFor),
		"indicator for":     lasting(policy.Policy.IndicatorFor),
		"mute for":          muted,
		"block-path for":    closed,
		"block-path method": blocked(func(method, _ string) string { return method }),
		"block-path place":  blocked(func(_, place string) string { return place }),
		"contain patch":     patched,
		"header":            {Read: readHeader},
		"host":              {Read: readHost},
		"remove list":       {Read: call.ReadList, Options: form.Lists},
		"handover message":  {Rest: true, Kind: call.FieldLines},
		"mode": {Read: readMode, Options: form.Modes, // the form says the present one
			Needs: func(n *call.Needs) { n.Rules = call.AllRules }},
		"page":       call.ArgPage,
		"drill page": {Read: call.OneOf("word", "yes")},
		"part":       {Read: readPart},
		"path":       {Read: readPath},
		"reason":     {Help: "why, for the list and the audit log"},
		"regex":      {Read: readRegex},
		"request": {Help: "the request's id, as r7k2m9xw4", Options: form.WaitingRequests,
			Needs: func(n *call.Needs) { n.Approvals = true }},
		"rule":             {Read: call.ReadNumber},
		"since":            {Read: call.ReadDuration, Bare: grammar.IsDuration},
		"trends since":     {Read: readSince, Bare: grammar.IsDuration},
		"source":           {Read: call.ReadRange},
		"unprotect source": {},
		"storm":            {Options: form.StormsGrouped, Needs: func(n *call.Needs) { n.Storms = true }},
		"target":           {Read: call.ReadTarget},
		"protect target":   {Read: call.ReadRange},
		"patch target":     {},
		"note text":        {Rest: true, Kind: call.FieldLines},
		"to":               {Read: call.ReadUser, Bare: call.IsUser, Kind: call.FieldUser},
		"type":             {Read: readType},
		"patch type":       {Read: readPatchType, Options: form.PatchTypes},
		"indicator type": {
			Read: call.OneOf("type", change.MarkScanner, change.MarkPatch), Options: form.Marks, Default: form.MarkChosen,
		},
		"verdict":     {Read: call.OneOf("verdict", "real", "false_positive", "test"), Options: form.Verdicts},
		"audit what":  {Read: call.OneOf("word", "export")},
		"vulns which": {Read: readWhichVulns},
	}
}
