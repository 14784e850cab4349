package config

import (
	"cmp"
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

// decoder fills a Config from YAML. It walks the nodes itself instead of unmarshalling them: this way every problem
// names its key, and the checks that follow know where each key was written.
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

func (t *Terminal) short() any { return t }

func (u *TerminalUser) short() any { return &u.Role }

// configuration decodes the configuration's file. It reports whether there is something to check. Of a file that isn't
// YAML it reports the first fault alone.
func (d *decoder) configuration(data string, c *Config) bool {
	var first, second yaml.Node
	loader, err := yaml.NewLoader(strings.NewReader(data))
	if err == nil {
		err = loader.Load(&first)
	}
	if errors.Is(err, io.EOF) {
		return true // it holds nothing
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
	switch root := first.Content[0]; {
	case root.Tag == "!!null":
		return true
	case root.Kind != yaml.MappingNode:
		d.reportAt(d.place(root), "YAML", "does not start with a key; write keys of the configuration, such as accounts:")
		return false
	default:
		d.defaults = &c.AccountDefaults
		d.fields(root, leaf{value: reflect.ValueOf(c)})
		return !d.full()
	}
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
func (d *decoder) decode(n *yaml.Node, l leaf) {
	at, v := d.place(n), l.value
	n = resolved(n)
	if !d.spend(at, 1) {
		return
	}
	d.keys[l.key] = origin{Position: at, whole: n.Kind != yaml.MappingNode}
	if n.Tag == "!!null" {
		d.report(l.key, "has no value; write one or leave the key out")
		return
	}
	short, ok := v.Addr().Interface().(shorthand)
	switch wanted := kindOf(v.Type()); {
	case n.Kind == yaml.ScalarNode && ok:
		d.scalar(n, short.short(), l.key)
	case n.Kind != wanted:
		name := map[yaml.Kind]string{yaml.MappingNode: "keys with values below it", yaml.SequenceNode: "a list",
			yaml.ScalarNode: "a single value"}
		d.report(l.key, "is %s; write %s", name[n.Kind], name[wanted])
	case wanted == yaml.ScalarNode:
		d.scalar(n, v.Addr().Interface(), l.key)
	case wanted == yaml.SequenceNode:
		d.elements(n, l)
	case v.Kind() == reflect.Map:
		d.entries(n, l)
	default:
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			l.setDefaults()
		}
		d.fields(n, l)
	}
}

// kindOf is the kind of YAML node that a type of Config's is written as.
func kindOf(t reflect.Type) yaml.Kind {
	switch t {
	case reflect.TypeFor[*time.Location](), reflect.TypeFor[netip.Prefix](), reflect.TypeFor[*bool]():
		return yaml.ScalarNode
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return yaml.MappingNode
	case reflect.Slice:
		return yaml.SequenceNode
	}
	return yaml.ScalarNode
}

func below(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// Element is the key of a list's element, as errors name it: accounts[0].
func Element(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

// defaultsKey holds what every account begins with.
const defaultsKey = "account_defaults"

// elsewhere says where a key is to be written that stands at the wrong place although the value there has a field for
// it; "": it stands where it belongs.
func elsewhere(key, name string) string {
	if key == defaultsKey && (name == "name" || name == "token" || name == "client_id") {
		return "is each account's own; write it there"
	}
	return ""
}

func (d *decoder) fields(n *yaml.Node, l leaf) {
	fields, written := l.parts(), map[string]*yaml.Node{}
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	for _, p := range d.pairs(n, l.key) {
		name := p.key.Value
		switch key, wrong := below(l.key, name), elsewhere(l.key, name); {
		case slices.Contains(names, name):
			written[name] = p.value
		case l.key == "" && strings.HasPrefix(name, "x-"): // for anchors
		case wrong != "":
			d.reportAt(d.place(p.key), key, wrong)
		default:
			d.reportAt(d.place(p.key), below(l.key, printable(name)), "unknown key; "+didYouMean(name, names, "remove it"))
		}
	}
	for _, f := range fields { // in their order: accounts begin with account_defaults
		if written[f.name] == nil {
			continue
		}
		before := d.nodes
		if d.decode(written[f.name], f); f.key == defaultsKey {
			d.inherited = d.nodes - before
		}
	}
}

// entries puts a mapping into a map. What the map holds already is merged by key.
func (d *decoder) entries(n *yaml.Node, l leaf) {
	merged := reflect.MakeMap(l.value.Type())
	for _, name := range l.value.MapKeys() {
		merged.SetMapIndex(name, l.value.MapIndex(name))
	}
	l.value.Set(merged)
	for _, p := range d.pairs(n, l.key) {
		name := reflect.New(merged.Type().Key()).Elem()
		if err := setText(name.Addr().Interface(), p.key.Value); err != nil {
			d.reportAt(d.place(p.key), below(l.key, printable(p.key.Value)), "as a key "+err.Error())
			continue
		}
		entry := leaf{key: below(l.key, p.key.Value), value: reflect.New(merged.Type().Elem()).Elem()}
		d.decode(p.value, entry)
		if from, ok := d.keys[entry.key]; ok {
			from.whole = true
			d.keys[entry.key] = from
		}
		merged.SetMapIndex(name, entry.value)
	}
}

func (d *decoder) elements(n *yaml.Node, l leaf) {
	l.value.Set(reflect.MakeSlice(l.value.Type(), len(n.Content), len(n.Content)))
	for i, element := range l.parts() {
		element.setDefaults()
		account, ok := element.value.Addr().Interface().(*Account)
		if ok && d.spend(d.place(n.Content[i]), d.inherited) {
			*account = *d.defaults
		}
		if d.full() {
			break
		}
		if d.decode(n.Content[i], element); ok && account.Token != "" && !d.isSet(element.key+".token_file") {
			account.TokenFile = "" // the one of account_defaults
		}
	}
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

// leaf is a key with its value, and the tag of its field.
type leaf struct {
	name  string // the key's last word
	key   string
	value reflect.Value // it can be set, unless it is a map's
	tag   reflect.StructTag
}

// leaves are all the keys of a configuration that hold values, in the order of its fields.
func (c *Config) leaves() []leaf { return leaf{value: reflect.ValueOf(c).Elem()}.leaves() }

// leaves are those of the keys at or below it that hold a value or a list of values.
func (l leaf) leaves() (all []leaf) {
	t := l.value.Type()
	if kind := kindOf(t); kind == yaml.ScalarNode || kind == yaml.SequenceNode && kindOf(t.Elem()) == yaml.ScalarNode {
		return []leaf{l}
	}
	for _, p := range l.parts() {
		all = append(all, p.leaves()...)
	}
	return all
}

// parts are the keys right below it: in the order of the fields, of the list, or of a map's keys.
func (l leaf) parts() (all []leaf) {
	v := reflect.Indirect(l.value)
	add := func(name string, value reflect.Value, tag reflect.StructTag) {
		all = append(all, leaf{name, below(l.key, name), value, tag})
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, leaf{"", Element(l.key, i), v.Index(i), l.tag})
		}
	case reflect.Map:
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int {
			if a.CanInt() {
				return cmp.Compare(a.Int(), b.Int())
			}
			return cmp.Compare(a.String(), b.String())
		})
		for _, name := range names {
			add(fmt.Sprint(name), v.MapIndex(name), l.tag)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag
			if name := tag.Get("yaml"); name != "" && elsewhere(l.key, name) == "" {
				add(name, v.Field(i), tag)
			}
		}
	}
	return all
}

// setDefaults fills in what the tags of the fields below it say.
func (l leaf) setDefaults() {
	for _, p := range l.parts() {
		switch text, ok := p.tag.Lookup("default"); {
		case !ok:
			p.setDefaults()
		case text == "-":
		case p.value.Kind() == reflect.Slice:
			p.value.Set(reflect.ValueOf(splitList(text)))
		default:
			_ = setText(p.value.Addr().Interface(), text)
		}
	}
}

// Default is a part of the configuration with nothing but its defaults.
func Default[T any]() (part T) {
	leaf{value: reflect.ValueOf(&part)}.setDefaults()
	return part
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
