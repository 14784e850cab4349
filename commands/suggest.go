package commands

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Situation is what is known about an attack when its card is drawn: facts of a short while ago, never a look at the service.
type Situation struct {
	Account  *Account
	Policy   Policy
	ID       string // as AttackID makes it
	Attack   apiclient.Attack
	Changes  []record.Change // made for this attack
	Known    []record.Change // the account's, whatever they are for; nil: not at hand
	Entries  []apiclient.IPRule
	Rules    []apiclient.Rule
	LookedAt time.Time // when entries and rules were read; zero: not yet
	Scene    record.AccountContext
	Effects  map[string]record.Efficacy // what was seen of changes, by their ids
	Storm    *record.Storm              // nil: it is an attack, not a storm
	Now      time.Time
}

// Line is the attack or storm in one line.
func (s Situation) Line() text.Text {
	if s.Storm != nil {
		return StormLine(s.Account, StormRow{ID: s.ID, Attack: s.Attack, Storm: *s.Storm}, s.Now)
	}
	return AttackLine(s.Account, s.Attack, s.Now)
}

// Suggestion is a button: what it runs is the line that a person could have typed.
type Suggestion struct {
	Label   string // short: a phone shows about 30 characters
	Line    record.Line
	Title   string // of the dialog that asks
	Confirm string // what it will do, for that dialog
	OK      string // the dialog's button that does it
	Danger  bool
	Form    bool   // opens a form with the line filled in, however much of it is missing; the label ends in "…"
	Stops   string // for the card: what it would stop and how soon; "": only what Closes says
	Closes  string // for the card: what closes the hole for all sources, and how soon; "": it doesn't
	Spoken  string // for those who hear the button, where its label isn't enough; "": the label
}

// Advice is what a card says about measures: the buttons, the fastest first, and in words why some are missing.
type Advice struct {
	Suggestions []Suggestion
	Notes       []text.Text
	Shut        []text.Text  // what must never be denied and is: it matters more than the attack
	Open        []Suggestion // the buttons that end that
}

// Advise finds the measures that fit an attack. It is pure: the same situation gives the same advice.
func Advise(s Situation) Advice {
	var a Advice
	a.Shut, a.Open = s.shutOut()
	if s.Storm != nil {
		s.adviseStorm(&a)
		return a
	}
	if s.Policy.Changes == ChangesOff {
		a.Notes = append(a.Notes, text.New("Changes are switched off (", text.Code("policy.changes: off"), ")"))
		return a
	}
	if s.Attack.FalsePositive() {
		a.Notes = append(a.Notes, text.New(text.Bold("Marked as a false positive"), " at the service: no mitigation is advised, and nobody is called while it is"))
		return a
	}
	spec, fits, whyNoPatch := s.patchable()
	top, note := s.deniable()
	if note != nil {
		a.Notes = append(a.Notes, note)
	}
	if top != nil {
		a.Notes = append(a.Notes, s.crowd(*top)...)
	}
	switch {
	case top != nil && fits:
		only := s.denyButton(*top)
		only.Label = "Deny only, " + text.HumanDuration(s.denyFor())
		a.Suggestions = append(a.Suggestions, s.containButton(*top, spec), only)
	case top != nil:
		a.Suggestions = append(a.Suggestions, s.denyButton(*top))
	case fits:
		a.Suggestions = append(a.Suggestions, s.patchButton(spec))
	}
	if whyNoPatch != "" {
		a.Notes = append(a.Notes, text.New("No patch: ", whyNoPatch))
	}
	if b, ok := s.modeButton(); ok {
		a.Suggestions = append(a.Suggestions, b)
	}
	if locked := s.Scene.Locked; !locked.IsZero() && slices.ContainsFunc(a.Suggestions, func(b Suggestion) bool { return b.Line.Name != denying.name }) {
		a.Notes = append(a.Notes, lockedWords(locked))
	}
	return a
}

// deniable is the top source if denying it makes sense; otherwise why not.
func (s Situation) deniable() (*apiclient.Source, text.Text) {
	top, ok := s.topSource()
	if !ok {
		return nil, text.New("No quick deny: the service lists no source")
	}
	t, err := grammar.ParseTarget(top.IP.String())
	if err != nil {
		return nil, text.New("No quick deny: the service lists no readable source")
	}
	if own, ok := s.Policy.SourceOf(top.IP); ok {
		e, where := s.listed(apiclient.ListDeny, t)
		switch {
		case e != nil && own.Deny != DenySecond:
			return nil, nil // the card begins with it
		case e != nil:
			return nil, text.New(text.Code(t.String()), " is ", text.Bold(own.Name), " and ", text.Bold("is denied now"), where, untilText(e.Expires), byText(*e), ": ", text.Code("remove "+names(*e)+" list=black"), " takes it off")
		case own.Deny == DenySecond:
			return nil, text.New(text.Code(t.String()), " is ", text.Bold(own.Name), ": no quick deny")
		}
		return nil, text.New(text.Code(t.String()), " is ", text.Bold(own.Name), ": wafbot never denies it")
	}
	if s.WatchedOnly() {
		return nil, text.New("No quick deny: ", s.Account.AppName(s.Attack.App), " can't block, so it would stop nothing there")
	}
	for _, ch := range s.Changes {
		if ch.InForce(s.Now) && !s.gone(ch) && ch.Line.Name == "deny" && slices.Contains(ch.Line.Words, t.String()) {
			return nil, nil // its own line on the card says so
		}
	}
	if e, where := s.listed(apiclient.ListAllow, t); e != nil {
		return nil, text.New(text.Code(t.String()), " is on the allowlist", where, untilText(e.Expires), byText(*e), ": denying it does nothing")
	}
	if e, where := s.listed(apiclient.ListDeny, t); e != nil {
		return nil, text.New(text.Code(t.String()), " is denied already", where, untilText(e.Expires), byText(*e))
	}
	return &top, nil
}

