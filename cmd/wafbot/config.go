package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/cmd/wafbot/doctor"
	"github.com/wafbot/wafbot/internal/config"
)

// configCmd checks and shows configurations.
type configCmd struct {
	Check  configCheckCmd  `cmd:"" help:"Checks a file and the environment as serve does. Lists every problem as FILE:LINE:COLUMN."`
	Schema configSchemaCmd `cmd:"" help:"Prints the JSON schema of configurations, for editors."`
	Show   configShowCmd   `cmd:"" help:"Prints the configuration as it counts, with defaults, environment and merges filled in, without secrets."`
}

type configCheckCmd struct {
	File string `arg:"" optional:"" help:"The configuration file; left out: WAFBOT_CONFIG, else the environment alone."`
}

// Run fails with every problem.
func (c *configCheckCmd) Run(t *terminal) error {
	cfg, err := loadToServe(c.File, t.environ)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "%s: right, accounts: %d\n", cmp.Or(cfg.File(), "environment"), len(cfg.Accounts))
	return nil
}

// loadToServe loads a configuration that serve can work with.
func loadToServe(file string, environ []string) (*config.Config, error) {
	cfg, err := config.Load(file, environ)
	if err == nil {
		err = cfg.CheckServe()
	}
	if err != nil {
		return nil, misused{err}
	}
	return cfg, nil
}

type configSchemaCmd struct{}

// Run prints the schema.
func (*configSchemaCmd) Run(t *terminal) error {
	_, err := t.out.Write(config.Schema)
	return err
}

type configShowCmd struct {
	File string `arg:"" optional:"" help:"The configuration file; left out: WAFBOT_CONFIG, else the environment alone."`
}

// Run prints the configuration.
func (c *configShowCmd) Run(t *terminal) error {
	cfg, err := config.Load(c.File, t.environ)
	if err != nil {
		return misused{err}
	}
	text, err := cfg.Show()
	if err != nil {
		return fmt.Errorf("show configuration: %w", err)
	}
	_, err = t.out.Write(text)
	return err
}

// manifestCmd prints what Slack makes the app from.
type manifestCmd struct {
	URL     string `help:"The bot's base address, for HTTP. Left out: Socket Mode, which needs none." placeholder:"URL"`
	Command string `help:"The slash command; slack.command in the configuration must be the same." default:"/waf" placeholder:"/waf"`
	Name    string `help:"The app's name in Slack, and its bot's." default:"wafbot" placeholder:"wafbot"`
}

// Validate implements kong's check.
func (m *manifestCmd) Validate() error {
	switch {
	case !config.IsCommand(m.Command):
		return errors.New("--command is no slash command; write it like /waf: " +
			"a slash, then up to 31 small letters, digits, - and _")
	case !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]{0,34}$`).MatchString(m.Name):
		return errors.New("--name must be 1 to 35 letters, digits, blanks, dots, - and _")
	case m.URL == "":
		return nil
	}
	u, err := url.Parse(m.URL)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return errors.New("--url is no web address; write it like https://wafbot.example.com")
	case u.User != nil:
		return errors.New("--url holds a user name or a password; take them out")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return errors.New("--url must end behind the host: wafbot adds /slack/commands and the other paths itself")
	case u.Scheme == "http" && !config.IsLoopback(u.Hostname()):
		return errors.New("--url must begin with https://: Slack sends its requests nowhere else")
	}
	m.URL = u.Scheme + "://" + u.Host
	return nil
}

// Run prints the manifest, and beside it the link that creates the app.
func (m *manifestCmd) Run(t *terminal) error {
	manifest := slackconn.Manifest(m.URL, m.Command, m.Name)
	if _, err := fmt.Fprint(t.out, manifest); err != nil {
		return fmt.Errorf("print manifest: %w", err)
	}
	secrets := "its bot token (OAuth & Permissions), and an app token with the scope connections:write (Basic Information, App-Level Tokens)"
	if m.URL != "" {
		secrets = "its bot token (OAuth & Permissions) and its signing secret (Basic Information)"
	}
	fmt.Fprintf(t.err, "Open this to create the app from the manifest, install it, and give wafbot %s:\n%s\n", secrets,
		slackconn.ManifestLink(manifest))
	return nil
}

// doctorCmd checks whether everything that the bot needs is there.
type doctorCmd struct {
	Config  string `help:"The configuration file; left out: WAFBOT_CONFIG, else the environment alone." placeholder:"FILE"`
	Account string `help:"Check this account alone: its token, and what it may read." placeholder:"NAME"`
	JSON    bool   `name:"json" help:"Print for programs: {ok, findings: [{check, subject, state, text, fix}]}."`
	Post    bool   `help:"Post a test card to the channel of each route. It mentions no one."`
}

// Run prints the findings, the worst first. Its error is that something is wrong.
func (d *doctorCmd) Run(ctx context.Context, t *terminal) error {
	report, err := doctor.Run(ctx, doctor.Options{Config: d.Config, Environ: t.environ, Account: d.Account, Post: d.Post})
	if err != nil {
		return err
	}
	if d.JSON {
		t.printJSON(report, exitDone)
	} else {
		report.Print(t.out)
	}
	return report.Err()
}
