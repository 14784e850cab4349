// Package config reads the configuration: one YAML file and the environment. A loaded Config is checked and complete;
// every error says where the mistake is and how to fix it.
//
// It has the one Account, which poller, commands, bot and doctor use as it is, with its routes, policy and sources,
// their defaults and the words that they may be. What judges with settings isn't here:
//
//   - commands/policy makes of an account's Policy, the switch that all replicas share and the sources as their files
//     hold them now what holds now, and says who may do what;
//   - poller says which route takes an attack, and whether it is a quiet hour;
//   - what is no setting (the service's client, how polling goes) stands beside the account, with whoever needs it.
package config

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
)

// Config is the whole configuration, checked and with every default filled in. docs/config.md explains each key. The
// tags of its fields are the table of keys: the key in the file, the variable that sets it too, how its values are
// checked (see origins.checkValue), and what holds where it is left out ("-": nothing below it either).
type Config struct {
	Timezone        *time.Location `yaml:"timezone" default:"UTC"`
	Log             Log            `yaml:"log"`
	Slack           Slack          `yaml:"slack"`
	Redis           Redis          `yaml:"redis"`
	Listen          string         `yaml:"listen" env:"WAFBOT_LISTEN" default:"127.0.0.1:8080"`
	AccountDefaults Account        `yaml:"account_defaults"` // what accounts begin with

	Accounts []Account         `yaml:"accounts"`
	Runbooks map[string]string `yaml:"runbooks" check:"web"` // attack type, or "*" for the others: URL
	Sources  []Source          `yaml:"sources"`
	Policy   Policy            `yaml:"policy"`
	Audit    Audit             `yaml:"audit"`

	*origins // a pointer, so that printing a Config never shows what was written
}

// Log is what is logged to standard error, and how.
type Log struct {
	Level  string `yaml:"level" env:"WAFBOT_LOG_LEVEL" check:"oneof=debug info warn error" default:"info"`
	Format string `yaml:"format" env:"WAFBOT_LOG_FORMAT" check:"oneof=text json" default:"text"`
}

// How the log is written.
const (
	LogText = "text" // key=value
	LogJSON = "json" // an object a line
)

// Slack is the workspace and its rate limits.
type Slack struct {
	BotToken          apiclient.Secret `yaml:"bot_token" env:"WAFBOT_SLACK_BOT_TOKEN"`
	BotTokenFile      string           `yaml:"bot_token_file" env:"WAFBOT_SLACK_BOT_TOKEN_FILE"`
	AppToken          apiclient.Secret `yaml:"app_token" env:"WAFBOT_SLACK_APP_TOKEN"` // set: Socket Mode
	AppTokenFile      string           `yaml:"app_token_file" env:"WAFBOT_SLACK_APP_TOKEN_FILE"`
	SigningSecret     apiclient.Secret `yaml:"signing_secret" env:"WAFBOT_SLACK_SIGNING_SECRET"` // set: HTTP
	SigningSecretFile string           `yaml:"signing_secret_file" env:"WAFBOT_SLACK_SIGNING_SECRET_FILE"`
	APIURL            string           `yaml:"api_url" env:"WAFBOT_SLACK_API_URL" check:"web" default:"https://slack.com/api/"` // ends with a slash
	Command           string           `yaml:"command" default:"/waf"`
	MessagesPerSecond float64          `yaml:"messages_per_second" default:"1"` // per channel; 0: as fast as Slack takes them
}

// Redis is the store that the replicas share.
type Redis struct {
	URL          apiclient.Secret `yaml:"url" env:"WAFBOT_REDIS_URL" default:"redis://127.0.0.1:6379/0"` // may hold a password
	URLFile      string           `yaml:"url_file" env:"WAFBOT_REDIS_URL_FILE"`
	TLS          TLS              `yaml:"tls"`
	KeyPrefix    string           `yaml:"key_prefix"` // of every key; "": none
	WaitReplicas int              `yaml:"wait_replicas" check:"min=0"`
}

// TLS says whom a URL with TLS trusts, and as whom it connects.
type TLS struct {
	CAFile   string `yaml:"ca_file"`
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
}

