package commands_test

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

const loginConditions = `{"type":"iequal","value":"shop.example.com","point":["header","HOST"]},{"type":"absent","value":null,"point":["path",0]},` +
	`{"type":"equal","value":"login","point":["action_name"]},{"type":"absent","value":null,"point":["action_ext"]}`

// ruleByHand is a rule that wafbot did not make; it gives its number.
func (w *world) ruleByHand(fields string) string {
	w.t.Helper()
	w.byHand(http.MethodPost, "/v1/objects/hint/create", `{"clientid":5,"validated":false,`+fields+`}`)
	rules := w.state().Rules
	return itoa(rules[len(rules)-1].ID)
}

func TestRules(t *testing.T) {
	w := newWorld(t)
	ch := w.does(ann, "patch POST shop.example.com/login type=sqli part=get.q for=7d")
	w.ruleByHand(`"type":"vpatch","attack_type":"any","point":[["header","HOST"]],"action":[` + loginConditions + `]`)
	w.ruleByHand(`"type":"regex","attack_type":"scanner","regex":"evil\u202e","comment":"by \u202e hand","point":[["header","USER-AGENT"]],"action":[{"type":"regex","value":"^/x","point":["uri"]}]`)
	res := w.reads(eve, "rules")
	patch := w.rules("vpatch")[0]
	for _, words := range []string{
		"acme: 9 rules\n", itoa(patch.ID) + " vpatch sqli in get.q, for POST shop.example.com/login, made by wafbot for Ann (" + ch.ID + "), until 2026-11-27 03:00 UTC",
		"vpatch blocks every request that has header.HOST, for shop.example.com/login\n", `indicator (scanner) evil\u{202e} on header.USER-AGENT, where uri regex "^/x" (by \u{202e} hand)`,
		"mode monitoring for Shop", "And 4 of other kinds, which wafbot leaves alone: 1 binary_data, 1 overlimit_res_settings (the service's own), 1 parser_state (the service's own), 1 sensitive_data",
	} {
		require.Contains(t, textOf(res), words)
	}
	require.Contains(t, textOf(w.reads(eve, "rules condition="+itoa(patch.ActionID))), "acme: 1 rule\n")
	require.Contains(t, textOf(w.reads(eve, "rules condition=99999")), "0 rules")
	w.refuses(eve, "rules condition=login", refusal.ErrUsage, "Invalid number")
	rows := w.program("rules")["data"].([]any)
	require.Len(t, rows, 9)
	made := 0
	for _, row := range rows {
		if r := row.(map[string]any); r["change"] == ch.ID {
			made++
			require.Equal(t, float64(patch.ID), r["id"])
		}
	}
	require.Equal(t, 1, made)
	w.ledger.set(func(l *ledger) { l.readFail = true })
	require.Contains(t, textOf(w.reads(eve, "rules")), "Which of them wafbot made is unknown")
}

func TestConditions(t *testing.T) {
	w := newWorld(t)
	w.does(ann, "patch POST shop.example.com/login type=sqli part=get.q")
	w.does(ann, "patch POST shop.example.com/login type=xss part=get.q")
	w.service.CatchUp()
	res := w.reads(eve, "conditions")
	require.Contains(t, textOf(res), "acme: 3 sets of conditions\n")
	require.Contains(t, textOf(res), itoa(w.rules("vpatch")[0].ActionID)+" for POST shop.example.com/login: 2 rules")
	require.Contains(t, textOf(res), " everywhere: 5 rules")
	require.Contains(t, textOf(res), " for Shop: 1 rule")
	rows := w.program("conditions")["data"].([]any)
	require.Len(t, rows, 3)
	require.Equal(t, 5.0, rows[0].(map[string]any)["rules"])
}

