package config

import (
	_ "embed" // the schema is a file, which editors read, too
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"
)

// Show is the configuration as it counts, as YAML: with every default, and each account with what it has from
// account_defaults, the policy and the environment. It holds no secret.
func (c *Config) Show() ([]byte, error) {
	all := *c
	all.Accounts = slices.Clone(c.Accounts)
	for i := range all.Accounts {
		all.Accounts[i].Policy = c.PolicyOf(i)
	}
	return yaml.Dump(c.node(leaf{value: reflect.ValueOf(all)}))
}

// node is a value as YAML, nil if it was left out and has no default.
func (c *Config) node(l leaf) *yaml.Node {
	n := &yaml.Node{Kind: kindOf(l.value.Type())}
	for _, p := range l.parts() {
		value := c.node(p)
		if value == nil || p.key == defaultsKey || p.isSecret() && c.counts(p.key+"_file") { // its file is named
			continue
		}
		if n.Kind == yaml.MappingNode {
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p.name})
		}
		n.Content = append(n.Content, value)
	}
	if len(n.Content) == 0 && (n.Kind != yaml.ScalarNode || l.value.IsZero()) && !c.counts(l.key) {
		return nil
	}
	switch value := l.value.Interface().(type) {
	case time.Duration:
		n.Value = model.Duration(value).String()
	case *bool:
		n.Value = fmt.Sprint(*value)
	case bool, int, float64:
		n.Value = fmt.Sprint(value)
	default: // a text, which means the same when it is read again; the tag quotes it where it would be something else
		if n.Kind == yaml.ScalarNode {
			n.Tag, n.Value = "!!str", strings.ReplaceAll(fmt.Sprint(value), "$", "$$")
		}
	}
	return n
}

// counts reports whether a key was set; one of an account's policy may be set in policy.
func (c *Config) counts(key string) bool {
	account, rest, ofPolicy := strings.Cut(key, ".policy")
	return c.IsSet(key) || ofPolicy && strings.HasPrefix(account, "accounts[") && c.IsSet("policy"+rest)
}

// Schema is the JSON schema of configurations: every key with what it means, its default and what it may be. Tests
// write it from the tags of Config and from docs/config.md.
//
//go:embed wafbot.schema.json
var Schema []byte
