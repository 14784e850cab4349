package efficacy

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Mitigation is something in force against an attack, whoever did it: a change of wafbot's, or an entry or rule that others made at the service.
type Mitigation struct {
	Does    string // in words: Deny country:FR
	Change  string // the id of wafbot's change; "": others made it, in the service's console or by its API
	By      string // a person, or the author as the service lists it; "": not known
	Finding record.Finding
	Stopped int64     // hits that were seen stopped, at least
	Last    time.Time // of them; zero: none was
	Others  int64     // with PartlyWorking: it works, and up to so many other sources get through; 0: what it is to stop gets through in part
	Since   time.Time // it was made; zero: not known
	Due     time.Time // it was to work by then
	Until   time.Time // zero: it has no end, as far as is known

	subjects []subject // those that are for the attack
}

// Works reports whether it was seen to stop something and still does.
func (m Mitigation) Works() bool {
	return m.Finding == record.Working || m.Finding == record.PartlyWorking
}

// Denies reports whether it denies a source of the attack.
func (m Mitigation) Denies(source apiclient.Source) bool {
	return slices.ContainsFunc(m.subjects, func(sub subject) bool { return sub.target != nil && sub.target.Holds(source) })
}

// ForAllSources reports whether it is a rule: what it stops doesn't depend on the source.
func (m Mitigation) ForAllSources() bool {
	return slices.ContainsFunc(m.subjects, func(sub subject) bool { return sub.rule != nil })
}

// Mitigations are all that are in force against an attack, as far as is known: wafbot's, the newest first, then those of others. What names neither a
// source of the attack nor its place counts if it was made for the attack.
func Mitigations(s call.Situation) (all []Mitigation) {
	known := s.AccountChanges
	if known == nil {
		known = s.Changes
	}
	for _, c := range InPlace(known, s.Now) {
		if m := own(s, c); !Gone(s, c) && (c.AttackID == s.ID || len(m.subjects) > 0) {
			all = append(all, m)
		}
	}
	if s.Storm != nil {
		return all
	}
	all = append(all, ofOthers(s, known)...)
	others := othersThrough(s, all)
	for i := range all {
		if m := &all[i]; m.Finding == record.Working && !m.ForAllSources() && others > 0 && s.Attack.Last.After(m.Since) {
			m.Finding, m.Others = record.PartlyWorking, others
		}
	}
	return all
}

// own is a change of wafbot's as a mitigation. What was seen of it as the change's is known sooner than what the attack's record shows, or later: the
// better news counts.
func own(s call.Situation, c record.Change) Mitigation {
	e, d, subjects := s.Efficacy[c.ID], delaysOf(c), subjectsOf(c)
	m := Mitigation{Does: Does(s, c), Change: c.ID, By: c.Actor.Name, Finding: e.Finding, Stopped: e.Stopped(), Since: c.At, Due: c.At.Add(d.works), Until: c.Until}
	if unwatched(s, c) || len(subjects) == 0 {
		m.Finding = record.EfficacyUnknown
	}
	for _, step := range c.Steps {
		if step.Kind == record.AddEntry && step.Done && len(subjects) == 0 {
			subjects = unnamed(s, *step.Entry, c.At)
		}
	}
	m.subjects = slices.DeleteFunc(subjects, func(sub subject) bool { return !sub.meets(s.Attack) })
	stopped := stoppedBy(s, m.subjects, c.At)
	m.Last = stopped.Last
	for _, t := range e.Parts {
		m.Last = record.Later(m.Last, t.Stopped.Last)
	}
	if m.Stopped = max(m.Stopped, stopped.N); stopped.N > 0 && !s.Attack.Last.After(stopped.Last) {
		m.Finding = record.Working
	}
	return m
}

