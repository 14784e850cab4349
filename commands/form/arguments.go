package form

import (
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/policy"
)

// Arguments that several commands share.
var (
	ArgAttack = call.Arg{Name: "attack", Help: "the attack's id, as on its card", Options: OngoingAttacks}
	ArgReason = call.Arg{Name: "reason", Help: "why, for the list and the audit log"}
	argApps   = call.Arg{Name: "app", Label: "Applications; none chosen: all", Help: "applications by id or name, with commas; left out: all", Read: call.ReadApps, Kind: call.FieldMany, Options: ConfiguredApps}
)

// ArgFor is how long a mitigation lasts, and its default; nil: that depends on more than the verb.
func ArgFor(lasts func(policy.Policy) time.Duration) call.Arg {
	arg := call.Arg{Name: "for", Label: "How long", Help: "how long: 30m, 12h, 7d, 2w; left out: as configured", Read: call.ReadDuration, Options: LengthsOrEver}
	if lasts != nil {
		arg.Default = func(c *call.Call) string { return grammar.DurationText(lasts(c.Policy)) }
	}
	return arg
}

// ListArguments are the arguments of a command that adds to a list.
func ListArguments(l change.Listing) []call.Arg {
	return []call.Arg{
		{Name: "target", Object: true, Many: true, Read: call.ReadTarget, Help: "an address, a range as 203.0.113.0/24, country:FR, proxy:TOR or datacenter:aws; left out with attack=: its top source"},
		ArgAttack, ArgFor(l.Lasts), argApps, ArgReason,
	}
}
