package words

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Place is which requests a change of rules is for, but for the application: "exactly POST shop.example.com/login",
// "every path below /api/ on every host".
func Place(s apiclient.Scope) string {
	path, err := apiclient.ParsePath(s.Path)
	switch {
	case err != nil, path.Exact():
		return "exactly " + Requests(s)
	case path.Begins():
		return toPaths(s, path)
	}
	return Requests(s)
}

// Requests is which requests a rule's scope is for, but for the application. One that names the first segments only is
// shown as that: whether the service takes it for all below nothing says.
func Requests(s apiclient.Scope) string {
	path, err := apiclient.ParsePath(s.Path)
	method, host := text.Sanitize(s.Method, 10), text.Sanitize(s.Host, text.MaxHost)
	switch {
	case err == nil && !path.Exact() && !path.Begins():
		return toPaths(s, path)
	case err == nil && path.Begins():
		words := strings.TrimSpace(method + " " + cmp.Or(host, "every host"))
		if len(path.Dirs) > 0 {
			words += ", path begins " + dirName(path)
		}
		return words
	}
	words := strings.TrimSpace(method + " " + host + text.Sanitize(s.Path, text.MaxPath))
	if host == "" {
		words += " on every host"
	}
	return words
}

// toPaths is a scope of several paths in words.
func toPaths(s apiclient.Scope, p apiclient.Path) string {
	words := pathsName(p) + " on " + cmp.Or(text.Sanitize(s.Host, text.MaxHost), "every host")
	if s.Method != "" {
		words = text.Sanitize(s.Method, 10) + " to " + words
	}
	return words
}

func dirName(p apiclient.Path) string {
	return text.Sanitize(strings.TrimSuffix("/"+strings.Join(p.Dirs, "/"), "/")+"/", text.MaxPath)
}

// pathsName is several paths in words: "every .php path one level below /x/".
func pathsName(p apiclient.Path) string {
	if p.Begins() && len(p.Dirs) == 0 {
		return "every path"
	}
	what := fmt.Sprintf("every path named %q", text.Field(p.Name+p.Ext))
	switch {
	case p.Name+p.Ext == "*.*":
		what = "every path"
	case p.Name+p.Ext == "*":
		what = "every path without an extension"
	case p.Name == "*":
		what = "every " + text.Field(p.Ext) + " path"
	case p.Ext == ".*":
		what = fmt.Sprintf("every path named %q, with any extension or none,", text.Field(p.Name))
	}
	if !p.Deep {
		what += " one level"
	}
	return what + " below " + dirName(p)
}

// Scope is which requests a rule is for, in words, or where no words say just that, by each of its conditions. It names
// applications as the account does; without one by their numbers, which don't change with the configuration.
func Scope(a *config.Account, conditions []apiclient.Condition) string {
	if len(conditions) == 0 {
		return "everywhere"
	}
	s, ok := apiclient.ConditionsScope(conditions)
	if !ok {
		return "where " + toTheLetter(conditions)
	}
	words, app := "for "+Requests(s), ""
	switch {
	case !s.App.Known:
		return words
	case a == nil:
		app = fmt.Sprintf("app=%d", s.App.N)
	default:
		app = text.Field(a.AppName(s.App))
	}
	switch {
	case len(conditions) == 1:
		return "for " + app
	case a == nil:
		return words + " " + app
	case strings.Contains(words, " on "), strings.Contains(words, ", "):
		return words + ", " + app
	}
	return words + " on " + app
}

// maxConditions is how many conditions a line shows.
const maxConditions = 20

// toTheLetter is conditions one by one, as the service has them.
func toTheLetter(conditions []apiclient.Condition) string {
	var all []string
	for _, c := range conditions[:min(len(conditions), maxConditions)] {
		words := apiclient.Point{c.Point}.String() + " " + c.Type
		switch {
		case c.Type == "" || len(c.Point) == 0:
			words = "a condition that can't be read"
		case c.Type != apiclient.ConditionAbsent:
			words += " " + strconv.Quote(c.Value)
		}
		all = append(all, text.Sanitize(words, 2*text.MaxPath))
	}
	if more := len(conditions) - maxConditions; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}

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
		if LikelyShared(seen) && t.Overlaps(apiclient.Source{IP: source}.Range()) {
			in = append(in, source)
		}
	}
	if len(in) == 0 {
		return grammar.Target{}, record.SourceActivity{}, false
	}
	first := slices.MinFunc(in, func(x, y netip.Addr) int {
		return cmp.Or(s.Sources[y].Attacks-s.Sources[x].Attacks, x.Compare(y))
	})
	return grammar.RangeOf(apiclient.Source{IP: first}.Range()), s.Sources[first], true
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
