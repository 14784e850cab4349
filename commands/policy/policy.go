// Package policy is what the configuration allows: roles, sources that are never denied, what needs approval, and how
// long a mitigation lasts.
package policy

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Policy is an account's policy as it holds now.
type Policy struct {
	config.Policy

	Off       func() bool            // a living replica's configuration switches all changes off, on every account; nil: none does
	StoreAway func() error           // why the store takes nothing just now, nil: it does; nil: that isn't known
	Sources   func() []config.Source // the named ones, as they are now; nil: none
}

// LongestOverride is how long a change may last that was made without the approval that it needs.
const LongestOverride = time.Hour

// ChangesNow is what may be changed at all, as it is now.
func (p Policy) ChangesNow() string {
	if p.Off != nil && p.Off() {
		return config.ChangesOff
	}
	return p.Changes
}

// ModeFor is how long a mode lasts when the line does not say.
func (p Policy) ModeFor(mode string) time.Duration {
	if mode == apiclient.ModeOff {
		return quarter(p.Durations.Mode)
	}
	return p.Durations.Mode
}

// quarter is how long something lasts that is riskier than what has the duration: in whole seconds.
func quarter(d time.Duration) time.Duration { return max(time.Second, (d / 4).Truncate(time.Second)) }

// DenyFor is how long a denial lasts when the line does not say.
func (p Policy) DenyFor() time.Duration { return p.Durations.Deny }

// GrayFor is how long an entry on the graylist lasts when the line does not say.
func (p Policy) GrayFor() time.Duration { return min(6*p.Durations.Deny, p.LongestDuration) }

// AllowFor is how long an entry on the allowlist lasts when the line does not say.
func (p Policy) AllowFor() time.Duration { return quarter(p.Durations.Deny) }

// PatchFor is how long a patch lasts when the line does not say.
func (p Policy) PatchFor() time.Duration { return p.Durations.Patch }

// IndicatorFor is how long an indicator lasts when the line does not say.
func (p Policy) IndicatorFor() time.Duration { return p.Durations.Deny }

// MuteFor is how long a mute lasts when the line does not say.
func (p Policy) MuteFor() time.Duration { return quarter(p.Durations.Deny) }

// builtin are the ranges that are never denied: behind a load balancer they are all users.
var builtin = builtinSources()

