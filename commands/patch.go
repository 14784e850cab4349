package commands

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// When rules reach the nodes: they are compiled, then synchronised.
const ruleWorks = "in minutes to 1 h"

func patch() *Command {
	return &Command{
		Name: "patch", Role: record.Responder, Flags: []string{flagLocked},
		Summary: "virtual patch: block one type of attack in exactly one part of the requests to one path",
		Args: []Arg{
			{Name: "target", Object: true, Many: true, Help: "[METHOD] HOST/PATH; left out with attack=: the attack's own"},
			argAttack,
			{Name: "type", Help: "the type of attack: " + strings.Join(apiclient.PatchTypes(), ", "), Read: readPatchType, Options: patchTypes},
			{Name: "part", Help: "the part of the request: get.q, post.form_urlencoded.login, header.X, uri", Read: readPart},
			{Name: "app", Help: "one application by id or name; left out: the attack's, or all", Label: "Application", Read: readApp, Options: configuredApps},
			argFor(Policy.patchFor), argReason,
		},
		Example: "patch POST shop.example.com/login type=sqli part=post.form_urlencoded.login for=7d",
		Missing: patchMisses, Form: patchForm,
		Plan: func(c *Call) ([]Plan, error) {
			spec, err := patchSpecOf(c)
			if err != nil {
				return nil, err
			}
			p, err := spec.plan(c, c.Line.Keys["for"])
			return []Plan{p}, err
		},
	}
}

// patchSpec is what a patch covers.
type patchSpec struct {
	scope apiclient.Scope
	point apiclient.Point
	kind  string // attack type
}

func readPatchType(value string, _ *Account) (string, error) {
	value = strings.ToLower(value)
	if value == anyAttack {
		return "", refusal.Usage(text.New(text.Code(anyAttack), " blocks every request that has the part, clean ones too: name the type"))
	}
	if !apiclient.Patchable(value) {
		return "", refusal.Usage(text.New("attacks of type ", refusal.Typed(value), " can't be patched: one of ", strings.Join(apiclient.PatchTypes(), ", ")))
	}
	return value, nil
}

func readPart(value string, _ *Account) (string, error) {
	point, err := apiclient.ParsePoint(value)
	if err != nil {
		return "", refusal.Usage(text.New(refusal.Typed(value), " is no part of a request: write ", text.Code("get.q"), ", ", text.Code("post.form_urlencoded.login"), ", ", text.Code("header.X"), " or ", text.Code("uri")))
	}
	return point.String(), nil
}

func patchSpecOf(c *Call) (patchSpec, error) {
	if len(c.Line.Words) > 0 {
		return patchOfLine(c)
	}
	if c.Attack == nil {
		return patchSpec{}, c.Cmd.misuse(text.New("patch what? Name an attack, or HOST/PATH with type= and part="))
	}
	return patchOfAttack(c)
}

// patchOfAttack is the patch of exactly what the attack hits; part=, type= and app= stand in for what its record tells.
func patchOfAttack(c *Call) (patchSpec, error) {
	a := c.Attack.Attack
	spec, why := attackPatch(a)
	if part := c.Line.Keys["part"]; part != "" {
		point, err := apiclient.ParsePoint(part)
		if err != nil {
			return patchSpec{}, err
		}
		spec.point, why.point = point, ""
	}
	if kind := c.Line.Keys["type"]; kind != "" {
		spec.kind, why.kind = kind, ""
	}
	if err := spec.setApp(c); err != nil {
		return patchSpec{}, err
	}
	if why.String() != "" {
		return patchSpec{}, refusal.Guarded(text.New(text.Code(c.Attack.ID), " can't be patched: ", why.String(), ". Nothing was done"))
	}
	return spec, nil
}

// whyNot tells what keeps an attack from being patched; all empty: nothing.
type whyNot struct{ scope, kind, point string }

// String is the first reason.
func (w whyNot) String() string { return cmp.Or(w.scope, w.kind, w.point) }

// attackPatch is the patch that fits an attack, as far as its record tells.
func attackPatch(a apiclient.Attack) (patchSpec, whyNot) {
	var why whyNot
	spec := patchSpec{scope: apiclient.Scope{App: a.App, Host: a.Domain, Path: a.Path, Method: a.Method}}
	if _, err := apiclient.ScopeConditions(spec.scope); err != nil || a.Path == "" || a.Domain == "" {
		why.scope = "the service doesn't tell one exact host and path for it"
	}
	if len(a.Path) > apiclient.MaxPath {
		why.scope = "its path is over 8 kB: only its beginning is known here"
	}
	if apiclient.Patchable(a.Type) {
		spec.kind = a.Type
	} else {
		why.kind = fmt.Sprintf("the service has no patch for attacks of this type (%s)", cmp.Or(a.Type, "unknown"))
	}
	point, ok := apiclient.ParameterPoint(a.Parameter)
	if ok {
		spec.point = point
	} else {
		why.point = "it isn't clear which part of the request it is in; name it with part="
	}
	return spec, why
}

