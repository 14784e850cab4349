package commands

import (
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// anyAttack is the attack type of a patch that blocks every request that has its part, clean ones too.
const anyAttack = "any"

func closePath() *Command {
	return &Command{
		Name: "close", Role: record.Admin,
		Summary: "block every request to one path, clean ones too",
		Args: []Arg{
			{Name: "method", Object: true, Required: true, Help: "GET, POST, …: only this one is closed"},
			{Name: "place", Object: true, Required: true, Help: "HOST/PATH, exactly"},
			{Name: "for", Label: "How long", Required: true, Help: "how long: 30m, 12h", Read: readDuration, Options: lengths},
			{Name: "app", Help: "one application by id or name; left out: all that have this path", Label: "Application", Read: readApp, Options: configuredApps},
			argAttack, argReason,
		},
		Example: "close POST shop.example.com/login for=30m",
		Plan:    planClose,
	}
}

func planClose(c *Call) ([]Plan, error) {
	spec, err := closeOfLine(c)
	if err != nil {
		return nil, err
	}
	c.needsSecond(SecondClose, text.New("closing a path blocks everybody there"))
	length, err := c.length(c.Line.Keys["for"], 0)
	if err != nil {
		return nil, err
	}
	rule, err := spec.rule()
	if err != nil {
		return nil, refusal.Guarded(text.New("that can't be closed: ", text.Sanitize(err.Error(), 200), ". Nothing was done"))
	}
	where := Where(apiclient.Attack{Method: spec.scope.Method, Domain: spec.scope.Host, Path: spec.scope.Path})
	line := record.Line{Name: "close", Words: []string{spec.scope.Method, spec.scope.Host + spec.scope.Path}}
	on := ""
	if spec.scope.App.Known {
		line = line.With("app", fmt.Sprint(spec.scope.App.N))
		on = " on " + c.Account.AppName(spec.scope.App)
	}
	p, err := c.planRule(Plan{
		Line: c.complete(line, length), When: ruleWorks, Until: end(c.Now, length),
		Does: fmt.Sprintf("Close %s%s %s: every request is blocked", where, on, lasting(length)),
		Warnings: []refusal.Warning{{Text: text.New("nobody gets through to ", text.Code(where), " any more, whatever the request holds: your users neither. It works in every mode but off; ",
			"only allowlisted sources pass")}},
	}, rule, where+" is closed")
	return []Plan{p}, err
}

// closeOfLine is the patch that closes exactly the path that the line names: every request has a host.
func closeOfLine(c *Call) (patchSpec, error) {
	spec := patchSpec{kind: anyAttack, point: apiclient.Point{{"header", "HOST"}}}
	if len(c.Line.Words) != 2 {
		return spec, c.Cmd.misuse(text.New("a method and one path are needed"))
	}
	host, path, err := c.place(c.Line.Words[1])
	if err != nil {
		return spec, refusal.About(err, "place", "")
	}
	if strings.HasSuffix(path, "*") {
		return spec, refusal.About(refusal.Guarded(text.New(refusal.Typed(c.Line.Words[1]), " is more than one path: name exactly one. Nothing was done")), "place", "")
	}
	spec.scope = apiclient.Scope{Method: strings.ToUpper(c.Line.Words[0]), Host: host, Path: path}
	if err := spec.setApp(c); err != nil {
		return spec, err
	}
	return spec, spec.guard(c)
}
