package config

import (
	"time"

	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/poller"
)

// defaults is a configuration without accounts. The values of list elements are in the setDefaults methods below.
func defaults() *Config {
	return &Config{
		Timezone: time.UTC,
		Slack: Slack{
			APIURL:            "https://slack.com/api/",
			Command:           "/waf",
			MessagesPerSecond: 1,
			Burst:             4,
			EditsPerMinute:    40,
		},
		Redis:  Redis{URL: "redis://127.0.0.1:6379/0"},
		Listen: "127.0.0.1:8080",
		Policy: Policy{
			Changes:         policy.ChangesDryRun,
			Viewers:         []string{"*"},
			WidestPrefix:    WidestPrefix{IPv4: policy.DefaultWidestIPv4, IPv6: policy.DefaultWidestIPv6},
			LongestDuration: policy.DefaultLongest,
			Durations: Durations{
				Deny: 4 * time.Hour, Gray: 24 * time.Hour, Allow: time.Hour, Mode: policy.DefaultMode,
				ModeOff: policy.DefaultModeOff, Patch: policy.DefaultPatch, Indicator: policy.DefaultIndicator, Mute: policy.DefaultMute,
			},
			RenewWhileActive: 24 * time.Hour,
			Approval: Approval{
				RequiredFor: needsApproval(),
				Timeout:     policy.DefaultApprovalTimeout,
				Override:    Override{After: 5 * time.Minute, Longest: policy.DefaultOverrideLongest},
			},
		},
		Audit: Audit{Keep: 400 * 24 * time.Hour},
	}
}

// needsApproval are all words of policy.approval.required_for.
func needsApproval() []string {
	return []string{
		policy.ApproveForever, policy.ApproveBroad, policy.ApproveBlockPath, policy.ApproveAllow, policy.ApproveModeOff,
		policy.ApproveRulesEverywhere, policy.ApproveSource,
	}
}

func (a *Account) setDefaults() {
	a.PollInterval = poller.DefaultInterval
	a.Lookback = poller.DefaultLookback
	a.OngoingFor = poller.DefaultOngoingFor
	a.Storm = Storm{Over: 10, In: time.Minute, EndsAfter: 10 * time.Minute}
	a.Quiet.Ping = []string{"incident", "not_blocked"}
}

// NewRoute is a route with nothing but its defaults: it matches every attack.
func NewRoute() Route {
	r := Route{}
	r.setDefaults()
	return r
}

func (r *Route) setDefaults() { r.MentionEvery = poller.DefaultMentionEvery }

func (p *Page) setDefaults() { p.After = 5 * time.Minute }

func (s *Source) setDefaults() {
	s.Deny = policy.DenyNever
	s.Cards = true
}