func TestDeleteRule(t *testing.T) {
	w := newWorld(t)
	id := w.ruleByHand(`"type":"regex","attack_type":"scanner","regex":"evil","comment":"by hand","point":[["header","USER-AGENT"]],"action":[` + loginConditions + `]`)
	w.refuses(ann, "delete-rule "+id, refusal.ErrDenied, "needs the role admin")
	w.refuses(root, "delete-rule "+id, refusal.ErrAsk, "wafbot did not make this rule: "+id+" indicator (scanner) evil on header.USER-AGENT, for shop.example.com/login (by hand)")
	ch := w.anyway(root, "delete-rule "+id)
	require.Empty(t, w.rules("regex"))
	require.Equal(t, "Delete rule "+id+": indicator (scanner) evil on header.USER-AGENT, for shop.example.com/login", ch.Does)
	require.Equal(t, []string{"delete rule " + id + ", indicator (scanner) evil on header.USER-AGENT, for shop.example.com/login"}, w.lastAudit().After)
	w.nothing(root, "delete-rule "+id, "there is no rule "+id)
	w.does(root, "undo "+ch.ID)
	back := w.rules("regex")
	require.Len(t, back, 1)
	require.NotEqual(t, id, itoa(back[0].ID), "another number")
	require.Contains(t, textOf(w.reads(eve, "rules")), itoa(back[0].ID)+" indicator (scanner) evil on header.USER-AGENT, for shop.example.com/login (by hand)")
	require.Len(t, w.reads(eve, "rules condition="+itoa(back[0].ActionID)).Data, 1, "the same conditions")
}

func TestRulesThatCannotBeDeleted(t *testing.T) {
	w := newWorld(t)
	for _, r := range w.state().Rules {
		switch r.Type {
		case "parser_state":
			w.refuses(root, "delete-rule "+itoa(r.ID), refusal.ErrGuarded, "is the service's own (parser_state)")
		case "sensitive_data":
			w.refuses(root, "delete-rule "+itoa(r.ID), refusal.ErrGuarded, "could not put back", "console")
		}
	}
	w.cfg.Services["acme"] = commands.Service{Lister: oddRule{w.cfg.Services["acme"].Lister}, Writer: w.cfg.Services["acme"].Writer}
	w.refuses(root, "delete-rule 77", refusal.ErrGuarded, "rule 77 (vpatch) is of a kind that wafbot could not put back")
	w.refuses(root, "delete-rule 78", refusal.ErrGuarded, "rule 78 (vpatch) is of a kind that wafbot could not put back")
	w.refuses(root, "delete-rule app", refusal.ErrUsage, "Invalid number")
	w.refuses(root, "delete-rule", refusal.ErrUsage, "Missing: rule")
}

// oddRule is a service with one rule, of which a condition can't be read.
type oddRule struct{ commands.Lister }

