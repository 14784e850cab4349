package change

import (
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// What an indicator's matches are taken for: an attack, which is blocked where the mode blocks, or one that a virtual
// patch stops.
const (
	MarkScanner = "scanner"
	MarkPatch   = "vpatch"
)

// Length is how long a change is to hold: as typed, else as configured.
func Length(c *call.Call, typed string, configured time.Duration) (time.Duration, error) {
	length, err := lengthTyped(typed, configured)
	if err != nil {
		return length, err
	}
	return length, refusal.About(approval.GuardDuration(c, length), "for", "")
}

func lengthTyped(typed string, configured time.Duration) (time.Duration, error) {
	if typed == "" {
		return configured, nil
	}
	return grammar.ParseDuration(typed)
}

// End is when something that begins now and lasts so long ends, in whole seconds as the service counts; zero for never.
func End(now time.Time, length time.Duration) time.Time {
	if length == grammar.Never {
		return time.Time{}
	}
	return now.Add(length).Truncate(time.Second).UTC()
}

// ForTime is the plan of a change of rules that holds so long from now on, without steps yet. Its line becomes
// complete.
func ForTime(c *call.Call, l record.Line, does string, length time.Duration) call.Plan {
	return call.Plan{
		Line: About(c, l.With("for", grammar.DurationText(length))), Does: does + " " + policy.Lasting(length),
		When: words.RuleWorks, Until: End(c.Now, length),
	}
}

// About is a canonical line with what it is for and why.
func About(c *call.Call, l record.Line) record.Line {
	return l.With("attack", c.Line.Keys["attack"]).With("reason", c.Line.Keys["reason"])
}

// PlanRule reads the rules and adds the step that creates one to the plan, unless one that does the same is there:
// then what is wanted, in words, holds already.
func PlanRule(c *call.Call, p call.Plan, rule apiclient.Rule, holds string) (call.Plan, error) {
	rules, err := c.Facts.Rules.Get()
	if err != nil {
		return call.Plan{}, err
	}
	if same := efficacy.EqualRules(rules, rule); len(same) > 0 {
		p.Nothing = text.New(holds, " already, ", ByRule(c, same[0]))
		return p, nil
	}
	if i := slices.IndexFunc(rules, func(r apiclient.Rule) bool { return apiclient.CoversPatch(r, rule) }); i >= 0 {
		p.Warnings.Addf("rule `%v`, which is wider, covers it already: another one adds nothing while that one stands",
			rules[i].ID)
	}
	p.Warnings = append(p.Warnings, LockedWarnings(c)...)
	p.Steps = []record.Step{{Kind: record.CreateRule, Rule: &rule}}
	return p, nil
}

// ByRule names the rule by which something holds already, and until when, where wafbot will end it: that may be sooner
// than was asked for.
func ByRule(c *call.Call, id int64) text.Text {
	words := text.Newf("by rule `%v`", id)
	made := ChangesByRule(c)[id]
	if made.DueAt().IsZero() {
		return words
	}
	return text.Newf("%v, until %v: `extend %v for=…` extends it", words, made.DueAt(), made.ID)
}

// ChangesByRule are the changes of wafbot's by the rules that they made, as these are numbered now.
func ChangesByRule(c *call.Call) map[int64]record.Change {
	makers := map[int64]record.Change{}
	for _, ch := range slices.Backward(c.Changes) {
		if ch.Undoes == "" {
			for _, s := range ch.Did(record.CreateRule) {
				makers[efficacy.CurrentRule(c.Changes, s.ID)] = ch
			}
		}
	}
	return makers
}

// Modes are the filtration modes from mild to strict.
var Modes = []string{apiclient.ModeOff, apiclient.ModeMonitoring, apiclient.ModeSafeBlocking, apiclient.ModeBlock}

// ModeSteps switch the mode of an application, or the account's own (apiclient.AllApps): the new rule first, so that
// there is never none. All others for the same go, the one that holds first of them: the service keeps the last, or
// removes some silently.
func ModeSteps(app int, to string, rules []apiclient.Rule) ([]record.Step, error) {
	scope := apiclient.Scope{App: apiclient.Known(int64(app))}
	if app == apiclient.AllApps {
		scope = apiclient.Scope{}
	}
	conditions, err := apiclient.ScopeConditions(scope)
	if err != nil {
		return nil, err
	}
	steps := []record.Step{{Kind: record.CreateRule,
		Rule: &apiclient.Rule{Type: apiclient.RuleMode, Mode: to, Conditions: conditions}}}
	held, _ := words.ModeRules(rules, app)
	for _, r := range rules {
		if of, whole := words.ModeOf(r); !whole || of != app || r.System {
			continue
		}
		gone := record.Step{Kind: record.DeleteRule, Rule: &r}
		if r.ID == held.ID {
			steps = slices.Insert(steps, 1, gone)
		} else {
			steps = append(steps, gone)
		}
	}
	return steps, nil
}

// GuardMode refuses a mode where it would stop nothing, and notes that mode off and the account's own mode need
// approval.
func GuardMode(c *call.Call, app int, to string) error {
	if app == apiclient.AllApps {
		if to == apiclient.ModeDefault {
			return refusal.Guarded("the account's own mode has nothing to inherit from: name one of %v",
				strings.Join(Modes, ", "))
		}
		approval.Need(c, config.ApproveRulesEverywhere,
			text.New("the account's own mode holds for ", words.ModeApp(c.Account, app)))
	}
	if to == apiclient.ModeOff {
		approval.Need(c, config.ApproveModeOff, text.New("mode off lets everything through"))
	}
	blocks := to == apiclient.ModeBlock || to == apiclient.ModeSafeBlocking
	if blocks && c.Account.Applications[app].CannotBlock() {
		return refusal.Guarded("%v can't block (`can_block: false` in the configuration): mode %v would stop nothing",
			c.Account.AppName(apiclient.Known(int64(app))), to)
	}
	return nil
}

// ModeRole is who may switch: a stricter mode needs a responder, a milder one an admin. From an unknown mode only block
// is surely not milder.
func ModeRole(from, to string) record.Role {
	f, t := slices.Index(Modes, from), slices.Index(Modes, to)
	if to == apiclient.ModeBlock || f >= 0 && t >= f {
		return record.Responder
	}
	return record.Admin
}

// ModeWarnings say what a switch of the mode brings, beside what was asked for.
func ModeWarnings(name, from, to string, length time.Duration, narrower []apiclient.Rule) (ws refusal.Warnings) {
	until := "until it returns by itself, in " + text.Duration(length)
	if length == grammar.Never {
		until = "until it is switched back"
	}
	if to == apiclient.ModeBlock || to == apiclient.ModeSafeBlocking {
		ws = append(ws, refusal.Warning{InDialog: true,
			Text: text.Newf("incidents are registered only in monitoring mode: %v, wafbot can't know whether an attack on %v worked",
				until, name)})
	}
	if to == apiclient.ModeBlock {
		ws = append(ws, refusal.Warning{InDialog: true,
			Text: text.New("requests that only look like attacks are blocked too")})
	}
	if ModeRole(from, to) == record.Admin {
		now := text.Newf("milder than now (%v): less is blocked ", from)
		if from == "" {
			now = text.New("the mode now is inherited and not visible: perhaps less is blocked than now, ")
		}
		ws.Addf("%v%v", now, policy.Lasting(length))
	}
	if len(narrower) > 0 {
		ws.Addf("rules that set the mode for parts of it, and stay as they are: %v", len(narrower))
	}
	return ws
}

// Two mode rules for the same requests are one too many: the service keeps the last written, or removes one silently.
// So it is verified, when the listings must show it, that a switch left one, and that it is the one that it made.

// verifyModeAt is when that is verified; zero: it was, or the change set no mode.
func verifyModeAt(c record.Change) (at time.Time) {
	if c.ModeVerified || c.State != record.StateDone {
		return at
	}
	for _, s := range c.Steps {
		if setsMode(s) && s.Done {
			at = record.Later(at, s.SentAt.Add(efficacy.ListedWithin))
		}
	}
	if !at.IsZero() && !c.Until.IsZero() && c.Parent() == "" {
		return record.Earlier(at, c.Until)
	}
	return at
}

func setsMode(s record.Step) bool {
	return s.Kind == record.CreateRule && s.Rule.Type == apiclient.RuleMode
}

// VerifiesMode reports whether the listings must show by now which rule is left of the modes that the change set.
func VerifiesMode(c record.Change, now time.Time) bool {
	at := verifyModeAt(c)
	return !at.IsZero() && !now.Before(at) && !c.Expired(now)
}

// ModeRulesLeft compares the listed rules with those that a switch of modes made. doubles are for the same requests:
// the switch made them twice or replaced them. wrong says what else isn't as planned; nil: nothing, or another change
// of wafbot's has overtaken the switch.
func ModeRulesLeft(c record.Change, all []record.Change, rules []apiclient.Rule) (doubles []apiclient.Rule,
	wrong text.Text) {
	if c.State != record.StateDone || efficacy.Superseded(c, all) {
		return nil, nil
	}
	for _, s := range c.Steps {
		if !setsMode(s) {
			continue
		}
		id, stands, others := efficacy.CurrentRule(all, s.ID), false, []text.Text{}
		for _, r := range rules {
			switch {
			case r.Type != apiclient.RuleMode || !apiclient.SameConditions(r.Conditions, s.Rule.Conditions):
			case r.ID == id:
				stands = apiclient.SameRule(r, *s.Rule)
			case isDouble(c, s, r) && !deletedSince(c, all, r.ID):
				doubles = append(doubles, r)
			default:
				others = append(others, text.Newf("rule `%v` (mode %v)", r.ID, text.Field(r.Mode)))
			}
		}
		if !stands {
			wrong = text.Newf("rule `%v`, which sets it, is not listed as wafbot made it: it was removed or changed", id)
		}
		if len(others) > 0 {
			beside := text.Newf("for the same requests there is %v, too, and the service goes by the last written: `delete-rule` deletes one",
				text.Enumerate(others, 5, func(t text.Text) text.Text { return t }))
			wrong = text.Join([]text.Text{wrong, beside}, "; ")
		}
	}
	return doubles, wrong
}

// isDouble reports whether a rule is one that a step made twice, or that its change was to delete.
func isDouble(c record.Change, made record.Step, r apiclient.Rule) bool {
	if r.System {
		return false
	}
	twice := apiclient.SameRule(r, *made.Rule) && !slices.Contains(made.Equal, r.ID)
	return twice || slices.ContainsFunc(c.Steps,
		func(s record.Step) bool { return s.Kind == record.DeleteRule && s.Rule.ID == r.ID })
}

// deletedSince reports whether wafbot deleted a rule once more since the change: then it doesn't go.
func deletedSince(c record.Change, all []record.Change, id int64) bool {
	return slices.ContainsFunc(all, func(later record.Change) bool {
		return later.ID != c.ID && later.At.After(c.At) &&
			slices.ContainsFunc(later.Did(record.DeleteRule), func(s record.Step) bool { return s.Rule.ID == id })
	})
}

// ModeVerified is the outcome of verifying a mode switch.
func ModeVerified(c record.Change, wrong text.Text) record.DueDecision {
	c.ModeVerified = true
	if len(wrong) > 0 {
		c.Fault = wrong.String()
	}
	return record.DueDecision{Change: c, Next: CheckAt(c), Listed: len(wrong) > 0, Seen: true}
}
