// Package policy is what the configuration allows: roles, sources that are never denied, what needs approval, and how
// long a mitigation lasts.
package policy

import (
	"net/netip"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// What may be changed at all.
const (
	ChangesOff    = "off"
	ChangesDryRun = "dry_run" // everything but the sending: what would be sent is shown
	ChangesOn     = "on"
)

// Stricter is the one of two that allows less.
func Stricter(one, other string) string {
	for _, changes := range []string{ChangesOff, ChangesDryRun, ChangesOn} {
		if one == changes || other == changes {
			return changes
		}
	}
	return ChangesDryRun
}

// What can need approval: the values of policy.approval.required_for.
const (
	ApproveForever         = "forever"
	ApproveBroad           = "broad" // country, data center, proxy, wider than the widest prefix
	ApproveBlockPath       = "block_path"
	ApproveAllow           = "allow"
	ApproveModeOff         = "mode_off"
	ApproveRulesEverywhere = "rules_everywhere" // a rule for every host
	ApproveSource          = "source"           // a named source whose Deny says so
	// ApproveIndicatorUntried is an indicator that wafbot couldn't try on usual browsers.
	ApproveIndicatorUntried = "indicator_untried"
)

// Who may deny a named source.
const (
	DenyNever    = "never"
	DenyApproval = "approval"
)

// Source is a named range of the owner's: a CDN, an office, health checks.
type Source struct {
	Name    string
	Ranges  []netip.Prefix
	Deny    string // DenyNever (also for ""), or DenyApproval
	NoCards bool   // attacks that come from such sources alone get no card, incidents excepted
	File    string // that some of the ranges were read from; "": none
	ReadAt  time.Time
	Broken  string // why the file can't be read just now, so that what it held before counts; "": it can
}

// Durations are how long a mitigation lasts when the line does not say.
type Durations struct {
	Deny, Mode, Patch time.Duration // of anything else follows from these
}

// Policy is what the guards go by.
type Policy struct {
	Changes         string          // by the configuration: ChangesOff, ChangesDryRun (also for ""), ChangesOn; see ChangesNow
	Off             func() bool     // a living replica's configuration switches all changes off, on every account; nil: none does
	StoreAway       func() error    // why the store takes nothing just now, nil: it does; nil: that isn't known
	Sources         func() []Source // the named ones, as they are now; nil: none
	WidestIPv4      int             // bits of the widest range that goes on a list without approval
	WidestIPv6      int
	Durations       Durations
	Longest         time.Duration // of any mitigation
	Renew           time.Duration // how long a denial of single addresses lasts at most while one of them is still trying; 0: it isn't extended
	RequiredFor     []string      // what needs approval: ApproveForever …
	Approvers       string        // the user or user group whom an approval request or an override mentions; "": none
	ApprovalTimeout time.Duration // how long an approval request waits
	OverrideAfter   time.Duration // how long it waits until the one who asked may act without approval; 0: for ever
}

// LongestOverride is how long a change may last that was made without the approval that it needs.
const LongestOverride = time.Hour

// Defaults are the policy of a configuration that says nothing. No other place fills in a default.
func Defaults() Policy {
	const day = 24 * time.Hour
	return Policy{
		Changes:    ChangesDryRun,
		WidestIPv4: 24, WidestIPv6: 48,
		Durations: Durations{Deny: 4 * time.Hour, Mode: 2 * time.Hour, Patch: 7 * day},
		Longest:   30 * day,
		Renew:     day,
		RequiredFor: []string{
			ApproveForever, ApproveBroad, ApproveBlockPath, ApproveAllow, ApproveModeOff, ApproveRulesEverywhere, ApproveSource,
			ApproveIndicatorUntried,
		},
		ApprovalTimeout: 15 * time.Minute,
		OverrideAfter:   5 * time.Minute,
	}
}

// ChangesNow is what may be changed at all, as it is now.
func (p Policy) ChangesNow() string {
	if p.Off != nil && p.Off() {
		return ChangesOff
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
func (p Policy) GrayFor() time.Duration { return min(6*p.Durations.Deny, p.Longest) }

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

func builtinSources() []Source {
	named := func(name string, ranges ...string) Source {
		s := Source{Name: name, Deny: DenyNever}
		for _, r := range ranges {
			s.Ranges = append(s.Ranges, netip.MustParsePrefix(r))
		}
		return s
	}
	return []Source{
		named("private addresses", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
		named("loopback", "127.0.0.0/8", "::1/128"),
		named("link-local addresses", "169.254.0.0/16", "fe80::/10"),
		named("carrier-grade NAT", "100.64.0.0/10"),
		named("unique-local addresses", "fc00::/7"),
		named("this network", "0.0.0.0/8", "::/128"),
	}
}

// Builtin are the ranges that are never denied, whatever the configuration says.
func Builtin() []Source { return slices.Clone(builtin) }

// With is the policy with what is protected on an account beside what the configuration names.
func (p Policy) With(protected []record.Protected) Policy {
	if len(protected) == 0 {
		return p
	}
	configured := p
	p.Sources = func() []Source {
		all := configured.Named()
		for _, one := range protected {
			all = append(all, ProtectedSource(one))
		}
		return all
	}
	return p
}

// Named are the sources of the configuration and those that are protected.
func (p Policy) Named() []Source {
	if p.Sources == nil {
		return nil
	}
	return slices.Clone(p.Sources())
}

// Guarded are all sources that can't be denied without more ado: the named ones, then the built-in ones.
func (p Policy) Guarded() []Source { return append(p.Named(), builtin...) }

// SourceOf is the named or built-in source that an address belongs to.
func (p Policy) SourceOf(addr netip.Addr) (Source, bool) {
	var named []Source
	if p.Sources != nil {
		named = p.Sources()
	}
	for _, all := range [][]Source{named, builtin} {
		if i := slices.IndexFunc(all, func(s Source) bool { return s.has(addr) }); i >= 0 {
			return all[i], true
		}
	}
	return Source{}, false
}

// has reports whether an address, or the IPv4 address that it stands for, is in the source.
func (s Source) has(addr netip.Addr) bool {
	return slices.ContainsFunc(s.Ranges, grammar.RangeOf(grammar.OnlyAddr(addr)).Overlaps)
}

// Never is the source in a target that is never denied, if there is one.
func (p Policy) Never(t grammar.Target) (Source, bool) {
	return first(p.Guarded(), func(s Source) bool { return s.Deny != DenyApproval && slices.ContainsFunc(s.Ranges, t.Overlaps) })
}

// first is the first of all that is so; ok reports whether one is.
func first[T any](all []T, is func(T) bool) (one T, ok bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return one, false
}

// HitBy says how a target lies in the source, or contains some of it; nil if it does neither.
func (s Source) HitBy(t grammar.Target) text.Text {
	i := slices.IndexFunc(s.Ranges, t.Overlaps)
	if i < 0 {
		return nil
	}
	hit := grammar.Unmap(s.Ranges[i])
	switch {
	case !t.Prefix.Overlaps(hit):
		return text.New(text.Code(t.String()), " is, by the IPv4 address within, in ", text.Bold(s.Name), " (", text.Code(grammar.RangeOf(hit).String()), ")")
	case t.Prefix.Bits() < hit.Bits():
		return text.New(text.Code(t.String()), " contains ", text.Code(grammar.RangeOf(hit).String()), " of ", text.Bold(s.Name))
	}
	return text.New(text.Code(t.String()), " is in ", text.Bold(s.Name), " (", text.Code(grammar.RangeOf(hit).String()), ")")
}

// Widest are the bits of the widest range of its kind that needs no approval, and of the widest that the service takes.
func (p Policy) Widest(r netip.Prefix) (widest, hardest int) {
	if r.Addr().Is6() {
		return p.WidestIPv6, apiclient.WidestIPv6
	}
	return p.WidestIPv4, apiclient.WidestIPv4
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
	if until.After(now.Add(p.Longest)) {
		return refusal.Guarded(text.New("it would hold until ", until, ": nothing may hold longer than ", text.Code(grammar.DurationText(p.Longest)), " from now"))
	}
	return nil
}

// Describe says in a few words what the policy allows, for start messages.
func (p Policy) Describe() string {
	switch p.ChangesNow() {
	case ChangesOn:
		if p.StoreAway != nil && p.StoreAway() != nil {
			return Away(refusal.Redis(p.StoreAway()))
		}
		return "live: changes are made"
	case ChangesOff:
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
	ranges := slices.ContainsFunc(targets, func(t grammar.Target) bool { return t.Kind != apiclient.KindRange || !t.Prefix.IsSingleIP() })
	return !ranges && length != grammar.Never && length < p.Renew
}

// NeverVisitors is what a user should know who denies many sources at once.
const NeverVisitors = "wafbot sees attacks, never visitors"
