package commands

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Effect is what was seen of a change since it was accepted, and what that was judged to mean. What was seen only grows.
type Effect struct {
	Parts   map[string]Traffic `json:"parts,omitempty"` // of each source that it denies, as the grammar writes it; of a rule under ""
	Finding Finding            `json:"finding,omitempty"`
	At      time.Time          `json:"at,omitzero"`      // of the look by which it was judged so, on this machine's clock
	From    time.Time          `json:"from,omitzero"`    // without a gap it was watched since; zero: since it was accepted
	Since   time.Time          `json:"since,omitzero"`   // the finding is this one since then
	Off     bool               `json:"off,omitempty"`    // what it made was not listed at the service when the lists and rules were read last
	Ends    time.Time          `json:"ends,omitzero"`    // somebody has it end then, sooner than it was made to; zero: not as far as is known
	Called  []Finding          `json:"called,omitempty"` // what people were called about; between two falls that it worked again
	Why     []Span             `json:"why,omitempty"`    // a Text: the likely reasons for which it has no effect
	Said    []Remark           `json:"said,omitempty"`   // what cards said of it whenever it turned, the oldest first
}

// Remark is what a card said of a change from a time on.
type Remark struct {
	At   time.Time `json:"at"`
	Text []Span    `json:"text"`
}

// maxRemarks is how many remarks on a change are kept.
const maxRemarks = 20

// remark keeps what is said from now on, if that is another thing than before.
func (e *Effect) remark(at time.Time, line Text) {
	if n := len(e.Said); n > 0 && Text(e.Said[n-1].Text).String() == line.String() {
		return
	}
	e.Said = append(slices.Clip(e.Said), Remark{at, line})
	e.Said = e.Said[max(0, len(e.Said)-maxRemarks):]
}

// Calls is how many times people were called about a finding.
func (e Effect) Calls(f Finding) (n int) {
	for _, called := range e.Called {
		if called == f {
			n++
		}
	}
	return n
}

// lastCall is what people were called about last, or that it worked since.
func (e Effect) lastCall() Finding {
	if len(e.Called) == 0 {
		return NotYet
	}
	return e.Called[len(e.Called)-1]
}

// stopped is how many hits were reported as stopped.
func (e Effect) stopped() (n int64) {
	for _, t := range e.Parts {
		n += t.Stopped.N
	}
	return n
}

// Traffic is what was seen of the hits that a change is to stop. None of it is exact: the service counts samples.
type Traffic struct {
	Through Tally `json:"through,omitzero"` // let through; counted from when the change was to work for sure, its Last since it was accepted
	Mixed   Tally `json:"mixed,omitzero"`   // in records that the service blocks in another way, in part or whole, so that nobody can tell; likewise
	Stopped Tally `json:"stopped,omitzero"` // at least so many
	After   Tally `json:"after,omitzero"`   // let through since a denial expired
}

// Tally counts hits.
type Tally struct {
	N     int64     `json:"n,omitempty"`
	First time.Time `json:"first,omitzero"` // of those that are counted
	Last  time.Time `json:"last,omitzero"`
}

// Finding is what a change was found to do.
type Finding string

// The findings.
const (
	NotYet   Finding = ""          // it need not work yet, as far as is known
	Works    Finding = "works"     // it stops something, and nothing gets through
	InPart   Finding = "in part"   // it stops something, and something gets through all the same
	NoEffect Finding = "no effect" // well after it was to work nothing is stopped and something gets through
	Unseen   Finding = "unseen"    // nothing was seen by which it can be judged
	CameBack Finding = "came back" // it was a denial that expired, and its source knocked to the end, or gets through since
)

// subject is what a change is judged by: all that one of its entries or its rule is to stop.
type subject struct {
	key    string // in Effect.Parts
	target *Target
	apps   []int // of an entry
	rule   *apiclient.Rule
	scope  apiclient.Scope // of a rule
}

// subjects are what the change can be judged by; none where that can't be seen, as unseeable says.
func (c Change) subjects() (all []subject) {
	if c.Amends() != "" || c.unseeable() != "" {
		return nil
	}
	for _, s := range c.Steps {
		switch {
		case !s.Done:
		case s.Kind == AddEntry:
			for _, t := range targetsOf(*s.Entry) {
				all = append(all, subject{key: t.String(), target: &t, apps: s.Entry.Apps})
			}
		case s.Kind == CreateRule:
			if scope, ok := apiclient.ConditionsScope(s.Rule.Conditions); ok {
				all = append(all, subject{rule: s.Rule, scope: scope})
			}
		}
	}
	return all
}

// unseeable says why nobody can see whether the change works; "" where one can.
func (c Change) unseeable() string {
	for _, s := range c.Steps {
		switch {
		case s.Kind == AddEntry && s.Entry.List == apiclient.ListAllow:
			return "an allowed source looks as any that gets through"
		case s.Kind == AddEntry && s.Entry.List == apiclient.ListGray:
			return "gray sources are blocked in safe_blocking mode only, and which hits those are isn't told"
		case s.Kind == AddEntry && s.Entry.Kind != apiclient.KindRange && s.Entry.Kind != apiclient.KindCountry:
			return "the service doesn't tell which sources are of that kind"
		case s.Kind == CreateRule && s.Rule.Type == apiclient.RuleRegex:
			return "the service doesn't tell which requests match"
		case s.Kind == CreateRule && s.Rule.Type == apiclient.RuleMode && s.Rule.Mode != apiclient.ModeBlock:
			return "no record shows by which mode it was let through"
		}
	}
	return ""
}