func (oddRule) Rules(context.Context, int64) iter.Seq2[apiclient.Rule, error] {
	return func(yield func(apiclient.Rule, error) bool) {
		odd := []apiclient.Rule{
			{ID: 77, Type: apiclient.RulePatch, AttackType: "sqli", Conditions: make([]apiclient.Condition, 1)},
			{ID: 78, Type: apiclient.RulePatch, AttackType: "sqli", Point: apiclient.Point{{"post"}, {"brand_new"}, {"x"}}},
		}
		for _, r := range odd {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// What wafbot made and a person deletes is over; put back, it still ends when it should.
func TestDeleteRuleOfWafbotsOwn(t *testing.T) {
	w := newWorld(t)
	patched := w.does(ann, "patch POST shop.example.com/login type=sqli part=get.q for=2h")
	require.Contains(t, textOf(w.reads(eve, "status")), patched.ID)
	gone := w.does(root, "delete-rule "+itoa(w.rules("vpatch")[0].ID))
	require.NotContains(t, textOf(w.reads(eve, "status")), patched.ID+" "+patched.Does)
	w.does(root, "undo "+gone.ID)
	require.Contains(t, textOf(w.reads(eve, "status")), patched.ID+" "+patched.Does)
	require.Contains(t, textOf(w.reads(eve, "rules")), "made by wafbot for Ann ("+patched.ID+")", "under its new number")
	w.pass(time.Second)
	again := w.does(root, "delete-rule "+itoa(w.rules("vpatch")[0].ID))
	require.NotContains(t, textOf(w.reads(eve, "status")), patched.ID+" "+patched.Does, "once more")
	w.does(root, "undo "+again.ID)
	w.pass(2 * time.Hour)
	due, err := w.ledger.DueChanges(t.Context(), "acme", w.clock())
	require.NoError(t, err)
	require.Equal(t, []string{patched.ID}, due)
	w.does(ann, "undo "+patched.ID)
	require.Empty(t, w.rules("vpatch"))
	w.does(ann, "patch POST shop.example.com/login type=sqli part=get.q") // nothing stands in its way
}

func TestDeleteRuleOfAMode(t *testing.T) {
	w := newWorld(t)
	id := itoa(w.rules("service_mode")[0].ID)
	w.refuses(root, "delete-rule "+id, refusal.ErrAsk, "wafbot did not make this rule", "then the mode of Shop by rules is monitoring")
	ch := w.anyway(root, "delete-rule "+id)
	require.Empty(t, w.modes())
	w.does(root, "undo "+ch.ID)
	require.Equal(t, []string{"monitoring"}, w.modes())

	switched := w.anyway(ann, "mode 4 block")
	w.refuses(root, "delete-rule "+itoa(w.rules("service_mode")[0].ID), refusal.ErrAsk, "then the mode of Shop by rules is monitoring", "undo "+switched.ID+" instead puts back")
	w.ruleByHand(`"type":"service_mode","mode":"off","action":[{"type":"equal","value":"4","point":["instance"]}]`)
	w.refuses(root, "delete-rule "+itoa(switched.Steps[0].ID), refusal.ErrAsk, "then the mode of Shop by rules is off")
}

func TestDeleteRuleInDryRun(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = config.ChangesDryRun })
	res, err := w.all(root, "delete-rule "+itoa(w.rules("service_mode")[0].ID))
	require.NoError(t, err)
	require.Equal(t, "dry_run", res.Outcome)
	require.Contains(t, textOf(res), "delete rule")
	require.Zero(t, w.changesSent())
}

// theRule is the one rule of a type as the service lists it.
func (w *world) theRule(kind string) apiclient.Rule {
	w.t.Helper()
	w.service.CatchUp()
	_, all := w.mirrored()
	found := slices.DeleteFunc(all, func(r apiclient.Rule) bool { return r.Type != kind })
	require.Len(w.t, found, 1)
	return found[0]
}

func TestIndicator(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	res := w.reads(ann, `indicator user-agent "sqlmap/1[.][0-9]" host=Shop.example.com path=/login attack=`+id+` reason="same tool"`)
	ch := res.Changes[0]
	require.Equal(t, `Take for a scanner requests for shop.example.com/login whose USER-AGENT matches sqlmap/1[.][0-9] for 4 h`, ch.Does)
	require.Equal(t, `indicator USER-AGENT sqlmap/1[.][0-9] attack=`+id+` for=4h host=shop.example.com path=/login type=scanner reason="same tool"`, ch.Line.String())
	require.Contains(t, textOf(res), "it would hit none of 12 usual browsers and search engines")
	require.Contains(t, textOf(res), "blocked only where the mode blocks")
	require.Equal(t, id, ch.AttackID)
	require.Equal(t, w.clock().Add(4*time.Hour), ch.DueAt())
	rule := w.theRule("regex")
	require.Equal(t, apiclient.Point{{"header", "USER-AGENT"}}, rule.Point)
	require.Equal(t, `sqlmap/1[.][0-9]`, rule.Regex)
	require.Equal(t, "scanner", rule.AttackType)
	require.Equal(t, "wafbot "+ch.ID+" by Ann (U1ANN) for "+id+": same tool", rule.Comment)
	scope, ok := apiclient.ConditionsScope(rule.Conditions)
	require.True(t, ok)
	require.Equal(t, apiclient.Scope{Host: "shop.example.com", Path: "/login"}, scope)
	require.Equal(t, ch.ID, w.lastAudit().Change)
	require.Contains(t, w.lastAudit().After[0], `create indicator (scanner) sqlmap/1[.][0-9] on header.USER-AGENT, for shop.example.com/login`)

	require.NoError(t, w.again(ch.Line), "the canonical line is a line")
	w.nothing(bob, ch.Line.String(), "done already by Ann")
	w.pass(time.Minute)
	w.nothing(bob, ch.Line.String(), "there is an indicator already, by rule "+itoa(rule.ID))
	w.does(bob, "undo "+ch.ID)
	require.Empty(t, w.rules("regex"))
}

// What an indicator would hit is said before, and asked about when it is a client that comes every day.
func TestAnIndicatorIsTriedFirst(t *testing.T) {
	w := newWorld(t)
	for regex, words := range map[string]string{
		`User-Agent Firefox`:                  "it would hit 3 of 12 usual browsers and search engines, as Firefox on Windows",
		`User-Agent BOT`:                      "it would hit 2 of 12 usual browsers and search engines, as Googlebot",
		`User-Agent .*`:                       "it matches everything, even an empty header",
		`User-Agent ^`:                        "it matches everything",
		`User-Agent ^$`:                       "it would hit an empty USER-AGENT, and none of 12",
		`User-Agent (^$|iPhone)`:              "it would hit 1 of 12 usual browsers and search engines, as Safari on iOS, and an empty header",
		`User-Agent MOZILLA`:                  "it would hit 12 of 12",
		`User-Agent .+`:                       "it would hit 12 of 12",
		`User-Agent x|`:                       "it matches everything",
		`User-Agent ^(~(44[.]33[.]22[.]11))$`: "wafbot can't try it on usual browsers and search engines",
		`User-Agent ^(~(.*bot.*)&Moz.*)$`:     "wafbot can't try it on usual browsers and search engines",
		`X-Tool ~k1ller`:                      "wafbot can't try it on usual browsers and search engines",
		`X-Tool Mozilla`:                      "wafbot knows no usual values of X-TOOL, and tried it on the User-Agents of browsers and search engines: it matches 12 of 12",
		`accept text/html`:                    "wafbot knows no usual values of ACCEPT, and tried it on the User-Agents of browsers and search engines: it matches none of 12",
		`X-Tool .`:                            "matches 12 of 12",
	} {
		header, pattern, _ := strings.Cut(regex, " ")
		line := "indicator " + header + " '" + pattern + "' host=shop.example.com"
		w.refuses(ann, line, refusal.ErrAsk, words)
		w.refuses(ann, line+" type=vpatch", refusal.ErrAsk, words, "blocks what matches in every mode but off")
	}
	ch := w.anyway(ann, "indicator User-Agent Firefox host=shop.example.com type=vpatch")
	require.Equal(t, "Block requests for shop.example.com whose USER-AGENT matches Firefox for 4 h", ch.Does)
	require.Equal(t, "vpatch", w.theRule("regex").AttackType)
	w.refuses(ann, "indicator X-Tool k1ller host=shop.example.com type=vpatch", refusal.ErrAsk, "in every mode but off", "it matches none of 12")

	inv := w.asks(ann, `indicator User-Agent k1ller host=shop.example.com`)
	inv.Ask = true
	_, err := w.do(inv)
	require.ErrorContains(t, err, "it would hit none of 12", "the preview says it, too")
}

// No indicator that wafbot couldn't try goes out without another person's approval, unless an operator said so in
// writing.
func TestAnUntriedIndicatorNeedsApproval(t *testing.T) {
	w, alone := newWorld(t), newWorld(t, withoutApproval(config.ApproveIndicatorUntried))
	for _, line := range []string{
		"indicator X-Tool k1ller host=shop.example.com", "indicator User-Agent '^(~(k1ller))$' host=shop.example.com", "indicator User-Agent küche host=shop.example.com type=vpatch",
	} {
		q := w.waits(ann, line, "nobody has tried whom it hits")
		w.does(bob, "approve "+q.ID)
		alone.anyway(ann, line)
	}
	w.does(ann, "indicator User-Agent k1ller host=shop.example.com")
}

func TestIndicatorsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for line, refusal := range map[string]struct {
		kind  error
		words string
	}{
		`indicator User-Agent "(?=x)y" host=a.example.com`:                         {refusal.ErrUsage, "no look-around. Example: "},
		`indicator User-Agent "sqlmap/1\.7" host=a.example.com`:                    {refusal.ErrUsage, "write [.]. Example: "},
		`indicator User-Agent "\d+" host=a.example.com`:                            {refusal.ErrUsage, "write [0-9]"},
		`indicator User-Agent "(" host=a.example.com`:                              {refusal.ErrUsage, "a closing ) is missing"},
		`indicator User-Agent "(x)\1" host=a.example.com`:                          {refusal.ErrUsage, "back-references"},
		`indicator User-Agent ` + strings.Repeat("x", 501) + ` host=a.example.com`: {refusal.ErrUsage, "over 500 bytes"},
		`indicator "Two Words" x host=a.example.com`:                               {refusal.ErrUsage, "Invalid header"},
		`indicator X:Y x host=a.example.com`:                                       {refusal.ErrUsage, "Invalid header"},
		`indicator Host x host=a.example.com`:                                      {refusal.ErrUsage, "Every request has a Host"},
		`indicator User-Agent`:                                                     {refusal.ErrUsage, "Missing: regex"},
		`indicator User-Agent x type=sqli host=a.example.com`:                      {refusal.ErrUsage, "One of scanner, vpatch"},
		`indicator User-Agent evil host=a.example.com path=/a/*/b`:                 {refusal.ErrUsage, "stands for a whole last segment"},
		`indicator User-Agent evil host=*.example.com`:                             {refusal.ErrGuarded, "must be one host"},
		`indicator User-Agent evil host=a.example.com path=login`:                  {refusal.ErrUsage, "must begin with /"},
		`indicator User-Agent evil host=a.example.com for=31d`:                     {refusal.ErrGuarded, "longer than the longest allowed"},
	} {
		w.refuses(ann, line, refusal.kind, refusal.words)
	}
	w.waits(ann, "indicator User-Agent evil", "it holds for every host")
	w.waits(ann, "indicator User-Agent evil path=/x/*", "it holds for every host", "requests for every path without an extension one level below /x/ on every host whose USER-AGENT matches evil")
	res := w.reads(ann, "indicator User-Agent evil host=a.example.com path=/x/*")
	require.Contains(t, textOf(res), "Paths with an extension, as a.php, are not covered: /x/*.* covers them, too")
	w.waits(ann, "indicator User-Agent evil host=a.example.com for=forever", "never end")
	w = newWorld(t, withoutApproval(config.ApproveRulesEverywhere))
	ch := w.does(ann, "indicator User-Agent evil for=1h")
	require.Equal(t, "Take for a scanner requests everywhere whose USER-AGENT matches evil for 1 h", ch.Does)
	require.Empty(t, w.theRule("regex").Conditions)
}

