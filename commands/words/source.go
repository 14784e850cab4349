package words

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Spread says in how many attacks on how many applications a source is.
func Spread(s record.SourceActivity) string {
	return "in " + text.Count(s.Attacks, "attack") + " on " + text.Count(s.Apps, "application")
}

// Shared warns that a source is likely many people's.
func Shared(t grammar.Target, seen record.SourceActivity) text.Text {
	return text.Newf("`%v` is *likely a CDN, proxy or office*: it is %v, and denying it may hit all users behind it",
		t.String(), Spread(seen))
}

// RulesLocked warns that the service may refuse changes of rules.
func RulesLocked(at time.Time) text.Text {
	return text.Newf("*The service's rules are locked*, as it said at %v: patches, modes and other rules may be refused for some minutes", at)
}

// BusiestShared is the busiest of the sources in a target that are likely many people's.
func BusiestShared(s record.AccountContext, t grammar.Target) (at grammar.Target,
	busiest record.SourceActivity, ok bool) {
	var in []netip.Addr
	for source, seen := range s.Sources {
		if LikelyShared(seen) && t.Overlaps(grammar.OnlyAddr(source)) {
			in = append(in, source)
		}
	}
	if len(in) == 0 {
		return grammar.Target{}, record.SourceActivity{}, false
	}
	first := slices.MinFunc(in, func(x, y netip.Addr) int {
		return cmp.Or(s.Sources[y].Attacks-s.Sources[x].Attacks, x.Compare(y))
	})
	return grammar.RangeOf(grammar.OnlyAddr(first)), s.Sources[first], true
}

// A source whose attacks spread so far over applications, types and the day is likely not one attacker but something
// that many people come through. How many attacks there are says nothing: one scanner leaves thousands, on several
// applications and of several types, but within an hour or two.
const (
	sharedApps  = 3
	sharedTypes = 3
	sharedHours = 6
)

// LikelyShared reports whether the source is likely a CDN, a proxy or an office.
func LikelyShared(s record.SourceActivity) bool {
	return s.Apps >= sharedApps && s.Types >= sharedTypes && s.Hours >= sharedHours
}

// Elsewhere says in how many other attacks a source of an attack is; "" if in none that is known.
func Elsewhere(s record.SourceActivity, a apiclient.Attack, source netip.Addr) string {
	n := s.OtherAttacks(&a, source)
	if n == 0 {
		return ""
	}
	if s.Apps < 2 {
		return "also in " + text.Count(n, "other attack")
	}
	return "also in " + text.Count(n, "other attack") + ", on " + text.Count(s.Apps, "application") + " in all"
}
