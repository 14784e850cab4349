package blockkit

import (
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explain turns a schema's error into Slack's words. Of alternatives it follows only the one whose type was meant.
func (c *Check) explain(e *jsonschema.ValidationError, base string) {
	at := base + pointer(e)
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		c.explainAlternatives(e, base)
		return
	case *kind.MaxLength:
		c.wrong(at, "must be less than %d characters", k.Want+1)
	case *kind.MinLength:
		c.wrong(at, "must be more than %d characters", k.Want-1)
	case *kind.MaxItems:
		c.wrong(at, "no more than %d items allowed", k.Want)
	case *kind.MinItems:
		c.wrong(at, "no less than %d items allowed", k.Want)
	case *kind.Required:
		c.wrong(at, "missing required field: %s", strings.Join(k.Missing, ", "))
	case *kind.AdditionalProperties:
		c.wrong(at, "invalid additional property: %s", strings.Join(k.Properties, ", "))
	case *kind.Const:
		c.wrong(at, "unsupported type: %v", k.Got)
	case *kind.Enum:
		c.wrong(at, "must be a valid enum value")
	case *kind.Type:
		c.wrong(at, "must be %s, is %s", strings.Join(k.Want, " or "), k.Got)
	default:
		if len(e.Causes) == 0 {
			c.wrong(at, "is not valid")
		}
	}
	for _, cause := range e.Causes {
		c.explain(cause, base)
	}
}

func (c *Check) explainAlternatives(e *jsonschema.ValidationError, base string) {
	meant := false
	for _, cause := range e.Causes {
		if !otherType(cause, pointer(e)) {
			meant = true
			c.explain(cause, base)
		}
	}
	if !meant {
		c.wrong(base+pointer(e)+"/type", "unsupported type")
	}
}

// otherType reports whether an alternative was refused because the object at that place is of another type.
func otherType(e *jsonschema.ValidationError, at string) bool {
	other := func(cause *jsonschema.ValidationError) bool { return otherType(cause, at) }
	switch e.ErrorKind.(type) {
	case *kind.Const:
		return pointer(e) == at+"/type"
	case *kind.AnyOf:
		return !slices.ContainsFunc(e.Causes, func(cause *jsonschema.ValidationError) bool { return !other(cause) })
	}
	return slices.ContainsFunc(e.Causes, other)
}

func pointer(e *jsonschema.ValidationError) string {
	var path strings.Builder
	for _, part := range e.InstanceLocation {
		path.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return path.String()
}

func sortedKeys(m map[string]any) []string {
	return slices.Sorted(maps.Keys(m))
}
