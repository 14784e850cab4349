package change

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// closeOfLine is the patch that closes exactly the path that the line names: every request has a host.
func BlockPath(c *call.Call) (Patch, error) {
	spec := Patch{Kind: describe.AnyAttack, Point: apiclient.Point{{"header", "HOST"}}}
	if len(c.Line.Words) != 2 {
		return spec, c.Cmd.Misuse(text.New("a method and one path are needed"))
	}
	host, path, err := place(c, c.Line.Words[1])
	if err != nil {
		return spec, refusal.About(err, "place", "")
	}
	if strings.HasSuffix(path, "*") {
		return spec, refusal.About(refusal.Guarded(text.New(refusal.Typed(c.Line.Words[1]), " is more than one path: name exactly one. Nothing was done")), "place", "")
	}
	spec.Scope = apiclient.Scope{Method: strings.ToUpper(c.Line.Words[0]), Host: host, Path: path}
	if err := spec.setApp(c); err != nil {
		return spec, err
	}
	return spec, spec.guard(c)
}

// patchSpec is what a patch covers.
type Patch struct {
	Scope apiclient.Scope
	Point apiclient.Point
	Kind  string // attack type
}

func PatchOf(c *call.Call) (Patch, error) {
	if len(c.Line.Words) > 0 {
		return patchOfLine(c)
	}
	if c.Attack == nil {
		return Patch{}, c.Cmd.Misuse(text.New("patch what? Name an attack, or HOST/PATH with type= and part="))
	}
	return PatchOfAttack(c)
}

// patchOfAttack is the patch of exactly what the attack hits; part=, type= and app= stand in for what its record tells.
func PatchOfAttack(c *call.Call) (Patch, error) {
	a := c.Attack.Attack
	spec, why := PatchFor(a)
	if part := c.Line.Keys["part"]; part != "" {
		point, err := apiclient.ParsePoint(part)
		if err != nil {
			return Patch{}, err
		}
		spec.Point, why.Point = point, ""
	}
	if kind := c.Line.Keys["type"]; kind != "" {
		spec.Kind, why.Kind = kind, ""
	}
	if err := spec.setApp(c); err != nil {
		return Patch{}, err
	}
	if why.String() != "" {
		return Patch{}, refusal.Guarded(text.New(text.Code(c.Attack.ID), " can't be patched: ", why.String(), ". Nothing was done"))
	}
	return spec, nil
}

// whyNot tells what keeps an attack from being patched; all empty: nothing.
type Obstacles struct{ Scope, Kind, Point string }

// String is the first reason.
func (w Obstacles) String() string { return cmp.Or(w.Scope, w.Kind, w.Point) }

// attackPatch is the patch that fits an attack, as far as its record tells.
func PatchFor(a apiclient.Attack) (Patch, Obstacles) {
	var why Obstacles
	spec := Patch{Scope: apiclient.Scope{App: a.App, Host: a.Domain, Path: a.Path, Method: a.Method}}
	if _, err := apiclient.ScopeConditions(spec.Scope); err != nil || a.Path == "" || a.Domain == "" {
		why.Scope = "the service doesn't tell one exact host and path for it"
	}
	if len(a.Path) > apiclient.MaxPath {
		why.Scope = "its path is over 8 kB: only its beginning is known here"
	}
	if apiclient.Patchable(a.Type) {
		spec.Kind = a.Type
	} else {
		why.Kind = fmt.Sprintf("the service has no patch for attacks of this type (%s)", cmp.Or(a.Type, "unknown"))
	}
	point, ok := apiclient.ParameterPoint(a.Parameter)
	if ok {
		spec.Point = point
	} else {
		why.Point = "it isn't clear which part of the request it is in; name it with part="
	}
	return spec, why
}

// patchOfLine reads [METHOD] HOST/PATH.
func patchOfLine(c *call.Call) (Patch, error) {
	words, keys := c.Line.Words, c.Line.Keys
	spec := Patch{Kind: keys["type"]}
	if len(words) == 2 {
		spec.Scope.Method = strings.ToUpper(words[0])
		words = words[1:]
	}
	if len(words) != 1 {
		return spec, refusal.About(c.Cmd.Misuse(text.New("write one path, as ", text.Code("POST shop.example.com/login"))), "target", "")
	}
	var err error
	if spec.Scope.Host, spec.Scope.Path, err = place(c, words[0]); err != nil {
		return spec, refusal.About(err, "target", "")
	}
	if spec.Kind == "" || keys["part"] == "" {
		return spec, c.Cmd.Misuse(text.New(text.Code("type="), " and ", text.Code("part="), " are needed: a patch covers one type of attack in one part of the request"))
	}
	point, err := apiclient.ParsePoint(keys["part"])
	if err != nil {
		return spec, err
	}
	spec.Point = point
	return spec, spec.setApp(c)
}

// setApp takes the application that the line names.
func (s *Patch) setApp(c *call.Call) error {
	if c.Line.Keys["app"] == "" {
		return nil
	}
	id, err := c.Account.App(c.Line.Keys["app"])
	s.Scope.App = apiclient.Known(int64(id))
	return err
}

// plan looks at the rules and says what has to be created.
func (s Patch) Plan(c *call.Call, lasts string) (call.Plan, error) {
	length, err := Length(c, lasts, c.Policy.PatchFor())
	if err != nil {
		return call.Plan{}, err
	}
	if err := s.guard(c); err != nil {
		return call.Plan{}, err
	}
	rule, err := s.Rule()
	if err != nil {
		return call.Plan{}, refusal.Guarded(text.New("that can't be patched: ", text.Sanitize(err.Error(), 200), ". Nothing was done"))
	}
	p := call.Plan{Line: s.line(c, length), Does: "Patch " + s.words() + " " + policy.Lasting(length), When: describe.RuleWorks, Until: End(c.Now, length)}
	return PlanRule(c, p, rule, s.words()+" is patched")
}

// guard refuses a patch of an application where nothing can be blocked.
func (s Patch) guard(c *call.Call) error {
	if s.Scope.App.Known && c.Account.Applications[int(s.Scope.App.N)].CannotBlock {
		return refusal.Guarded(text.New(c.Account.AppName(s.Scope.App), " can't block (", text.Code("can_block: false"), " in the configuration): it would do nothing there. Nothing was done"))
	}
	return nil
}

func (s Patch) Rule() (apiclient.Rule, error) {
	conditions, err := apiclient.ScopeConditions(s.Scope)
	return apiclient.Rule{Type: apiclient.RulePatch, Conditions: conditions, Point: s.Point, AttackType: s.Kind}, err
}

// line is the canonical line of the patch, complete even when the attack's record changes.
func (s Patch) line(c *call.Call, length time.Duration) record.Line {
	l := record.Line{Name: "patch"}
	if s.Scope.Method != "" {
		l.Words = append(l.Words, s.Scope.Method)
	}
	l.Words = append(l.Words, s.Scope.Host+s.Scope.Path)
	l = l.With("type", s.Kind).With("part", s.Point.String())
	if s.Scope.App.Known {
		l = l.With("app", fmt.Sprint(s.Scope.App.N))
	}
	return Complete(c, l, length)
}

// words say exactly what is covered.
func (s Patch) words() string {
	where := describe.Where(apiclient.Attack{Method: s.Scope.Method, Domain: s.Scope.Host, Path: s.Scope.Path})
	return fmt.Sprintf("exactly %s, part %s, %s only", where, text.Sanitize(s.Point.String(), text.MaxField), describe.TypeName(s.Kind))
}
