package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Load reads the file at path, or the one that WAFBOT_CONFIG names, or none; then the environment, which wins. If the
// configuration is wrong, the error is an *Error with every problem. Relative paths in the file start at the file's
// folder.
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

const day = 24 * time.Hour

// defaults is a configuration without accounts. The values of list elements are in the setDefaults methods below. No
// other place fills in a default.
func defaults() *Config {
	return &Config{
		Timezone: time.UTC,
		Log:      Log{Level: "info", Format: LogText},
		Slack:    Slack{APIURL: "https://slack.com/api/", Command: "/waf", MessagesPerSecond: 1},
		Redis:    Redis{URL: "redis://127.0.0.1:6379/0"},
		Listen:   "127.0.0.1:8080",

		AccountDefaults: DefaultAccount(),
		Policy:          DefaultPolicy(),
		Audit:           Audit{Keep: 400 * day},
	}
}

// DefaultPolicy is the policy of a configuration that says nothing.
func DefaultPolicy() Policy {
	return Policy{
		Changes:          ChangesDryRun,
		Viewers:          []string{"*"},
		WidestPrefix:     WidestPrefix{IPv4: 24, IPv6: 48},
		Durations:        Durations{Deny: 4 * time.Hour, Mode: 2 * time.Hour, Patch: 7 * day},
		LongestDuration:  30 * day,
		RenewWhileActive: day,
		Approval: Approval{
			RequiredFor: []string{
				ApproveForever, ApproveBroad, ApproveBlockPath, ApproveAllow, ApproveModeOff, ApproveRulesEverywhere, ApproveSource,
				ApproveIndicatorUntried,
			},
			Timeout: 15 * time.Minute, OverrideAfter: 5 * time.Minute,
		},
	}
}

// DefaultAccount is an account with nothing but its defaults.
func DefaultAccount() Account {
	return Account{PollInterval: 15 * time.Second, Lookback: day, OngoingFor: 15 * time.Minute, Storm: Storm{Over: 10, In: time.Minute}}
}

// NewRoute is a route with nothing but its defaults: it matches every attack.
func NewRoute() Route { return Route{AckTimeout: 2 * time.Hour} }

func (r *Route) setDefaults() { *r = NewRoute() }

func (p *Page) setDefaults() { p.After = 5 * time.Minute }

func (s *Source) setDefaults() {
	s.Deny = DenyNever
	s.Cards = true
}
