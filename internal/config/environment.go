package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

const (
	fileVariable      = "WAFBOT_CONFIG"
	neverDenyVariable = "WAFBOT_NEVER_DENY"
	terminalVariable  = "WAFBOT_TERMINAL"
)

// environment applies the variables, which win over the file. An empty one counts as left out, unless it is a list.
func (o *origins) environment(c *Config, environ map[string]string) {
	written, account := c.Accounts, c.AccountDefaults
	account.Name = "default"
	c.Accounts = []Account{account} // for the variables of an account
	all, makesAccount := c.leaves(), false
	o.unknownVariables(all, environ)
	for _, l := range all {
		name := l.variable()
		text, set := environ[name]
		if !set || text == "" && l.value.Kind() != reflect.Slice {
			continue
		}
		key, ofAccount := strings.CutPrefix(l.key, "accounts[0].")
		secret, isFile := strings.CutSuffix(name, "_FILE")
		switch {
		case ofAccount && o.isSet("accounts"):
			o.reportVariable(name, "the accounts are in the file; set accounts[].%s there and unset this", key)
		case isFile && environ[secret] != "":
			o.reportVariable(name, "%s is set too; unset one of them", secret)
		default:
			o.set(l, text, all)
			makesAccount = makesAccount || ofAccount
		}
	}
	if makesAccount {
		o.keys["accounts[0]"] = origin{}
	} else {
		c.Accounts = written
	}
	o.neverDeny(c, environ)
	if role := environ[terminalVariable]; role != "" {
		c.Policy.Terminal = Terminal{EveryoneElse: {Role: role}}
		o.keys["policy.terminal"] = origin{variable: terminalVariable, text: role}
	}
}

// set applies a variable, which wins over its key in the file. A secret also wins over the file that the secret would
// be read from.
func (o *origins) set(l leaf, text string, all []leaf) {
	rival, isFile := strings.CutSuffix(l.key, "_file")
	if !isFile {
		rival += "_file"
	}
	for _, other := range all {
		if other.key == rival || other.key == l.key {
			o.unset(other.key)
			other.value.SetZero()
		}
	}
	from := origin{variable: l.variable()}
	if l.value.Kind() == reflect.Slice {
		l.value.Set(reflect.ValueOf(splitList(text)))
		for _, item := range l.parts() {
			o.keys[item.key] = origin{variable: from.variable, text: item.value.String()}
		}
	} else {
		l.value.SetString(text) // all others are texts and secrets
	}
	if !l.isSecret() {
		from.text = text
	}
	o.keys[l.key] = from
}

// neverDeny makes a source of WAFBOT_NEVER_DENY. Even when empty it counts as "sources" written out.
func (o *origins) neverDeny(c *Config, environ map[string]string) {
	text, set := environ[neverDenyVariable]
	if !set {
		return
	}
	from := origin{variable: neverDenyVariable}
	if !o.isSet("sources") {
		o.keys["sources"] = from
	}
	source := Default[Source]()
	source.Name = neverDenyVariable
	for _, item := range splitList(text) {
		prefix, err := parseRange(item)
		if err != nil {
			o.reportVariable(neverDenyVariable, "%s %v", quote(item), err)
		}
		source.Ranges = append(source.Ranges, prefix)
	}
	if len(source.Ranges) > 0 {
		o.keys[Element("sources", len(c.Sources))] = from
		c.Sources = append(c.Sources, source)
	}
}

// keyWord matches a key of the file in a text. A key of one word looks like any other word.
var keyWord = regexp.MustCompile(`\w+(\[\d+\])?(\.\w+(\[\d+\])?)+`)

// AsWritten is a text in which keys are named as the operator wrote them: a key that a variable set by that variable's
// name.
func (c *Config) AsWritten(text string) string {
	return keyWord.ReplaceAllStringFunc(text, func(word string) string { return cmp.Or(c.Variable(word), word) })
}

// Variable is the variable that set a key; for a key that isn't set and without a file, the one that would set it; else
// "".
func (c *Config) Variable(key string) string {
	if from, set := c.at(key); set || c.File() != "" {
		return from.variable
	}
	return variableFor(key)
}

// variableFor is the variable that can set a key; "": none.
func variableFor(key string) string {
	for _, l := range (&Config{Accounts: make([]Account, 1)}).leaves() {
		if l.key == key {
			return l.variable()
		}
	}
	return ""
}

// unknownVariables reports mistyped variables: otherwise a policy that the operator meant to set would be ignored
// silently.
func (o *origins) unknownVariables(all []leaf, environ map[string]string) {
	known := []string{fileVariable, neverDenyVariable, terminalVariable}
	for _, l := range all {
		if name := l.variable(); name != "" {
			known = append(known, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		if strings.HasPrefix(name, "WAFBOT_") && !slices.Contains(known, name) && !fromKubernetes(name, environ[name]) {
			o.reportVariable(printable(name), "unknown variable; %s", didYouMean(name, known, "unset it"))
		}
	}
}

// fromKubernetes recognises what Kubernetes puts into every container's environment for a Service named wafbot, or
// wafbot-redis.
func fromKubernetes(name, value string) bool {
	service := regexp.MustCompile(`^WAFBOT(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
	link := regexp.MustCompile(`^(tcp|udp|sctp)://[0-9a-fA-F.:\[\]]+$`)
	return service.MatchString(name) || strings.HasSuffix(name, "_PORT") && link.MatchString(value)
}

func (o *origins) reportVariable(name, format string, args ...any) {
	o.problems = append(o.problems, Problem{Variable: name, Text: fmt.Sprintf(format, args...)})
}
