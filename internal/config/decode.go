package config

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/wafbot/wafbot/apiclient"
)

// decoder fills a Config from YAML. It walks the nodes itself instead of unmarshalling them: this way every problem names its key, and the checks
// that follow know where each key was written.
type decoder struct {
	*origins
	file     string            // that is decoded
	folder   string            // where relative paths start
	environ  map[string]string // for ${X}
	defaults *Account          // what accounts begin with
}

// shorthand is a type that may also be written as a single value: short says where that goes.
type shorthand interface{ short() any }

func (o *OneOrMore) short() any {
	*o = OneOrMore{""}
	return &(*o)[0]
}

func (a *Application) short() any { return &a.Name }

func (u *TerminalUser) short() any { return &u.Role }

// document reads a whole file and returns what it begins with, nil if it holds nothing; ok is false if it isn't YAML. Then it reports the first fault alone.
func (d *decoder) document(data string) (root *yaml.Node, ok bool) {
	var first, second yaml.Node
	loader, err := yaml.NewLoader(strings.NewReader(data))
	if err == nil {
		err = loader.Load(&first)
	}
	if errors.Is(err, io.EOF) {
		return nil, true
	}
	if err == nil {
		if err = loader.Load(&second); err == nil {
			d.reportAt(d.place(&second), "YAML", "a second document starts here; one file holds one configuration")
			return nil, false
		}
	}
	if !errors.Is(err, io.EOF) {
		d.broken(err)
		return nil, false
	}
	return first.Content[0], true
}

// configuration decodes the configuration's file. It reports whether there is something to check.
func (d *decoder) configuration(data string, c *Config) bool {
	root, ok := d.document(data)
	switch {
	case root == nil || root.Tag == "!!null":
		return ok
	case root.Kind != yaml.MappingNode:
		d.reportAt(d.place(root), "YAML", "does not start with a key; write keys of the configuration, such as accounts:")
		return false
	}
	d.defaults = &c.AccountDefaults
	d.fields(root, reflect.ValueOf(c).Elem(), "")
	return !d.full()
}

func (d *decoder) broken(err error) {
	at, text := Position{d.file, 1, 1}, "cannot be read"
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		text = load.Message
		if load.Mark.Line > 0 {
			at.Line, at.Col = load.Mark.Line, max(load.Mark.Column, 1)
		}
	}
	d.reportAt(at, "YAML", text+"; fix the syntax")
}

func (d *decoder) place(n *yaml.Node) Position {
	return Position{File: d.file, Line: n.Line, Col: n.Column}
}

// decode puts a node into a field of Config.
func (d *decoder) decode(n *yaml.Node, v reflect.Value, key string) {
	at := d.place(n)
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if !d.spend(at, 1) {
		return
	}
	d.keys[key] = origin{Position: at, whole: n.Kind != yaml.MappingNode}
	if n.Tag == "!!null" {
		d.report(key, "has no value; write one or leave the key out")
		return
	}
	short, ok := v.Addr().Interface().(shorthand)
	switch wanted := kindOf(v); {
	case n.Kind == yaml.ScalarNode && ok:
		d.scalar(n, short.short(), key)
	case n.Kind != wanted:
		name := map[yaml.Kind]string{yaml.MappingNode: "keys with values below it", yaml.SequenceNode: "a list", yaml.ScalarNode: "a single value"}
		d.report(key, "is %s; write %s", name[n.Kind], name[wanted])
	case wanted == yaml.ScalarNode:
		d.scalar(n, v.Addr().Interface(), key)
	case wanted == yaml.SequenceNode:
		d.elements(n, v, key)
	case v.Kind() == reflect.Map:
		d.entries(n, v, key)
	case v.Kind() == reflect.Pointer:
		v.Set(newWithDefaults(v.Type().Elem()).Addr())
		d.fields(n, v.Elem(), key)
	default:
		d.fields(n, v, key)
		if a, ok := v.Addr().Interface().(*Account); ok && a.Token != "" && !d.isSet(key+".token_file") {
			a.TokenFile = "" // the one of account_defaults
		}
	}
}

// kindOf is the kind of YAML node that a field of Config is written as.
func kindOf(v reflect.Value) yaml.Kind {
	switch v.Interface().(type) {
	case *time.Location, netip.Prefix, *bool:
		return yaml.ScalarNode
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return yaml.MappingNode
	case reflect.Slice:
		return yaml.SequenceNode
	}
	return yaml.ScalarNode
}

func newWithDefaults(t reflect.Type) reflect.Value {
	v := reflect.New(t)
	if d, ok := v.Interface().(interface{ setDefaults() }); ok {
		d.setDefaults()
	}
	return v.Elem()
}

