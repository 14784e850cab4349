package waf

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/wafbot/wafbot/internal/sandbox/pire"
)

// patchable are the attack types that a virtual patch can name.
func patchable() []string {
	return []string{
		"any", "xss", "sqli", "rce", "xxe", "ptrav", "crlf", "redir", "nosqli", "ldapi", "scanner",
		"mass_assignment", "ssrf", "ssi", "mail_injection", "ssti", "invalid_xml",
	}
}

// parseRule reads a new rule, with exactly the fields that its type has; what is wrong is noted in p.
func (a *account) parseRule(p *params) *rule {
	r := &rule{kind: oneOf(p, "type", []string{virtualPatch, "regex", "service_mode"})}
	fields := []string{"clientid", "type", "action", "validated"}
	switch r.kind {
	case virtualPatch:
		fields = append(fields, "point", "attack_type")
		r.point = parsePoint(p)
		r.attackType = oneOf(p, "attack_type", patchable())
	case "regex":
		fields = append(fields, "point", "attack_type", "comment", "regex")
		r.point = parsePoint(p)
		r.attackType = oneOf(p, "attack_type", append(patchable(), virtualPatch))
		r.comment = comment(p)
		r.regex = required[string](p, "regex")
		if _, err := pire.Parse(r.regex); p.given("regex") && (err != nil || r.regex == "") {
			p.refuse("regex", "is invalid")
		}
	case "service_mode":
		fields = append(fields, "mode")
		r.mode = oneOf(p, "mode", []string{"default", "off", "monitoring", "safe_blocking", "block"})
	default:
		return r
	}
	p.known(fields...)
	r.validated = required[bool](p, "validated")
	var wrong string
	if r.conditions, wrong = a.parseConditions(required[[]json.RawMessage](p, "action")); wrong != "" {
		p.refuse("action", wrong)
	}
	return r
}

func comment(p *params) string {
	text := optional[string](p, "comment")
	if p.given("comment") && strings.TrimSpace(text) == "" {
		p.refuse("comment", "can't be blank")
	}
	return text
}

// pointParts are the parts of a request and the parsers that a point is built of; true: with a name or index behind it.
func pointParts() map[string]bool {
	return map[string]bool{
		"get": true, "header": true, "cookie": true, "path": true, "hash": true, "array": true,
		"form_urlencoded": true, "multipart": true, "xml_tag": true, "gql_query": true, "gql_mutation": true, "gql_subscription": true,
		"gql_fragment": true, "gql_dir": true, "gql_spread": true, "gql_type": true, "gql_var": true, "gql": false,
		"uri": false, "post": false, "json_doc": false, "xml": false, "action_name": false, "action_ext": false,
		"method": false, "file": false, "base64": false, "gzip": false, "get_all": false, "header_all": false,
		"hash_all": false, "array_all": false, "form_urlencoded_all": false, "multipart_all": false,
	}
}

// parsePoint reads a point, which is two-dimensional in requests; header names become upper case.
func parsePoint(p *params) [][]any {
	point := required[[][]any](p, "point")
	if len(p.invalid) > 0 && point == nil {
		return nil
	}
	valid := len(point) > 0
	for _, part := range point {
		valid = valid && validPart(part)
	}
	if !valid {
		p.refuse("point", "is invalid")
		return nil
	}
	if first := point[0]; first[0] == "header" {
		first[1] = strings.ToUpper(first[1].(string))
	}
	return point
}

func validPart(part []any) bool {
	if len(part) == 0 {
		return false
	}
	name, ok := part[0].(string)
	if !ok {
		return false
	}
	named, known := pointParts()[name]
	if !known || named != (len(part) == 2) {
		return false
	}
	if !named {
		return len(part) == 1
	}
	if index, isNumber := part[1].(float64); isNumber {
		return (name == "path" || name == "array") && index >= 0 && index == float64(int(index))
	}
	text, isText := part[1].(string)
	return isText && text != "" && name != "path" && name != "array"
}

// accountMode is the mode of a new account.
const accountMode = "monitoring"

// seedRules gives the account the rules that it has before anyone makes one: its own mode, its applications' modes, and some of other types.
func (a *account) seedRules(now time.Time) {
	created := now.Add(-90 * 24 * time.Hour)
	seed := func(r rule) {
		r.updatedAt = created
		a.addRule(&r)
	}
	seed(rule{kind: "overlimit_res_settings", system: true})
	seed(rule{kind: "parser_state", point: [][]any{{"post"}, {"xml"}}, system: true})
	seed(rule{kind: "binary_data", point: [][]any{{"post"}, {"multipart", "upload"}}})
	seed(rule{kind: "sensitive_data", point: [][]any{{"post"}, {"form_urlencoded", "password"}}, comment: "mask passwords"})
	for _, app := range a.Applications {
		if app.Mode != "" {
			seed(rule{kind: "service_mode", mode: app.Mode, conditions: onInstance(app.ID)})
		}
	}
	seed(rule{kind: "service_mode", mode: accountMode}) // without conditions: of the applications that have no mode of their own
}
