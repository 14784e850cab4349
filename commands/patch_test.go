package commands_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestPatch(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	ch := w.does(ann, "patch attack="+id)
	require.Equal(t, "Patch exactly POST shop.example.com/login, Shop only, field login, SQL injection only for 7 days", ch.Does)
	require.Equal(t, "patch POST shop.example.com/login app=4 attack="+id+" for=7d part=post.form_urlencoded.login type=sqli", ch.Line.With("for", "7d").String())
	require.Equal(t, w.clock().Add(7*24*time.Hour), ch.DueAt(), "rules never expire by themselves")
	require.Len(t, w.rules("vpatch"), 1)
	require.Equal(t, "sqli", w.rules("vpatch")[0].AttackType)
	w.nothing(bob, "patch attack="+id, "done already by Ann")
	w.pass(time.Minute)
	w.nothing(bob, "patch attack="+id+" for=2h", "is patched already, by rule "+itoa(w.rules("vpatch")[0].ID)+", until "+ch.Until.Format("2006-01-02 15:04 UTC")+": extend "+ch.ID+" for=… extends it")
	// The canonical line, typed as it stands, is the same patch.
	w.nothing(bob, ch.Line.String(), "patched already")
	w.does(bob, "undo "+ch.ID)
	require.Empty(t, w.rules("vpatch"))
	w.does(bob, ch.Line.String())
	require.Len(t, w.rules("vpatch"), 1)
}

func TestPatchAsTyped(t *testing.T) {
	w := newWorld(t)
	for line, does := range map[string]string{
		"patch get https://Shop.example.com/a/b.php type=XSS part=GET.q app=Shop": "Patch exactly GET shop.example.com/a/b.php, Shop only, field q, cross-site scripting only for 7 days",
		"patch shop.example.com/ type=rce part=header.x-y for=1d":                 "Patch exactly shop.example.com/, every application, header X-Y, remote code execution only for 24 h",
		"patch POST shop.example.com/api/** type=sqli part=uri app=app:default":   "Patch POST to every path below /api/ on shop.example.com, the default application only, part uri, SQL injection only for 7 days",
	} {
		ch := w.does(ann, line)
		require.Equal(t, does, ch.Does)
		require.NoError(t, w.again(ch.Line), "the canonical line is a line")
	}
	require.Len(t, w.rules("vpatch"), 3)
	for _, path := range []string{"shop.example.com/login?x=1", "shop.example.com/a*b", "shop.example.com/[multiple]", "a@b/login"} {
		w.refuses(ann, "patch "+path+" type=sqli part=get.q", refusal.ErrGuarded, "that can't be patched")
	}
}

// A rule for a host or a path that no request has does nothing: it is for what requests have instead, and who typed it sees both first.
func TestAPlaceAsRequestsHaveIt(t *testing.T) {
	w := newWorld(t)
	for typed, clean := range map[string]string{
		"магазин.рф/login":                  "xn--80aairftm.xn--p1ai/login",
		"Bücher.example.com:8443/login":     "xn--bcher-kva.example.com:8443/login",
		"shop.example.com./login":           "shop.example.com/login",
		"shop.example.com:443/a":            "shop.example.com/a",
		"shop.example.com/x/../login":       "shop.example.com/login",
		"shop.example.com/x/%2e%2E/./a//b/": "shop.example.com/a/b/",
		"shop.example.com/%6Cogin":          "shop.example.com/login",
		"shop.example.com/a/..":             "shop.example.com/",
	} {
		host, path, _ := strings.Cut(typed, "/")
		w.refuses(ann, "indicator User-Agent x9 host="+host+" path=/"+path, refusal.ErrAsk, path, " reach the rules as "+clean)
		w.refuses(root, "block-path GET "+typed+" 30m", refusal.ErrAsk, typed, " reach the rules as "+clean)
		line := "patch " + typed + " type=sqli part=get.q"
		w.refuses(ann, line, refusal.ErrAsk, typed, " reach the rules as "+clean)
		ch := w.anyway(ann, line)
		scope, ok := apiclient.ConditionsScope(ch.Steps[0].Rule.Conditions)
		require.True(t, ok)
		require.Equal(t, clean, scope.Host+scope.Path)
		require.NoError(t, w.again(ch.Line), "its own line is clean")
		w.does(ann, "undo "+ch.ID)
	}
	twice := w.does(ann, "patch shop.example.com/%2541 type=sqli part=get.q")
	scope, _ := apiclient.ConditionsScope(twice.Steps[0].Rule.Conditions)
	require.Equal(t, "/%41", scope.Path, "decoded once, also when its own line is read again")
	require.NoError(t, w.again(twice.Line))
	for _, place := range []string{"shop.example.com/a%2Fb", "shop.example.com/%2a", "shop.example.com/a%3Fb", "shop.example.com/%ff", "\u200f\u05d0a.example.com/x"} {
		w.refuses(ann, "patch "+place+" type=sqli part=get.q", refusal.ErrGuarded, "that can't be said to the service")
	}
}