// Account is one account of the service. Token or TokenFile is set, never both.
type Account struct {
	Name         string              `yaml:"name"`
	APIURL       string              `yaml:"api_url" env:"WAFBOT_API_URL" check:"web"`
	Token        apiclient.Secret    `yaml:"token" env:"WAFBOT_API_TOKEN"`
	TokenFile    string              `yaml:"token_file" env:"WAFBOT_API_TOKEN_FILE"`       // the API client reads it whenever it changes
	ClientID     int                 `yaml:"client_id"`                                    // 0: ask the API
	Channel      string              `yaml:"channel" env:"WAFBOT_CHANNEL" check:"channel"` // may be "" unless CheckServe passed
	OpsMention   string              `yaml:"ops_mention" check:"mention"`                  // a user id, a user group id, or ""
	PollInterval time.Duration       `yaml:"poll_interval" check:"min=250ms" default:"15s"`
	Lookback     time.Duration       `yaml:"lookback" check:"positive" default:"1d"`
	OngoingFor   time.Duration       `yaml:"ongoing_for" check:"positive,max=1h" default:"15m"`
	ConsoleURL   string              `yaml:"console_url" check:"optional,web"` // "": no links
	Applications map[int]Application `yaml:"applications"`
	Routes       []Route             `yaml:"routes"` // nil when left out, empty when written as []
	Storm        Storm               `yaml:"storm"`
	Quiet        Quiet               `yaml:"quiet"`
	Summary      Summary             `yaml:"summary"`
	Policy       Policy              `yaml:"policy" default:"-"` // what it says itself, until PolicyOf fills in what holds for all
	Sources      []Source            `yaml:"sources"`            // beside those of all accounts
}

// Application is what the operator says of one application. A bare string is its name.
type Application struct {
	Name     string `yaml:"name"`
	CanBlock *bool  `yaml:"can_block"` // nil: unknown
}

// Route says where matching attacks are posted. The first match wins.
type Route struct {
	Match      Match         `yaml:"match"`
	Channel    string        `yaml:"channel" check:"channel"`  // "": the account's
	Mention    string        `yaml:"mention" check:"mention"`  // a user id, a user group id, or ""
	Page       *Page         `yaml:"page"`                     // nil: no pager
	AckTimeout time.Duration `yaml:"ack_timeout" default:"2h"` // 0: never
}

// The kinds of attacks that a Match tells apart.
const (
	KindIncident = "incident"
	KindAttack   = "attack" // that is no incident
)

// Match holds what an attack must be. A key left out matches everything; within a key one of its words is enough.
type Match struct {
	Kind        OneOrMore `yaml:"kind" check:"oneof=incident attack"`
	Type        OneOrMore `yaml:"type" check:"word"`
	Application OneOrMore `yaml:"application"` // ids or configured names
	Host        OneOrMore `yaml:"host" check:"word"`
	Status      OneOrMore `yaml:"status" check:"oneof=blocked partly not_blocked unknown"`
	Severity    OneOrMore `yaml:"severity" check:"oneof=critical high medium low"`
	MinHits     int       `yaml:"min_hits" check:"min=1"`
}

// OneOrMore is a list that may be written as a single word.
type OneOrMore []string

// Page is the pager to call for an unacknowledged attack.
type Page struct {
	Name              string           `yaml:"name"` // "": no acknowledgements come back
	URL               apiclient.Secret `yaml:"url"`  // often holds the pager's key
	URLFile           string           `yaml:"url_file"`
	Kind              string           `yaml:"format" check:"oneof=pagerduty alertmanager json"`
	After             time.Duration    `yaml:"after" check:"positive" default:"5m"`
	WebhookSecret     apiclient.Secret `yaml:"webhook_secret"` // signs what the pager sends
	WebhookSecretFile string           `yaml:"webhook_secret_file"`
}

// Storm says when attacks are grouped in one card.
type Storm struct {
	Over int           `yaml:"over" check:"min=1" default:"10"`
	In   time.Duration `yaml:"in" check:"positive" default:"1m"`
}

// Quiet holds the hours in which only incidents and attacks that aren't blocked mention people.
type Quiet struct {
	Hours string `yaml:"hours"` // "22:00-07:00", "": never
}

// Summary says when the daily summary is posted.
type Summary struct {
	At string `yaml:"at" check:"clock"` // "09:00", "": never
}

// Source is a named set of addresses that must not be denied lightly.
type Source struct {
	Name   string         `yaml:"name"`
	Ranges []netip.Prefix `yaml:"ranges"`
	File   string         `yaml:"file"`
	Deny   string         `yaml:"deny" check:"oneof=never approval" default:"never"` // DenyNever (also for ""), or DenyApproval
	Cards  bool           `yaml:"cards" default:"true"`                              // false: what comes from such sources alone gets no card, incidents excepted

	ReadAt time.Time      // when File was read last
	Broken string         // why it can't be read just now, so that what it held before counts; "": it can
	listed []netip.Prefix // the ranges of File when the configuration was read
}

// Who may deny a named source.
const (
	DenyNever    = "never"
	DenyApproval = "approval"
)

// What may be changed at all.
const (
	ChangesOff    = "off"
	ChangesDryRun = "dry_run" // everything but the sending: what would be sent is shown
	ChangesOn     = "on"
)

