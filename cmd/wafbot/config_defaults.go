package main

import "time"

const day = 24 * time.Hour

func defaultConfig() *Config {
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
			Changes:         "rehearse",
			Viewers:         []string{"*"},
			WidestPrefix:    WidestPrefix{IPv4: 24, IPv6: 48},
			LongestDuration: 30 * day,
			Durations: Durations{
				Deny: 4 * time.Hour, Gray: 24 * time.Hour, Allow: time.Hour, Mode: 2 * time.Hour,
				ModeOff: 30 * time.Minute, Patch: 7 * day, Indicator: 4 * time.Hour, Mute: time.Hour,
			},
			RenewWhileKnocking: 24 * time.Hour,
			SecondPerson:       []string{"forever", "broad", "close", "allow", "mode_off", "rules_everywhere", "source"},
			ApprovalFor:        15 * time.Minute,
			Alone:              Alone{After: 5 * time.Minute, Longest: time.Hour},
		},
		Audit: Audit{Keep: 400 * day},
	}
}

func (a *Account) setDefaults() {
	a.PollInterval = 15 * time.Second
	a.Lookback = 24 * time.Hour
	a.OngoingFor = 15 * time.Minute
	a.Storm = Storm{Over: 10, In: time.Minute, EndsAfter: 10 * time.Minute}
	a.Quiet.Ping = []string{"incident", "not_blocked"}
}

func (r *Route) setDefaults() { r.MentionEvery = 10 * time.Minute }

func (p *Page) setDefaults() { p.After = 5 * time.Minute }

func (s *Source) setDefaults() {
	s.Deny = "never"
	s.Cards = true
}