// The path of an attack's record is one that was sent.
func TestAPatchOfAnAttackHasItsPathAsRulesSeeIt(t *testing.T) {
	attack := apiclient.Attack{ID: "x:1", Type: "sqli", Domain: "shop.example.com", Path: "/a/../login", Method: "POST", Parameter: "GET_q_value", App: apiclient.Known(4)}
	w := newWorld(t)
	w.knows(attack)
	ch := w.anyway(ann, "patch attack="+record.AttackID("acme", "x:1"))
	require.Contains(t, ch.Does, "shop.example.com/login")
	require.Equal(t, apiclient.MetYes, apiclient.ConditionsMet(ch.Steps[0].Rule.Conditions, attack), "it is judged by this attack")
}

// again checks that a canonical line is understood and the same effect.
func (w *world) again(l record.Line) error {
	w.ids++
	_, err := w.do(call.Invocation{Line: l, Actor: ann, ID: "again " + itoa(int64(w.ids)), At: w.clock()})
	return err
}

func TestWhatCannotBePatched(t *testing.T) {
	w := newWorld(t)
	brute := w.attack(waf.AttackSpec{App: 4, Type: "brute"})
	multiple := w.attack(waf.AttackSpec{App: 4, Path: "[multiple]"})
	odd := w.attack(waf.AttackSpec{App: 4, Path: "/odd", Parameter: "POST_MULTIPART_x_BASE64_value"})
	legacy := w.attack(waf.AttackSpec{App: 7, Path: "/old"})
	w.refuses(ann, "patch attack="+brute, refusal.ErrGuarded, brute+" can't be patched", "no patch for attacks of this type (brute)")
	w.refuses(ann, "patch attack="+multiple, refusal.ErrGuarded, "one exact host and path")
	w.refuses(ann, "patch attack="+multiple+" part=get.q type=sqli", refusal.ErrGuarded, "one exact host and path")
	w.refuses(ann, "patch attack="+odd, refusal.ErrGuarded, "name it with part=")
	w.refuses(ann, "patch attack="+odd+" type=xss", refusal.ErrGuarded, "name it with part=")
	w.refuses(ann, "patch attack="+legacy, refusal.ErrGuarded, "Legacy can't block")
	w.refuses(ann, "patch old.example.com/x app=legacy type=sqli part=get.q", refusal.ErrGuarded, "can't block")
	w.does(ann, "patch part=post.multipart.x attack="+odd)
	ch := w.does(ann, "patch type=scanner attack="+brute+" app=-1")
	require.Equal(t, "-1", ch.Line.Keys["app"])
	for _, id := range []string{brute, multiple, odd, legacy} {
		w.refuses(ann, "contain attack="+id, refusal.ErrGuarded)
	}
	require.Empty(t, w.entries("black"), "a contain whose patch can't be does nothing at all")
}

