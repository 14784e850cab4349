package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"

	"github.com/wafbot/wafbot/apiclient"
)

// Show is the configuration as it counts, as YAML: with every default, and each account with what it has from account_defaults, the policy and the environment. It
// holds no secret.
func (c *Config) Show() ([]byte, error) {
	return yaml.Dump((&shown{c}).config())
}

// shown writes a configuration as YAML.
type shown struct{ *Config }

func (s *shown) config() *yaml.Node {
	c := *s.Config
	c.Accounts = slices.Clone(c.Accounts)
	for i := range c.Accounts {
		c.Accounts[i].Policy = c.PolicyOf(i)
	}
	return cmp.Or(s.node(reflect.ValueOf(c), ""), &yaml.Node{Kind: yaml.MappingNode})
}

// isSet reports whether a key was set; one of an account's policy may be set in policy.
func (s *shown) isSet(key string) bool {
	account, rest, ofPolicy := strings.Cut(key, ".policy")
	return s.origins.isSet(key) || ofPolicy && strings.HasPrefix(account, "accounts[") && s.origins.isSet("policy"+rest)
}

// node is a value as YAML, nil if it was left out and has no default.
func (s *shown) node(v reflect.Value, key string) *yaml.Node {
	switch kind := kindOf(v); {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return nil
	case kind == yaml.ScalarNode:
		return s.scalar(v, key)
	case kind == yaml.SequenceNode:
		return s.sequence(v, key)
	case v.Kind() == reflect.Map:
		return s.entries(v, key)
	case v.Kind() == reflect.Pointer:
		return s.node(v.Elem(), key)
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("yaml")
		at := below(key, name)
		if name == "" || at == defaultsKey {
			continue
		}
		if _, secret := v.Field(i).Interface().(apiclient.Secret); secret && s.isSet(at+"_file") {
			continue // its file is named
		}
		add(n, name, s.node(v.Field(i), at))
	}
	if len(n.Content) == 0 && !s.isSet(key) {
		return nil
	}
	return n
}

func add(n *yaml.Node, name string, value *yaml.Node) {
	if value != nil {
		n.Content = append(n.Content, literal("!!str", name), value) // keys are taken as they are
	}
}

func (s *shown) sequence(v reflect.Value, key string) *yaml.Node {
	if v.IsNil() && !s.isSet(key) {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range v.Len() {
		at := Element(key, i)
		element := s.node(v.Index(i), at)
		if element == nil {
			element = plain("")
			if kindOf(v.Index(i)) == yaml.MappingNode {
				element = &yaml.Node{Kind: yaml.MappingNode}
			}
		}
		n.Content = append(n.Content, element)
	}
	return n
}

func (s *shown) entries(v reflect.Value, key string) *yaml.Node {
	if v.Len() == 0 {
		return nil
	}
	names := v.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int {
		if a.CanInt() {
			return cmp.Compare(a.Int(), b.Int())
		}
		return cmp.Compare(a.String(), b.String())
	})
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range names {
		add(n, fmt.Sprint(name), s.node(v.MapIndex(name), below(key, fmt.Sprint(name))))
	}
	return n
}

func (s *shown) scalar(v reflect.Value, key string) *yaml.Node {
	if v.IsZero() && !s.isSet(key) {
		return nil
	}
	switch value := v.Interface().(type) {
	case apiclient.Secret:
		return plain(value.String())
	case string:
		return plain(value)
	case time.Duration:
		return literal("!!str", model.Duration(value).String())
	case *time.Location:
		return plain(value.String())
	case *bool:
		return literal("!!bool", strconv.FormatBool(*value))
	case netip.Prefix:
		return plain(value.String())
	}
	switch {
	case v.Kind() == reflect.Bool:
		return literal("!!bool", strconv.FormatBool(v.Bool()))
	case v.CanInt():
		return literal("!!int", strconv.FormatInt(v.Int(), 10))
	}
	return literal("!!float", strconv.FormatFloat(v.Float(), 'g', -1, 64))
}

// plain is a text, which means the same when it is read again.
func plain(text string) *yaml.Node { return literal("!!str", strings.ReplaceAll(text, "$", "$$")) }

func literal(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}
