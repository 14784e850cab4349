package change

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Patch is what a patch covers, or, where its kind is any attack, which requests are blocked.
type Patch struct {
	Scope apiclient.Scope
	Point apiclient.Point
	Kind  string // attack type

	blocksPath bool // it was asked for by block-path
	warnings   refusal.Warnings
}

// hostHeader is the part that every request has: a patch of any attack in it closes its whole place.
func hostHeader() apiclient.Point { return apiclient.Point{{"header", "HOST"}} }

// BlockPath is the patch that closes exactly the path that the line names.
func BlockPath(c *call.Call) (Patch, error) {
	spec := Patch{Kind: words.AnyAttack, Point: hostHeader(), blocksPath: true}
	if err := spec.readPlace(c, "place"); err != nil {
		return spec, err
	}
	if path, err := apiclient.ParsePath(spec.Scope.Path); err == nil && !path.Exact() {
		return spec, refusal.About(refusal.Guarded("%v is more than one path: name exactly one. `patch %v type=any "+
			"part=header.HOST` blocks them all", refusal.Typed(c.Line.Words[1]),
			text.Sanitize(spec.Scope.Host+spec.Scope.Path, text.MaxPath)), "place", "")
	}
	return spec, nil
}

// PatchOf is the patch that the line describes, or that fits its attack.
func PatchOf(c *call.Call) (Patch, error) {
	if len(c.Line.Words) > 0 {
		return patchOfLine(c)
	}
	if c.Attack == nil {
		return Patch{}, c.Cmd.Misuse("Missing: an attack, or HOST/PATH with type= and part=")
	}
	return PatchOfAttack(c)
}

// PatchOfAttack is the patch of exactly what the attack hits; part=, type= and app= stand in for what its record holds.
func PatchOfAttack(c *call.Call) (spec Patch, err error) {
	a := c.Attack.Attack
	spec, why := PatchFor(a)
	if part := c.Line.Keys["part"]; part != "" {
		point, err := apiclient.ParsePoint(part)
		if err != nil {
			return spec, err
		}
		spec.Point, why.Point = point, ""
	}
	if kind := c.Line.Keys["type"]; kind != "" {
		spec.Kind, why.Kind = kind, ""
	}
	if err := spec.setApp(c); err != nil {
		return spec, err
	}
	if why.String() != "" {
		return spec, refusal.Guarded("`%v` can't be patched: %v", c.Attack.ID, why.String())
	}
	return spec, nil
}

// Obstacles says what keeps an attack from being patched; all empty: nothing.
type Obstacles struct{ Scope, Kind, Point string }

// String is the first reason.
func (w Obstacles) String() string { return cmp.Or(w.Scope, w.Kind, w.Point) }

