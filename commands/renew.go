package commands

import (
	"net/netip"

	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
)

// Watch tells what goes on, as the replica sees it that watches the account: elsewhere nothing is known.
type Watch interface {
	// StillTrying reports whether one of these denied addresses still tries.
	StillTrying(account string, addresses []netip.Addr) bool
	// GoesOn reports whether an attack goes on; its id is as AttackID makes it.
	GoesOn(account, attack string) bool
	// Changed has what stands at the service read again soon: a change was made.
	Changed(account string)
}

type unwatched struct{}

// StillTrying implements Watch.
func (unwatched) StillTrying(string, []netip.Addr) bool { return false }

// Changed implements Watch.
func (unwatched) Changed(string) {}

// GoesOn implements Watch.
func (unwatched) GoesOn(string, string) bool { return false }

// limited is the change as wafbot may prolong it by what the policy says now, which may be less than when it was made.
func (r *Runner) withinPolicy(ch record.Change) record.Change {
	if !ch.Renew.IsZero() {
		ch.Renew = record.Earlier(ch.Renew, change.End(ch.At, r.cfg.Policy.Renew))
	}
	return ch
}
