package waf

import "time"

// verdict is the result for a request.
type verdict int

const (
	through verdict = iota // let through and reported
	unseen                 // let through without inspection
	blocked                // blocked and reported
	denied                 // blocked for its source
	patched                // blocked by a virtual patch
)

// judge decides whether an attack's requests of one source are blocked. The allowlist wins over the denylist, that over the graylist.
func (a *account) judge(c *campaign, s *source, now time.Time) verdict {
	mode := a.mode(s.request, now)
	if mode == "off" {
		return unseen
	}
	lists := map[string]bool{}
	for _, e := range a.entries {
		if e.inForce(now) && e.inPool(c.spec.App) && e.matches(s) {
			lists[e.List] = true
		}
	}
	if lists["white"] {
		return through
	}
	if lists["black"] {
		return denied
	}
	malicious := !kindOf(c.spec.Type).clean
	for _, r := range a.rules {
		if !r.inForce(now) || !covers(r.conditions, s.request) {
			continue
		}
		switch {
		case r.kind == virtualPatch && r.patches(c, s.request):
			return patched
		case r.kind == "regex" && r.indicates(s.request):
			if r.attackType == virtualPatch {
				return patched
			}
			malicious = true
		}
	}
	if malicious && (mode == "block" || mode == "safe_blocking" && lists["gray"]) {
		return blocked
	}
	return through
}

// mode is the filtration mode for a request: that of the rule with most conditions, among equals of the newest.
func (a *account) mode(request web, now time.Time) string {
	mode, conditions := accountMode, -1
	for _, r := range a.rules {
		if r.kind == "service_mode" && r.mode != "default" && r.inForce(now) &&
			len(r.conditions) >= conditions && covers(r.conditions, request) {
			mode, conditions = r.mode, len(r.conditions)
		}
	}
	return mode
}