// ofOthers are the entries and rules against the attack that no change of wafbot's made.
func ofOthers(s call.Situation, known []record.Change) (all []Mitigation) {
	for _, e := range s.Entries {
		if e.List != apiclient.ListDeny {
			continue
		}
		subjects := unnamed(s, e, e.Created)
		for _, t := range grammar.TargetsOf(e) {
			if sub := (subject{key: t.String(), target: &t, apps: e.Apps}); sub.meets(s.Attack) {
				subjects = append(subjects, sub)
			}
		}
		byUs := func(c record.Change, step record.Step) bool { return step.Kind == record.AddEntry && Ours(e, c, step) }
		if len(subjects) > 0 && !made(known, byUs) {
			m := Mitigation{Does: "Deny " + describe.Sources(e), By: text.Field(e.Author), Since: e.Created, Due: e.Created.Add(entryDelays.works), Until: e.Expires, subjects: subjects}
			all = append(all, m.judged(s, entryDelays))
		}
	}
	for _, r := range s.Rules {
		sub := subject{rule: &r}
		byUs := func(_ record.Change, step record.Step) bool {
			return step.Kind == record.CreateRule && step.Done && CurrentRule(known, step.ID) == r.ID
		}
		usual := r.Type == apiclient.RuleMode && r.Updated.Before(s.Attack.First) // it is how the application always is
		if !usual && !overridden(s, r) && sub.meets(s.Attack) && !made(known, byUs) {
			m := Mitigation{Does: ruleDoes(s, r), Since: r.Updated, Due: r.Updated.Add(ruleDelays.works), subjects: []subject{sub}}
			all = append(all, m.judged(s, ruleDelays))
		}
	}
	return all
}

// overridden reports whether a rule is of the account's own mode, and the attack's application has another.
func overridden(s call.Situation, r apiclient.Rule) bool {
	if of, ok := describe.ModeOf(r); !ok || of != apiclient.AllApps {
		return false
	}
	by := describe.ModeRuleInForce(s.Rules, int(s.Attack.App.N))
	return !s.Attack.App.Known || by == nil || by.ID != r.ID
}

// unnamed are what an entry of proxies or data centers was seen to stop: the service doesn't list which sources are of that kind. These are the attack's
// sources that were seen stopped since the entry was made, and that no other entry names.
func unnamed(s call.Situation, e apiclient.IPRule, since time.Time) (all []subject) {
	if e.List != apiclient.ListDeny || e.Kind == apiclient.KindRange || e.Kind == apiclient.KindCountry || !call.HoldsFor(e.Apps, appsOf(s.Attack)) {
		return nil
	}
	for _, source := range s.Attack.Sources {
		named := slices.ContainsFunc(s.Entries, func(other apiclient.IPRule) bool {
			return other.List == apiclient.ListDeny && slices.ContainsFunc(grammar.TargetsOf(other), func(t grammar.Target) bool { return t.Holds(source) })
		})
		if t := s.Stopped.Sources[source.IP]; t.N > 0 && t.Last.After(since) && !named {
			target := grammar.RangeOf(grammar.OnlyAddr(source.IP))
			all = append(all, subject{key: target.String(), target: &target, apps: e.Apps})
		}
	}
	return all
}

func made(known []record.Change, by func(record.Change, record.Step) bool) bool {
	return slices.ContainsFunc(known, func(c record.Change) bool {
		return slices.ContainsFunc(c.Steps, func(step record.Step) bool { return by(c, step) })
	})
}

// meets reports whether the subject is for the attack: it names one of its sources on its application, or is a patch or blocking mode for its place.
func (s subject) meets(a apiclient.Attack) bool {
	switch {
	case s.target != nil:
		return slices.ContainsFunc(a.Sources, s.target.Holds) && call.HoldsFor(s.apps, appsOf(a))
	case s.rule.Type == apiclient.RuleMode:
		return s.rule.Mode == apiclient.ModeBlock && s.place(a)
	}
	return s.rule.Type == apiclient.RulePatch && s.place(a) && s.patches(a)
}

// appsOf is the attack's application as entries name it; all where it isn't known.
func appsOf(a apiclient.Attack) []int {
	if !a.App.Known {
		return []int{apiclient.AllApps}
	}
	return []int{int(a.App.N)}
}

// stoppedBy is what was seen stopped of the attack's tries that these subjects are to stop, since they were made.
func stoppedBy(s call.Situation, subjects []subject, since time.Time) (t record.Tally) {
	add := func(one record.Tally) {
		if one.N == 0 || !one.Last.After(since) {
			return
		}
		if one.First.Before(since) {
			one.N = 1 // of its record: the others may have come before
		}
		t.N, t.Last = t.N+one.N, record.Later(t.Last, one.Last)
	}
	for _, source := range s.Attack.Sources {
		if slices.ContainsFunc(subjects, func(sub subject) bool { return sub.target != nil && sub.target.Holds(source) }) {
			add(s.Stopped.Sources[source.IP])
		}
	}
	if slices.ContainsFunc(subjects, func(sub subject) bool { return sub.rule != nil && sub.rule.Type == apiclient.RulePatch }) {
		add(s.Stopped.Patched)
	}
	return t
}

