package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/poller"
)

// Load reads the file at path, or the one that WAFBOT_CONFIG names, or none; then the environment, which wins. If the configuration is wrong,
// the error is an *Error with every problem. Relative paths in the file start at the file's folder.
func Load(path string, environ []string) (*Config, error) {
	variables := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		variables[name] = value
	}
	if path == "" {
		path = variables[fileVariable]
	}
	o := &origins{keys: map[string]origin{}}
	c := defaults()
	c.origins = o
	if path != "" {
		o.root = Position{File: path, Line: 1, Col: 1}
		data, err := readUpTo(path, maxFile)
		if err != nil {
			return nil, fmt.Errorf("read config: %w", err)
		}
		d := decoder{origins: o, file: path, folder: filepath.Dir(path), environ: variables}
		if !d.configuration(data, c) {
			return nil, o.err()
		}
	}
	o.environment(c, variables)
	c.readFiles()
	c.check()
	if err := o.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// File is the configuration file, "" if there is only the environment.
func (c *Config) File() string { return c.origins.root.File }

// IsSet reports whether the file or a variable sets a key, such as "timezone".
func (c *Config) IsSet(key string) bool { return c.origins.isSet(key) }

// defaults is a configuration without accounts. The policy states its own; the values of list elements are in the setDefaults methods below.
func defaults() *Config {
	p, accounts, slack := policy.Defaults(), Account{}, Slack{}
	accounts.setDefaults()
	slack.setDefaults()
	return &Config{
		Timezone: time.UTC,
		Log:      Log{Level: "info", Format: LogText},
		Slack:    slack,
		Redis:    Redis{URL: "redis://127.0.0.1:6379/0"},
		Listen:   "127.0.0.1:8080",

		AccountDefaults: accounts,
		Policy: Policy{
			Changes:          p.Changes,
			Viewers:          []string{"*"},
			WidestPrefix:     WidestPrefix{IPv4: p.WidestIPv4, IPv6: p.WidestIPv6},
			LongestDuration:  p.Longest,
			Durations:        Durations(p.Durations),
			RenewWhileActive: p.Renew,
			Approval:         Approval{RequiredFor: p.RequiredFor, Timeout: p.ApprovalTimeout, OverrideAfter: p.OverrideAfter},
		},
		Audit: Audit{Keep: 400 * 24 * time.Hour},
	}
}

func (s *Slack) setDefaults() {
	s.APIURL = "https://slack.com/api/"
	s.Command = "/waf"
	s.MessagesPerSecond = 1
}

func (a *Account) setDefaults() {
	a.PollInterval = poller.DefaultInterval
	a.Lookback = poller.DefaultLookback
	a.OngoingFor = poller.DefaultOngoingFor
	a.Storm = Storm{Over: 10, In: time.Minute}
}

// NewRoute is a route with nothing but its defaults: it matches every attack.
func NewRoute() Route {
	r := Route{}
	r.setDefaults()
	return r
}

func (r *Route) setDefaults() {
	r.AckTimeout = poller.DefaultAckTimeout
}

func (p *Page) setDefaults() { p.After = 5 * time.Minute }

func (s *Source) setDefaults() {
	s.Deny = policy.DenyNever
	s.Cards = true
}