// A path of an attacker's is shown, and kept, but never floods or turns a message.
func TestAHostilePath(t *testing.T) {
	path := "/" + strings.Repeat("a", 3000)
	id := record.AttackID("acme", "x:1")
	attack := apiclient.Attack{ID: "x:1", Type: "sqli", Domain: "shop.example.com", Path: path, Method: "POST", Parameter: "GET_q_value", App: apiclient.Known(4)}
	w := newWorld(t)
	w.knows(attack)
	ch := w.does(ann, "patch attack="+id)
	require.Less(t, len(ch.Does), 400)
	require.Contains(t, ch.Line.String(), path, "the line is exact")

	attack.Path = "/\u202e\u0000"
	w = newWorld(t)
	w.knows(attack)
	w.refuses(ann, "patch attack="+id, refusal.ErrGuarded)

	cut := w.attack(waf.AttackSpec{App: 4, Path: "/" + strings.Repeat("a", 100_000)})
	for _, line := range []string{"patch", "contain", "patch type=sqli part=get.q"} {
		w.refuses(ann, line+" attack="+cut, refusal.ErrGuarded, "its path is over 8 kB")
	}
	w.refuses(ann, "patch POST shop.example.com/"+strings.Repeat("a", 9_000)+" type=sqli part=get.q", refusal.ErrGuarded, "must be 8192 bytes at most")
	require.Empty(t, w.rules("vpatch"), "no patch is made of a part of a path")
}

func TestContain(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	res := w.reads(ann, "contain for=2h patch=1d attack="+id)
	require.Equal(t, "done", res.Outcome)
	require.Len(t, res.Changes, 2)
	require.NotEqual(t, res.Changes[0].ID, res.Changes[1].ID)
	require.Equal(t, []string{"203.0.113.7/32 [0] 2h0m0s"}, w.entries("black"))
	require.Equal(t, w.clock().Add(24*time.Hour), res.Changes[1].Until)
	require.Len(t, w.rules("vpatch"), 1)
	for _, ch := range res.Changes {
		require.Equal(t, id, ch.AttackID)
	}
	w.does(ann, "undo "+res.Changes[0].ID)
	require.Empty(t, w.entries("black"))
	require.Len(t, w.rules("vpatch"), 1, "each has its own undo")
}

func TestContainHalfFails(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.fault("POST /v1/objects/hint/create", "status:423", 0)
	inv := w.asks(ann, "contain attack="+id)
	res, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrService)
	for _, words := range []string{"Failed in part. ", "Deny 203.0.113.7 everywhere for 4 h: accepted", "Failed: Patch exactly", "locked its rules"} {
		require.ErrorContains(t, err, words)
	}
	require.Len(t, res.Changes, 1)
	require.Len(t, w.entries("black"), 1)
	outcomes := []string{}
	for _, e := range w.audit.all() {
		outcomes = append(outcomes, e.Outcome)
	}
	require.Equal(t, []string{"done", "failed"}, outcomes, "each once")
	before := w.changesSent()
	_, err = w.do(inv)
	require.ErrorContains(t, err, "locked its rules", "the same delivery gets the same answer")
	require.Equal(t, before, w.changesSent())
	w.service.ClearFaults()
	res = w.reads(bob, "contain attack="+id)
	require.Contains(t, textOf(res), "done already by Ann")
	require.Len(t, w.entries("black"), 1)
	require.Len(t, w.rules("vpatch"), 1)
}

func TestContainFailsWhole(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.fault("POST /v1/objects/hint/create", "status:403", 0)
	w.fault("POST /v4/ip_rules", "status:403", 0)
	_, err := w.try(ann, "contain attack="+id)
	require.ErrorIs(t, err, refusal.ErrService)
	require.NotContains(t, err.Error(), "Failed in part")
	require.Equal(t, 2, strings.Count(err.Error(), "Failed: "))
}

func is(value string, point ...string) apiclient.Condition {
	return apiclient.Condition{Type: "equal", Value: value, Point: point}
}

func absent(point ...string) apiclient.Condition {
	return apiclient.Condition{Type: "absent", Point: point}
}

