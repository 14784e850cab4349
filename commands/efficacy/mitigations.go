package efficacy

import (
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Mitigations are all that are in force against an attack, as they were judged: wafbot's, the newest first, then those
// of others. What names neither a source of the attack nor its place counts if it was made for the attack.
func Mitigations(s call.Situation) (all []record.Mitigation) {
	known := knownChanges(s)
	for _, c := range InPlace(known, s.Now) {
		m := own(s, c)
		if i := slices.IndexFunc(s.Others, func(o record.Mitigation) bool { return o.Change == c.ID }); i >= 0 {
			m = s.Others[i]
		}
		if !Gone(s, c) && (c.AttackID == s.ID || m.Rule || len(m.Sources) > 0) {
			all = append(all, m)
		}
	}
	for _, m := range s.Others {
		deleted := made(known, func(_ record.Change, step record.Step) bool {
			return step.Done && (step.Kind == record.DeleteRule && m.Rule && step.Rule.ID == m.ID ||
				step.Kind == record.DeleteEntry && !m.Rule && step.Entry.ID == m.ID)
		})
		if m.Change == "" && !deleted && (m.Until.IsZero() || m.Until.After(s.Now)) {
			all = append(all, m)
		}
	}
	others := othersThrough(s, all)
	for i := range all {
		m := &all[i]
		if m.Finding == record.Working && !m.Rule && others > 0 && s.Attack.Last.After(m.Since) {
			m.Finding, m.Others = record.PartlyWorking, others
		}
	}
	return all
}

func knownChanges(s call.Situation) []record.Change {
	if s.AccountChanges == nil {
		return s.Changes
	}
	return s.AccountChanges
}

// own is a change of wafbot's as a mitigation, as it was judged.
func own(s call.Situation, c record.Change) record.Mitigation {
	e, subjects := s.Efficacy[c.ID], subjectsOf(c)
	m := record.Mitigation{
		Does: Does(s, c), Change: c.ID, By: c.Actor.Name, Finding: e.Finding, Stopped: e.Stopped(),
		Since: c.At, Due: c.At.Add(delaysOf(c).works), Until: c.Until,
	}
	if unwatched(s, c) || len(subjects) == 0 {
		m.Finding = record.EfficacyUnknown
	}
	for _, t := range e.Parts {
		m.Last = record.Later(m.Last, t.Stopped.Last)
	}
	for _, sub := range subjects {
		m.Rule = m.Rule || sub.rule != nil && sub.against(s.Attack)
	}
	for _, source := range s.Attack.Sources {
		denies := func(sub subject) bool {
			return sub.target != nil && sub.target.Holds(source) && call.HoldsFor(sub.apps, appsOf(s.Attack))
		}
		if slices.ContainsFunc(subjects, denies) {
			m.Sources = append(m.Sources, source.IP)
		}
	}
	return m
}

// against reports whether a rule is a patch, or blocking mode, for the attack's place.
func (s subject) against(a apiclient.Attack) bool {
	blocks := s.rule.Type == apiclient.RuleMode && s.rule.Mode == apiclient.ModeBlock
	return s.place(a) && (blocks || s.rule.Type == apiclient.RulePatch && s.patches(a))
}

// Others judges what no change is judged by: the entries and rules against an attack that others made, and entries of
// wafbot's that name no source. What they stop is seen by the attack's own tally. Speed is as NewWatch has it.
func Others(s call.Situation, speed float64) (all []record.Mitigation) {
	known, by := knownChanges(s), judge{speed}
	for _, c := range InPlace(known, s.Now) {
		if c.Unseeable() == "" {
			continue
		}
		m := own(s, c)
		for _, step := range c.Did(record.AddEntry) {
			m.Sources = append(m.Sources, denied(s, *step.Entry, c.At)...)
		}
		if len(m.Sources) > 0 {
			all = append(all, by.judged(s, m))
		}
	}
	for _, e := range s.Entries {
		byUs := func(c record.Change, step record.Step) bool { return step.Kind == record.AddEntry && ours(e, c, step) }
		if sources := denied(s, e, e.Created); len(sources) > 0 && !made(known, byUs) {
			all = append(all, by.judged(s, record.Mitigation{Does: "Deny " + words.Sources(e), By: text.Field(e.Author),
				ID: e.ID, Sources: sources, Since: e.Created, Until: e.Expires}))
		}
	}
	for _, r := range s.Rules {
		sub := subject{rule: &r}
		byUs := func(_ record.Change, step record.Step) bool {
			return step.Kind == record.CreateRule && step.Done && CurrentRule(known, step.ID) == r.ID
		}
		usual := r.Type == apiclient.RuleMode && r.Updated.Before(s.Attack.First) // it is how the application always is
		if usual || overridden(s, r) || !sub.against(s.Attack) || made(known, byUs) {
			continue
		}
		var patched record.Tally
		if r.Type == apiclient.RulePatch {
			patched = s.Stopped.Patched
		}
		all = append(all, by.judged(s, record.Mitigation{Does: ruleDoes(s, r), ID: r.ID, Rule: true,
			Since: r.Updated}, patched))
	}
	return all
}

// judged is a mitigation with its finding. It counts the tries that were stopped since the mitigation was made, and the
// attack's last hit if that came later. Nobody knows which source sent that hit, so it counts against an entry only if
// the entry denies all sources.
func (j judge) judged(s call.Situation, m record.Mitigation, seen ...record.Tally) record.Mitigation {
	for _, source := range m.Sources {
		seen = append(seen, s.Stopped.Sources[source])
	}
	var stopped record.Tally
	for _, t := range seen {
		if t = since(t, m.Since); t.N > 0 {
			stopped = record.Tally{N: stopped.N + t.N, First: record.Earlier(stopped.First, t.First),
				Last: record.Later(stopped.Last, t.Last)}
		}
	}
	d := entryDelays
	if m.Rule {
		d = ruleDelays
	}
	t, last := record.Traffic{Stopped: stopped}, s.Attack.Last
	if last.After(stopped.Last) && (m.Rule || AllListed(s.Attack) && len(m.Sources) == len(s.Attack.Sources)) {
		came := growth{1, last, last}
		as := s.Attack.Status()
		if as == apiclient.StatusBlocked {
			as = apiclient.StatusPartly // by whatever blocked it: what this stops has records of its own
		}
		t = addTraffic(t, came, as, m.Since, j.countsFrom(stopped.First, m.Since, d))
	}
	m.Due, m.Stopped, m.Last = m.Since.Add(d.works), stopped.N, stopped.Last
	m.Finding = j.part(t, m.Since, d, s.Now)
	return m
}

// denied are the attack's sources that an entry of the denylist denies. The service doesn't list which are of a proxy
// or data center: of these, those that were seen stopped since it was made and that no other entry names.
func denied(s call.Situation, e apiclient.IPRule, from time.Time) (all []netip.Addr) {
	listed := e.Kind == apiclient.KindRange || e.Kind == apiclient.KindCountry
	if e.List != apiclient.ListDeny || !e.Lasts(s.Now) || !call.HoldsFor(e.Apps, appsOf(s.Attack)) ||
		listed && !names(e, s.Attack.Sources...) {
		return nil
	}
	for _, source := range s.Attack.Sources {
		named := func(other apiclient.IPRule) bool { return other.List == apiclient.ListDeny && names(other, source) }
		unnamed := !listed && since(s.Stopped.Sources[source.IP], from).N > 0 && !slices.ContainsFunc(s.Entries, named)
		if unnamed || names(e, source) {
			all = append(all, source.IP)
		}
	}
	return all
}

// since is the part of a tally that came after a time. If it began before, only its last try surely came later.
func since(t record.Tally, from time.Time) record.Tally {
	switch {
	case t.N == 0 || !t.Last.After(from):
		return record.Tally{}
	case t.First.Before(from):
		return record.Tally{N: 1, First: t.Last, Last: t.Last}
	}
	return t
}

func made(known []record.Change, by func(record.Change, record.Step) bool) bool {
	return slices.ContainsFunc(known, func(c record.Change) bool {
		return slices.ContainsFunc(c.Steps, func(step record.Step) bool { return by(c, step) })
	})
}

// overridden reports whether a rule is of the account's own mode, and the attack's application has another.
func overridden(s call.Situation, r apiclient.Rule) bool {
	if of, ok := words.ModeOf(r); !ok || of != apiclient.AllApps {
		return false
	}
	by := words.ModeRuleInForce(s.Rules, int(s.Attack.App.N))
	return !s.Attack.App.Known || by == nil || by.ID != r.ID
}

// appsOf is the attack's application as entries name it; all where it isn't known.
func appsOf(a apiclient.Attack) []int {
	if !a.App.Known {
		return []int{apiclient.AllApps}
	}
	return []int{int(a.App.N)}
}

// AllListed reports whether the service lists all sources of the attack.
func AllListed(a apiclient.Attack) bool {
	return a.SourceCount.Known && a.SourceCount.N == a.Listed()
}

// othersThrough is how many sources get through that nothing stops, at most; 0 while nothing is seen getting through.
func othersThrough(s call.Situation, by []record.Mitigation) int64 {
	a := s.Attack
	ruled := slices.ContainsFunc(by, func(m record.Mitigation) bool { return m.Rule && m.Works() })
	if s.Storm != nil || s.Paused || ruled || !a.SourceCount.Known || a.Status() == apiclient.StatusBlocked {
		return 0
	}
	left := a.SourceCount.N
	for _, source := range a.Sources {
		if slices.ContainsFunc(by, func(m record.Mitigation) bool { return m.Denies(source) }) {
			left -= max(1, source.Addresses)
		}
	}
	return max(0, left)
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
		return "Deny " + words.Targets(targets)
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
	case r.AttackType == words.AnyAttack:
		does = "Block"
	}
	scope, ok := apiclient.ConditionsScope(r.Conditions)
	if !ok {
		return does + " " + text.Sanitize(words.Scope(s.Account, r.Conditions), text.MaxPath)
	}
	app := "every application"
	if scope.App.Known {
		app = s.Account.AppName(scope.App) + " only"
	}
	switch of, whole := words.ModeOf(r); {
	case !whole:
		does += " " + words.Requests(scope)
	case of == apiclient.AllApps:
		app = words.ModeApp(s.Account, of)
	}
	return does + ", " + app
}
