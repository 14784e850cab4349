package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/wafbot/wafbot/apiclient"
)

// BoundNodes sets the bound of a configuration, and returns what it was.
func BoundNodes(n int) (before int) {
	before, maxNodes = maxNodes, n
	return before
}

// Documented is a key as docs/config.md has it: in which words, and with which default.
type Documented func(key string) (text string, def any)

// SchemaOf makes the JSON schema of configurations: keys and their checks are those of the tags that the loader goes
// by.
func SchemaOf(documented Documented) map[string]any {
	s := schema{documented: documented, types: typeComments()}
	root := s.object(reflect.TypeFor[Config](), "")
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "The configuration of wafbot"
	root["patternProperties"] = map[string]any{"^x-": map[string]any{"description": "for anchors"}}
	return root
}

type schema struct {
	documented Documented
	types      map[string]string // comments of types, without the name
}

// typeComments are the comments of this package's types, by name: the descriptions of keys that have keys below them.
func typeComments() map[string]string {
	all := map[string]string{}
	for _, name := range []string{"config.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			panic(err)
		}
		for _, d := range file.Decls {
			if types, ok := d.(*ast.GenDecl); ok && types.Tok == token.TYPE {
				all[types.Specs[0].(*ast.TypeSpec).Name.Name] = strings.TrimSpace(types.Doc.Text())
			}
		}
	}
	return all
}

type node = map[string]any

// one is a schema for a value that is of one of several kinds.
func one(kinds ...any) node { return node{"anyOf": kinds} }

// fromEnvironment lets a text through that the environment completes.
const fromEnvironment = `\$`

func text(patterns ...string) node {
	if len(patterns) == 0 {
		return node{"type": []any{"string", "number", "boolean"}} // what YAML takes for a number is a text here
	}
	return node{"type": "string", "pattern": strings.Join(append(patterns, fromEnvironment), "|")}
}

func (s schema) object(t reflect.Type, key string) node {
	properties := node{}
	for i := range t.NumField() {
		f := t.Field(i)
		if name := f.Tag.Get("yaml"); name != "" && elsewhere(key, name) == "" {
			properties[name] = s.described(s.value(f.Type, below(key, name), f.Tag), f.Type, below(key, name))
		}
	}
	return node{"type": "object", "additionalProperties": false, "properties": properties}
}

// described adds what the documentation says of a key; of one with keys below it, what its type says.
func (s schema) described(n node, t reflect.Type, key string) node {
	text, def := s.documented(key)
	if text == "" {
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		text = s.types[t.Name()]
	}
	n["description"] = text
	if def != nil {
		n["default"] = def
	}
	return n
}

func (s schema) value(t reflect.Type, key string, tag reflect.StructTag) node {
	v := reflect.New(t)
	_, short := v.Interface().(shorthand)
	switch kind := kindOf(t); {
	case kind == yaml.ScalarNode:
		return scalar(t, tag)
	case kind == yaml.SequenceNode:
		list := node{"type": "array", "items": s.value(t.Elem(), key+"[]", tag)}
		if short {
			return one(scalar(t.Elem(), tag), list)
		}
		return list
	case t.Kind() == reflect.Map:
		all := node{"type": "object", "additionalProperties": s.value(t.Elem(), key+".*", tag)}
		if t.Key().Kind() == reflect.Int {
			all["propertyNames"] = node{"pattern": "^[+-]?[0-9]+$"}
		}
		if short {
			return one(text(), all)
		}
		return all
	case t.Kind() == reflect.Pointer:
		t = t.Elem()
	}
	if short {
		return one(text(), s.object(t, key))
	}
	return s.object(t, key)
}

// patterns are what checks of tags let through, as far as a pattern can say it.
var patterns = map[string][]string{
	"clock":   {`^([0-9]{2}:[0-9]{2})?$`},
	"web":     {`^[Hh][Tt][Tt][Pp][Ss]?://`},
	"mention": {`^([UWS][A-Z0-9]+)?$`},
	"member":  {`^\*$`, `^[UWS][A-Z0-9]+$`},
	"user":    {`^([UW][A-Z0-9]+)?$`},
	"channel": {`^([CGD][A-Z0-9]+)?$`},
}

func scalar(t reflect.Type, tag reflect.StructTag) node {
	switch t {
	case reflect.TypeFor[apiclient.Secret]():
		return text()
	case reflect.TypeFor[time.Duration]():
		return one(text(`^([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$`, `^0$`), node{"enum": []any{0}})
	case reflect.TypeFor[*time.Location](), reflect.TypeFor[netip.Prefix]():
		return node{"type": "string"}
	case reflect.TypeFor[bool](), reflect.TypeFor[*bool]():
		return one(node{"type": "boolean"}, text(`^(true|false)$`))
	}
	switch t.Kind() {
	case reflect.Int:
		return one(limited(node{"type": "integer"}, tag), text(`^[+-]?[0-9]+$`))
	case reflect.Float64:
		return one(node{"type": "number"}, text(`^[+-]?[0-9.eE+-]+$`))
	}
	allowed, optional := []string{}, false
	for check := range strings.SplitSeq(tag.Get("check"), ",") {
		name, words, _ := strings.Cut(check, "=")
		if name == "oneof" {
			return one(node{"enum": anyOf(words)}, text(`^$`))
		}
		allowed, optional = append(allowed, patterns[name]...), optional || name == "optional"
	}
	if optional {
		allowed = append(allowed, `^$`)
	}
	return text(allowed...)
}

func anyOf(words string) (all []any) {
	for word := range strings.FieldsSeq(words) {
		all = append(all, word)
	}
	return all
}

// limited adds the limits of a tag.
func limited(n node, tag reflect.StructTag) node {
	for check := range strings.SplitSeq(tag.Get("check"), ",") {
		name, limit, _ := strings.Cut(check, "=")
		switch name {
		case "min":
			n["minimum"] = number(limit)
		case "range":
			least, most, _ := strings.Cut(limit, " ")
			n["minimum"], n["maximum"] = number(least), number(most)
		}
	}
	return n
}

// Variables are the keys that environment variables set, by the variable's name.
func Variables() map[string]string {
	all := map[string]string{}
	for _, l := range (&Config{Accounts: make([]Account, 1)}).leaves() {
		if name := l.variable(); name != "" {
			all[name] = l.key
		}
	}
	return all
}