// patchOfLine reads [METHOD] HOST/PATH.
func patchOfLine(c *Call) (patchSpec, error) {
	words, keys := c.Line.Words, c.Line.Keys
	spec := patchSpec{kind: keys["type"]}
	if len(words) == 2 {
		spec.scope.Method = strings.ToUpper(words[0])
		words = words[1:]
	}
	if len(words) != 1 {
		return spec, refusal.About(c.Cmd.misuse(text.New("write one path, as ", text.Code("POST shop.example.com/login"))), "target", "")
	}
	var err error
	if spec.scope.Host, spec.scope.Path, err = c.place(words[0]); err != nil {
		return spec, refusal.About(err, "target", "")
	}
	if spec.kind == "" || keys["part"] == "" {
		return spec, c.Cmd.misuse(text.New(text.Code("type="), " and ", text.Code("part="), " are needed: a patch covers one type of attack in one part of the request"))
	}
	point, err := apiclient.ParsePoint(keys["part"])
	if err != nil {
		return spec, err
	}
	spec.point = point
	return spec, spec.setApp(c)
}

// setApp takes the application that the line names.
func (s *patchSpec) setApp(c *Call) error {
	if c.Line.Keys["app"] == "" {
		return nil
	}
	id, err := c.Account.app(c.Line.Keys["app"])
	s.scope.App = apiclient.Known(int64(id))
	return err
}

// plan looks at the rules and says what has to be created.
func (s patchSpec) plan(c *Call, lasts string) (Plan, error) {
	length, err := c.length(lasts, c.Policy.patchFor())
	if err != nil {
		return Plan{}, err
	}
	if err := s.guard(c); err != nil {
		return Plan{}, err
	}
	rule, err := s.rule()
	if err != nil {
		return Plan{}, refusal.Guarded(text.New("that can't be patched: ", text.Sanitize(err.Error(), 200), ". Nothing was done"))
	}
	p := Plan{Line: s.line(c, length), Does: "Patch " + s.words() + " " + lasting(length), When: ruleWorks, Until: end(c.Now, length)}
	return c.planRule(p, rule, s.words()+" is patched")
}

// guard refuses a patch of an application where nothing can be blocked.
func (s patchSpec) guard(c *Call) error {
	if s.scope.App.Known && c.Account.Applications[int(s.scope.App.N)].CannotBlock {
		return refusal.Guarded(text.New(c.Account.AppName(s.scope.App), " can't block (", text.Code("can_block: false"), " in the configuration): it would do nothing there. Nothing was done"))
	}
	return nil
}

func (s patchSpec) rule() (apiclient.Rule, error) {
	conditions, err := apiclient.ScopeConditions(s.scope)
	return apiclient.Rule{Type: apiclient.RulePatch, Conditions: conditions, Point: s.point, AttackType: s.kind}, err
}

// line is the canonical line of the patch, complete even when the attack's record changes.
func (s patchSpec) line(c *Call, length time.Duration) record.Line {
	l := record.Line{Name: "patch"}
	if s.scope.Method != "" {
		l.Words = append(l.Words, s.scope.Method)
	}
	l.Words = append(l.Words, s.scope.Host+s.scope.Path)
	l = l.With("type", s.kind).With("part", s.point.String())
	if s.scope.App.Known {
		l = l.With("app", fmt.Sprint(s.scope.App.N))
	}
	return c.complete(l, length)
}

// words say exactly what is covered.
func (s patchSpec) words() string {
	where := Where(apiclient.Attack{Method: s.scope.Method, Domain: s.scope.Host, Path: s.scope.Path})
	return fmt.Sprintf("exactly %s, part %s, %s only", where, text.Sanitize(s.point.String(), text.MaxField), TypeName(s.kind))
}

// TypeName is an attack type in words.
func TypeName(t string) string {
	names := map[string]string{
		"sqli": "SQL injection", "xss": "cross-site scripting", "rce": "remote code execution", "xxe": "XML external entity", "ptrav": "path traversal",
		"crlf": "CRLF injection", "redir": "open redirect", "nosqli": "NoSQL injection", "ldapi": "LDAP injection", "scanner": "scanner",
		"mass_assignment": "mass assignment", "ssrf": "server-side request forgery", "ssi": "server-side include", "mail_injection": "mail injection",
		"ssti": "template injection", "invalid_xml": "invalid XML", "brute": "brute force", "bola": "broken object authorisation", "dirbust": "forced browsing",
		"api_abuse": "API abuse", "credential_stuffing": "credential stuffing", apiclient.TypeBlockedSource: "denied source", apiclient.TypeVirtualPatch: "virtual patch",
	}
	return cmp.Or(names[t], t, "attack of unknown type")
}
