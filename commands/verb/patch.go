package verb

import (
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/text"
)

func patch() *call.Command {
	return command(`patch: responder
virtual patch: block one type of attack in exactly one part of the requests to a path
[TARGET…]: [METHOD] HOST/PATH; without HOST: every host. /x/* is one level below /x/, names with an extension left
  out; /x/*.* those, too; /x/**/*.* everything below. Left out with attack=: the attack's own
[attack=]
[type=]: the type of attack: xss, sqli, rce, xxe, ptrav, crlf, redir, nosqli, ldapi, scanner, mass_assignment, ssrf,
  ssi, mail_injection, ssti, invalid_xml; any blocks every request that has the part, clean ones too, and needs an
  admin
[part=]: the part of the request: get.q, post.form_urlencoded.login, header.X, uri
[app=]: one application by id or name; left out: the attack's, or all
[for=]
[reason=]
[--locked]
Example: patch POST shop.example.com/login type=sqli part=post.form_urlencoded.login for=7d`, call.Command{
		Needs:   call.Needs{Rules: call.AllRules}.Always(),
		Missing: form.PatchMisses,
		Form:    form.PatchForm,
		Plan: func(c *call.Call) ([]call.Plan, error) {
			spec, err := change.PatchOf(c)
			if err != nil {
				return nil, err
			}
			return one(spec.Plan(c, c.Line.Keys["for"]))
		},
	})
}

func readPatchType(value string, _ *config.Account) (string, error) {
	value = strings.ToLower(value)
	if value != words.AnyAttack && !apiclient.Patchable(value) {
		return "", refusal.Invalid("type of attack for a patch", value, "sqli", "One of ",
			strings.Join(append(apiclient.PatchTypes(), words.AnyAttack), ", "))
	}
	return value, nil
}

func readPart(value string, _ *config.Account) (string, error) {
	point, err := apiclient.ParsePoint(value)
	if err != nil {
		return "", refusal.Invalid("part of a request", value, "post.form_urlencoded.login", "As ", text.Code("get.q"), ", ", text.Code("header.X"), " or ", text.Code("uri"))
	}
	return point.String(), nil
}