// What can need approval.
const (
	ApproveForever          = "forever"
	ApproveBroad            = "broad" // country, data center, proxy, wider than the widest prefix
	ApproveBlockPath        = "block_path"
	ApproveAllow            = "allow"
	ApproveModeOff          = "mode_off"
	ApproveRulesEverywhere  = "rules_everywhere"  // a rule for every host
	ApproveSource           = "source"            // a named source whose Deny says so
	ApproveIndicatorUntried = "indicator_untried" // an indicator that wafbot couldn't try on usual browsers
)

// Policy says who may do what, and how far.
type Policy struct {
	Changes          string        `yaml:"changes" env:"WAFBOT_CHANGES" check:"oneof=off dry_run on" default:"dry_run"` // off, dry_run or on
	Viewers          []string      `yaml:"viewers" env:"WAFBOT_VIEWERS" check:"member" default:"*"`
	Responders       []string      `yaml:"responders" env:"WAFBOT_RESPONDERS" check:"member"`
	Admins           []string      `yaml:"admins" env:"WAFBOT_ADMINS" check:"member"`
	Terminal         Terminal      `yaml:"terminal"`
	WidestPrefix     WidestPrefix  `yaml:"widest_prefix"`
	Durations        Durations     `yaml:"durations"`
	LongestDuration  time.Duration `yaml:"longest_duration" check:"positive" default:"30d"`
	RenewWhileActive time.Duration `yaml:"renew_while_active" default:"1d"` // 0: ask instead
	Approval         Approval      `yaml:"approval"`
}

// Terminal says what local users may do, by os user; EveryoneElse stands for all others, and a bare role for everyone.
type Terminal map[string]TerminalUser

// EveryoneElse stands for the os users that Terminal doesn't name.
const EveryoneElse = "*"

// TerminalUser is what an os user may do, and who that is in Slack. A bare string is the role.
type TerminalUser struct {
	Role  string `yaml:"role" check:"oneof=viewer responder admin"`
	Slack string `yaml:"slack" check:"user"` // a user id; "": not known
}

// WidestPrefix holds the shortest prefix lengths that can be denied without being called broad.
type WidestPrefix struct {
	IPv4 int `yaml:"ipv4" check:"range=12 32" default:"24"`
	IPv6 int `yaml:"ipv6" check:"range=32 128" default:"48"`
}

// Durations say how long a change lasts when its command line gives no duration.
type Durations struct {
	Deny  time.Duration `yaml:"deny" check:"positive" default:"4h"`
	Mode  time.Duration `yaml:"mode" check:"positive" default:"2h"`
	Patch time.Duration `yaml:"patch" check:"positive" default:"7d"`
}

// Approval says what needs the approval of another person, and what happens without an answer.
type Approval struct {
	RequiredFor   []string      `yaml:"required_for" check:"oneof=forever broad block_path allow mode_off rules_everywhere source indicator_untried" default:"forever,broad,block_path,allow,mode_off,rules_everywhere,source,indicator_untried"`
	Approvers     string        `yaml:"approvers" check:"mention"` // whom a request or an override mentions: a user id, a user group id, or ""
	Timeout       time.Duration `yaml:"timeout" check:"positive" default:"15m"`
	OverrideAfter time.Duration `yaml:"override_after" default:"5m"` // then the requester may act alone; 0: never
}

// Audit is the audit log.
type Audit struct {
	Keep time.Duration `yaml:"keep" check:"positive" default:"400d"`
}

// What holds secrets prints itself like %+v whatever the verb: where fmt doesn't take a verb, as %s of a pointer within
// something else, it prints what stands there past every method of apiclient.Secret.

// Format implements fmt.Formatter.
func (c Config) Format(f fmt.State, _ rune) {
	type plain Config
	fmt.Fprintf(f, "%+v", plain(c))
}

// Format implements fmt.Formatter.
func (a Account) Format(f fmt.State, _ rune) {
	type plain Account
	fmt.Fprintf(f, "%+v", plain(a))
}

// Format implements fmt.Formatter.
func (p Page) Format(f fmt.State, _ rune) {
	type plain Page
	fmt.Fprintf(f, "%+v", plain(p))
}

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
	c := Default[Config]()
	c.origins = o
	if path != "" {
		o.root = Position{File: path, Line: 1, Col: 1}
		data, err := readUpTo(path, maxFile)
		if err != nil {
			return nil, fmt.Errorf("read config: %w", err)
		}
		d := decoder{origins: o, file: path, folder: filepath.Dir(path), environ: variables}
		if !d.configuration(data, &c) {
			return nil, o.err()
		}
	}
	o.environment(&c, variables)
	c.readFiles()
	c.check()
	if err := o.err(); err != nil {
		return nil, err
	}
	return &c, nil
}

// File is the configuration file, "" if there is only the environment.
func (c *Config) File() string { return c.root.File }

// IsSet reports whether the file or a variable sets a key, such as "timezone".
func (c *Config) IsSet(key string) bool { return c.isSet(key) }
