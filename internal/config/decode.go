package config

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/wafbot/wafbot/apiclient"
)

// decoder fills a Config from YAML. It walks the nodes itself instead of unmarshalling them: this way every problem names its key, and the checks
// that follow know where each key was written.
type decoder struct {
	*origins
	environ map[string]string // for ${X}
}

// shorthand is a type that may also be written as a single value: short says where that goes.
type shorthand interface{ short() any }

func (o *OneOrMore) short() any {
	*o = OneOrMore{""}
	return &(*o)[0]
}

func (a *Application) short() any { return &a.Name }

func (u *TerminalUser) short() any { return &u.Role }

// file decodes a whole file and reports whether it was YAML. Of a file that isn't, it reports only the first fault.
func (d *decoder) file(data io.Reader, c *Config) bool {
	var first, second yaml.Node
	loader, err := yaml.NewLoader(data)
	if err == nil {
		err = loader.Load(&first)
	}
	if errors.Is(err, io.EOF) {
		return true
	}
	if err == nil {
		if err = loader.Load(&second); err == nil {
			d.reportAt(d.place(&second), "YAML", "a second document starts here; one file holds one configuration")
			return false
		}
	}
	if !errors.Is(err, io.EOF) {
		d.broken(err)
		return false
	}
	root := first.Content[0]
	switch {
	case root.Kind == yaml.MappingNode:
		d.fields(root, reflect.ValueOf(c).Elem(), "")
	case root.Tag != "!!null":
		d.reportAt(d.place(root), "YAML", "does not start with a key; write keys of the configuration, such as accounts:")
		return false
	}
	return true
}

func (d *decoder) broken(err error) {
	at, text := d.root, "cannot be read"
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		text = load.Message
		if load.Mark.Line > 0 {
			at.Line, at.Col = load.Mark.Line, max(load.Mark.Column, 1)
		}
	}
	d.reportAt(at, "YAML", text+"; fix the syntax")
}

func (d *decoder) place(n *yaml.Node) Position {
	return Position{File: d.root.File, Line: n.Line, Col: n.Column}
}

// decode puts a node into a field of Config.
func (d *decoder) decode(n *yaml.Node, v reflect.Value, key string) {
	d.keys[key] = origin{Position: d.place(n)}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
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
	fields := map[string]reflect.Value{}
	var names []string
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("yaml"); name != "" {
			fields[name] = v.Field(i)
			names = append(names, name)
		}
	}
	d.pairs(n, key, func(k, value *yaml.Node) {
		field, ok := fields[k.Value]
		if !ok {
			d.reportAt(d.place(k), below(key, printable(k.Value)), "unknown key; "+didYouMean(k.Value, names, "remove it"))
			return
		}
		d.decode(value, field, below(key, k.Value))
	})
}

func (d *decoder) entries(n *yaml.Node, v reflect.Value, key string) {
	v.Set(reflect.MakeMap(v.Type()))
	d.pairs(n, key, func(k, value *yaml.Node) {
		name := reflect.New(v.Type().Key()).Elem()
		if err := setText(name.Addr().Interface(), k.Value); err != nil {
			d.reportAt(d.place(k), below(key, printable(k.Value)), "as a key "+err.Error())
			return
		}
		entry := newWithDefaults(v.Type().Elem())
		d.decode(value, entry, below(key, k.Value))
		v.SetMapIndex(name, entry)
	})
}

// pairs calls each for every key of a mapping, but reports keys that are no plain word or come twice.
func (d *decoder) pairs(n *yaml.Node, key string, each func(k, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			d.reportAt(d.place(k), below(key, "?"), "a key must be a plain word")
			continue
		}
		if line, doubled := seen[k.Value]; doubled {
			d.reportAt(d.place(k), below(key, printable(k.Value)), fmt.Sprintf("given twice, first on line %d; remove one", line))
			continue
		}
		seen[k.Value] = k.Line
		each(k, n.Content[i+1])
	}
}

func (d *decoder) elements(n *yaml.Node, v reflect.Value, key string) {
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, child := range n.Content {
		list.Index(i).Set(newWithDefaults(v.Type().Elem()))
		d.decode(child, list.Index(i), Element(key, i))
	}
	v.Set(list)
}

func (d *decoder) scalar(n *yaml.Node, target any, key string) {
	text, err := expand(n.Value, d.environ)
	if err != nil {
		d.report(key, "%v", err)
		return
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
			if field := v.Type().Field(i); field.Tag.Get("yaml") != "" {
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
	if strings.HasPrefix(l.key, "accounts[") && strings.Contains(l.key, "].policy.") {
		return ""
	}
	return l.tag.Get("env")
}

// isSecret reports whether its value must not be shown.
func (l leaf) isSecret() bool { return l.value.Type() == reflect.TypeFor[apiclient.Secret]() }

// isFile reports whether it names a file. Relative paths start at the configuration file's folder.
func (l leaf) isFile() bool {
	return strings.HasSuffix(l.key, "_file") || strings.HasSuffix(l.key, ".file")
}
