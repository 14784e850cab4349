package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// twoWorkspaces are hq, where Rob is a responder of acme, and emea, where Vic is one of globex. Users, groups and channels have the same ids in both. Ann of hq is an admin
// of all accounts, which are all of hq's, as no one in another workspace is her.
type twoWorkspaces struct {
	*reloading
	hq, emea *world
}

func openTwo(t *testing.T, redis redisServer, way workspace.Ingress, names ...string) *twoWorkspaces {
	t.Helper()
	w := newWorld(t, redis, way, "hq", "emea")
	two := &twoWorkspaces{w.runsFrom(nil), w, w.in("emea")}
	two.emea.Slack.SetRateLimits(false)
	two.has(names...)
	return two
}

// has writes a file with these workspaces and their accounts.
func (two *twoWorkspaces) has(names ...string) {
	two.t.Helper()
	text := fmt.Sprintf("redis: {url: %q}\nlisten: 127.0.0.1:0\nsources: []\npolicy: {changes: on, viewers: [], admins: [T0SANDBOX/U0ANN0001]}\n", two.cfg.Redis.URL.Reveal())
	spaces, accounts := "workspaces:\n", "account_defaults: {poll_interval: 250ms, routes: [{}]}\naccounts:\n"
	keep := func(secret string, has apiclient.Secret) string { // a way in that the first workspace hasn't the others haven't
		if has == "" {
			return ""
		}
		return secret
	}
	for _, each := range two.Workspaces() {
		if !slices.Contains(names, each.Name) {
			continue
		}
		spaces += fmt.Sprintf("  - {name: %s, bot_token: %q, app_token: %q, signing_secret: %q, api_url: %q, messages_per_second: 0}\n",
			each.Name, each.BotToken, keep(each.AppToken, two.cfg.Slack.AppToken), keep(each.SigningSecret, two.cfg.Slack.SigningSecret), each.APIURL)
		name, policy := "acme", "{responders: [U0ROB0002]}"
		if each.Name == "emea" {
			name, policy = "globex", `{viewers: ["*"], responders: [U0VIC0003]}`
		}
		a := two.accounts[name]
		accounts += fmt.Sprintf("  - {name: %s, workspace: %s, api_url: %q, token: %q, client_id: %d, channel: %s, policy: %s}\n", name, each.Name, a.APIURL, a.Token.Reveal(), a.ClientID, a.Channel, policy)
	}
	require.NoError(two.t, os.WriteFile(two.file, []byte(text+spaces+accounts), 0o600))
}

func (two *twoWorkspaces) start() {
	two.t.Helper()
	two.reloading.start()
	two.t.Cleanup(func() {
		two.stop()
		two.emea.rough = two.rough
		two.hq.requireClean()
		two.emea.requireClean()
	})
}

// What comes from a workspace, on any way in, reaches its own accounts alone, and no role of one is one in the other, also for the same user id.
func TestTwoWorkspaces(t *testing.T) {
	for i, way := range []workspace.Ingress{workspace.IngressHTTP, workspace.IngressSocket} {
		redis := []func(testing.TB) redisServer{miniRedis, aRedis}[i]
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			two := openTwo(t, redis(t), way, "hq", "emea")
			two.start()
			hq, emea := two.hq, two.emea
			hq.message("#waf", "wafbot watches acme")
			emea.message("#waf-globex", "wafbot watches globex")
			two.attack(injection())
			two.attack(stuffing())
			acme, globex := hq.card("/login"), emea.cardIn("#waf-globex", "/signin")
			require.Empty(t, slices.Concat(hq.Slack.Messages("#waf-globex"), emea.Slack.Messages("#waf")), "each channel is of one workspace")
			two.requireApart(acme, globex)
			two.requireNoSharedRole(acme, globex)
			two.requireNoSharedApproval()
			if way == workspace.IngressHTTP {
				two.requireSignedApart(globex)
			}
			status, ready := two.get("/readyz")
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, ready, `"workspaces":{"emea":{"slack":"ok"`)
			require.InDelta(t, 1, two.metric(`wafbot_slack_up{workspace="emea"}`), 0)
			require.Positive(t, two.metric(`wafbot_slack_posts_total{workspace="hq"}`))
		})
	}
}

