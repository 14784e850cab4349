package policy

import (
	"cmp"
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

// What can need a second person.
const (
	ApproveForever         = "forever"
	ApproveBroad           = "broad" // country, data center, proxy, wider than the widest prefix
	ApproveBlockPath       = "block_path"
	ApproveAllow           = "allow"
	ApproveModeOff         = "mode_off"
	ApproveRulesEverywhere = "rules_everywhere" // a rule for every host
	ApproveSource          = "source"           // a named source whose Deny says so
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

// Durations are how long a measure lasts when the line does not say.
type Durations struct {
	Deny, Gray, Allow, Mode, ModeOff, Patch, Indicator, Mute time.Duration
}

// Where the configuration says nothing.
const (
	DefaultMode        = 2 * time.Hour
	DefaultModeOff     = 30 * time.Minute
	DefaultPatch       = 7 * 24 * time.Hour
	DefaultIndicator   = 4 * time.Hour
	DefaultMute        = time.Hour
	DefaultLongest     = 30 * 24 * time.Hour
	DefaultApprovalFor = 15 * time.Minute
	DefaultOverrideFor = time.Hour
	DefaultWidestIPv4  = 24
	DefaultWidestIPv6  = 48
)

// Policy is what the guards go by.
type Policy struct {
	Changes         string          // ChangesOff, ChangesDryRun (also for ""), ChangesOn
	Sources         func() []Source // the named ones, as they are now; nil: none
	WidestIPv4      int             // bits of the widest range that one person may put on a list; 0: DefaultWidestIPv4
	WidestIPv6      int             // 0: DefaultWidestIPv6
	Durations       Durations
	Longest         time.Duration // of any measure; 0: DefaultLongest
	Renew           time.Duration // how long a denial of single addresses lasts at most while one of them knocks; 0: it isn't prolonged
	RequiredFor     []string
	Approvers       string        // the user or user group whom a request for a second person mentions; "": nobody
	ApprovalTimeout time.Duration // how long such a request waits; 0: DefaultApprovalFor
	Override        Override
}

// Alone is the way out for one person when no second one answers.
type Override struct {
	After   time.Duration // how long a request must have waited; 0: there is no such way
	Longest time.Duration // that what is done alone may last; 0: DefaultOverrideFor
	Tell    string        // the user or user group who is told; "": nobody is mentioned
}

// approvalFor is how long a request waits.
func (p Policy) ApprovalWait() time.Duration { return cmp.Or(p.ApprovalTimeout, DefaultApprovalFor) }

// longest is how long what is done alone may last.
func (a Override) AtMost() time.Duration { return cmp.Or(a.Longest, DefaultOverrideFor) }

// patchFor is how long a patch lasts when the line does not say.
func (p Policy) PatchFor() time.Duration { return cmp.Or(p.Durations.Patch, DefaultPatch) }

// modeFor is how long a mode lasts when the line does not say.
func (p Policy) ModeFor(mode string) time.Duration {
	if mode == apiclient.ModeOff {
		return cmp.Or(p.Durations.ModeOff, DefaultModeOff)
	}
	return cmp.Or(p.Durations.Mode, DefaultMode)
}

// indicatorFor is how long an indicator lasts when the line does not say.
func (p Policy) IndicatorFor() time.Duration { return cmp.Or(p.Durations.Indicator, DefaultIndicator) }

// muteFor is how long a mute lasts when the line does not say.
func (p Policy) MuteFor() time.Duration { return cmp.Or(p.Durations.Mute, DefaultMute) }

// builtin are the ranges that are never denied: behind a balancer they are everybody.
func Builtin() []Source {
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

// named are the sources that people named.
func (p Policy) Named() []Source {
	if p.Sources == nil {
		return nil
	}
	return slices.Clone(p.Sources())
}

// SourceOf is the named source that an address belongs to.
func (p Policy) SourceOf(addr netip.Addr) (Source, bool) {
	for _, s := range append(p.Named(), Builtin()...) {
		if s.has(addr) {
			return s, true
		}
	}
	return Source{}, false
}

func (s Source) has(addr netip.Addr) bool {
	return slices.ContainsFunc(s.Ranges, func(r netip.Prefix) bool { return grammar.Unmap(r).Contains(addr.Unmap()) })
}

// never is the source in a target that is never denied, if there is one.
func (p Policy) Never(t grammar.Target) (Source, bool) {
	for _, s := range append(p.Named(), Builtin()...) {
		if s.Deny != DenyApproval && slices.ContainsFunc(s.Ranges, t.Overlaps) {
			return s, true
		}
	}
	return Source{}, false
}

// hitBy says how a target lies in the source, or contains some of it; nil if it does neither.
func (s Source) HitBy(t grammar.Target) text.Text {
	i := slices.IndexFunc(s.Ranges, t.Overlaps)
	if i < 0 {
		return nil
	}
	hit := grammar.Unmap(s.Ranges[i])
	if t.Prefix.Bits() < hit.Bits() {
		return text.New(text.Code(t.String()), " contains ", text.Code(grammar.RangeOf(hit).String()), " of ", text.Bold(s.Name))
	}
	return text.New(text.Code(t.String()), " is in ", text.Bold(s.Name), " (", text.Code(grammar.RangeOf(hit).String()), ")")
}

// widest are the bits of the widest range that one person may decide on, and of the widest that the service takes.
func (p Policy) Widest(t grammar.Target) (widest, hardest int) {
	if t.Prefix.Addr().Is6() {
		return cmp.Or(p.WidestIPv6, DefaultWidestIPv6), 32
	}
	return cmp.Or(p.WidestIPv4, DefaultWidestIPv4), 12
}

// wide reports whether a range is wider than one person may put on a list.
func (p Policy) Wide(t grammar.Target) bool {
	widest, _ := p.Widest(t)
	return t.Prefix.Bits() < widest
}

// protectable reports whether a range is narrow enough to be protected: no wider than what the service takes in one entry.
func (p Policy) Protectable(t grammar.Target) bool {
	_, hardest := p.Widest(t)
	return t.Prefix.Bits() >= hardest
}

// guardEnd refuses an end that is farther off than anything may last. A zero one is never.
func (p Policy) GuardEnd(until, now time.Time) error {
	if longest := p.LongestDuration(); until.After(now.Add(longest)) {
		return refusal.Guarded(text.New("it would hold until ", until, ": nothing may hold longer than ", text.Code(grammar.DurationText(longest)), " from now. Nothing was done"))
	}
	return nil
}

func (p Policy) LongestDuration() time.Duration { return cmp.Or(p.Longest, DefaultLongest) }

// Describe says in a few words what the policy allows, for start messages.
func (p Policy) Describe() string {
	switch p.Changes {
	case ChangesOn:
		return "live: changes are made"
	case ChangesOff:
		return "only watching: changes are switched off"
	}
	return "in dry run: it shows what it would send and changes nothing"
}

// lasting is how long a measure holds, for the end of a sentence.
func Lasting(d time.Duration) string {
	if d == grammar.Never {
		return "forever"
	}
	return "for " + text.HumanDuration(d)
}

// renews reports whether a denial is prolonged while it knocks: of single addresses, and not yet for as long as that may last. Those of one denial
// are prolonged together while one of them knocks: they have one line, one end and one undo, and one who waited is no friend.
func (p Policy) Renews(targets []grammar.Target, length time.Duration) bool {
	ranges := slices.ContainsFunc(targets, func(t grammar.Target) bool { return t.Kind != apiclient.KindRange || !t.Prefix.IsSingleIP() })
	return !ranges && length != grammar.Never && length < p.Renew
}

// neverVisitors is what nobody should forget who denies many at once.
const NeverVisitors = "wafbot sees attacks, never visitors"