// PatchFor is the patch that fits an attack, as far as its record says.
func PatchFor(a apiclient.Attack) (Patch, Obstacles) {
	var why Obstacles
	scope, warnings, unclear := Place(a.Domain, a.Path)
	scope.App, scope.Method = a.App, a.Method
	spec := Patch{Scope: scope, warnings: warnings}
	if _, err := apiclient.ScopeConditions(scope); unclear != nil || err != nil || a.Path == "" || a.Domain == "" {
		why.Scope = "the service doesn't give one exact host and path for it"
	}
	if strings.Contains(a.Path, "*") { // an attacker may not choose how far a patch reaches
		why.Scope = "its path holds an asterisk, which a rule would read as any name"
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

// patchOfLine is the patch of [METHOD] [HOST]/PATH.
func patchOfLine(c *call.Call) (Patch, error) {
	keys := c.Line.Keys
	spec := Patch{Kind: keys["type"]}
	if err := spec.readPlace(c, "target"); err != nil {
		return spec, err
	}
	if spec.Kind == "" || keys["part"] == "" {
		return spec, c.Cmd.Misuse("Missing: `type=` and `part=`. A patch covers one type of attack in one part of the " +
			"request")
	}
	var err error
	spec.Point, err = apiclient.ParsePoint(keys["part"])
	return spec, err
}

// readPlace takes the [METHOD] [HOST]/PATH that the line names by the argument arg, and its application. A path that no
// conditions say is refused by Rule.
func (s *Patch) readPlace(c *call.Call, arg string) error {
	words := c.Line.Words
	if len(words) == 2 {
		s.Scope.Method, words = strings.ToUpper(words[0]), words[1:]
	}
	if len(words) != 1 {
		return refusal.About(c.Cmd.Misuse("Invalid place: %v. Write one path",
			refusal.Typed(strings.Join(words, " "))), arg, "")
	}
	place := words[0]
	if scheme, rest, ok := strings.Cut(place, "://"); ok &&
		(strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http")) {
		place = rest
	}
	host, path, ok := strings.Cut(place, "/")
	if !ok {
		return refusal.About(c.Cmd.Misuse("Invalid HOST/PATH: %v", refusal.Typed(words[0])), arg, "")
	}
	method, err := s.Scope.Method, error(nil)
	if s.Scope, s.warnings, err = Place(host, "/"+path); err != nil {
		return refusal.About(Unsaid(err), arg, "")
	}
	s.Scope.Method = method
	return s.setApp(c)
}

// setApp takes the application that the line names.
func (s *Patch) setApp(c *call.Call) error {
	if c.Line.Keys["app"] == "" {
		return nil
	}
	id, err := call.App(c.Account, c.Line.Keys["app"])
	s.Scope.App = apiclient.Known(int64(id))
	return err
}

// Plan reads the rules and says what has to be created. It refuses what would do nothing, and what no rule can say.
func (s Patch) Plan(c *call.Call, lasts string) (p call.Plan, err error) {
	length, err := Length(c, lasts, c.Policy.PatchFor())
	if err != nil {
		return p, err
	}
	app := s.Scope.App
	if app.Known && c.Account.Applications[int(app.N)].CannotBlock() {
		return p, refusal.Guarded("%v can't block (`can_block: false` in the configuration): it would do nothing there",
			c.Account.AppName(app))
	}
	rule, err := s.Rule()
	if err != nil {
		return p, refusal.Guarded("that can't be %v: %v", s.done(), text.Sanitize(err.Error(), 300))
	}
	if s.Scope.Host == "" {
		approval.Need(c, config.ApproveRulesEverywhere, text.New("without a host it holds for every host"))
	}
	what := s.words(c.Account)
	p = ForTime(c, s.line(), "Patch "+what, length)
	if s.Kind == words.AnyAttack {
		approval.Need(c, config.ApproveBlockPath, text.New("blocking a path blocks every user there"))
		p = ForTime(c, s.line(), "Block "+what, length)
		p.Role = record.Admin
		has := ""
		if s.Point.String() != hostHeader().String() {
			has = " that has " + words.PartName(s.Point)
		}
		p.Does += ": every request" + has + " is blocked"
		p.Warnings.Addf("no request%v gets through to `%v` any more, whatever it holds: those of your users neither. It "+
			"works in every mode but off; only allowlisted sources pass", has, s.place())
	}
	p.Warnings, p.Notes = append(p.Warnings, s.warnings...), PathNotes(s.Scope)
	return PlanRule(c, p, rule, what+" is "+s.done())
}

func (s Patch) done() string {
	if s.Kind == words.AnyAttack {
		return "blocked"
	}
	return "patched"
}

// place is which requests the patch is for, but for the application.
func (s Patch) place() string {
	place := words.Place(s.Scope)
	if s.Kind == words.AnyAttack {
		return strings.TrimPrefix(place, "exactly ")
	}
	return place
}

// words say which place and which attacks the patch is for.
func (s Patch) words(a *config.Account) string {
	place, app, only := s.place(), "every application", ""
	if s.Scope.App.Known {
		app, only = a.AppName(s.Scope.App), " only"
	}
	switch {
	case s.Kind != words.AnyAttack:
		return fmt.Sprintf("%s, %s%s, %s, %s only", place, app, only, words.PartName(s.Point), words.TypeName(s.Kind))
	case strings.Contains(place, " on "):
		return place + ", on " + app
	}
	return place + " on " + app
}

// PathNotes say what a path with an asterisk does not cover, which people may take for covered.
func PathNotes(s apiclient.Scope) (notes text.Lines) {
	path, err := apiclient.ParsePath(s.Path)
	if err == nil && path.Name+path.Ext == "*" {
		path.Ext = ".*"
		notes.Addf("Paths with an extension, as a.php, are not covered: `%v` covers them, too",
			text.Sanitize(path.String(), text.MaxPath))
	}
	return notes
}

// Rule is the patch as a rule of the service. It fails where no rule can say it.
func (s Patch) Rule() (apiclient.Rule, error) {
	conditions, err := apiclient.ScopeConditions(s.Scope)
	return apiclient.Rule{Type: apiclient.RulePatch, Conditions: conditions, Point: s.Point, AttackType: s.Kind}, err
}

// line is the canonical line of the patch, complete even when the attack's record changes.
func (s Patch) line() record.Line {
	l := record.Line{Name: "block-path"}
	if !s.blocksPath {
		l = record.Line{Name: "patch"}.With("type", s.Kind).With("part", s.Point.String())
	}
	if s.Scope.Method != "" {
		l.Words = append(l.Words, s.Scope.Method)
	}
	l.Words = append(l.Words, s.Scope.Host+apiclient.EncodePath(s.Scope.Path))
	if s.Scope.App.Known {
		l = l.With("app", fmt.Sprint(s.Scope.App.N))
	}
	return l
}

// Blockable is the path that an attack is on, or that most of a storm goes to; ok reports whether a line can name it. A
// line takes FOREVER, which attackers may write as a method, for a length of time.
func Blockable(a apiclient.Attack, s *record.Storm) (method, place string, ok bool) {
	if s != nil {
		method, place, ok = strings.Cut(s.Place, " ")
		ok = ok && !strings.HasSuffix(place, "…") && place == text.Sanitize(place, text.MaxHost+text.MaxPath)
	} else {
		_, why := PatchFor(a)
		method, place, ok = a.Method, a.Domain+a.Path, why.Scope == ""
	}
	return method, place, ok && method != "" && !grammar.IsDuration(method)
}

// Place is a host and a path in the form in which requests reach the rules, either of which may be "". Where something
// else was written, a warning shows both: who asks may mean other requests than a rule for that would match.
func Place(host, path string) (s apiclient.Scope, warnings refusal.Warnings, err error) {
	s.Host, err = apiclient.CleanHost(host)
	if err == nil {
		s.Path, err = apiclient.CleanPath(path)
	}
	if err != nil {
		return s, nil, err
	}
	written, clean := host+path, s.Host+s.Path
	same := strings.EqualFold(host, s.Host) && (path == s.Path || path == apiclient.EncodePath(s.Path))
	if p, err := apiclient.ParsePath(s.Path); err == nil && s.Path != "" {
		s.Path = p.String()
	}
	if !same {
		warnings.Addf("requests to %v reach the rules as %v: it is for that", refusal.Typed(written), refusal.Typed(clean))
	}
	return s, warnings, nil
}

// Unsaid refuses a place that no rule can name.
func Unsaid(err error) error {
	return refusal.Guarded("that can't be said to the service: %v", text.Sanitize(err.Error(), 300))
}
