// Package advice finds what a card offers: the mitigations that fit an attack, the buttons, and why some are missing.
package advice

import (
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Advice is what a card says about mitigations: the buttons, the fastest first, and in words why some are missing.
type Advice struct {
	Suggestions []call.Suggestion
	Notes       []text.Text
	Denied      []text.Text       // what must never be denied and is: it matters more than the attack
	Remedies    []call.Suggestion // the buttons that end that
}

// Advise finds the mitigations that fit an attack or storm. It is pure: the same situation gives the same advice.
func Advise(s call.Situation) Advice {
	var a Advice
	a.Denied, a.Remedies = deniedSources(s)
	switch {
	case s.Policy.ChangesNow() == policy.ChangesOff:
		a.Notes = append(a.Notes, text.New("Changes are switched off (", text.Code("policy.changes: off"), ")"))
	case s.Storm == nil && s.Attack.FalsePositive():
		a.Notes = append(a.Notes, text.New(text.Bold("Marked as a false positive"), " at the service: no mitigation is advised, and no one is called while it is"))
	case s.Storm != nil:
		a.denyInStorm(s)
	default:
		a.mitigate(s)
	}
	return a
}

// mitigate adds the mitigations that fit. A patch or a mode fits no storm: it is on many paths.
func (a *Advice) mitigate(s call.Situation) {
	top, note := deniable(s)
	if note != nil {
		a.Notes = append(a.Notes, note)
	}
	if top != nil {
		a.Notes = append(a.Notes, crowdLines(s, *top)...)
	}
	var spec change.Patch
	var fits bool
	var whyNoPatch string
	if s.Storm == nil {
		spec, fits, whyNoPatch = patchable(s)
	}
	switch {
	case top != nil && fits:
		only := denyButton(s, *top)
		only.Label = "Deny only, " + text.Duration(denyFor(s))
		a.Suggestions = append(a.Suggestions, containButton(s, *top, spec), only)
	case top != nil:
		a.Suggestions = append(a.Suggestions, denyButton(s, *top))
	case fits:
		a.Suggestions = append(a.Suggestions, patchButton(s, spec))
	}
	if whyNoPatch != "" {
		a.Notes = append(a.Notes, text.New("No patch: ", whyNoPatch))
	}
	a.Suggestions = append(a.Suggestions, modeButton(s)...)
	if locked := s.Context.RulesLockedAt; !locked.IsZero() && slices.ContainsFunc(a.Suggestions, func(b call.Suggestion) bool { return b.Line.Name != change.Denying.Name }) {
		a.Notes = append(a.Notes, describe.RulesLocked(locked))
	}
}

// deniable is the top source if denying it makes sense; otherwise why not.
func deniable(s call.Situation) (*apiclient.Source, text.Text) {
	top, ok := topSource(s)
	if !ok {
		return nil, text.New("No quick deny: the service lists no source")
	}
	t, err := grammar.ParseTarget(top.IP.String())
	if err != nil {
		return nil, text.New("No quick deny: the service lists no readable source")
	}
	if own, ok := s.Policy.SourceOf(top.IP); ok {
		e, where := listedEntry(s, apiclient.ListDeny, t)
		switch {
		case e != nil && own.Deny != policy.DenyApproval:
			return nil, nil // the card begins with it
		case e != nil:
			return nil, text.New(text.Code(t.String()), " is ", text.Bold(own.Name), " and ", text.Bold("is denied now"), where, describe.Until(e.Expires), describe.Author(*e), ": ", text.Code("remove "+describe.Sources(*e)+" list=black"), " takes it off")
		case own.Deny == policy.DenyApproval:
			return nil, text.New(text.Code(t.String()), " is ", text.Bold(own.Name), ": no quick deny")
		}
		return nil, text.New(text.Code(t.String()), " is ", text.Bold(own.Name), ": wafbot never denies it")
	}
	if WatchedOnly(s) {
		return nil, text.New("No quick deny: ", s.Account.AppName(s.Attack.App), " can't block, so it would stop nothing there")
	}
	for _, ch := range s.Changes {
		if ch.InForce(s.Now) && !efficacy.Gone(s, ch) && ch.Line.Name == "deny" && slices.Contains(ch.Line.Words, t.String()) {
			return nil, nil // its own line on the card says so
		}
	}
	if e, where := listedEntry(s, apiclient.ListAllow, t); e != nil {
		return nil, text.New(text.Code(t.String()), " is on the allowlist", where, describe.Until(e.Expires), describe.Author(*e), ": denying it does nothing")
	}
	if e, where := listedEntry(s, apiclient.ListDeny, t); e != nil {
		return nil, text.New(text.Code(t.String()), " is denied already", where, describe.Until(e.Expires), describe.Author(*e))
	}
	return &top, nil
}

// patchable is the patch that fits the attack, if one does; otherwise why not, unless the card's own line of it says so.
func patchable(s call.Situation) (spec change.Patch, fits bool, why string) {
	spec, not := change.PatchFor(s.Attack)
	if not.String() != "" {
		return spec, false, not.String()
	}
	if WatchedOnly(s) {
		return spec, false, s.Account.AppName(s.Attack.App) + " can't block"
	}
	patches := func(step record.Step) bool {
		return step.Kind == record.CreateRule && step.Rule.Type == apiclient.RulePatch
	}
	for _, ch := range s.Changes {
		if ch.InForce(s.Now) && !efficacy.Gone(s, ch) && slices.ContainsFunc(ch.Steps, patches) {
			return spec, false, ""
		}
	}
	rule, err := spec.Rule()
	if err != nil {
		return spec, false, "the service can't express its path"
	}
	if i := slices.IndexFunc(s.Rules, func(r apiclient.Rule) bool { return apiclient.SameRule(r, rule) }); i >= 0 {
		return spec, false, fmt.Sprintf("rule %d patches it already", s.Rules[i].ID)
	}
	if i := slices.IndexFunc(s.Rules, func(r apiclient.Rule) bool { return apiclient.CoversPatch(r, rule) }); i >= 0 {
		return spec, false, fmt.Sprintf("rule %d, which is wider, covers it already", s.Rules[i].ID)
	}
	return spec, true, ""
}

func denyFor(s call.Situation) time.Duration  { return change.Denying.Lasts(s.Policy) }
func patchFor(s call.Situation) time.Duration { return s.Policy.PatchFor() }
func modeFor(s call.Situation) time.Duration  { return s.Policy.ModeFor(apiclient.ModeBlock) }

func lineFor(s call.Situation, name string, words ...string) record.Line {
	return record.Line{Name: name, Words: words}.With("attack", s.ID).With("account", s.Account.Name)
}

// share is how much of the attack a source is, in words.
func share(s call.Situation, top apiclient.Source) string {
	if s.Storm != nil {
		return fmt.Sprintf("%s of %s", text.Number(s.Storm.SharedBy), text.Count(s.Storm.Grouped, "attack"))
	}
	percent, ok := describe.Share(top, s.Attack)
	if !ok {
		return "an unknown share of hits"
	}
	return describe.Percent(percent) + " of hits"
}

var behavioural = []string{"brute", "credential_stuffing", "bola", "dirbust", "api_abuse", "bot"}

// LooksClean reports whether the requests of an attack of that type look clean one by one, so that blocking mode stops none of them.
func LooksClean(attackType string) bool { return slices.Contains(behavioural, attackType) }

func modeButton(s call.Situation) []call.Suggestion {
	app := s.Attack.App
	if s.Storm != nil || !app.Known || s.Attack.Status() == apiclient.StatusBlocked || LooksClean(s.Attack.Type) || WatchedOnly(s) {
		return nil
	}
	now := describe.ModeByRules(s.Rules, int(app.N))
	switched := slices.ContainsFunc(s.Changes, func(ch record.Change) bool {
		return ch.InForce(s.Now) && !efficacy.Gone(s, ch) && ch.Line.Name == "mode"
	})
	if switched || now == apiclient.ModeBlock {
		return nil
	}
	return []call.Suggestion{switchButton(s, now)}
}

// appWord is an application as the grammar writes it: a bare -1 would look like an option to a terminal.
func appWord(app apiclient.Figure) string {
	if app.N == apiclient.DefaultApp {
		return "app:default"
	}
	return fmt.Sprint(app.N)
}

// Undo is the button that undoes a change; none where it can't be undone by itself.
func Undo(ch record.Change, now time.Time) []call.Suggestion {
	if !ch.InForce(now) || ch.Parent() != "" {
		return nil
	}
	return []call.Suggestion{{
		Label: "Undo", Title: "Undo it?", OK: "Undo", Spoken: "Undo: " + ch.Does,
		Line:    record.Line{Name: "undo", Words: []string{ch.ID}}.With("account", ch.Account),
		Confirm: call.Dialog{{Text: "Undo: " + ch.Does + ". What stood there before comes back. It works " + ch.When + "."}},
	}}
}