// judged is a mitigation of others with what it does, by what the attack's record and what was stopped show. Of a source it isn't known when its last hit
// got through: an entry is found not to work only if it names all sources.
func (m Mitigation) judged(s call.Situation, d delays) Mitigation {
	stopped, last := stoppedBy(s, m.subjects, m.Since), s.Attack.Last
	m.Stopped, m.Last = stopped.N, stopped.Last
	all := m.ForAllSources() || denied(s.Attack, []Mitigation{m}) == len(s.Attack.Sources) && AllListed(s.Attack)
	switch {
	case stopped.N > 0 && (!all || last.Sub(stopped.Last) <= 0):
		m.Finding = record.Working
	case stopped.N > 0 && last.Sub(stopped.Last) <= settling:
		m.Finding = record.PartlyWorking
	case stopped.N > 0, all && last.Sub(m.Since) >= d.judged && s.Attack.Status() == apiclient.StatusNotBlocked:
		m.Finding = record.NotWorking // no longer, or never
	case s.Now.Sub(m.Since) < d.judged:
		m.Finding = record.NotYet
	default:
		m.Finding = record.EfficacyUnknown
	}
	return m
}

// denied is how many of the attack's listed sources mitigations deny.
func denied(a apiclient.Attack, by []Mitigation) (n int) {
	for _, source := range a.Sources {
		if slices.ContainsFunc(by, func(m Mitigation) bool { return m.Denies(source) }) {
			n++
		}
	}
	return n
}

// AllListed reports whether the service lists all sources of the attack.
func AllListed(a apiclient.Attack) bool {
	return a.SourceCount.Known && a.SourceCount.N == int64(len(a.Sources))
}

// othersThrough is how many sources get through that nothing stops, at most; 0 while nothing is seen getting through.
func othersThrough(s call.Situation, by []Mitigation) int64 {
	a := s.Attack
	ruled := slices.ContainsFunc(by, func(m Mitigation) bool { return m.ForAllSources() && m.Works() })
	if s.Paused || ruled || !a.SourceCount.Known || a.Status() == apiclient.StatusBlocked {
		return 0
	}
	return max(0, a.SourceCount.N-int64(denied(a, by)))
}

// Does says in few words what a change of wafbot's does, or is to do.
func Does(s call.Situation, c record.Change) string {
	if c.Parent() != "" {
		return c.Does
	}
	var targets []grammar.Target
	var rules []apiclient.Rule
	for _, step := range c.Steps {
		switch {
		case step.Kind == record.AddEntry && step.Entry.List == apiclient.ListDeny:
			targets = append(targets, grammar.TargetsOf(*step.Entry)...)
		case step.Kind == record.CreateRule && step.Rule.Type != apiclient.RuleRegex:
			rules = append(rules, *step.Rule)
		}
	}
	switch {
	case len(targets) > 0:
		return "Deny " + describe.Targets(targets)
	case len(rules) == 1:
		return ruleDoes(s, rules[0])
	}
	return c.Does
}

// ruleDoes says in few words what a patch or a mode does, and for which application.
func ruleDoes(s call.Situation, r apiclient.Rule) string {
	does := "Patch"
	switch {
	case r.Type == apiclient.RuleMode:
		does = text.Field(r.Mode) + " mode"
	case r.AttackType == describe.AnyAttack:
		does = "Block"
	}
	scope, ok := apiclient.ConditionsScope(r.Conditions)
	if !ok {
		return does + " " + text.Sanitize(describe.Scope(s.Account, r.Conditions), text.MaxPath)
	}
	app := "every application"
	if scope.App.Known {
		app = s.Account.AppName(scope.App) + " only"
	}
	of, whole := describe.ModeOf(r)
	switch {
	case whole && of == apiclient.AllApps:
		return does + ", " + describe.ModeApp(s.Account, of)
	case whole:
		return does + ", " + app
	}
	return does + " " + describe.Requests(scope) + ", " + app
}