// requireApart requires that an account of the other workspace isn't there, whatever way its name or one of its ids is used.
func (two *twoWorkspaces) requireApart(acme, globex shownCard) {
	hq, id := two.hq, globex.id()
	const hidden = "Unknown account: globex. One of: acme"
	lines := []string{"status", "lists", "audit", "deny 203.0.113.9", "undo", "ack attack=" + id, "report attack=" + id}
	for _, line := range lines {
		hq.types("rob", line+" account=globex")
	}
	hq.until("refusals", func() bool { return len(hq.ephemerals("rob", hidden)) == len(lines) })
	for _, line := range []string{"attack " + id, "deny attack=" + id} {
		hq.types("rob", line)
		hq.until("refusal of "+line, func() bool { return len(hq.ephemerals("rob", "Unknown attack: "+id)) > 0 })
	}
	hq.types("rob", "deny account=globex") // which opens a form
	hq.sees("rob", hidden)
	hq.leaves("rob")
	hq.writes("rob", "#waf", "", "@wafbot lists account=globex")
	hq.until("an answer to the mention", func() bool { return len(hq.ephemerals("rob", hidden)) == len(lines)+1 })
	two.emea.writes("vic", "#waf-globex", globex.ts, "@wafbot ack")
	globex.says("<@U0VIC0003> is on it")

	hq.opensHome("rob")
	require.NotContains(two.t, hq.home("rob", acme.id(), "1 of 1 account watched"), "globex")
	two.emea.opensHome("rob")
	require.NotContains(two.t, two.emea.home("rob", id, "1 of 1 account watched"), "acme")
	for there, of := range map[*world]string{hq: "acme", two.emea: "globex"} {
		there.types("rob", "status")
		there.ephemeral("rob", "Status of "+of)
	}
}

// requireNoSharedRole requires that an id has its roles in its own workspace alone.
func (two *twoWorkspaces) requireNoSharedRole(acme, globex shownCard) {
	hq, emea := two.hq, two.emea
	globex.click("rob", "Deny "+attacker)
	emea.ephemeral("rob", "needs the role responder; yours is viewer")
	emea.typesIn("#waf-globex", "ann", "allow 198.51.100.7")
	emea.ephemeral("ann", "needs the role admin; yours is viewer")
	hq.types("vic", "status")
	hq.ephemeral("vic", "You have no role")
	require.Empty(two.t, two.sent())
	acme.click("rob", "Deny "+attacker)
	acme.says("Deny "+attacker+" · ", "Rob Diaz")
	require.Equal(two.t, []string{"acme"}, two.deniedOn())
	globex.click("vic", "Deny "+attacker)
	globex.says("Deny "+attacker+" · ", "Vic Lee")
	require.Equal(two.t, []string{"acme", "globex"}, two.deniedOn())
	two.until("it is audited", func() bool {
		return two.journal.has(`"account":"globex"`, `"id":"U0VIC0003"`, `"team":"T0EMEA"`, `"outcome":"done"`) && two.journal.has(`"account":"acme"`, `"id":"U0ROB0002"`, `"team":"T0SANDBOX"`, `"outcome":"done"`)
	})
}

// deniedOn are the accounts on which the attacker is denied.
func (two *twoWorkspaces) deniedOn() (accounts []string) {
	for _, name := range []string{"acme", "globex"} {
		if len(two.entries(name)) > 0 {
			accounts = append(accounts, name)
		}
	}
	return accounts
}

// requireNoSharedApproval requires that what is asked for in a workspace is decided there.
func (two *twoWorkspaces) requireNoSharedApproval() {
	hq, emea := two.hq, two.emea
	emea.typesIn("#waf-globex", "vic", "deny country:FR")
	request := emea.follow(emea.message("#waf-globex", "APPROVAL NEEDED", "Deny country:FR"))
	asked := requestIn(plain(request.now()))
	hq.types("ann", "approve "+asked)
	hq.ephemeral("ann", "Unknown request: "+asked+", on acme. ")
	hq.types("ann", "approve "+asked+" account=globex")
	hq.ephemeral("ann", "Unknown account: globex. One of: acme")
	request.click("ann", "Approve") // she is emea's Ann
	emea.ephemeral("ann", "needs the role responder; yours is viewer")
	request.click("rob", "Approve")
	emea.ephemeral("rob", "needs the role responder; yours is viewer")
	require.Len(two.t, two.entries("globex"), 1)
}

// requireSignedApart requires that a workspace's secret signs what is sent to its own address alone, and that there is none without a name.
func (two *twoWorkspaces) requireSignedApart(globex shownCard) {
	all := two.Workspaces()
	body := "command=%2Fwaf&text=status&user_id=U0ROB0002&channel_id=C0WAF0001&team_id=" + all[0].TeamID
	for path, want := range map[string]int{"/slack/hq/commands": http.StatusOK, "/slack/emea/commands": http.StatusUnauthorized, "/slack/commands": http.StatusNotFound, "/slack/nowhere/commands": http.StatusNotFound} {
		status, _ := two.do(signedRequest(two.t, two.address+path, form, body, all[0].SigningSecret, time.Now()))
		require.Equal(two.t, want, status, path)
	}
	// What the right secret signs, but another workspace's user is said to have sent, is a stranger's.
	status, _ := two.do(signedRequest(two.t, two.address+"/slack/hq/commands", form, strings.Replace(body, all[0].TeamID, all[1].TeamID, 1), all[0].SigningSecret, time.Now()))
	require.Equal(two.t, http.StatusOK, status)
	two.hq.ephemeral("rob", "answers only members of its own workspace")

	// A button of the other workspace does nothing here, whoever brings it.
	const hidden = "Unknown account: globex. One of: acme"
	before, sent := len(two.hq.ephemerals("rob", hidden)), len(two.entries("globex"))
	click := fmt.Sprintf(`{"type":"block_actions","user":{"id":"U0ROB0002","team_id":%q},"team":{"id":%q},"channel":{"id":"C0WAF0001"},"container":{"message_ts":"1795000000.000100","channel_id":"C0WAF0001"},"actions":[{"action_id":"do:1","value":%q,"action_ts":"1795000000.000200"}]}`,
		all[0].TeamID, all[0].TeamID, "deny 198.51.100.7 account=globex attack="+globex.id()+" for=4h")
	status, _ = two.do(signedRequest(two.t, two.address+"/slack/hq/interactions", form, url.Values{"payload": {click}}.Encode(), all[0].SigningSecret, time.Now()))
	require.Equal(two.t, http.StatusOK, status)
	two.hq.until("its refusal", func() bool { return len(two.hq.ephemerals("rob", hidden)) > before })
	require.Len(two.t, two.entries("globex"), sent)
}

