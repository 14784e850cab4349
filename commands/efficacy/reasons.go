package efficacy

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// likelyReasons are the reasons for which a change may have no effect that fit what is known, the likeliest first.
// Where the lists and rules are not at hand, they are those that were written down.
func likelyReasons(s call.Situation, c record.Change) text.Lines {
	if why := s.Efficacy[c.ID].Why; s.ListsReadAt.IsZero() && len(why) > 0 {
		return text.Lines{why}
	}
	all := hindrances(s, c)
	for _, sub := range subjectsOf(c) {
		if sub.target == nil {
			continue
		}
		if at, _, shared := words.BusiestShared(s.Context, *sub.target); shared {
			all.Addf("`%v` looks as a CDN or balancer that many come through", at.String())
		}
	}
	if Gone(s, c) {
		all.Add("it is no longer listed at the service: it was removed or changed")
	}
	if len(all) == 0 {
		all.Add("a node's own setting overrides it, or nodes see the traffic out of band and can't block")
	}
	return all[:min(3, len(all))]
}

// hindrances are the reasons that the lists, the rules and the configuration give.
func hindrances(s call.Situation, c record.Change) text.Lines {
	all := powerless(s)
	for _, sub := range subjectsOf(c) {
		if sub.target == nil {
			continue
		}
		for _, e := range s.Entries {
			if e.List == apiclient.ListAllow && overlaps(e, *sub.target) && call.Overlap(e.Apps, sub.apps) {
				all = append(all, wins(words.Sources(e), e))
			}
		}
	}
	if !c.CreatesRules() {
		return all
	}
	for _, source := range s.Attack.Sources {
		if e := Listed(s, apiclient.ListAllow, source); e != nil {
			all = append(all, wins(source.String(), *e))
		}
	}
	return all
}

// wins says why an entry or rule may not be heeded for a source: the allowlist wins.
func wins(source string, e apiclient.IPRule) text.Text {
	return text.Newf("`%v` is on the allowlist%v, which wins", source, words.Until(e.Expires))
}

// Gone reports whether what a change made was removed, as far as is known. Where the lists and rules are not at hand,
// what was seen of it decides.
func Gone(s call.Situation, c record.Change) bool {
	if s.ListsReadAt.IsZero() {
		return s.Efficacy[c.ID].Off && c.InForce(s.Now)
	}
	return listedAfter(s, c) && slices.ContainsFunc(c.Steps,
		func(step record.Step) bool { return step.Done && !stands(s, step) })
}

// shortenedTo is when what a change put on a list ends by now, if it was shortened at the service. Where the lists
// aren't at hand, what was seen of it decides.
func shortenedTo(s call.Situation, c record.Change) (end time.Time) {
	if s.ListsReadAt.IsZero() && c.InForce(s.Now) {
		return s.Efficacy[c.ID].Ends
	}
	if !listedAfter(s, c) {
		return end
	}
	for _, step := range c.Did(record.AddEntry) {
		if longest, ok := LongEnough(*step.Entry, s.Entries); !ok {
			end = longest.Expires
		}
	}
	return end
}

// listedAfter reports whether the lists and rules that are known must show what a change in force did.
func listedAfter(s call.Situation, c record.Change) bool {
	return c.InForce(s.Now) && !s.ListsReadAt.IsZero() && s.ListsReadAt.Sub(c.At) > ListedWithin
}

// aimedElsewhere reports whether all that the change does is for something else than the attack.
func aimedElsewhere(s call.Situation, c record.Change) bool {
	all := subjectsOf(c)
	return !record.IsStorm(s.Attack.ID) && len(all) > 0 &&
		!slices.ContainsFunc(all, func(sub subject) bool { return !sub.elsewhere(s.Attack) })
}

// powerless says that nothing can be blocked on the attack's application.
func powerless(s call.Situation) (all text.Lines) {
	app, name := int(s.Attack.App.N), s.Account.AppName(s.Attack.App)
	switch {
	case !s.Attack.App.Known:
	case s.Account.Applications[app].CannotBlock():
		all.Addf("%v can't block (`can_block: false` in the configuration)", name)
	case !s.ListsReadAt.IsZero() && words.ModeByRules(s.Rules, app) == apiclient.ModeOff:
		all.Addf("the mode of %v is off: nothing is blocked there", name)
	}
	return all
}

// Allowed reports whether a source of the attack passes every list and rule on its application, by its address or
// country: the allowlist wins.
func Allowed(s call.Situation, source apiclient.Source) bool {
	return Listed(s, apiclient.ListAllow, source) != nil
}

// Listed is the entry of a list that holds for a source of the attack on its application; nil: there is none.
func Listed(s call.Situation, list string, source apiclient.Source) *apiclient.IPRule {
	i := slices.IndexFunc(s.Entries, func(e apiclient.IPRule) bool { return e.List == list && Holds(s, e, source) })
	if i < 0 {
		return nil
	}
	return &s.Entries[i]
}

// Holds reports whether an entry is for a source on the attack's application.
func Holds(s call.Situation, e apiclient.IPRule, source apiclient.Source) bool {
	return call.HoldsFor(e.Apps, appsOf(s.Attack)) && names(e, source)
}

// stands reports whether what a step made is still listed, or something that does at least as much, however long.
func stands(s call.Situation, step record.Step) bool {
	entry, rule := step.Entry, step.Rule
	switch {
	case step.Kind == record.AddEntry: // several entries may stand for its sources
		return !slices.ContainsFunc(grammar.TargetsOf(*entry), func(t grammar.Target) bool {
			return !slices.ContainsFunc(s.Entries, func(e apiclient.IPRule) bool {
				return e.List == entry.List && call.HoldsFor(e.Apps, entry.Apps) && covers(e, t)
			})
		})
	case step.Kind != record.CreateRule:
		return true
	case rule.Type == apiclient.RuleMode: // whichever rule sets it
		app, ok := words.ModeOf(*rule)
		return !ok || rule.Mode == apiclient.ModeDefault || words.ModeByRules(s.Rules, app) == rule.Mode
	}
	return slices.ContainsFunc(s.Rules, func(r apiclient.Rule) bool {
		return r.ID == step.ID || apiclient.SameRule(r, *rule) || apiclient.CoversPatch(r, *rule)
	})
}