func below(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// Element is the key of a list's element, as errors name it: accounts[0].
func Element(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

func (d *decoder) fields(n *yaml.Node, v reflect.Value, key string) {
	fields := map[string]int{}
	var names []string
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("yaml"); name != "" && elsewhere(key, name) == "" {
			fields[name] = i
			names = append(names, name)
		}
	}
	var known []pair
	for _, p := range d.pairs(n, key) {
		switch _, ok := fields[p.key.Value]; {
		case ok:
			known = append(known, p)
		case key == "" && strings.HasPrefix(p.key.Value, "x-"): // for anchors
		case elsewhere(key, p.key.Value) != "":
			d.reportAt(d.place(p.key), below(key, p.key.Value), elsewhere(key, p.key.Value))
		default:
			d.reportAt(d.place(p.key), below(key, printable(p.key.Value)), "unknown key; "+didYouMean(p.key.Value, names, "remove it"))
		}
	}
	slices.SortStableFunc(known, func(a, b pair) int { return fields[a.key.Value] - fields[b.key.Value] }) // accounts begin with account_defaults
	for _, p := range known {
		before := d.nodes
		d.decode(p.value, v.Field(fields[p.key.Value]), below(key, p.key.Value))
		if key == "" && p.key.Value == defaultsKey {
			d.inherited = d.nodes - before
		}
	}
}

// entries puts a mapping into a map. What the map holds already is merged by key.
func (d *decoder) entries(n *yaml.Node, v reflect.Value, key string) {
	merged := reflect.MakeMap(v.Type())
	for _, name := range v.MapKeys() {
		merged.SetMapIndex(name, v.MapIndex(name))
	}
	v.Set(merged)
	for _, p := range d.pairs(n, key) {
		name := reflect.New(v.Type().Key()).Elem()
		if err := setText(name.Addr().Interface(), p.key.Value); err != nil {
			d.reportAt(d.place(p.key), below(key, printable(p.key.Value)), "as a key "+err.Error())
			continue
		}
		entry, at := newWithDefaults(v.Type().Elem()), below(key, p.key.Value)
		d.decode(p.value, entry, at)
		if from, ok := d.keys[at]; ok {
			from.whole = true
			d.keys[at] = from
		}
		v.SetMapIndex(name, entry)
	}
}

func (d *decoder) elements(n *yaml.Node, v reflect.Value, key string) {
	list := reflect.MakeSlice(v.Type(), 0, 0)
	for i, child := range n.Content {
		element := d.element(child, v.Type().Elem())
		if d.full() {
			break
		}
		d.decode(child, element, Element(key, i))
		list = reflect.Append(list, element)
	}
	v.Set(list)
}

// element is a list's element before it is decoded: an account begins with account_defaults.
func (d *decoder) element(n *yaml.Node, t reflect.Type) reflect.Value {
	if t == reflect.TypeFor[Account]() && d.spend(d.place(n), d.inherited) {
		account := reflect.New(t).Elem()
		account.Set(reflect.ValueOf(*d.defaults))
		return account
	}
	return newWithDefaults(t)
}

func (d *decoder) scalar(n *yaml.Node, target any, key string) {
	text, err := expand(n.Value, d.environ)
	if err != nil {
		d.report(key, "%v", err)
		return
	}
	if (leaf{key: key}).isFile() && text != "" && !filepath.IsAbs(text) {
		text = filepath.Join(d.folder, text)
	}
	from := d.keys[key]
	if _, secret := target.(*apiclient.Secret); !secret {
		from.text = n.Value
	}
	d.keys[key] = from
	if err := setText(target, text); err != nil {
		d.reportValue(key, "%v", err)
	}
}

// leaf is a key that holds a value, or a list of values.
type leaf struct {
	key   string
	value reflect.Value // it can be set, unless it is a map's
	tag   reflect.StructTag
}

// leaves are all the keys of a configuration that hold values, in the order of its fields.
func (c *Config) leaves() []leaf { return leavesOf(leaf{value: reflect.ValueOf(c).Elem()}) }

func leavesOf(l leaf) (all []leaf) {
	v := l.value
	switch kind := kindOf(v); {
	case kind == yaml.ScalarNode, kind == yaml.SequenceNode && kindOf(reflect.New(v.Type().Elem()).Elem()) == yaml.ScalarNode:
		return []leaf{l}
	case kind == yaml.SequenceNode:
		for i := range v.Len() {
			all = append(all, leavesOf(leaf{Element(l.key, i), v.Index(i), l.tag})...)
		}
	case v.Kind() == reflect.Map:
		for _, name := range v.MapKeys() {
			all = append(all, leavesOf(leaf{below(l.key, fmt.Sprint(name)), v.MapIndex(name), l.tag})...)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Tag.Get("yaml") != "" && elsewhere(l.key, field.Tag.Get("yaml")) == "" {
				all = append(all, leavesOf(leaf{below(l.key, field.Tag.Get("yaml")), v.Field(i), field.Tag})...)
			}
		}
	case !v.IsNil():
		return leavesOf(leaf{l.key, v.Elem(), l.tag})
	}
	return all
}

// variable is the environment variable that sets the key; "": none. Those of the policy set the one for all accounts.
func (l leaf) variable() string {
	if l.ofDefaults() || strings.HasPrefix(l.key, "accounts[") && strings.Contains(l.key, "].policy.") {
		return ""
	}
	return l.tag.Get("env")
}

// ofDefaults reports whether accounts begin with it.
func (l leaf) ofDefaults() bool { return strings.HasPrefix(l.key, defaultsKey+".") }

// isSecret reports whether its value must not be shown.
func (l leaf) isSecret() bool { return l.value.Type() == reflect.TypeFor[apiclient.Secret]() }

// isFile reports whether it names a file. Relative paths start at the configuration file's folder.
func (l leaf) isFile() bool {
	return strings.HasSuffix(l.key, "_file") || strings.HasSuffix(l.key, ".file")
}
