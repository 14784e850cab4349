package apiclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Part is a parser with what it takes from its argument: ["post"], ["header","HOST"], ["path","0"]. As JSON, the number
// behind a parser that takes one is a number.
type Part []string

// Point is a part of a request, outermost parser first: [["post"],["json_doc"],["hash","x"]]. It is also read from the
// flat list that the service gives. What isn't known stays as it came.
type Point []Part

// MarshalJSON implements json.Marshaler.
func (p Part) MarshalJSON() ([]byte, error) {
	var items []any
	for i, item := range p {
		items = append(items, item)
		if n, err := strconv.Atoi(item); i > 0 && argumentOf(p[i-1]) == index && err == nil {
			items[i] = n
		}
	}
	return json.Marshal(items)
}

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (p *Part) UnmarshalJSON(value []byte) error {
	*p = nil
	for _, item := range items(value) {
		if item[0] != '[' {
			*p = append(*p, written(item))
		}
		for _, in := range items(item) {
			*p = append(*p, string(textOf(in)))
		}
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (p *Point) UnmarshalJSON(value []byte) error {
	*p = nil
	for all := items(value); len(all) > 0; all = all[1:] {
		var part Part
		if all[0][0] == '[' {
			if _ = part.UnmarshalJSON(all[0]); part == nil {
				part = Part{""} // nothing that is known, and like no other
			}
		} else if part = (Part{written(all[0])}); argumentOf(part[0]) > nothing && len(all) > 1 {
			all = all[1:]
			part = append(part, written(all[0]))
		}
		*p = append(*p, part)
	}
	return nil
}

// written is an item of a point as it is written: what is neither text nor number must not be like something else.
func written(item json.RawMessage) string {
	t := textOf(item)
	if t == "" && item[0] != '"' {
		return string(item)
	}
	return string(t)
}

// argument is what follows a parser in a point.
type argument int

const (
	unknown argument = iota // the parser isn't known here
	nothing
	name
	index
)

// arguments are what the parsers that wafbot knows take as argument.
var arguments = sync.OnceValue(func() map[string]argument {
	all := map[string]argument{}
	for takes, names := range map[argument]string{
		name: "get header cookie form_urlencoded multipart content_disp response_header hash json json_obj jwt protobuf " +
			"xml_tag xml_attr viewstate_array viewstate_pair viewstate_triplet viewstate_dict viewstate_sparse_array gql_query " +
			"gql_mutation gql_subscription gql_fragment gql_dir gql_spread gql_type gql_var",
		index:   "path array json_array grpc xml_comment xml_dtd_entity xml_pi xml_tag_array",
		nothing: "uri post action_name action_ext json_doc xml base64 gzip percent htmljs viewstate pollution file gql",
	} {
		for _, parser := range strings.Fields(names) {
			all[parser] = takes
		}
	}
	return all
})

// argumentOf is what a parser takes as argument.
func argumentOf(parser string) argument { return arguments()[parser] }

// Understood reports whether wafbot knows every parser of the point, and what follows each: only then can it be sent
// again.
func (p Point) Understood() bool {
	return !slices.ContainsFunc(p, func(part Part) bool {
		return len(part) == 0 || len(part) > 2 || argumentOf(part[0]) == unknown ||
			len(part) == 2 != (argumentOf(part[0]) > nothing)
	})
}

// starts reports whether a point can begin with the parser: the parts of the request itself.
func starts(parser string) bool {
	return slices.Contains([]string{"uri", "path", "action_name", "action_ext", "get", "header", "post"}, parser)
}

// String is the point as the command line writes it: "get.q", "post.json_doc.hash.x", "header.X", "uri". What would
// disturb there, a dot in a name included, is percent-encoded. ParsePoint is the way back.
func (p Point) String() string {
	var parts []string
	for _, item := range slices.Concat(p...) {
		parts = append(parts, escape(item))
	}
	return strings.Join(parts, ".")
}

// disturbs matches what is percent-encoded, be it a byte that is no UTF-8.
var disturbs = regexp.MustCompile(`[^\pL\p{Nd}_\-\[\]:/]`)

func escape(s string) string {
	return disturbs.ReplaceAllStringFunc(s, func(c string) string {
		return strings.ReplaceAll(fmt.Sprintf(" % X", c), " ", "%")
	})
}

// ParsePoint reads a point as String writes it. Header names become upper case, as the service has them.
func ParsePoint(text string) (Point, error) {
	if text == "" {
		return nil, errors.New("part is missing")
	}
	var p Point
	for rest, more := text, true; more; {
		var parser string
		parser, rest, more = strings.Cut(rest, ".")
		parser = strings.ToLower(parser)
		switch {
		case argumentOf(parser) == unknown:
			return nil, fmt.Errorf("part %q: %q is no parser known here", text, parser)
		case len(p) == 0 && !starts(parser):
			return nil, fmt.Errorf("part %q must begin with get, post, header, uri, path, action_name or action_ext", text)
		}
		takes := argumentOf(parser)
		if takes == nothing {
			p = append(p, Part{parser})
			continue
		}
		var written string
		written, rest, more = strings.Cut(rest, ".")
		written, err := url.PathUnescape(written)
		if err != nil {
			return nil, fmt.Errorf("part %q: name after %s: %w", text, parser, err)
		}
		value, err := parseArgument(parser, takes, written)
		if err != nil {
			return nil, fmt.Errorf("part %q: %w", text, err)
		}
		p = append(p, Part{parser, value})
	}
	return p, nil
}

// parseArgument checks the name or number that follows a parser.
func parseArgument(parser string, takes argument, value string) (string, error) {
	switch {
	case value == "":
		return "", fmt.Errorf("%s needs a name or number after it", parser)
	case takes == index:
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return "", fmt.Errorf("%s needs a number, not %q", parser, value)
		}
		return strconv.FormatUint(n, 10), nil
	case parser == "header":
		if !isToken(value) {
			return "", fmt.Errorf("%q is no header name", value)
		}
		return strings.ToUpper(value), nil
	}
	return value, nil
}

// isToken reports whether s can be a header's name or a method.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' ||
			strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// ParameterPoint finds the point of an attack's parameter: "GET_user_id_value" is [["get","user_id"]]. It reports false
// where the text is ambiguous: an unknown form, or a name that could as well be a name and a further
// parser, as GET_x_BASE64_value. An attacker chooses names, so nothing is guessed.
func ParameterPoint(parameter string) (Point, bool) {
	rest, ok := strings.CutSuffix(parameter, "_value")
	if !ok || strings.ContainsRune(rest, unicode.ReplacementChar) { // a name whose bytes are lost
		return nil, false
	}
	switch rest {
	case "URI", "POST", "ACTION_NAME", "ACTION_EXT":
		return Point{{strings.ToLower(rest)}}, true
	}
	for _, form := range []struct {
		prefix string
		before Point
		parser string
	}{
		{"GET_", nil, "get"},
		{"HEADER_", nil, "header"},
		{"PATH_", nil, "path"},
		{"POST_FORM_URLENCODED_", Point{{"post"}}, "form_urlencoded"},
		{"POST_JSON_DOC_HASH_", Point{{"post"}, {"json_doc"}}, "hash"},
	} {
		written, ok := strings.CutPrefix(rest, form.prefix)
		if !ok || namesParser(written) {
			continue
		}
		value, err := parseArgument(form.parser, argumentOf(form.parser), written)
		if err != nil {
			return nil, false
		}
		return append(form.before, Part{form.parser, value}), true
	}
	return nil, false
}

// namesParser reports whether the name goes on with what could be a further parser, which is written in capitals.
func namesParser(name string) bool {
	parts := strings.Split(name, "_")
	for from := 1; from < len(parts); from++ {
		for to := from + 1; to <= min(from+3, len(parts)); to++ {
			word := strings.Join(parts[from:to], "_")
			if word == strings.ToUpper(word) && argumentOf(strings.ToLower(word)) > unknown {
				return true
			}
		}
	}
	return false
}
