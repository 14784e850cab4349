package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
)

// binding is an environment variable that sets one key of the file.
type binding struct {
	name   string // of the variable
	key    string
	target any // where it goes in the Config; a *[]string takes a list with commas
}

// bindings are all of them. Those whose key begins with accounts[0] set a.
func bindings(c *Config, a *Account) []binding {
	return []binding{
		{"WAFBOT_SLACK_BOT_TOKEN", "slack.bot_token", &c.Slack.BotToken},
		{"WAFBOT_SLACK_BOT_TOKEN_FILE", "slack.bot_token_file", &c.Slack.BotTokenFile},
		{"WAFBOT_SLACK_APP_TOKEN", "slack.app_token", &c.Slack.AppToken},
		{"WAFBOT_SLACK_APP_TOKEN_FILE", "slack.app_token_file", &c.Slack.AppTokenFile},
		{"WAFBOT_SLACK_SIGNING_SECRET", "slack.signing_secret", &c.Slack.SigningSecret},
		{"WAFBOT_SLACK_SIGNING_SECRET_FILE", "slack.signing_secret_file", &c.Slack.SigningSecretFile},
		{"WAFBOT_SLACK_API_URL", "slack.api_url", &c.Slack.APIURL},
		{"WAFBOT_REDIS_URL", "redis.url", &c.Redis.URL},
		{"WAFBOT_REDIS_URL_FILE", "redis.url_file", &c.Redis.URLFile},
		{"WAFBOT_LISTEN", "listen", &c.Listen},
		{"WAFBOT_API_URL", "accounts[0].api_url", &a.APIURL},
		{"WAFBOT_API_TOKEN", "accounts[0].token", &a.Token},
		{"WAFBOT_API_TOKEN_FILE", "accounts[0].token_file", &a.TokenFile},
		{"WAFBOT_CHANNEL", "accounts[0].channel", &a.Channel},
		{"WAFBOT_VIEWERS", "policy.viewers", &c.Policy.Viewers},
		{"WAFBOT_RESPONDERS", "policy.responders", &c.Policy.Responders},
		{"WAFBOT_ADMINS", "policy.admins", &c.Policy.Admins},
		{"WAFBOT_CHANGES", "policy.changes", &c.Policy.Changes},
	}
}

const (
	fileVariable      = "WAFBOT_CONFIG"
	neverDenyVariable = "WAFBOT_NEVER_DENY"
)

// environment applies the variables, which win over the file. An empty one counts as left out, unless it is a list.
func (o *origins) environment(c *Config, environ map[string]string) {
	var account Account
	account.Name = "default"
	account.setDefaults()
	all := bindings(c, &account)
	o.unknownVariables(all, environ)
	makesAccount := false
	for _, v := range all {
		text, set := environ[v.name]
		_, list := v.target.(*[]string)
		if !set || text == "" && !list {
			continue
		}
		if strings.HasPrefix(v.key, "accounts[0].") {
			if o.isSet("accounts") {
				o.reportVariable(v.name, "the accounts are in the file; set accounts[].%s there and unset this", strings.TrimPrefix(v.key, "accounts[0]."))
				continue
			}
			makesAccount = true
		}
		if secret, isFile := strings.CutSuffix(v.name, "_FILE"); isFile && environ[secret] != "" {
			o.reportVariable(v.name, "%s is set too; unset one of them", secret)
			continue
		}
		o.set(v, text, all)
	}
	if makesAccount {
		c.Accounts = []Account{account}
		o.keys["accounts[0]"] = origin{}
	}
	o.neverDeny(c, environ)
}

// set applies a variable, which wins over its key in the file. A secret also wins over the file that the secret would be read from.
func (o *origins) set(v binding, text string, all []binding) {
	rival := v.key + "_file"
	if secret, isFile := strings.CutSuffix(v.key, "_file"); isFile {
		rival = secret
	}
	for _, other := range all {
		if other.key == rival {
			o.unset(rival)
			_ = setText(other.target, "")
		}
	}
	o.unset(v.key)
	from := origin{variable: v.name}
	if _, secret := v.target.(*apiclient.Secret); !secret {
		from.text, from.value = text, text
	}
	o.keys[v.key] = from
	if list, ok := v.target.(*[]string); ok {
		*list = splitList(text)
		for i, item := range *list {
			o.keys[Element(v.key, i)] = origin{variable: v.name, text: item, value: item}
		}
		return
	}
	_ = setText(v.target, text) // texts and secrets take anything
}

// neverDeny makes a source of WAFBOT_NEVER_DENY. Even when empty it counts as "sources" written out.
func (o *origins) neverDeny(c *Config, environ map[string]string) {
	text, set := environ[neverDenyVariable]
	if !set {
		return
	}
	if !o.isSet("sources") {
		o.keys["sources"] = origin{variable: neverDenyVariable}
	}
	source := Source{Name: neverDenyVariable}
	source.setDefaults()
	for _, item := range splitList(text) {
		prefix, err := parseRange(item)
		if err != nil {
			o.reportVariable(neverDenyVariable, "%s %v", quote(item), err)
		}
		source.Ranges = append(source.Ranges, prefix)
	}
	if len(source.Ranges) > 0 {
		o.keys[Element("sources", len(c.Sources))] = origin{variable: neverDenyVariable}
		c.Sources = append(c.Sources, source)
	}
}

// keyWord matches a key of the file in a text. A key of one word alone can't be told from other words.
var keyWord = regexp.MustCompile(`\w+(\[\d+\])?(\.\w+(\[\d+\])?)+`)

// asWritten names the keys in a text as the operator wrote them: a key that a variable set by the variable's name.
func (o *origins) asWritten(text string) string {
	return keyWord.ReplaceAllStringFunc(text, func(word string) string { return cmp.Or(o.variableOf(word), word) })
}

// variableOf is the variable that set a key; for a key that isn't set and without a file, the one that would set it; else "".
func (o *origins) variableOf(key string) string {
	from, set := o.keys[key]
	all := bindings(&Config{}, &Account{})
	i := slices.IndexFunc(all, func(v binding) bool { return v.key == key })
	if set || o.root.File != "" || i < 0 {
		return from.variable
	}
	return all[i].name
}

// unknownVariables reports mistyped variables: otherwise a policy that the operator meant to set would be ignored silently.
func (o *origins) unknownVariables(all []binding, environ map[string]string) {
	known := []string{fileVariable, neverDenyVariable}
	for _, v := range all {
		known = append(known, v.name)
	}
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		if strings.HasPrefix(name, "WAFBOT_") && !slices.Contains(known, name) && !fromKubernetes(name, environ[name]) {
			o.reportVariable(printable(name), "unknown variable; %s", didYouMean(name, known, "unset it"))
		}
	}
}

// fromKubernetes recognises what Kubernetes puts into every container's environment for a Service named wafbot, or wafbot-redis.
func fromKubernetes(name, value string) bool {
	service := regexp.MustCompile(`^WAFBOT(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
	link := regexp.MustCompile(`^(tcp|udp|sctp)://[0-9a-fA-F.:\[\]]+$`)
	return service.MatchString(name) || strings.HasSuffix(name, "_PORT") && link.MatchString(value)
}

func (o *origins) reportVariable(name, format string, args ...any) {
	o.problems = append(o.problems, Problem{Variable: name, Text: fmt.Sprintf(format, args...)})
}