// A request that the indicator is for is stopped, and only while it holds.
func TestAnIndicatorStopsWhatMatches(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.attack(waf.AttackSpec{App: 4, Path: "/login", Sources: []waf.SourceSpec{{IP: "203.0.113.7", PerSecond: 1, Headers: map[string]string{"USER-AGENT": "sqlmap/1.5"}}}})
		w.anyway(ann, "indicator User-Agent ^sqlmap/ host=shop.example.com type=vpatch for=3h")
		runDue(t, w, 2*time.Hour)
		hits := w.state().Attacks[0].Hits
		runDue(t, w, 30*time.Minute)
		require.Equal(t, hits, w.state().Attacks[0].Hits, "nothing gets through any more")
		runDue(t, w, time.Hour)
		require.Empty(t, w.rules("regex"), "it has ended")
	})
}

func TestBlockPath(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBlockPath))
	id := w.attackOn("/login")
	line := "block-path post https://Shop.example.com/login for=30m attack=" + id
	w.refuses(ann, line, refusal.ErrDenied, "needs the role admin")
	w.refuses(root, line, refusal.ErrAsk, "Block POST shop.example.com/login on every application for 30 min: every request is blocked?", "no request gets through to POST shop.example.com/login", "those of your users neither")
	ch := w.anyway(root, line)
	require.Equal(t, "block-path POST shop.example.com/login attack="+id+" for=30m", ch.Line.String())
	require.Equal(t, w.clock().Add(30*time.Minute), ch.DueAt())
	rule := w.theRule("vpatch")
	require.Equal(t, "any", rule.AttackType)
	require.Equal(t, apiclient.Point{{"header", "HOST"}}, rule.Point)
	scope, ok := apiclient.ConditionsScope(rule.Conditions)
	require.True(t, ok)
	require.Equal(t, apiclient.Scope{Method: "POST", Host: "shop.example.com", Path: "/login"}, scope)
	require.Equal(t, []string{"create vpatch blocks every request that has header.HOST, for POST shop.example.com/login"}, w.lastAudit().After)
	w.pass(time.Minute)
	w.nothing(root, line, "POST shop.example.com/login on every application is blocked already, by rule "+itoa(rule.ID))
	w.does(ann, "undo "+ch.ID)
	require.Empty(t, w.rules("vpatch"))

	ch = w.anyway(root, "block-path GET shop.example.com/a/b.php app=Shop for=1h")
	require.Equal(t, "Block GET shop.example.com/a/b.php on Shop for 1 h: every request is blocked", ch.Does)
	require.Equal(t, "block-path GET shop.example.com/a/b.php app=4 for=1h", ch.Line.String())
	scope, _ = apiclient.ConditionsScope(w.theRule("vpatch").Conditions)
	require.Equal(t, apiclient.Known(4), scope.App)
}