// What is typed, said, sent, listed and written down for each form of a place.
func TestPlacesThatAreTyped(t *testing.T) {
	t.Parallel()
	host := apiclient.Condition{Type: "iequal", Value: "shop.example.com", Point: apiclient.Part{"header", "HOST"}}
	for typed, want := range map[string]struct {
		place, listed, line string
		conditions          []apiclient.Condition
	}{
		"/my/api/**": {"every path below /my/api/ on every host, every application", "for every host, path begins /my/api/", "/my/api/**/*.*",
			[]apiclient.Condition{is("my", "path", "0"), is("api", "path", "1")}},
		"/my/api/**/*.* app=Shop": {"every path below /my/api/ on every host, Shop only", "for every host, path begins /my/api/, Shop", "/my/api/**/*.* app=4",
			[]apiclient.Condition{is("my", "path", "0"), is("api", "path", "1"), is("4", "instance")}},
		"post /login": {"exactly POST /login on every host, every application", "for POST /login on every host", "POST /login",
			[]apiclient.Condition{is("POST", "method"), is("login", "action_name"), absent("action_ext"), absent("path", "0")}},
		"/**":       {"every path on every host, every application", "everywhere", "/**/*.*", nil},
		"/** app=4": {"every path on every host, Shop only", "for Shop", "/**/*.* app=4", []apiclient.Condition{is("4", "instance")}},
		"shop.example.com/x/*": {"every path without an extension one level below /x/ on shop.example.com, every application", "for every path without an extension one level below /x/ on shop.example.com", "shop.example.com/x/*",
			[]apiclient.Condition{host, is("x", "path", "0"), absent("path", "1"), absent("action_ext")}},
		"shop.example.com/x/*.*": {"every path one level below /x/ on shop.example.com, every application", "for every path one level below /x/ on shop.example.com", "shop.example.com/x/*.*",
			[]apiclient.Condition{host, is("x", "path", "0"), absent("path", "1")}},
		"GET shop.example.com/**/*.php": {"GET to every .php path below / on shop.example.com, every application", "for GET to every .php path below / on shop.example.com", "GET shop.example.com/**/*.php",
			[]apiclient.Condition{host, is("GET", "method"), is("php", "action_ext")}},
		"shop.example.com/**/login": {`every path named "login" below / on shop.example.com, every application`, `for every path named "login" below / on shop.example.com`, "shop.example.com/**/login",
			[]apiclient.Condition{host, is("login", "action_name"), absent("action_ext")}},
		"shop.example.com/a/b.* app=4": {`every path named "b", with any extension or none, one level below /a/ on shop.example.com, Shop only`, `for every path named "b", with any extension or none, one level below /a/ on shop.example.com, Shop`, "shop.example.com/a/b.* app=4",
			[]apiclient.Condition{host, is("4", "instance"), is("a", "path", "0"), absent("path", "1"), is("b", "action_name")}},
	} {
		t.Run(typed, func(t *testing.T) {
			w := newWorld(t, withoutApproval(config.ApproveRulesEverywhere))
			ch := w.does(ann, "patch "+typed+" type=sqli part=get.q for=2h")
			require.Equal(t, "Patch "+want.place+", field q, SQL injection only for 2 h", ch.Does)
			line, err := grammar.Parse("patch " + want.line + " for=2h part=get.q type=sqli")
			require.NoError(t, err)
			require.Equal(t, line.String(), ch.Line.String())
			require.NoError(t, w.again(ch.Line), "a button with it is the same")
			rule := w.theRule("vpatch")
			require.True(t, apiclient.SameConditions(want.conditions, rule.Conditions), "%v", rule.Conditions)
			require.Contains(t, textOf(w.reads(eve, "rules")), "vpatch sqli in get.q, "+want.listed+", made by wafbot")
			longer := w.does(bob, "extend "+ch.ID+" for=1h")
			require.Equal(t, ch.Until.Add(time.Hour), longer.Until)
			back, _ := throughSlack(t, ch)
			require.Equal(t, ch.Line.String(), back.Line.String())
			require.True(t, apiclient.SameRule(*ch.Steps[0].Rule, *back.Steps[0].Rule))
			w.does(bob, "undo "+ch.ID)
			require.Empty(t, w.rules("vpatch"))
		})
	}
}

func TestPlacesThatCanNotBeSaid(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveRulesEverywhere))
	for place, words := range map[string]string{
		"shop.example.com/a/*/b": "stands for a whole last segment", "shop.example.com/a/**/b/c": "stands for a whole last segment", "shop.example.com/a*": "stands for a whole last segment",
		"*/my/api/**": "or be left out for every host", "/my/api?x=1": "must not hold a query",
	} {
		w.refuses(ann, "patch "+place+" type=sqli part=get.q", refusal.ErrGuarded, "that can't be patched", words)
	}
	id := w.attack(waf.AttackSpec{App: 4, Path: "/x/*", Parameter: "GET_q_value"})
	w.refuses(ann, "patch attack="+id, refusal.ErrGuarded, "its path holds an asterisk")
}

