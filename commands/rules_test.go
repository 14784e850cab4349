package commands_test

import (
	"context"
	"iter"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = config.ChangesDryRun })
	inv := w.asks(root, "delete-rule "+itoa(w.rules("service_mode")[0].ID))
	inv.Anyway = true
	res, err := w.do(inv)
	require.NoError(t, err)
	require.Equal(t, "dry_run", res.Outcome)
	require.Contains(t, textOf(res), "delete rule")
	require.Zero(t, w.changesSent())
}

func TestDeleteRuleWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"500_applied", "reset_applied", "cut", "status:500"} {
		w := newWorld(t)
		ch := w.does(ann, "patch POST shop.example.com/login type=sqli part=get.q")
		w.fault("POST /v1/objects/hint/delete", kind, 2)
		gone := w.does(root, "delete-rule "+itoa(ch.Steps[0].ID))
		require.Empty(t, w.rules("vpatch"), kind)
		w.fault("POST /v1/objects/hint/create", kind, 1)
		w.does(root, "undo "+gone.ID)
		require.Len(t, w.rules("vpatch"), 1, kind)
	}
}