func TestPathsThatCannotBeBlocked(t *testing.T) {
	w := newWorld(t)
	w.waits(root, "block-path POST shop.example.com/login for=30m")
	w = newWorld(t, withoutApproval(config.ApproveBlockPath))
	w.refuses(root, "block-path POST shop.example.com/login", refusal.ErrUsage, "Missing: for=")
	w.refuses(root, "block-path shop.example.com/login for=30m", refusal.ErrUsage, "Missing: place")
	w.refuses(root, "block-path POST shop.example.com for=30m", refusal.ErrUsage, "Invalid HOST/PATH")
	w.refuses(root, "block-path POST shop.example.com/* for=30m", refusal.ErrGuarded, "is more than one path", "patch shop.example.com/* type=any part=header.HOST")
	w.waits(root, "block-path POST /login for=30m", "it holds for every host")
	w.refuses(root, "block-path POST shop.example.com/a*b for=30m", refusal.ErrGuarded, "can't be blocked")
	w.refuses(root, "block-path PO,ST shop.example.com/a for=30m", refusal.ErrGuarded, "must be one method")
	w.refuses(root, "block-path POST old.example.com/a app=Legacy for=30m", refusal.ErrGuarded, "Legacy can't block")
	w.waits(root, "block-path POST shop.example.com/a for=forever")
	w.refuses(ann, "patch shop.example.com/login type=any part=get.q", refusal.ErrDenied, "needs the role admin")
}