func TestARuleForEveryHostNeedsApproval(t *testing.T) {
	w := newWorld(t)
	w.members.add(root2)
	q := w.waits(ann, "patch /my/api/** type=sqli part=get.q", "Patch every path below /my/api/ on every host, every application", "without a host it holds for every host")
	res, err := w.try(bob, "approve "+q.ID)
	require.NoError(t, err)
	require.Equal(t, "done", res.Outcome)
	w.theRule("vpatch")
	w.does(ann, "undo "+res.Changes[0].ID)

	closing := "patch /my/api/** type=any part=header.HOST app=Shop for=1h"
	w.refuses(ann, closing, refusal.ErrDenied, "needs the role admin")
	w.refuses(root, closing, refusal.ErrAsk, "Block every path below /my/api/ on every host, on Shop for 1 h: every request is blocked", "no request gets through to every path below /my/api/ on every host any more")
	q = w.waits(root, closing, "it holds for every host", "blocking a path blocks every user there")
	w.refuses(bob, "approve "+q.ID, refusal.ErrDenied, "needs the role admin")
	w.reads(root2, "approve "+q.ID)
	rule := w.theRule("vpatch")
	require.Equal(t, "any", rule.AttackType)
	require.True(t, apiclient.SameConditions([]apiclient.Condition{is("my", "path", "0"), is("api", "path", "1"), is("4", "instance")}, rule.Conditions))
	require.Contains(t, textOf(w.reads(eve, "rules")), "vpatch blocks every request that has header.HOST, for every host, path begins /my/api/, Shop, made by wafbot")
}

func TestAPartThatIsClosed(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBlockPath))
	ch := w.anyway(root, "patch POST shop.example.com/login type=any part=post.form_urlencoded.login for=1h")
	require.Equal(t, "Block POST shop.example.com/login on every application for 1 h: every request that has field login is blocked", ch.Does)
	require.Equal(t, "patch POST shop.example.com/login for=1h part=post.form_urlencoded.login type=any", ch.Line.String())
	w.does(root, "undo "+ch.ID)
	require.Empty(t, w.rules("vpatch"))
}

func TestAPatchOfManyPathsEndsByItself(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ch := w.does(ann, "patch /my/api/** type=sqli part=get.q for=1h")
		runDue(t, w, ch.Until.Sub(w.clock())+3*time.Second)
		require.Empty(t, w.rules("vpatch"))
	}, withoutApproval(config.ApproveRulesEverywhere))
}

// Rules of others are shown as they are, and put back as they were.
func TestConditionsOfOthersAreShownToTheLetter(t *testing.T) {
	for action, words := range map[string]string{
		`{"type":"equal","value":"my","point":["path",0]},{"type":"equal","value":"api","point":["path",1]}`:                                                                   "for every host, path begins /my/api/",
		`{"type":"equal","value":"x","point":["path",0]},{"type":"absent","value":null,"point":["path",1]}`:                                                                    "for every path one level below /x/ on every host",
		`{"type":"equal","value":"b","point":["path",1]}`:                                                                                                                      `where path.1 equal "b"`,
		`{"type":"iequal","value":"api","point":["path",0]}`:                                                                                                                   `where path.0 iequal "api"`,
		`{"type":"regex","value":"^v[0-9]$","point":["path",1]},{"type":"equal","value":"4","point":["instance"]}`:                                                             `where path.1 regex "^v[0-9]$", instance equal "4"`,
		`{"type":"equal","value":"/a?b=c","point":["uri"]}`:                                                                                                                    `where uri equal "/a?b=c"`,
		`{"type":"absent","value":null,"point":["action_ext"]},{"type":"regex","value":"[.]example[.]com$","point":["header","HOST"]}`:                                         `where action_ext absent, header.HOST regex "[.]example[.]com$"`,
		`{"type":"absent","value":null,"point":["header","X-ID"]},{"type":"equal","value":"GET","point":["method"]}`:                                                           `where header.X-ID absent, method equal "GET"`,
		`{"type":"iequal","value":"php","point":["action_ext"]},{"type":"equal","value":"a\u202eb","point":["action_name"]},{"type":"absent","value":null,"point":["path",3]}`: `where action_ext iequal "php", action_name equal "a\u202eb", path.3 absent`,
	} {
		w := newWorld(t)
		id := w.ruleByHand(`"type":"vpatch","attack_type":"sqli","point":[["get","q"]],"action":[` + action + `]`)
		require.Contains(t, textOf(w.reads(eve, "rules")), id+" vpatch sqli in get.q, "+words+"\n")
		require.Contains(t, textOf(w.reads(eve, "conditions")), words+": 1 rule")
		was := w.theRule("vpatch")
		ch := w.anyway(root, "delete-rule "+id)
		require.Equal(t, []string{"delete rule " + id + ", vpatch sqli in get.q, " + words}, w.lastAudit().After)
		w.does(root, "undo "+ch.ID)
		require.True(t, apiclient.SameRule(was, w.theRule("vpatch")), words)
		require.Equal(t, was.ConditionID, w.theRule("vpatch").ConditionID)
	}
}

