package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// PolicyOf is the policy of an account: what the account says wins over what holds for all. Of changes the stricter
// wins, so that one line stops them on all accounts.
func (c *Config) PolicyOf(account int) Policy {
	p, own := c.Policy, c.Accounts[account].Policy
	c.origins.override(reflect.ValueOf(&p).Elem(), reflect.ValueOf(own), Element("accounts", account)+".policy")
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

// override puts what is written below a key into the place of what v holds: maps merge by key, lists replace.
func (o *origins) override(v, own reflect.Value, key string) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			o.override(v.Field(i), own.Field(i), below(key, v.Type().Field(i).Tag.Get("yaml")))
		}
	case !o.isSet(key):
	case v.Kind() == reflect.Map:
		merged := reflect.MakeMap(v.Type())
		for _, from := range []reflect.Value{v, own} {
			for _, name := range from.MapKeys() {
				merged.SetMapIndex(name, from.MapIndex(name))
			}
		}
		v.Set(merged)
	default:
		v.Set(own)
	}
}

// checkPolicies reports contradictions within the policy for all accounts, and within what an account's own keys make
// of it.
func (c *Config) checkPolicies() {
	const all = "policy"
	c.checkTerminal(all, c.Policy)
	c.checkDurations(all, c.Policy)
	c.checkOverride(all, c.Policy.Approval)
	for i := range c.Accounts {
		if key := Element("accounts", i) + ".policy"; c.origins.isSet(key) {
			p := c.PolicyOf(i)
			c.checkTerminal(key, c.Accounts[i].Policy)
			c.checkDurations(key, p)
			c.checkOverride(key, p.Approval)
		}
	}
}

func (c *Config) checkTerminal(key string, p Policy) {
	for _, user := range slices.Sorted(maps.Keys(p.Terminal)) {
		if p.Terminal[user].Role == "" {
			c.origins.report(below(below(key, "terminal"), user)+".role", "missing; write one of viewer, responder, admin")
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

// checkDurations keeps every duration within the longest one, likewise. Otherwise a command without for= would be
// refused.
func (c *Config) checkDurations(key string, p Policy) {
	o, longest := c.origins, key+".longest_duration"
	for _, l := range leavesOf(leaf{key: key + ".durations", value: reflect.ValueOf(p.Durations)}) {
		switch {
		case l.value.Int() <= int64(p.LongestDuration):
		case o.isSet(l.key):
			o.reportValue(l.key, "is longer than policy.longest_duration; write %s at most", model.Duration(p.LongestDuration))
		case o.isSet(longest):
			o.report(longest, "is shorter than the %s of policy.%s; set %s to %s at most", model.Duration(l.value.Int()), strings.TrimPrefix(l.key, key+"."), l.key, model.Duration(p.LongestDuration))
		}
	}
}
