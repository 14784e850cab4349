package waf

import (
	"slices"
	"strings"
)

// pointOf returns the part of the request that an attack's parameter names; nil when the parameter says none.
func pointOf(parameter string) [][]any {
	if parameter == "URI_value" {
		return [][]any{{"uri"}}
	}
	name, ok := strings.CutSuffix(parameter, "_value")
	if !ok {
		return nil
	}
	for _, form := range []struct {
		prefix string
		parts  [][]any
		last   string
	}{
		{"GET_", nil, "get"},
		{"HEADER_", nil, "header"},
		{"POST_JSON_DOC_HASH_", [][]any{{"post"}, {"json_doc"}}, "hash"},
		{"POST_FORM_URLENCODED_", [][]any{{"post"}}, "form_urlencoded"},
		{"POST_MULTIPART_", [][]any{{"post"}}, "multipart"},
		{"POST_", [][]any{{"post"}}, "form_urlencoded"},
	} {
		if value, ok := strings.CutPrefix(name, form.prefix); ok && value != "" {
			if form.last == "header" {
				value = strings.ToUpper(value)
			}
			return append(form.parts, []any{form.last, value})
		}
	}
	return nil
}

func samePoint(x, y [][]any) bool {
	return slices.EqualFunc(x, y, slices.Equal[[]any])
}

// always returns the value of a part that the request has whatever its attack is.
func (r web) always(point [][]any) (string, bool) {
	if len(point) != 1 {
		return "", false
	}
	switch point[0][0] {
	case "header", "uri", "method":
		return r.part(point[0])
	}
	return "", false
}

// patches reports whether a virtual patch blocks the attack's requests, which its conditions cover: it inspects one part only.
func (r *rule) patches(c *campaign, request web) bool {
	if r.attackType == "any" {
		_, there := request.always(r.point)
		return there || samePoint(r.point, c.point)
	}
	return r.attackType == c.spec.Type && samePoint(r.point, c.point)
}

// indicates reports whether a custom attack indicator matches a request, which its conditions cover.
func (r *rule) indicates(request web) bool {
	value, there := request.always(r.point)
	if !there {
		return false
	}
	return matches(r.regex, value)
}