func TestABlockedPathOpensByItself(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.fault("POST /v1/objects/hint/create", "500_applied", 1)
		ch := w.anyway(root, "block-path POST shop.example.com/login for=30m") // which is listed after a while
		runDue(t, w, ch.Until.Sub(w.clock())-time.Second)
		require.Len(t, w.rules("vpatch"), 1)
		runDue(t, w, 3*time.Second)
		require.Empty(t, w.rules("vpatch"))
	}, withoutApproval(config.ApproveBlockPath))
}

// In a card's thread a line is about that attack, unless it is about a change, which has its own.
func TestLinesInAThread(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBlockPath))
	id, other := w.attackOn("/login"), w.attackOn("/other")
	inThread := func(line string) record.Change {
		inv := w.asks(root, line)
		inv.Attack, inv.Anyway = id, true
		res, err := w.do(inv)
		require.NoError(t, err, line)
		require.Len(t, res.Changes, 1, line)
		return res.Changes[0]
	}
	indicated := inThread("indicator User-Agent evil host=shop.example.com")
	require.Equal(t, id, indicated.AttackID)
	require.Equal(t, id, inThread("block-path POST shop.example.com/login for=30m").AttackID)
	require.Equal(t, id, inThread("delete-rule "+itoa(indicated.Steps[0].ID)).AttackID)
	elsewhere := w.does(ann, "deny attack="+other)
	require.Equal(t, other, inThread("extend "+elsewhere.ID+" for=1h").AttackID)
	for _, line := range []string{"rules", "conditions", "vulns"} {
		inv := w.asks(eve, line)
		inv.Attack = id
		_, err := w.do(inv)
		require.NoError(t, err, line)
	}
}
