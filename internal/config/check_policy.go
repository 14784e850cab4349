package config

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
)

// longestOverride is the most that policy.approval.override.longest may be.
const longestOverride = time.Hour

func (c *Config) checkPolicy() {
	o, p := c.origins, &c.Policy
	o.oneOf("policy.changes", p.Changes, policy.ChangesOff, policy.ChangesDryRun, policy.ChangesOn)
	if p.Changes == policy.ChangesOn && !o.isSet("sources") {
		o.report("policy.changes", `is on, but nothing says which addresses must not be denied by mistake (your CDN, office, health checks); `+
			`write "sources:" with them into the file, "sources: []" if there are none, or set WAFBOT_NEVER_DENY, which may be empty`)
	}
	for _, role := range []struct {
		key   string
		users []string
	}{{"policy.viewers", p.Viewers}, {"policy.responders", p.Responders}, {"policy.admins", p.Admins}} {
		o.each(role.key, role.users, func(key, value string) {
			if value != "*" && !isID(value, "UWS") {
				o.reportValue(key, `is no id; write a user id (U…), a user group id (S…) or "*" for everyone`)
			}
		})
	}
	for _, user := range slices.Sorted(maps.Keys(p.Terminal)) {
		o.oneOf("policy.terminal."+user, p.Terminal[user], record.Viewer.String(), record.Responder.String(), record.Admin.String())
	}
	if n := p.WidestPrefix.IPv4; n < 12 || n > 32 {
		o.reportValue("policy.widest_prefix.ipv4", "is out of range; write 12 to 32")
	}
	if n := p.WidestPrefix.IPv6; n < 32 || n > 128 {
		o.reportValue("policy.widest_prefix.ipv6", "is out of range; write 32 to 128")
	}
	c.checkDurations()
	c.checkApproval()
}

func (c *Config) checkApproval() {
	o, a := c.origins, &c.Policy.Approval
	o.each("policy.approval.required_for", a.RequiredFor, func(key, value string) { o.oneOf(key, value, needsApproval()...) })
	o.userOrGroup("policy.approval.approvers", a.Approvers)
	o.positive("policy.approval.timeout", a.Timeout)
	const after, longest = "policy.approval.override.after", "policy.approval.override.longest"
	switch { // an override must be possible before the request times out
	case a.Timeout <= 0 || a.Override.After < a.Timeout:
	case o.isSet(after):
		o.reportValue(after, "is not shorter than policy.approval.timeout, so it would never come; write a shorter one, or 0 to allow no override")
	default:
		o.report("policy.approval.timeout", "is not longer than the default of %s, so there would be no override; set %s shorter, or to 0 to allow none", after, after)
	}
	o.positive(longest, a.Override.Longest)
	o.atMost(longest, a.Override.Longest, longestOverride, "1h")
	o.userOrGroup("policy.approval.override.notify", a.Override.Notify)
}

// checkDurations keeps every duration within the longest one. Otherwise a command without for= would be refused.
func (c *Config) checkDurations() {
	o, p := c.origins, &c.Policy
	o.positive("policy.longest_duration", p.LongestDuration)
	longest := model.Duration(p.LongestDuration).String()
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"deny", p.Durations.Deny}, {"gray", p.Durations.Gray}, {"allow", p.Durations.Allow}, {"mode", p.Durations.Mode},
		{"mode_off", p.Durations.ModeOff}, {"patch", p.Durations.Patch}, {"indicator", p.Durations.Indicator}, {"mute", p.Durations.Mute},
	} {
		key := "policy.durations." + d.key
		o.positive(key, d.value)
		switch {
		case d.value <= p.LongestDuration:
		case o.isSet(key):
			o.reportValue(key, "is longer than policy.longest_duration; write %s at most", longest)
		default:
			o.report("policy.longest_duration", "is shorter than the default of %s; set %s to %s at most", key, key, longest)
		}
	}
}

// CheckServe reports what only serve needs: the way to Slack. Its error is an *Error.
func (c *Config) CheckServe() error {
	o := &origins{root: c.origins.root, keys: c.origins.keys}
	if c.Slack.BotToken == "" {
		o.report("slack.bot_token", "missing; %s (the app's OAuth & Permissions page shows it)", o.setIt("slack.bot_token"))
	}
	if c.Slack.AppToken == "" && c.Slack.SigningSecret == "" {
		o.report("slack.app_token", "missing, and slack.signing_secret too: no click would reach wafbot; for Socket Mode %s (an app-level token with connections:write), "+
			"for signed HTTP give %s (the app's Basic Information page has both)", o.setIt("slack.app_token"), o.asWritten("slack.signing_secret"))
	}
	for i, a := range c.Accounts {
		if key := Element("accounts", i) + ".channel"; a.Channel == "" {
			o.report(key, "missing; %s", o.setIt(key))
		}
	}
	return o.err()
}