// of is what came of all that the subject is to stop, and how the record has it: as let through, as stopped, or as neither for sure.
func (s subject) of(g glimpse) (came growth, as apiclient.Status) {
	if s.target != nil {
		return s.ofSources(g)
	}
	a := g.record
	stopped := a.Type == apiclient.TypeVirtualPatch
	switch {
	case !s.place(a) || a.Type == apiclient.TypeBlockedSource || a.FalsePositive() && !stopped:
		return growth{}, ""
	case s.rule.Type == apiclient.RuleMode && !stopped && !apiclient.Patchable(a.Type):
		return growth{}, "" // to a mode its requests look clean
	case s.rule.Type == apiclient.RuleMode && stopped:
		return growth{}, ""
	case s.rule.Type == apiclient.RulePatch && !s.patches(a):
		return growth{}, ""
	case stopped:
		return g.hits, apiclient.StatusBlocked
	case s.rule.Type == apiclient.RulePatch && a.Status() == apiclient.StatusBlocked:
		return g.hits, apiclient.StatusPartly // by the mode, or by whatever blocked it before: what a patch stops has records of its own
	}
	return g.hits, a.Status()
}

// ofSources judges an entry by its sources' own shares. Of a record that is blocked nobody can tell whether the entry stopped them: what an entry
// stops leaves the record.
func (s subject) ofSources(g glimpse) (came growth, as apiclient.Status) {
	a := g.record
	if !everywhere(s.apps) && (!a.App.Known || !meet(s.apps, []int{int(a.App.N)})) || a.Type == apiclient.TypeVirtualPatch {
		return growth{}, ""
	}
	for _, source := range a.Sources {
		more, ok := g.sources[source.IP]
		if !ok || !s.target.holds(source) {
			continue
		}
		came = growth{came.n + more.n, more.since, more.last}
	}
	switch {
	case a.Type == apiclient.TypeBlockedSource:
		return came, apiclient.StatusBlocked
	case a.Status() == apiclient.StatusNotBlocked:
		return came, apiclient.StatusNotBlocked
	}
	return came, apiclient.StatusPartly
}

// holds reports whether an entry for t is for a source.
func (t Target) holds(source apiclient.Source) bool {
	if t.Kind == apiclient.KindCountry {
		return strings.EqualFold(t.Value, source.Country)
	}
	return t.Kind == apiclient.KindRange && t.Prefix.Contains(source.IP)
}

// elsewhere reports whether the subject is for another application, place or part than an attack, as far as that tells.
func (s subject) elsewhere(a apiclient.Attack) bool {
	if s.target != nil {
		return a.App.Known && !holdsFor(s.apps, []int{int(a.App.N)})
	}
	part, told := apiclient.ParameterPoint(a.Parameter)
	otherPart := s.rule.Type == apiclient.RulePatch && s.rule.AttackType != anyAttack && told && part.String() != s.rule.Point.String()
	return otherPart || a.App.Known && a.Path != severalPaths && !s.place(a)
}

// place reports whether a record is of exactly the place that the rule is for.
func (s subject) place(a apiclient.Attack) bool {
	path, below := strings.CutSuffix(s.scope.Path, "*")
	inPath := s.scope.Path == "" || a.Path == s.scope.Path || below && strings.HasPrefix(a.Path, path)
	return inPath && (!s.scope.App.Known || s.scope.App == a.App) && (s.scope.Host == "" || strings.EqualFold(s.scope.Host, a.Domain)) &&
		(s.scope.Method == "" || strings.EqualFold(s.scope.Method, a.Method))
}

// patches reports whether a record of the rule's place is of the type and in the part that it patches, as far as the record tells.
func (s subject) patches(a apiclient.Attack) bool {
	if s.rule.AttackType == anyAttack {
		return true
	}
	part, told := apiclient.ParameterPoint(a.Parameter)
	if a.Type == apiclient.TypeVirtualPatch {
		return !told || part.String() == s.rule.Point.String()
	}
	return a.Type == s.rule.AttackType && told && part.String() == s.rule.Point.String()
}

// see takes in what came. Through and mixed hits are counted from a time on; when the last came matters before, too.
func (t Traffic) see(came growth, as apiclient.Status, accepted, from time.Time) Traffic {
	switch {
	case came.n == 0 || !came.last.After(accepted):
	case as == apiclient.StatusBlocked:
		if !came.since.Before(accepted) {
			t.Stopped = t.Stopped.plus(came)
		}
	case as == apiclient.StatusNotBlocked:
		t.Through = t.Through.from(came, from)
	default:
		t.Mixed = t.Mixed.from(came, from)
	}
	return t
}

func (t Tally) from(came growth, from time.Time) Tally {
	if !came.since.Before(from) {
		return t.plus(came)
	}
	t.Last = later(t.Last, came.last)
	return t
}

func (t Tally) plus(came growth) Tally {
	t.N += came.n
	t.First, t.Last = cmp.Or(t.First, came.last), later(t.Last, came.last)
	return t
}
