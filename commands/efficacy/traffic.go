package efficacy

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxRemarks is how many remarks on a change are kept.
const maxRemarks = 20

// addRemark keeps a line about the change, if it differs from the last one.
func addRemark(e *record.Efficacy, at time.Time, line text.Text) {
	n := len(e.Said)
	if n > 0 && text.Text(e.Said[n-1].Text).String() == line.String() {
		return
	}
	e.Said = append(slices.Clip(e.Said), record.Remark{At: at, Text: line})[max(0, n+1-maxRemarks):]
}

// subject is what a change is judged by: all that one of its entries or its rule is to stop.
type subject struct {
	key    string // in Efficacy.Parts
	target *grammar.Target
	apps   []int // of an entry
	rule   *apiclient.Rule
	attack *apiclient.Attack // of a mode that was switched for an attack: what the application's other attacks do says nothing of it
}

// subjectsOf are what the change can be judged by; none where that can't be seen, as unseeable says.
func subjectsOf(c record.Change) (all []subject) {
	if c.Parent() != "" || c.Unseeable() != "" {
		return nil
	}
	for _, s := range c.Steps {
		switch {
		case !s.Done:
		case s.Kind == record.AddEntry:
			for _, t := range grammar.TargetsOf(*s.Entry) {
				all = append(all, subject{key: t.String(), target: &t, apps: s.Entry.Apps})
			}
		case s.Kind == record.CreateRule:
			sub := subject{rule: s.Rule}
			if seen := c.Observed; seen != nil && s.Rule.Type == apiclient.RuleMode && !record.IsStorm(seen.Attack.ID) {
				sub.attack = &seen.Attack
			}
			all = append(all, sub)
		}
	}
	return all
}

// of counts the hits that the subject should stop, and says what the record shows of them: let through, stopped, or
// neither for sure.
func (s subject) of(g delta) (came growth, as apiclient.Status) {
	if s.target != nil {
		return s.ofSources(g)
	}
	a, patch := *g.record, s.rule.Type == apiclient.RulePatch // else a mode
	stopped := a.Type == apiclient.TypeVirtualPatch
	switch {
	case !s.place(a), a.Type == apiclient.TypeBlockedSource, a.FalsePositive() && !stopped, patch && !s.patches(a),
		!patch && (stopped || !apiclient.Patchable(a.Type)): // to a mode its requests look clean
		return growth{}, ""
	case stopped:
		return g.hits, apiclient.StatusBlocked
	case patch && a.Status() == apiclient.StatusBlocked: // by the mode, or by whatever blocked it before
		return g.hits, apiclient.StatusPartly // what a patch stops has records of its own
	}
	return g.hits, a.Status()
}

// ofSources judges an entry by its sources' own shares. Of a record that is blocked it is unknown whether the entry
// stopped them: what an entry stops leaves the record.
func (s subject) ofSources(g delta) (came growth, as apiclient.Status) {
	a := *g.record
	if !call.HoldsFor(s.apps, appsOf(a)) || a.Type == apiclient.TypeVirtualPatch {
		return growth{}, ""
	}
	for _, source := range a.Sources {
		if more, ok := g.sources[source.IP]; ok && s.target.Holds(source) {
			came = growth{came.n + more.n, more.since, more.last}
		}
	}
	switch {
	case a.Type == apiclient.TypeBlockedSource:
		return came, apiclient.StatusBlocked
	case a.Status() == apiclient.StatusNotBlocked:
		return came, apiclient.StatusNotBlocked
	}
	return came, apiclient.StatusPartly
}

// elsewhere reports whether the subject is for another application, place or part than an attack, as far as that is
// known.
func (s subject) elsewhere(a apiclient.Attack) bool {
	if s.target != nil {
		return a.App.Known && !call.HoldsFor(s.apps, appsOf(a))
	}
	otherPlace := s.otherAttack(a) || apiclient.ConditionsMet(s.rule.Conditions, a) == apiclient.MetNo
	a.Type = apiclient.TypeVirtualPatch // such a record is compared by its part alone
	return otherPlace || s.rule.Type == apiclient.RulePatch && !s.patches(a)
}

// place reports whether all of a record is in the place that the rule is for, and of the attack that a mode was
// switched for.
func (s subject) place(a apiclient.Attack) bool {
	return !s.otherAttack(a) && apiclient.ConditionsMet(s.rule.Conditions, a) == apiclient.MetYes
}

// otherAttack reports whether a record is of another attack than the one that a mode was switched for.
func (s subject) otherAttack(a apiclient.Attack) bool {
	of := s.attack
	return of != nil && of.ID != a.ID && (of.Type != a.Type || of.Path != a.Path || of.Method != a.Method ||
		!strings.EqualFold(of.Domain, a.Domain))
}

// patches reports whether a record of the rule's place is of the type and in the part that it patches, as far as the
// record holds them.
func (s subject) patches(a apiclient.Attack) bool {
	part, known := apiclient.ParameterPoint(a.Parameter)
	same := part.String() == s.rule.Point.String()
	switch {
	case s.rule.AttackType == words.AnyAttack:
		return true
	case a.Type == apiclient.TypeVirtualPatch:
		return !known || same
	}
	return known && same && a.Type == s.rule.AttackType
}

// addTraffic takes in what came. Through and mixed hits are counted from a time on; when the last came matters before,
// too.
func addTraffic(t record.Traffic, came growth, as apiclient.Status, accepted, from time.Time) record.Traffic {
	switch {
	case !came.last.After(accepted):
	case as == apiclient.StatusBlocked:
		if !came.since.Before(accepted) {
			t.Stopped = addTally(t.Stopped, came)
		}
	case as == apiclient.StatusNotBlocked:
		t.Through = addTallyFrom(t.Through, came, from)
	default:
		t.Mixed = addTallyFrom(t.Mixed, came, from)
	}
	return t
}

func addTallyFrom(t record.Tally, came growth, from time.Time) record.Tally {
	if !came.since.Before(from) {
		return addTally(t, came)
	}
	t.Last = record.Later(t.Last, came.last)
	return t
}

func addTally(t record.Tally, came growth) record.Tally {
	t.N += came.n
	t.First, t.Last = cmp.Or(t.First, came.last), record.Later(t.Last, came.last)
	return t
}

// OneAddress reports whether an entry is for one address.
func OneAddress(e apiclient.IPRule) bool {
	return e.Kind == apiclient.KindRange && e.Subnet.IsSingleIP()
}

// DeniedAddresses are the addresses that the change denies one by one.
func DeniedAddresses(c record.Change) (all []netip.Addr) {
	for _, s := range c.Did(record.AddEntry) {
		if s.Entry.List == apiclient.ListDeny && OneAddress(*s.Entry) {
			all = append(all, s.Entry.Subnet.Addr())
		}
	}
	return all
}