func builtinSources() []config.Source {
	named := func(name string, ranges ...string) config.Source {
		s := config.Source{Name: name, Deny: config.DenyNever, Cards: true}
		for _, r := range ranges {
			s.Ranges = append(s.Ranges, netip.MustParsePrefix(r))
		}
		return s
	}
	return []config.Source{
		named("private addresses", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
		named("loopback", "127.0.0.0/8", "::1/128"),
		named("link-local addresses", "169.254.0.0/16", "fe80::/10"),
		named("carrier-grade NAT", "100.64.0.0/10"),
		named("unique-local addresses", "fc00::/7"),
		named("this network", "0.0.0.0/8", "::/128"),
	}
}

// Builtin are the ranges that are never denied, whatever the configuration says.
func Builtin() []config.Source { return slices.Clone(builtin) }

// With is the policy with what is protected on an account beside what the configuration names.
func (p Policy) With(protected []record.Protected) Policy {
	if len(protected) == 0 {
		return p
	}
	configured := p
	p.Sources = func() []config.Source {
		all := configured.Named()
		for _, one := range protected {
			all = append(all, ProtectedSource(one))
		}
		return all
	}
	return p
}

// Named are the sources of the configuration and those that are protected.
func (p Policy) Named() []config.Source {
	if p.Sources == nil {
		return nil
	}
	return slices.Clone(p.Sources())
}

// Guarded are all sources that can't be denied without more ado: the named ones, then the built-in ones.
func (p Policy) Guarded() []config.Source { return append(p.Named(), builtin...) }

// SourceOf is the named or built-in source that an attack's source is in, or in part.
func (p Policy) SourceOf(source apiclient.Source) (config.Source, bool) {
	var named []config.Source
	if p.Sources != nil {
		named = p.Sources()
	}
	for _, all := range [][]config.Source{named, builtin} {
		if i := slices.IndexFunc(all, func(s config.Source) bool { return has(s, source.Range()) }); i >= 0 {
			return all[i], true
		}
	}
	return config.Source{}, false
}

// has reports whether an address of a range, or the IPv4 address that it stands for, is in the source.
func has(s config.Source, r netip.Prefix) bool {
	return slices.ContainsFunc(s.Ranges, grammar.RangeOf(r).Overlaps)
}

// Never is the source in a target that is never denied, if there is one.
func (p Policy) Never(t grammar.Target) (config.Source, bool) {
	return first(p.Guarded(), func(s config.Source) bool {
		return s.Deny != config.DenyApproval && slices.ContainsFunc(s.Ranges, t.Overlaps)
	})
}

// first is the first of all that is so; ok reports whether one is.
func first[T any](all []T, is func(T) bool) (one T, ok bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return one, false
}

// HitBy says how a target lies in the source, or contains some of it; nil if it does neither.
func HitBy(s config.Source, t grammar.Target) text.Text {
	i := slices.IndexFunc(s.Ranges, t.Overlaps)
	if i < 0 {
		return nil
	}
	hit := record.Unmap(s.Ranges[i])
	switch {
	case !t.Prefix.Overlaps(hit):
		return text.Newf("`%v` is, by the IPv4 address within, in *%v* (`%v`)",
			t.String(), s.Name, grammar.RangeOf(hit).String())
	case t.Prefix.Bits() < hit.Bits():
		return text.Newf("`%v` contains `%v` of *%v*", t.String(), grammar.RangeOf(hit).String(), s.Name)
	}
	return text.Newf("`%v` is in *%v* (`%v`)", t.String(), s.Name, grammar.RangeOf(hit).String())
}

// Widest are the bits of the widest range of its kind that needs no approval, and of the widest that the service takes.
func (p Policy) Widest(r netip.Prefix) (widest, hardest int) {
	if r.Addr().Is6() {
		return p.WidestPrefix.IPv6, apiclient.WidestIPv6
	}
	return p.WidestPrefix.IPv4, apiclient.WidestIPv4
}

// Wide reports whether a range, or what it stands for, is so wide that a list entry for it needs approval.
func (p Policy) Wide(t grammar.Target) bool {
	return slices.ContainsFunc(t.Ranges(), func(r netip.Prefix) bool {
		widest, _ := p.Widest(r)
		return r.Bits() < widest
	})
}

// Protectable reports whether a range is narrow enough to be protected: no wider than what the service takes in one
// entry.
func (p Policy) Protectable(t grammar.Target) bool {
	return !slices.ContainsFunc(t.Ranges(), func(r netip.Prefix) bool {
		_, hardest := p.Widest(r)
		return r.Bits() < hardest
	})
}

// GuardEnd refuses an end that is farther off than anything may last. A zero one is never.
func (p Policy) GuardEnd(until, now time.Time) error {
	if until.After(now.Add(p.LongestDuration)) {
		return refusal.Guarded("it would hold until %v: nothing may hold longer than `%v` from now", until,
			grammar.DurationText(p.LongestDuration))
	}
	return nil
}

// Describe says in a few words what the policy allows, for start messages.
func (p Policy) Describe() string {
	switch p.ChangesNow() {
	case config.ChangesOn:
		if p.StoreAway != nil && p.StoreAway() != nil {
			return Away(refusal.Redis(p.StoreAway()))
		}
		return "live: changes are made"
	case config.ChangesOff:
		return "only watching: changes are switched off"
	}
	return "in dry run: it shows what it would send and changes nothing"
}

// Away says that nothing can be changed, and why, after "wafbot is".
func Away(why string) string { return "unable to change anything now: its store (Redis) " + why }

// Lasting is how long a mitigation holds, for the end of a sentence.
func Lasting(d time.Duration) string {
	if d == grammar.Never {
		return "forever"
	}
	return "for " + text.Duration(d)
}

// Renews reports whether a denial is extended while a source is still trying: of single addresses, and not yet for as
// long as that may last. Those of one denial are extended together while one of them is still trying: they have one
// line, one end and one undo.
func (p Policy) Renews(targets []grammar.Target, length time.Duration) bool {
	ranges := slices.ContainsFunc(targets, func(t grammar.Target) bool {
		return t.Kind != apiclient.KindRange || !t.Prefix.IsSingleIP()
	})
	return !ranges && length != grammar.Never && length < p.RenewWhileActive
}

// NeverVisitors is what a user should know who denies many sources at once.
const NeverVisitors = "wafbot sees attacks, never visitors"

// TerminalUser is who asks at the terminal: his role, and the same person's user id in Slack; "": not known.
func TerminalUser(p config.Policy, a record.Actor) (role record.Role, slack string) {
	u, named := p.Terminal[strings.TrimPrefix(a.ID, "cli:")]
	if !named {
		u = p.Terminal[config.EveryoneElse]
	}
	role, _ = record.ParseRole(u.Role)
	return max(role, record.Viewer), u.Slack
}

// everyone stands for every full member of the workspace.
const everyone = "*"

// RoleOf is the highest role of a full member of the workspace, by his id or as one of all.
func RoleOf(p config.Policy, user string) record.Role {
	role, _ := Named(p, user, everyone)
	return role
}

// Everyone is the role of each full member of the workspace.
func Everyone(p config.Policy) record.Role {
	role, _ := Named(p, everyone)
	return role
}

// Named is the highest role that lists one of the ids, and by which id.
func Named(p config.Policy, ids ...string) (record.Role, string) {
	lists := map[record.Role][]string{record.Viewer: p.Viewers, record.Responder: p.Responders, record.Admin: p.Admins}
	for _, role := range []record.Role{record.Admin, record.Responder, record.Viewer} {
		if i := slices.IndexFunc(ids, func(id string) bool { return slices.Contains(lists[role], id) }); i >= 0 {
			return role, ids[i]
		}
	}
	return record.NoRole, ""
}

// Groups are the ids of the user groups that have a role.
func Groups(p config.Policy) []string {
	return slices.DeleteFunc(slices.Concat(p.Admins, p.Responders, p.Viewers),
		func(id string) bool { return !strings.HasPrefix(id, "S") })
}

// List is who has at least that role, each once and "*" left out.
func List(p config.Policy, least record.Role) []string {
	all := p.Admins
	if least <= record.Responder {
		all = slices.Concat(p.Responders, all)
	}
	var ids []string
	for _, id := range all {
		if id != everyone && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