// topSource is the busiest source that the service lists; of a storm the one that is behind most of it.
func (s Situation) topSource() (apiclient.Source, bool) {
	if s.Storm != nil {
		return stormSource(*s.Storm, s.Attack)
	}
	return TopSource(s.Attack)
}

// listed is the entry that holds for a source of the attack on its application, if there is one; where names that, unless the entry holds everywhere.
func (s Situation) listed(list string, t grammar.Target) (e *apiclient.IPRule, where string) {
	want, here := apiclient.IPRule{Kind: apiclient.KindRange, Subnet: t.Prefix}, []int{apiclient.AllApps}
	if s.Attack.App.Known {
		here = []int{int(s.Attack.App.N)}
	}
	i := slices.IndexFunc(s.Entries, func(e apiclient.IPRule) bool { return e.List == list && coversEntry(e, want) && holdsFor(e.Apps, here) })
	if i < 0 {
		return nil, ""
	}
	if !everywhere(s.Entries[i].Apps) {
		where = " for " + s.Account.AppName(s.Attack.App)
	}
	return &s.Entries[i], where
}

// WatchedOnly reports whether the nodes of the attack's application only watch, so that nothing stops it there.
func (s Situation) WatchedOnly() bool {
	if s.Storm != nil {
		return stormWatchedOnly(*s.Storm, s.Account)
	}
	return s.Attack.App.Known && s.Account.Applications[int(s.Attack.App.N)].CannotBlock
}

// patchable is the patch that fits the attack, if one does; otherwise why not, unless the card's own line of it says so.
func (s Situation) patchable() (spec patchSpec, fits bool, why string) {
	spec, not := attackPatch(s.Attack)
	if not.String() != "" {
		return spec, false, not.String()
	}
	if s.WatchedOnly() {
		return spec, false, s.Account.AppName(s.Attack.App) + " can't block"
	}
	for _, ch := range s.Changes {
		for _, step := range ch.Steps {
			if ch.InForce(s.Now) && !s.gone(ch) && step.Kind == record.CreateRule && step.Rule.Type == apiclient.RulePatch {
				return spec, false, ""
			}
		}
	}
	rule, err := spec.rule()
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

func (s Situation) denyFor() time.Duration  { return denying.lasts(s.Policy) }
func (s Situation) patchFor() time.Duration { return s.Policy.patchFor() }
func (s Situation) modeFor() time.Duration  { return s.Policy.modeFor(apiclient.ModeBlock) }

func (s Situation) line(name string, words ...string) record.Line {
	return record.Line{Name: name, Words: words}.With("attack", s.ID).With("account", s.Account.Name)
}

// Share is how many percent of an attack's hits came from a source, if the service told both. A source that isn't all of it is never 100.
func Share(s apiclient.Source, a apiclient.Attack) (percent int, ok bool) {
	if !s.Hits.Known || !a.Hits.Known || a.Hits.N <= 0 || s.Hits.N < 0 {
		return 0, false
	}
	if s.Hits.N >= a.Hits.N {
		return 100, true
	}
	return int(min(99, math.Round(100*float64(s.Hits.N)/float64(a.Hits.N)))), true
}

// Percent is a share for people.
func Percent(percent int) string {
	if percent == 0 {
		return "under 1 %"
	}
	return fmt.Sprintf("%d %%", percent)
}

// share is how much of the attack a source is, in words.
func (s Situation) share(top apiclient.Source) string {
	if s.Storm != nil {
		return fmt.Sprintf("%s of %s", text.Number(s.Storm.Behind), text.Count(s.Storm.Gathered, "attack"))
	}
	percent, ok := Share(top, s.Attack)
	if !ok {
		return "an unknown share of hits"
	}
	return Percent(percent) + " of hits"
}

var behavioural = []string{"brute", "credential_stuffing", "bola", "dirbust", "api_abuse", "bot"}

// LooksClean reports whether the requests of an attack of that type look clean one by one, so that blocking mode stops none of them.
func LooksClean(attackType string) bool { return slices.Contains(behavioural, attackType) }

func (s Situation) modeButton() (Suggestion, bool) {
	app := s.Attack.App
	if !app.Known || s.Attack.Status() == apiclient.StatusBlocked || LooksClean(s.Attack.Type) || s.WatchedOnly() {
		return Suggestion{}, false
	}
	now := ModeByRules(s.Rules, int(app.N))
	for _, ch := range s.Changes {
		if ch.InForce(s.Now) && !s.gone(ch) && ch.Line.Name == "mode" {
			return Suggestion{}, false
		}
	}
	if now == apiclient.ModeBlock {
		return Suggestion{}, false
	}
	return s.switchButton(now), true
}

// appWord is an application as the grammar writes it: a bare -1 would look like an option to a terminal.
func appWord(app apiclient.Figure) string {
	if app.N == apiclient.DefaultApp {
		return "app:default"
	}
	return fmt.Sprint(app.N)
}

// UndoButton takes back a change.
func UndoButton(ch record.Change, now time.Time) (Suggestion, bool) {
	if !ch.InForce(now) || ch.Amends() != "" {
		return Suggestion{}, false
	}
	return Suggestion{
		Label: "Undo", Title: "Undo it?", OK: "Undo", Spoken: "Undo: " + ch.Does,
		Line:    record.Line{Name: "undo", Words: []string{ch.ID}}.With("account", ch.Account),
		Confirm: "Undo: " + ch.Does + ". What stood there before comes back. It works " + ch.When + ".",
	}, true
}
