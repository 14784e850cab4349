package config

import (
	"fmt"

	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
)

// Guards is the policy as commands take it, but for the sources: those change while the program runs, see SourceFiles.
func (p Policy) Guards() policy.Policy {
	return policy.Policy{
		Changes: p.Changes, WidestIPv4: p.WidestPrefix.IPv4, WidestIPv6: p.WidestPrefix.IPv6, Longest: p.LongestDuration, Renew: p.RenewWhileActive,
		Durations:   policy.Durations(p.Durations),
		RequiredFor: p.Approval.RequiredFor, Approvers: p.Approval.Approvers, ApprovalTimeout: p.Approval.Timeout,
		Override: policy.Override{After: p.Approval.Override.After, Longest: p.Approval.Override.Longest, Notify: p.Approval.Override.Notify},
	}
}

// Roles are who has which role.
func (p Policy) Roles() (policy.Roles, error) {
	r := policy.Roles{Viewers: p.Viewers, Responders: p.Responders, Admins: p.Admins, Terminal: map[string]record.Role{}}
	for user, name := range p.Terminal {
		role, ok := record.ParseRole(name)
		if !ok {
			return r, fmt.Errorf("policy.terminal: %q is no role", name)
		}
		r.Terminal[user] = role
	}
	return r, nil
}
