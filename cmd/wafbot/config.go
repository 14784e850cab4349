package main

import (
	"net/netip"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Config is the whole configuration, checked and with every default filled in. docs/config.md says what each key means.
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

	speed   float64       // how many times faster than the real service an emulated one is; 0: it is the real one
	settle  time.Duration // 0: settleFor; tests don't wait
	origins *origins      // a pointer, so that printing a Config never shows what was written
}

// Slack is the workspace and its pace.
type Slack struct {
	BotToken          apiclient.Secret `yaml:"bot_token"`
	BotTokenFile      string           `yaml:"bot_token_file"`
	AppToken          apiclient.Secret `yaml:"app_token"`
	AppTokenFile      string           `yaml:"app_token_file"`
	SigningSecret     apiclient.Secret `yaml:"signing_secret"`
	SigningSecretFile string           `yaml:"signing_secret_file"`
	APIURL            string           `yaml:"api_url"` // ends with a slash
	Command           string           `yaml:"command"`
	MessagesPerSecond float64          `yaml:"messages_per_second"` // per channel; 0: as fast as Slack takes them
	Burst             int              `yaml:"burst"`
	EditsPerMinute    int              `yaml:"edits_per_minute"`
}

// Redis is what the replicas share.
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
	TokenFile    string              `yaml:"token_file"` // read by the API client, again and again
	ClientID     int                 `yaml:"client_id"`  // 0: ask the API
	Channel      string              `yaml:"channel"`    // "" only where requireServe was not asked
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

// Application is what the operator says of one application: a bare string is its name.
type Application struct {
	Name     string `yaml:"name"`
	CanBlock *bool  `yaml:"can_block"` // nil: not said
}

// Route says where attacks go that match. The first match wins.
type Route struct {
	Match        Match         `yaml:"match"`
	Channel      string        `yaml:"channel"` // "": the account's
	Mention      string        `yaml:"mention"` // a user id, a group id, or nobody
	MentionEvery time.Duration `yaml:"mention_every"`
	Page         *Page         `yaml:"page"` // nil: no pager
}

// Match holds what an attack must be. A key left out matches everything; within a key one of its words is enough.
type Match struct {
	Kind        oneOrMore `yaml:"kind"`
	Type        oneOrMore `yaml:"type"`
	Application oneOrMore `yaml:"application"` // ids or configured names
	Host        oneOrMore `yaml:"host"`
	Status      oneOrMore `yaml:"status"`
	MinHits     int       `yaml:"min_hits"`
}

// Page is a pager to call when nobody claims.
type Page struct {
	URL     apiclient.Secret `yaml:"url"` // often holds the pager's key
	URLFile string           `yaml:"url_file"`
	Format  string           `yaml:"format"`
	After   time.Duration    `yaml:"after"`
}

// Storm says when single cards give way to one storm card.
type Storm struct {
	Over      int           `yaml:"over"`
	In        time.Duration `yaml:"in"`
	EndsAfter time.Duration `yaml:"ends_after"`
}

// Quiet holds the hours in which only some news mentions anybody.
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
	Ranges []netip.Prefix `yaml:"ranges"` // those of File are beside them, for they change
	File   string         `yaml:"file"`
	Deny   string         `yaml:"deny"` // never or second_person
	Cards  bool           `yaml:"cards"`

	listed []netip.Prefix // those of File, as they were when the configuration was read
}

// Policy says who may do what, and how far.
type Policy struct {
	Changes            string            `yaml:"changes"` // off, rehearse or on
	Viewers            []string          `yaml:"viewers"`
	Responders         []string          `yaml:"responders"`
	Admins             []string          `yaml:"admins"`
	Terminal           map[string]string `yaml:"terminal"` // os user: role
	WidestPrefix       WidestPrefix      `yaml:"widest_prefix"`
	Durations          Durations         `yaml:"durations"`
	LongestDuration    time.Duration     `yaml:"longest_duration"`
	RenewWhileKnocking time.Duration     `yaml:"renew_while_knocking"` // 0: ask instead
	SecondPerson       []string          `yaml:"second_person"`
	Approvers          string            `yaml:"approvers"`
	ApprovalFor        time.Duration     `yaml:"approval_for"`
	Alone              Alone             `yaml:"alone"`
}

// WidestPrefix holds the shortest prefix lengths that may be denied without being called broad.
type WidestPrefix struct {
	IPv4 int `yaml:"ipv4"`
	IPv6 int `yaml:"ipv6"`
}

// Durations say how long a change holds when nobody says otherwise.
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

// Alone is the way out for one person at night when no second one answers.
type Alone struct {
	After   time.Duration `yaml:"after"`
	Longest time.Duration `yaml:"longest"`
	Tell    string        `yaml:"tell"`
}

// Audit is the audit log.
type Audit struct {
	Keep time.Duration `yaml:"keep"`
}

// oneOrMore is a list that may be written as a single word.
type oneOrMore []string
