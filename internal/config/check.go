package config

import (
	"errors"
	"maps"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/store/address"
)

const letters = "abcdefghijklmnopqrstuvwxyz"
const digits = "0123456789"

// check reports what decoding one value can't see: limits, shapes, contradictions and missing keys.
func (c *Config) check() {
	c.Slack.check(c.origins)
	c.checkRedis()
	_, port, err := net.SplitHostPort(c.Listen)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		c.reportValue("listen", "is no address to listen on; write it like 127.0.0.1:8080 or :8080")
	}
	c.checkAccounts()
	for key, all := range c.allSources() {
		c.checkSources(key, all, c.Sources)
	}
	for _, l := range c.leaves() {
		c.checkLeaf(l)
	}
	if c.Policy.Changes == ChangesOn && !c.isSet("sources") {
		c.report("policy.changes", `is on, but nothing says which addresses must not be denied by mistake (your CDN, office, health checks); `+
			`write "sources:" with them into the file, "sources: []" if there are none, or set WAFBOT_NEVER_DENY, which may be empty`)
	}
	c.checkPolicies()
	c.checkPagers()
	if c.err() == nil {
		c.checkParts()
	}
}

// checkParts makes what a start makes of each account, as that is the last to refuse a value.
func (c *Config) checkParts() {
	for key, a := range c.ByKey() {
		if _, err := apiclient.New(apiclient.Config{BaseURL: a.APIURL, Token: "any"}); err != nil {
			c.report(key+".api_url", "%v", err)
		}
		if _, err := apiclient.New(apiclient.Config{BaseURL: "https://any", Token: a.Token,
			TokenFile: a.TokenFile}); err != nil {
			c.report(c.fromFile(key+".token"), "%v; write it as the service's console shows it", err)
		}
		if _, err := a.Pagers(); err != nil {
			c.report(key+".routes", "%v", err)
		}
	}
}

// checkLeaf applies the checks of a key's field to its value, or to each value of its list.
func (o *origins) checkLeaf(l leaf) {
	if l.value.IsZero() && !o.isSet(l.key) {
		return // left out, and without a default
	}
	for key := above(l.key); key != "" && !o.isSet(l.key); key = above(key) {
		if short, _ := o.at(key); short.text != "" {
			l.key = key // a single word stands for it
		}
	}
	all := []leaf{l}
	if l.value.Kind() == reflect.Slice {
		all = l.parts()
	}
	for check := range strings.SplitSeq(l.tag.Get("check"), ",") {
		if l.value.IsZero() && check == "optional" {
			return
		}
		for _, v := range all {
			if !o.isSet(v.key) {
				v.key = l.key // a single word instead of a list
			}
			o.checkValue(v.key, v.value, check)
		}
	}
}

// checkValue applies one check of a field's tag: its name, and what stands behind the equals sign.
func (o *origins) checkValue(key string, v reflect.Value, check string) {
	name, limit, _ := strings.Cut(check, "=")
	text, short := v.String(), "small"
	if v.Type() == reflect.TypeFor[time.Duration]() {
		short = "short"
	}
	bad := func(is bool, format string, args ...any) {
		if is {
			o.reportValue(key, format, args...)
		}
	}
	switch name {
	case "positive":
		bad(v.Int() <= 0, "is too short; write a duration longer than 0")
	case "min":
		bad(v.Int() < number(limit), "is too "+short+"; write %s at least", limit)
	case "max":
		bad(v.Int() > number(limit), "is too long; write %s at most", limit)
	case "range":
		least, most, _ := strings.Cut(limit, " ")
		bad(v.Int() < number(least) || v.Int() > number(most), "is out of range; write %s to %s", least, most)
	case "oneof":
		words := strings.Fields(limit)
		bad(!slices.Contains(words, text), "is unknown here; write one of %s", strings.Join(words, ", "))
	case "clock":
		bad(text != "" && !isClock(text), "is no time of day; write it like 09:00")
	case "web":
		o.webAddress(key, text)
	case "mention":
		bad(text != "" && !isID(text, "UWS"), "is no id; write a user id (U…) or a user group id (S…)")
	case "member":
		bad(text != "*" && !isID(text, "UWS"), `is no id; write a user id (U…), a user group id (S…) or "*" for everyone`)
	case "user":
		bad(text != "" && !isID(text, "UW"), "is no user id; write the id (U…) that Slack shows in the profile's menu")
	case "channel":
		bad(text != "" && !isID(text, "CGD"), "is no channel id; write the id (C…) that Slack shows at the end of the channel's details")
	case "word":
		if text == "" {
			o.report(key, "is empty, so it matches nothing; remove it")
		}
	case "", "optional":
	default:
		panic("config: a tag has the unknown check " + name)
	}
}

