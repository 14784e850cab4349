package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strings"
)

// SecretFile is a file that a secret was read from.
type SecretFile struct {
	Key  string // the one that names the file: slack.bot_token_file
	Path string
}

// SecretFiles are all files that hold secrets.
func (c *Config) SecretFiles() (all []SecretFile) {
	for _, l := range c.leaves() {
		public := l.key == "redis.tls.ca_file" || l.key == "redis.tls.cert_file"
		if path := l.value.String(); strings.HasSuffix(l.key, "_file") && path != "" && !public && !l.ofDefaults() {
			all = append(all, SecretFile{l.key, path})
		}
	}
	return all
}

// readFiles reads the secrets and the sources that are kept in files. An account's token is read by the API client,
// again whenever its file changes; here it is only checked that it can be read.
func (c *Config) readFiles() {
	all := c.leaves()
	for i, l := range all {
		key, isFile := strings.CutSuffix(l.key, "_file")
		if !isFile || !c.isSet(l.key) || l.ofDefaults() {
			continue
		}
		if strings.HasPrefix(key, "redis.tls.") {
			if err := regular(l.value.String()); err != nil {
				c.report(l.key, "%v; put it there or fix the path", err)
				l.value.SetString("") // it isn't opened
			}
			continue
		}
		text, err := readSecret(l.value.String())
		switch {
		case c.isSet(key):
			c.report(l.key, "%s is set too; remove one of them", key)
		case errors.Is(err, fs.ErrPermission):
			c.report(l.key, "%v; let the user that wafbot runs as read it", err)
		case err != nil:
			c.report(l.key, "%v; put the secret there or fix the path", err)
		case !strings.HasSuffix(key, "].token"): // an account's is read by the API client
			all[i-1].value.SetString(text) // the field of a secret stands before that of its file
		}
	}
	for list, all := range c.allSources() {
		for i := range all {
			c.readSource(&all[i], Element(list, i)+".file")
		}
	}
}

// readSecret reads a secret from a file.
func readSecret(path string) (string, error) {
	const most = 64 << 10
	text, err := readUpTo(path, most)
	if text = strings.TrimRight(text, "\r\n"); err == nil && text == "" {
		err = fmt.Errorf("%s is empty", path)
	}
	return text, err
}

// readSource reads a source's file, which must be good at the start.
func (c *Config) readSource(s *Source, key string) {
	if !c.isSet(key) || s.listed != nil { // accounts share those of account_defaults
		return
	}
	text, err := readUpTo(s.File, maxFile)
	if err != nil {
		c.report(key, "%v; put the list there or fix the path", err)
		return
	}
	var bad []badRow
	s.listed, bad = parseRanges(text)
	for _, row := range bad {
		c.reportAt(Position{s.File, row.line, 1}, key, row.text)
	}
	if len(s.listed)+len(bad) == 0 {
		c.report(key, "%s holds no address; write them there, one a line, or take the key out", s.File)
	}
}

// maxFile is how many bytes the configuration's file may have, or a source's.
const maxFile = 16 << 20

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

// regular refuses a path that is no file, behind all links: opening a pipe hangs until somebody writes into it.
func regular(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is a folder, a pipe or a device, and must be a file: wafbot reads it again later", path)
	}
	return nil // what is not there says so when it is opened
}

// readUpTo reads a file of at most so many bytes.
func readUpTo(path string, most int64) (string, error) {
	if path == "" {
		return "", errors.New("the path is empty")
	}
	if err := regular(path); err != nil {
		return "", err
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
