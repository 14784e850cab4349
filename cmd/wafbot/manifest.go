package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
)

// manifestCmd prints what Slack makes the app from.
type manifestCmd struct {
	URL string `help:"The bot's base address, where Slack sends its requests over HTTP. Left out: Socket Mode, which needs no address." placeholder:"URL"`
}

// Validate implements kong's check.
func (m *manifestCmd) Validate() error {
	if m.URL == "" {
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
	manifest := slackconn.Manifest(m.URL)
	if _, err := fmt.Fprint(t.out, manifest); err != nil {
		return fmt.Errorf("print manifest: %w", err)
	}
	secrets := "its bot token (OAuth & Permissions), and an app token with the scope connections:write (Basic Information, App-Level Tokens)"
	if m.URL != "" {
		secrets = "its bot token (OAuth & Permissions) and its signing secret (Basic Information)"
	}
	fmt.Fprintf(t.err, "Open this to create the app from the manifest, install it, and give wafbot %s:\n%s\n", secrets, slackconn.ManifestLink(manifest))
	return nil
}
