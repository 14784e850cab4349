package config

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

// secretFile is a secret that may be written as such or be read from a file.
type secretFile struct {
	key   string // that of the secret; the file's has _file behind it
	value *apiclient.Secret
	file  *string
	later bool // the API client reads it, again whenever it changes; Load only checks that it can be read
}

func (c *Config) secrets() []secretFile {
	secrets := []secretFile{
		{"slack.bot_token", &c.Slack.BotToken, &c.Slack.BotTokenFile, false},
		{"slack.app_token", &c.Slack.AppToken, &c.Slack.AppTokenFile, false},
		{"slack.signing_secret", &c.Slack.SigningSecret, &c.Slack.SigningSecretFile, false},
		{"redis.url", &c.Redis.URL, &c.Redis.URLFile, false},
	}
	for i := range c.Accounts {
		a := &c.Accounts[i]
		secrets = append(secrets, secretFile{Element("accounts", i) + ".token", &a.Token, &a.TokenFile, true})
		for j, r := range a.Routes {
			if r.Page != nil {
				secrets = append(secrets, secretFile{Element(Element("accounts", i)+".routes", j) + ".page.url", &r.Page.URL, &r.Page.URLFile, false})
			}
		}
	}
	return secrets
}

// SecretFile is a file that a secret was read from.
type SecretFile struct {
	Key  string // the one that names the file: slack.bot_token_file
	Path string
}

// SecretFiles are all files that secrets are read from.
func (c *Config) SecretFiles() (all []SecretFile) {
	for _, s := range c.secrets() {
		if *s.file != "" {
			all = append(all, SecretFile{s.key + "_file", *s.file})
		}
	}
	return all
}

// rebase makes relative paths start at the folder of the configuration file.
func (c *Config) rebase(folder string) {
	paths := []*string{}
	for _, s := range c.secrets() {
		paths = append(paths, s.file)
	}
	for i := range c.Sources {
		paths = append(paths, &c.Sources[i].File)
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(folder, *path)
		}
	}
}

// readFiles reads the secrets and the sources that are kept in files.
func (c *Config) readFiles() {
	for _, s := range c.secrets() {
		fileKey := s.key + "_file"
		if !c.origins.isSet(fileKey) {
			continue
		}
		if c.origins.isSet(s.key) {
			c.origins.report(fileKey, "%s is set too; remove one of them", s.key)
			continue
		}
		secret, err := readSecret(*s.file)
		if err != nil {
			c.origins.report(fileKey, "%v; put the secret there or fix the path", err)
			continue
		}
		if !s.later {
			*s.value = secret
		}
	}
	for i := range c.Sources {
		c.readSource(&c.Sources[i], Element("sources", i)+".file")
	}
}

func readSecret(path string) (apiclient.Secret, error) {
	const most = 64 << 10
	text, err := readUpTo(path, most)
	if err != nil {
		return "", err
	}
	if text = strings.TrimRight(text, "\r\n"); text == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return apiclient.Secret(text), nil
}

// readSource reads a source's file, which must be good at the start.
func (c *Config) readSource(s *Source, key string) {
	if !c.origins.isSet(key) {
		return
	}
	text, err := readUpTo(s.File, maxSourceFile)
	if err != nil {
		c.origins.report(key, "%v; put the list there or fix the path", err)
		return
	}
	var bad []badRow
	s.listed, bad = parseRanges(text)
	for _, row := range bad {
		c.origins.reportAt(Position{s.File, row.line, 1}, key, row.text)
	}
	if len(s.listed)+len(bad) == 0 {
		c.origins.report(key, "%s holds no address; write them there, one a line, or take the key out", s.File)
	}
}

// maxSourceFile is how many bytes a source's file may have.
const maxSourceFile = 16 << 20

// badRow is a row of a source's file that is no range.
type badRow struct {
	line int
	text string
}

// byteOrderMark begins files of some Windows editors.
const byteOrderMark = "\ufeff"

// parseRanges reads addresses and ranges, one a line, with comments from # on.
func parseRanges(text string) (ranges []netip.Prefix, bad []badRow) {
	line := 0
	for row := range strings.Lines(strings.TrimPrefix(text, byteOrderMark)) {
		line++
		row, _, _ = strings.Cut(row, "#")
		if row = strings.TrimSpace(row); row == "" {
			continue
		}
		prefix, err := parseRange(row)
		if err != nil {
			bad = append(bad, badRow{line, quote(row) + " " + err.Error()})
			continue
		}
		ranges = append(ranges, prefix)
	}
	return ranges, bad
}

// readUpTo reads a file of at most so many bytes: reading a path like /dev/zero must end.
func readUpTo(path string, most int64) (string, error) {
	if path == "" {
		return "", errors.New("the path is empty")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return "", err
	}
	if int64(len(data)) > most {
		return "", fmt.Errorf("%s holds more than %d bytes", path, most)
	}
	return string(data), nil
}