// Two changes of one set of conditions wait for each other, however its path is typed.
func TestPlacesAreClaimedByTheirConditions(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveRulesEverywhere))
	level := w.does(ann, "patch /x/*.* type=sqli part=get.q")
	short, long := w.does(ann, "patch /x/** type=sqli part=get.q"), w.does(ann, "patch /x/**/*.* type=xss part=get.q")
	require.True(t, record.Overlap(short.Targets(), long.Targets()))
	require.False(t, record.Overlap(short.Targets(), level.Targets()))
}

// Whose rule covers an attack's place, and whose doesn't, follows from its conditions.
func TestRulesThatCoverAPlace(t *testing.T) {
	t.Parallel()
	const below, level = `{"type":"equal","value":"api","point":["path",0]}`, `{"type":"absent","value":null,"point":["path",1]}`
	for _, tt := range []struct {
		name, path, action string
		covered            bool
	}{
		{"below, one level deep", "/api/login", below, true},
		{"below, two levels deep", "/api/v1/login", below, true},
		{"not below", "/login", below, false},
		{"one level", "/api/login", below + "," + level, true},
		{"one level, and it is deeper", "/api/v1/login", below + "," + level, false},
		{"any case", "/api/login", `{"type":"iequal","value":"API","point":["path",0]}`, true},
		{"another method", "/api/login", below + `,{"type":"equal","value":"GET","point":["method"]}`, false},
		{"its application", "/api/login", `{"type":"equal","value":"4","point":["instance"]}`, true},
		{"another application", "/api/login", `{"type":"equal","value":"7","point":["instance"]}`, false},
		{"its host in any case", "/api/login", `{"type":"equal","value":"SHOP.example.com","point":["header","HOST"]}`, true},
		{"another host", "/api/login", `{"type":"iequal","value":"x.example.com","point":["header","HOST"]}`, false},
		{"everywhere", "/api/login", "", true},
		{"an extension it lacks", "/api/login", `{"type":"equal","value":"php","point":["action_ext"]}`, false},
		{"a pattern, which no record tells", "/api/login", `{"type":"regex","value":"login","point":["action_name"]}`, false},
		{"a header, which no record tells", "/api/login", `{"type":"equal","value":"x","point":["header","X-ID"]}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			id := w.attackOn(tt.path)
			w.ruleByHand(`"type":"vpatch","attack_type":"any","point":[["header","HOST"]],"action":[` + tt.action + `]`)
			w.service.CatchUp()
			require.Len(t, efficacy.Mitigations(w.situation(id)), map[bool]int{true: 1, false: 0}[tt.covered])
		})
	}
}

// The account's own mode covers an attack only where the application has none of its own.
func TestTheAccountsModeAgainstAnAttack(t *testing.T) {
	w := newWorld(t)
	rest, shop := w.attack(waf.AttackSpec{App: -1, Path: "/login"}), w.attack(waf.AttackSpec{App: 4, Path: "/login"})
	w.pass(time.Minute)
	w.ruleByHand(`"type":"service_mode","mode":"block","action":[]`)
	w.service.CatchUp()
	all := efficacy.Mitigations(w.situation(rest))
	require.Len(t, all, 1)
	require.Equal(t, "block mode, all applications without a mode of their own", all[0].Does)
	require.Empty(t, efficacy.Mitigations(w.situation(shop)))
}
