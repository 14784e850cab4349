package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Mitigation is what is in force against an attack, whoever made it.
type Mitigation struct {
	Does    string // "Deny 203.0.113.7"
	Change  string // the id of wafbot's change; "": others made it
	By      string // who made it
	Finding record.Finding
	Stopped int64     // hits that were seen stopped, at least
	Due     time.Time // it was to work by then at the latest; zero: not known
	Until   time.Time // zero: it has no end, as far as is known
}

// Mitigations are those of an attack: wafbot's, the newest first, then what others made.
func Mitigations(s call.Situation) (all []Mitigation) {
	for _, ch := range slices.Backward(ownChanges(s)) {
		e, due := s.Efficacy[ch.ID], ch.At.Add(entryDue)
		if ch.CreatesRules() {
			due = ch.At.Add(ruleDue)
		}
		all = append(all, Mitigation{InShort(s, ch), ch.ID, text.Sanitize(ch.Actor.Name, maxName), e.Finding, e.Stopped(), due, ch.Until})
	}
	return append(all, byOthers(s)...)
}

// What the service takes at most until a rule and an entry work.
const (
	ruleDue  = 64 * time.Minute
	entryDue = 3 * time.Minute
)

// How much of a name a mitigation's line shows, in characters.
const (
	maxName  = 16
	maxPlace = 30
)

// InShort is what a change does, as short as a phone wants it.
func InShort(s call.Situation, ch record.Change) string {
	words := ch.Line.Words
	for _, step := range ch.Steps {
		if step.Kind == record.CreateRule && step.Rule.Type == apiclient.RulePatch && step.Rule.AttackType != describe.AnyAttack {
			return "Patch " + ruleInShort(s, *step.Rule)
		}
	}
	switch {
	case ch.Line.Name == "mode" && len(words) > 1:
		app, err := s.Account.App(words[0])
		if err != nil {
			break
		}
		return fmt.Sprintf("Mode %s, %s", words[1], text.Sanitize(s.Account.AppName(apiclient.Known(int64(app))), maxName))
	case ch.Line.Name == change.Denying.Name && len(words) > 2:
		return fmt.Sprintf("Deny %s and %d more", text.Sanitize(words[0], maxPlace), len(words)-1)
	case ch.Line.Name == change.Denying.Name && len(words) > 0:
		return "Deny " + text.Sanitize(strings.Join(words, ", "), 50)
	}
	return text.Sanitize(ch.Does, 50)
}

// ruleInShort is what a patch is for: its place and its application.
func ruleInShort(s call.Situation, r apiclient.Rule) string {
	scope, _ := apiclient.ConditionsScope(r.Conditions)
	app := "all applications"
	if scope.App.Known {
		app = text.Sanitize(s.Account.AppName(scope.App), maxName) + " only"
	}
	return strings.TrimSpace(scope.Method+" "+cmp.Or(text.Sanitize(scope.Path, maxPlace), "every path")) + ", " + app
}

// byOthers are what holds against the attack and isn't a change of wafbot's for it: entries that deny one of its sources, and patches of its place.
func byOthers(s call.Situation) (all []Mitigation) {
	if s.Storm != nil {
		return nil
	}
	for _, e := range s.Entries {
		made := slices.ContainsFunc(s.Changes, func(ch record.Change) bool { return efficacy.NamedBy(e, ch) })
		if e.List != apiclient.ListDeny || made || !slices.ContainsFunc(s.Attack.Sources, func(source apiclient.Source) bool {
			return holds(s, e, source) && !ownInForce(s, func(ch record.Change) bool { return denies(s, ch, source) })
		}) {
			continue
		}
		until := e.Expires
		if !until.Before(apiclient.Forever) {
			until = time.Time{}
		}
		all = append(all, Mitigation{Does: "Deny " + text.Sanitize(describe.Sources(e), maxPlace), By: consoleOr(s, e), Finding: record.EfficacyUnknown, Until: until})
	}
	spec, not := change.PatchFor(s.Attack)
	rule, err := spec.Rule()
	if not.String() != "" || err != nil {
		return all
	}
	for _, r := range s.Rules {
		own := slices.ContainsFunc(s.Changes, func(ch record.Change) bool {
			return slices.ContainsFunc(ch.Steps, func(step record.Step) bool {
				return step.Kind == record.CreateRule && (step.ID == r.ID || apiclient.SameRule(*step.Rule, r))
			})
		})
		if !own && apiclient.CoversPatch(r, rule) {
			all = append(all, Mitigation{Does: "Patch " + ruleInShort(s, r), By: "console", Finding: record.EfficacyUnknown})
		}
	}
	return all
}

// consoleOr is who made an entry: a user of wafbot's for something else, or someone at the service's console.
func consoleOr(s call.Situation, e apiclient.IPRule) string {
	for _, ch := range s.AccountChanges {
		if efficacy.NamedBy(e, ch) {
			return text.Sanitize(ch.Actor.Name, maxName)
		}
	}
	if e.Author == "" {
		return "console"
	}
	return "console, " + text.Sanitize(e.Author, maxName)
}
