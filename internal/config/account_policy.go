package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// PolicyOf is the policy of an account: what the account says wins over what holds for all, where lists replace and
// maps merge by key. Of changes the stricter wins, so that one line stops them on all accounts.
func (c *Config) PolicyOf(account int) Policy {
	p, own := c.Policy, c.Accounts[account].Policy
	p.Terminal, own.Terminal = nil, nil
	of := leaf{key: Element("accounts", account) + ".policy", value: reflect.ValueOf(own)}.leaves()
	for i, l := range (leaf{value: reflect.ValueOf(&p)}).leaves() {
		if c.isSet(of[i].key) {
			l.value.Set(of[i].value)
		}
	}
	p.Terminal = Terminal{}
	written, ofAccount := c.at(Element("accounts", account) + ".policy.terminal")
	if written.text == "" { // a bare role is everyone's
		maps.Copy(p.Terminal, c.Policy.Terminal)
	}
	maps.Copy(p.Terminal, c.Accounts[account].Policy.Terminal)
	if !ofAccount && !c.isSet("policy.terminal") {
		p.Terminal[EveryoneElse] = TerminalUser{Role: "responder"} // who can read the token could change the WAF anyway
	}
	p.Changes = stricter(c.Policy.Changes, p.Changes)
	return p
}

// stricter is the one of two values of changes that allows less.
func stricter(one, other string) string {
	for _, changes := range []string{ChangesOff, ChangesDryRun, ChangesOn} {
		if one == changes || other == changes {
			return changes
		}
	}
	return ChangesDryRun
}

// checkPolicies reports contradictions within the policy for all accounts, and within what an account's own keys make
// of it.
func (c *Config) checkPolicies() {
	check := func(key string, own, p Policy) {
		for _, user := range slices.Sorted(maps.Keys(own.Terminal)) {
			if own.Terminal[user].Role == "" {
				c.report(below(below(key, "terminal"), user)+".role", "missing; write one of viewer, responder, admin")
			}
		}
		c.checkDurations(key, p)
		c.checkOverride(key, p.Approval)
	}
	check("policy", c.Policy, c.Policy)
	for i, a := range c.Accounts {
		if key := Element("accounts", i) + ".policy"; c.isSet(key) {
			check(key, a.Policy, c.PolicyOf(i))
		}
	}
}

// checkOverride wants an override to be possible before the request times out. What holds for all accounts isn't
// reported again for one of them.
func (c *Config) checkOverride(key string, a Approval) {
	o, after, timeout := c.origins, key+".approval.override_after", key+".approval.timeout"
	switch {
	case a.Timeout <= 0 || a.OverrideAfter < a.Timeout:
	case o.isSet(after):
		o.reportValue(after, "is not shorter than policy.approval.timeout, so it would never come; write a shorter one, or 0 to allow no override")
	case o.isSet(timeout):
		o.report(timeout, "is not longer than the %s of policy.approval.override_after, so there would be no override; set %s shorter, or to 0 to allow none", model.Duration(a.OverrideAfter), after)
	}
}

// checkDurations keeps every duration within the longest one: otherwise a command without for= would be refused. What
// holds for all accounts isn't reported again for one of them.
func (c *Config) checkDurations(key string, p Policy) {
	o, longest := c.origins, key+".longest_duration"
	for _, l := range (leaf{key: key + ".durations", value: reflect.ValueOf(p.Durations)}).leaves() {
		switch {
		case l.value.Int() <= int64(p.LongestDuration):
		case o.isSet(l.key):
			o.reportValue(l.key, "is longer than policy.longest_duration; write %s at most", model.Duration(p.LongestDuration))
		case o.isSet(longest):
			o.report(longest, "is shorter than the %s of policy.%s; set %s to %s at most", model.Duration(l.value.Int()),
				strings.TrimPrefix(l.key, key+"."), l.key, model.Duration(p.LongestDuration))
		}
	}
}