// number is a limit of a tag: a whole number or a duration.
func number(text string) int64 {
	if d, err := parseDuration(text); err == nil {
		return int64(d)
	}
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// SecretKey is a secret's key, such as "redis.url", or that of its file where it is read from one.
func (c *Config) SecretKey(key string) string { return c.fromFile(key) }

// IsCommand reports whether Slack takes it for a slash command.
func IsCommand(command string) bool {
	word, slash := strings.CutPrefix(command, "/")
	return slash && word != "" && len(word) <= 31 && onlyOf(word, letters+digits+"-_")
}

func (s *Slack) check(o *origins) {
	if !strings.HasSuffix(s.APIURL, "/") {
		s.APIURL += "/" // the Slack client appends the method's bare name
	}
	if !IsCommand(s.Command) {
		o.reportValue("slack.command", "is no slash command; write / and up to 31 of a-z 0-9 - _")
	}
	if !(s.MessagesPerSecond >= 0 && s.MessagesPerSecond <= 1000) {
		o.reportValue("slack.messages_per_second", "is out of range; write 0 (as fast as Slack takes them) to 1000")
	}
}

func (c *Config) checkRedis() {
	_, err := address.Parse(c.Redis.Address())
	if wrong, ok := errors.AsType[*address.Error](err); ok {
		c.report(c.fromFile(wrong.Key), "%s", wrong.Text)
	}
	if p := c.Redis.KeyPrefix; len(p) > 64 || !onlyOf(strings.ToLower(p), letters+digits+":._-") {
		c.reportValue("redis.key_prefix", "is no prefix of keys; write up to 64 of a-z A-Z 0-9 : . _ -")
	}
}

// checkSources checks a list of sources, whose names must differ from each other and from those of all accounts.
func (o *origins) checkSources(list string, all, common []Source) {
	seen := map[string]bool{}
	if list != "sources" {
		for _, s := range common {
			seen[s.Name] = true
		}
	}
	for key, s := range Keyed(list, all) {
		o.uniqueName(key, s.Name, seen)
		if len(s.Ranges) == 0 && !o.isSet(key+".file") { // what is wrong with a file is reported already
			o.report(key, "names no address; write ranges or file")
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

func (c *Config) checkAccounts() {
	if len(c.Accounts) == 0 {
		c.report("accounts", "there is none; write one into the file, or set WAFBOT_API_URL, WAFBOT_API_TOKEN and WAFBOT_CHANNEL")
	}
	seen := map[string]bool{}
	for key, a := range c.ByKey() {
		c.uniqueName(key, a.Name, seen)
		if a.Name != "" && !(len(a.Name) <= 32 && onlyOf(a.Name, letters+digits+"-")) {
			c.reportValue(key+".name", "is no account name; write up to 32 of a-z 0-9 -")
		}
		if a.APIURL == "" {
			c.report(key+".api_url", "missing; %s", c.setIt(key+".api_url"))
		}
		if a.Token == "" && !c.isSet(key+".token_file") {
			c.report(key+".token", "missing; %s", c.setIt(key+".token"))
		}
		if a.ClientID < 1 && c.isSet(key+".client_id") {
			c.reportValue(key+".client_id", "is no client id; write one above 0, or leave it out to have the API asked")
		}
		a.Quiet.check(c.origins, key+".quiet.hours")
		a.checkApplications(c.origins, key+".applications")
		for route, r := range Keyed(key+".routes", a.Routes) {
			r.check(c.origins, route, a.Applications)
		}
	}
}

// setIt says where to set a missing key. Variables make an account only if the file has none.
func (o *origins) setIt(key string) string {
	variable := variableFor(key)
	switch {
	case variable == "" || strings.HasPrefix(key, "accounts[") && o.isSet("accounts"):
		return "set it"
	case o.root.File == "":
		return "set " + variable
	}
	return "set it, or " + variable
}

func (q Quiet) check(o *origins, key string) {
	from, to, dash := strings.Cut(q.Hours, "-")
	switch {
	case q.Hours != "" && !(dash && isClock(from) && isClock(to)):
		o.reportValue(key, "are no hours; write them like 22:00-07:00")
	case q.Hours != "" && from == to:
		o.reportValue(key, "begin when they end; write two times of day like 22:00-07:00, or leave mention out of the routes to mention no one at any hour")
	}
}

func isClock(text string) bool {
	_, err := time.Parse("15:04", text)
	return err == nil && len(text) == len("15:04")
}

// checkApplications refuses a name that is given twice or looks like an id: commands take either.
func (a *Account) checkApplications(o *origins, key string) {
	seen := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(a.Applications)) {
		app, at := a.Applications[id], below(key, strconv.Itoa(id))
		if id < 1 && id != -1 {
			o.report(at, "is no application id; write one above 0, or -1 for the default application")
		}
		if o.isSet(at + ".name") {
			at += ".name"
		}
		_, err := strconv.Atoi(app.Name)
		name := strings.ToLower(app.Name) // as it may be typed
		switch {
		case app.Name == "" && app.CanBlock == nil:
			o.report(at, "has no name; give it one")
		case name != "" && seen[name]:
			o.reportValue(at, "is given twice (upper and lower case are the same); rename one")
		case err == nil:
			o.reportValue(at, "could be taken for an id; write a name that is no number")
		}
		seen[name] = true
	}
}

func (r *Route) check(o *origins, key string, applications map[int]Application) {
	for i, name := range r.Match.Application {
		_, err := strconv.Atoi(name)
		for _, app := range applications {
			if app.Name == name {
				err = nil
			}
		}
		if err == nil {
			continue
		}
		at := key + ".match.application"
		if element := Element(at, i); o.isSet(element) {
			at = element
		}
		o.reportValue(at, "is no application; write an id or a name from the account's applications")
	}
	if r.Page != nil {
		r.Page.check(o, key+".page")
	}
}

func (p *Page) check(o *origins, key string) {
	at := o.fromFile(key + ".url")
	if p.URL == "" {
		o.report(at, "missing; set it")
	} else if o.webAddress(at, p.URL.Reveal()); p.Kind == pager.PagerDuty {
		if _, err := pager.New(pager.Config{Format: p.Kind, URL: p.URL}); err != nil {
			o.report(at, "%v", err)
		}
	}
	if p.Kind == "" {
		o.report(key+".format", "missing; write one of pagerduty, alertmanager, json")
	}
}

// CheckServe reports what only serve needs: the way to Slack. Its error is an *Error.
func (c *Config) CheckServe() error {
	o := &origins{root: c.root, keys: c.keys}
	if c.Slack.BotToken == "" {
		o.report("slack.bot_token", "missing; %s (the app's OAuth & Permissions page shows it)", o.setIt("slack.bot_token"))
	}
	if c.Slack.AppToken == "" && c.Slack.SigningSecret == "" {
		const secret = "slack.signing_secret"
		o.report("slack.app_token", "missing, and %s too: no click would reach wafbot; for Socket Mode %s "+
			"(an app-level token with connections:write), for signed HTTP give %s (the app's Basic Information page has both)",
			secret, o.setIt("slack.app_token"), c.AsWritten(secret))
	}
	for key, a := range c.ByKey() {
		if key += ".channel"; a.Channel == "" {
			o.report(key, "missing; %s", o.setIt(key))
		}
	}
	return o.err()
}
