package config

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/policy"
)

const letters = "abcdefghijklmnopqrstuvwxyz"
const digits = "0123456789"

// check reports what decoding one value can't see: limits, shapes, contradictions and missing keys.
func (c *Config) check() {
	c.checkSlack()
	if scheme, _, ok := strings.Cut(c.Redis.URL.Reveal(), "://"); !ok || !slices.Contains([]string{"redis", "rediss", "redis-sentinel", "redis-cluster"}, scheme) {
		c.origins.report(c.RedisKey(), "is no Redis address; write it like redis://HOST:6379/0, rediss://…, redis-sentinel://… or redis-cluster://…")
	}
	c.origins.atLeast("redis.wait_replicas", c.Redis.WaitReplicas, 0)
	if _, port, err := net.SplitHostPort(c.Listen); err != nil || !isPort(port) {
		c.origins.reportValue("listen", "is no address to listen on; write it like 127.0.0.1:8080 or :8080")
	}
	c.checkAccounts()
	for kind, link := range c.Runbooks {
		c.origins.webAddress("runbooks."+kind, link)
	}
	c.checkSources()
	c.checkPolicy()
	c.origins.positive("audit.keep", c.Audit.Keep)
}

// RedisKey is the key that gave the Redis address: redis.url or redis.url_file.
func (c *Config) RedisKey() string {
	if c.origins.isSet("redis.url_file") {
		return "redis.url_file"
	}
	return "redis.url"
}

func (c *Config) checkSlack() {
	o := c.origins
	o.webAddress("slack.api_url", c.Slack.APIURL)
	if !strings.HasSuffix(c.Slack.APIURL, "/") {
		c.Slack.APIURL += "/" // the Slack client appends the method's bare name
	}
	word, slash := strings.CutPrefix(c.Slack.Command, "/")
	if !slash || word == "" || len(word) > 31 || !onlyOf(word, letters+digits+"-_") {
		o.reportValue("slack.command", "is no slash command; write / and up to 31 of a-z 0-9 - _")
	}
	if !(c.Slack.MessagesPerSecond >= 0 && c.Slack.MessagesPerSecond <= 1000) {
		o.reportValue("slack.messages_per_second", "is out of range; write 0 (as fast as Slack takes them) to 1000")
	}
	o.atLeast("slack.burst", c.Slack.Burst, 1)
	o.atLeast("slack.edits_per_minute", c.Slack.EditsPerMinute, 1)
}

func (c *Config) checkSources() {
	seen := map[string]bool{}
	for i, s := range c.Sources {
		key := Element("sources", i)
		c.origins.uniqueName(key, s.Name, seen)
		c.origins.oneOf(key+".deny", s.Deny, policy.DenyNever, policy.DenyApproval)
		if len(s.Ranges) == 0 && !c.origins.isSet(key+".file") { // what is wrong with a file is reported already
			c.origins.report(key, "names no address; write ranges or file")
		}
	}
}

// uniqueName demands a name below key that no earlier one of seen has.
func (o *origins) uniqueName(key, name string, seen map[string]bool) {
	switch {
	case name == "":
		o.report(key+".name", "missing; give it a name")
	case seen[name]:
		o.reportValue(key+".name", "is given twice; rename one")
	}
	seen[name] = true
}

func (o *origins) positive(key string, d time.Duration) {
	if d <= 0 {
		o.reportValue(key, "is too short; write a duration longer than 0")
	}
}

func (o *origins) atMost(key string, d, most time.Duration, written string) {
	if d > most {
		o.reportValue(key, "is too long; write %s at most", written)
	}
}

func (o *origins) atLeast(key string, n, least int) {
	if n < least {
		o.reportValue(key, "is too small; write %d at least", least)
	}
}

func (o *origins) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		o.reportValue(key, "is unknown here; write one of %s", strings.Join(allowed, ", "))
	}
}

// each checks every element of a list, or the single word that the list was written as.
func (o *origins) each(key string, values []string, check func(key, value string)) {
	for i, value := range values {
		if at := Element(key, i); o.isSet(at) {
			check(at, value)
		} else {
			check(key, value)
		}
	}
}

// webAddress refuses a user name in an address: messages and links would show it.
func (o *origins) webAddress(key, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil: // not shown: a password may have broken it
		o.report(key, "is no web address; write it like https://HOST/")
	case u.User != nil:
		o.report(key, "holds a user name or a password; take them out")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		o.reportValue(key, "is no web address; write it like https://HOST/")
	}
}

func (o *origins) userOrGroup(key, text string) {
	if text != "" && !isID(text, "UWS") {
		o.reportValue(key, "is no id; write a user id (U…) or a user group id (S…)")
	}
}

func (o *origins) channel(key, text string) {
	if text != "" && !isID(text, "CGD") {
		o.reportValue(key, "is no channel id; write the id (C…) that Slack shows at the end of the channel's details")
	}
}

func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 0 && n <= 65535
}
