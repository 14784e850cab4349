package commands_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestPatch(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	res, err := w.try(ann, "contain for=2h patch=1d attack="+id)
	require.NoError(t, err)
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
	t.Parallel()
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
	res, err = w.try(bob, "contain attack="+id)
	require.NoError(t, err)
	require.Contains(t, textOf(res), "done already by Ann")
	require.Len(t, w.entries("black"), 1)
	require.Len(t, w.rules("vpatch"), 1)
}

func TestContainFailsWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.fault("POST /v1/objects/hint/create", "status:403", 0)
	w.fault("POST /v4/ip_rules", "status:403", 0)
	_, err := w.try(ann, "contain attack="+id)
	require.ErrorIs(t, err, refusal.ErrService)
	require.NotContains(t, err.Error(), "Failed in part")
	require.Equal(t, 2, strings.Count(err.Error(), "Failed: "))
}
