package commands

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
)

// Likely are the reasons for which a change may have no effect that fit what is known, the likeliest first.
func (s Situation) Likely(c Change) []Text {
	all := s.powerless()
	for _, sub := range c.subjects() {
		if sub.target != nil {
			all = append(all, s.overruled(sub)...)
		}
	}
	if !s.LookedAt.IsZero() && s.LookedAt.Sub(c.At) > listedWithin && c.mode() == "" && !s.stands(c) {
		all = append(all, Say("it is no longer listed at the service: somebody removed or replaced it"))
	}
	if c.rules() {
		all = append(all, s.allowed()...)
	}
	if len(all) == 0 {
		all = append(all, Say("a node's own setting overrides it, or nodes see the traffic out of band and can't block"))
	}
	return all[:min(3, len(all))]
}

// powerless says that nothing can be blocked on the attack's application.
func (s Situation) powerless() (all []Text) {
	app, name := int(s.Attack.App.N), s.Account.AppName(s.Attack.App)
	switch {
	case !s.Attack.App.Known:
	case s.Account.Applications[app].CannotBlock:
		all = append(all, Say(name, " can't block (", Code("can_block: false"), " in the configuration)"))
	case !s.LookedAt.IsZero() && ModeByRules(s.Rules, app) == apiclient.ModeOff:
		all = append(all, Say("the mode of ", name, " is off: nothing is blocked there"))
	}
	return all
}

// overruled says why an entry may not be heeded: the allowlist wins, it is for other applications, or its source is something that many come through.
func (s Situation) overruled(sub subject) (all []Text) {
	want := apiclient.IPRule{Kind: sub.target.Kind, Subnet: sub.target.Prefix, Apps: sub.apps}
	if sub.target.Kind != apiclient.KindRange {
		want.Values = []string{sub.target.Value}
	}
	for _, e := range s.Entries {
		if e.List == apiclient.ListAllow && overlapsEntry(e, want) && meet(e.Apps, sub.apps) {
			all = append(all, Say(Code(names(e)), " is on the allowlist", untilText(e.Expires), ", which wins"))
		}
	}
	if s.Attack.App.Known && !holdsFor(sub.apps, []int{int(s.Attack.App.N)}) {
		all = append(all, Say("the entry is for other applications only than ", s.Account.AppName(s.Attack.App)))
	}
	if at, _, shared := s.Scene.busiest(*sub.target); shared {
		all = append(all, Say(Code(at.String()), " looks as a CDN or balancer that many come through"))
	}
	return all
}

// allowed names the attack's sources that pass every rule.
func (s Situation) allowed() (all []Text) {
	for _, source := range s.Attack.Sources {
		i := slices.IndexFunc(s.Entries, func(e apiclient.IPRule) bool {
			return e.List == apiclient.ListAllow && e.Kind == apiclient.KindRange && e.Subnet.Contains(source.IP)
		})
		if i >= 0 {
			all = append(all, Say(Code(source.IP.String()), " is on the allowlist", untilText(s.Entries[i].Expires), ", which wins"))
		}
	}
	return all
}

// stands reports whether all that the change made is still listed.
func (s Situation) stands(c Change) bool {
	return !slices.ContainsFunc(c.Steps, func(step Step) bool {
		switch {
		case !step.Done:
			return false
		case step.Kind == AddEntry:
			_, ok := longEnough(*step.Entry, s.Entries)
			return !ok
		case step.Kind == CreateRule:
			return !slices.ContainsFunc(s.Rules, func(r apiclient.Rule) bool { return apiclient.SameRule(r, *step.Rule) })
		}
		return false
	})
}

// mode is the mode that the change set; "" if it set none.
func (c Change) mode() string {
	for _, s := range c.Steps {
		if s.Kind == CreateRule && s.Rule.Type == apiclient.RuleMode {
			return s.Rule.Mode
		}
	}
	return ""
}

func (c Change) rules() bool {
	return slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Kind == CreateRule })
}
