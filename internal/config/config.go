// Package config reads the configuration: one YAML file and the environment. A loaded Config is checked and complete; every error says where the
// mistake is and how to fix it.
package config

import (
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Config is the whole configuration, checked and with every default filled in. docs/config.md explains each key.
type Config struct {
	Timezone *time.Location    `yaml:"timezone"`
	Slack    Slack             `yaml:"slack"`
	Redis    Redis             `yaml:"redis"`
	Listen   string            `yaml:"listen"`
	Accounts []Account         `yaml:"accounts"`
	Runbooks map[string]string `yaml:"runbooks"` // attack type, or "*" for the others: URL
	Sources  []Source          `yaml:"sources"`
	Policy   Policy            `yaml:"policy"`
	Audit    Audit             `yaml:"audit"`

	origins *origins // a pointer, so that printing a Config never shows what was written
}

// Slack is the workspace and its rate limits.
type Slack struct {
	BotToken          apiclient.Secret `yaml:"bot_token"`
	BotTokenFile      string           `yaml:"bot_token_file"`
	AppToken          apiclient.Secret `yaml:"app_token"` // set: Socket Mode
	AppTokenFile      string           `yaml:"app_token_file"`
	SigningSecret     apiclient.Secret `yaml:"signing_secret"` // set: HTTP
	SigningSecretFile string           `yaml:"signing_secret_file"`
	APIURL            string           `yaml:"api_url"` // ends with a slash
	Command           string           `yaml:"command"`
	MessagesPerSecond float64          `yaml:"messages_per_second"` // per channel; 0: as fast as Slack takes them
	Burst             int              `yaml:"burst"`
	EditsPerMinute    int              `yaml:"edits_per_minute"`
}

// Redis is the store that the replicas share.
type Redis struct {
	URL          apiclient.Secret `yaml:"url"` // may hold a password
	URLFile      string           `yaml:"url_file"`
	WaitReplicas int              `yaml:"wait_replicas"`
}

// Account is one account of the service. Token or TokenFile is set, never both.
type Account struct {
	Name         string              `yaml:"name"`
	APIURL       string              `yaml:"api_url"`
	Token        apiclient.Secret    `yaml:"token"`
	TokenFile    string              `yaml:"token_file"` // the API client reads it whenever it changes
	ClientID     int                 `yaml:"client_id"`  // 0: ask the API
	Channel      string              `yaml:"channel"`    // may be "" unless CheckServe passed
	PollInterval time.Duration       `yaml:"poll_interval"`
	Lookback     time.Duration       `yaml:"lookback"`
	OngoingFor   time.Duration       `yaml:"ongoing_for"`
	ConsoleURL   string              `yaml:"console_url"` // "": no links
	Applications map[int]Application `yaml:"applications"`
	Routes       []Route             `yaml:"routes"` // nil when left out, empty when written as []
	Storm        Storm               `yaml:"storm"`
	Quiet        Quiet               `yaml:"quiet"`
	Summary      Summary             `yaml:"summary"`
}

// Application is what the operator says of one application. A bare string is its name.
type Application struct {
	Name     string `yaml:"name"`
	CanBlock *bool  `yaml:"can_block"` // nil: unknown
}

// Route says where matching attacks are posted. The first match wins.
type Route struct {
	Match        Match         `yaml:"match"`
	Channel      string        `yaml:"channel"` // "": the account's
	Mention      string        `yaml:"mention"` // a user id, a user group id, or ""
	MentionEvery time.Duration `yaml:"mention_every"`
	Page         *Page         `yaml:"page"` // nil: no pager
}

// Match holds what an attack must be. A key left out matches everything; within a key one of its words is enough.
type Match struct {
	Kind        OneOrMore `yaml:"kind"`
	Type        OneOrMore `yaml:"type"`
	Application OneOrMore `yaml:"application"` // ids or configured names
	Host        OneOrMore `yaml:"host"`
	Status      OneOrMore `yaml:"status"`
	MinHits     int       `yaml:"min_hits"`
}

// OneOrMore is a list that may be written as a single word.
type OneOrMore []string

// Page is the pager to call for an unacknowledged attack.
type Page struct {
	URL     apiclient.Secret `yaml:"url"` // often holds the pager's key
	URLFile string           `yaml:"url_file"`
	Format  string           `yaml:"format"`
	After   time.Duration    `yaml:"after"`
}

// Storm says when attacks are grouped in one card.
type Storm struct {
	Over      int           `yaml:"over"`
	In        time.Duration `yaml:"in"`
	EndsAfter time.Duration `yaml:"ends_after"`
}

// Quiet holds the hours in which only some events mention people.
type Quiet struct {
	Hours string   `yaml:"hours"` // "22:00-07:00", "": never
	Ping  []string `yaml:"ping"`
}

// Summary says when the daily summary is posted.
type Summary struct {
	At string `yaml:"at"` // "09:00", "": never
}

// Source is a named set of addresses that must not be denied lightly.
type Source struct {
	Name   string         `yaml:"name"`
	Ranges []netip.Prefix `yaml:"ranges"`
	File   string         `yaml:"file"`
	Deny   string         `yaml:"deny"` // never or approval
	Cards  bool           `yaml:"cards"`

	listed []netip.Prefix // those of File when the configuration was read
}

// Policy says who may do what, and how far.
type Policy struct {
	Changes          string            `yaml:"changes"` // off, dry_run or on
	Viewers          []string          `yaml:"viewers"`
	Responders       []string          `yaml:"responders"`
	Admins           []string          `yaml:"admins"`
	Terminal         map[string]string `yaml:"terminal"` // os user: role
	WidestPrefix     WidestPrefix      `yaml:"widest_prefix"`
	Durations        Durations         `yaml:"durations"`
	LongestDuration  time.Duration     `yaml:"longest_duration"`
	RenewWhileActive time.Duration     `yaml:"renew_while_active"` // 0: ask instead
	Approval         Approval          `yaml:"approval"`
}

// WidestPrefix holds the shortest prefix lengths that can be denied without being called broad.
type WidestPrefix struct {
	IPv4 int `yaml:"ipv4"`
	IPv6 int `yaml:"ipv6"`
}

// Durations say how long a change lasts when its command line gives no duration.
type Durations struct {
	Deny      time.Duration `yaml:"deny"`
	Gray      time.Duration `yaml:"gray"`
	Allow     time.Duration `yaml:"allow"`
	Mode      time.Duration `yaml:"mode"`
	ModeOff   time.Duration `yaml:"mode_off"`
	Patch     time.Duration `yaml:"patch"`
	Indicator time.Duration `yaml:"indicator"`
	Mute      time.Duration `yaml:"mute"`
}

// Approval says what needs the approval of another person, and what happens without an answer.
type Approval struct {
	RequiredFor []string      `yaml:"required_for"`
	Approvers   string        `yaml:"approvers"` // whom a request mentions: a user id, a user group id, or ""
	Timeout     time.Duration `yaml:"timeout"`
	Override    Override      `yaml:"override"`
}

// Override lets the requester act alone when there is no answer.
type Override struct {
	After   time.Duration `yaml:"after"` // 0: never
	Longest time.Duration `yaml:"longest"`
	Notify  string        `yaml:"notify"` // a user id, a user group id, or ""
}

// Audit is the audit log.
type Audit struct {
	Keep time.Duration `yaml:"keep"`
}