// A workspace whose token is revoked from the start takes nothing else down, and is named. When Slack takes the token again, it gets what it missed.
func TestARevokedWorkspace(t *testing.T) {
	t.Parallel()
	two := openTwo(t, miniRedis(t), workspace.IngressEither, "hq", "emea")
	two.rough = true
	two.emea.Slack.SetFault(workspace.Fault{Kind: "token_revoked"})
	two.start()
	hq, emea := two.hq, two.emea
	hq.message("#waf", "wafbot watches acme")
	two.attack(injection())
	two.attack(stuffing())
	acme := hq.card("/login")
	acme.click("rob", "Deny "+attacker)
	acme.says("Deny "+attacker+" · ", "Rob Diaz")
	require.Equal(t, []string{"acme"}, two.deniedOn())
	status, ready := two.get("/readyz")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, ready, `"slack":"can't be used: emea"`)
	require.InDelta(t, 0, two.metric(`wafbot_slack_up{workspace="emea"}`), 0)
	require.InDelta(t, 1, two.metric(`wafbot_slack_up{workspace="hq"}`), 0)
	found := typed(t, nil, "doctor", "--config", two.file)
	require.Equal(t, exitFailed, found.code)
	require.Contains(t, found.out, "WRONG slack workspaces[1].bot_token (emea): ")
	require.Contains(t, found.out, "ok    slack workspaces[0].bot_token (hq): is of wafbot (U0WAFBOT) in the workspace Acme (T0SANDBOX)")

	emea.Slack.ClearFaults()
	card := emea.cardIn("#waf-globex", "/signin")
	two.stop()
	two.start() // a revoked app token is read again at a start alone
	card.click("vic", "Deny "+attacker)
	card.says("Deny "+attacker+" · ", "Vic Lee")
}

// At the terminal are the accounts of all workspaces, and a line that names its account goes to its workspace's people.
func TestTheTerminalOfTwoWorkspaces(t *testing.T) {
	t.Parallel()
	two := openTwo(t, miniRedis(t), workspace.IngressEither, "hq", "emea")
	two.start()
	two.emea.message("#waf-globex", "wafbot watches globex")
	two.attack(stuffing())
	id := two.emea.cardIn("#waf-globex", "/signin").id()
	said := typed(t, nil, "status", "--config", two.file)
	require.Equal(t, exitDone, said.code, said.err)
	require.Contains(t, said.out, "2 of 2 accounts")
	said = typed(t, nil, "deny", attacker, "account=globex", "--config", two.file, "-y")
	require.Contains(t, said.err, "viewer") // nobody has a role at this terminal
	said = typed(t, nil, "explain", "attack="+id, "account=globex", "--config", two.file)
	require.Equal(t, exitDone, said.code, said.err)

	// Whom the file maps to a user of that workspace any responder of it may answer; anybody else at the terminal could be a responder.
	config, err := os.ReadFile(two.file)
	require.NoError(t, err)
	for _, c := range []struct{ slack, country, decides string }{{"T0EMEA/U0ANN0001", "country:FR", "responder"}, {"T0SANDBOX/U0ANN0001", "country:DE", "admin"}} {
		text := strings.Replace(string(config), "policy: {changes: on,", "policy: {changes: on, terminal: {"+osActor().Name+": {role: responder, slack: "+c.slack+"}},", 1)
		asked := typed(t, nil, "deny", c.country, "account=globex", "--config", writeConfig(t, text), "-y")
		require.Contains(t, asked.out, "Any "+c.decides+" but "+osActor().Name+" may approve it")
	}
	said = typed(t, nil, "config", "show", two.file)
	require.Contains(t, said.out, "name: emea")
	for _, each := range two.Workspaces() {
		require.NotContains(t, said.out, each.BotToken)
		require.NotContains(t, said.out, each.SigningSecret)
	}
}
