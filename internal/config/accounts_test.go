package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
)

// folder writes files and returns the first one's path.
func folder(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(files[i+1]), 0o600))
	}
	return filepath.Join(dir, files[0])
}

func TestAccountsBeginWithTheirDefaults(t *testing.T) {
	t.Parallel()
	c := load(t, `
x-quiet: &nights {hours: "22:00-07:00"}
x-route: &incidents {match: {kind: incident}, mention: S0ONCALL}
accounts:
  - {name: plain, token: t, channel: C0PLAIN}
  - name: own
    token: t
    api_url: https://other.example.com
    channel: C0OWN
    poll_interval: 30s
    storm: {over: 7}
    quiet: {hours: ""}
    applications: {7: Mine, 9: Another}
    routes: []
    policy: {responders: [], terminal: {bob: admin}, durations: {mode: 3h}}
    sources: [{name: mine, ranges: [192.0.2.9]}]
account_defaults:
  api_url: https://api.example.com
  token_file: /nowhere
  poll_interval: 20s
  storm: {over: 5, in: 2m}
  quiet: *nights
  applications: {4: Shop, 7: {name: Legacy, can_block: false}}
  routes: [*incidents]
  policy: {changes: off, responders: [S0ALL], terminal: {ann: viewer}, durations: {deny: 2h}}
  sources: [{name: office, ranges: [192.0.2.1]}]
`)
	plain, own := c.Accounts[0], c.Accounts[1]
	require.Equal(t, []any{"https://api.example.com", "", 20 * time.Second, 5, 2 * time.Minute, "22:00-07:00"},
		[]any{plain.APIURL, plain.TokenFile, plain.PollInterval, plain.Storm.Over, plain.Storm.In, plain.Quiet.Hours}, "its token replaces the file")
	require.Equal(t, "S0ONCALL", plain.Ops())
	require.Equal(t, []any{"https://other.example.com", 30 * time.Second, 7, 2 * time.Minute, ""}, []any{own.APIURL, own.PollInterval, own.Storm.Over, own.Storm.In, own.Quiet.Hours})
	require.Equal(t, map[int]config.Application{4: {Name: "Shop"}, 7: {Name: "Mine"}, 9: {Name: "Another"}}, own.Applications, "maps merge by key")
	require.Len(t, plain.Applications, 2, "those of another account don't show here")
	require.Equal(t, []config.Route{}, own.Routes, "lists replace")
	require.Equal(t, "mine", own.Sources[0].Name)
	p := c.PolicyOf(1)
	require.Empty(t, p.Responders)
	require.Equal(t, []any{2 * time.Hour, 3 * time.Hour, "off", "viewer", "admin"}, []any{p.Durations.Deny, p.Durations.Mode, p.Changes, p.Terminal["ann"].Role, p.Terminal["bob"].Role})
	require.Equal(t, []string{"S0ALL"}, c.PolicyOf(0).Responders)
}

func TestAnAccountOfTheEnvironmentBeginsWithTheDefaults(t *testing.T) {
	t.Parallel()
	c := load(t, "account_defaults: {token_file: /nowhere, poll_interval: 20s}\n", "WAFBOT_API_URL=https://api.example.com", "WAFBOT_API_TOKEN=t")
	require.Equal(t, 20*time.Second, c.Accounts[0].PollInterval)
	require.Empty(t, c.Accounts[0].TokenFile)
}

func TestMergesOfYAML(t *testing.T) {
	t.Parallel()
	c := load(t, `
x-a: &a {api_url: "https://a.example.com", token: a, storm: {over: 3}}
x-b: &b {<<: *a, token: b, channel: C0B}
accounts:
  - {name: one, <<: *b}
  - {<<: *b, name: two, channel: C0TWO, storm: {in: 5m}}
  - {name: three, <<: [{token: inline}, *b]}
`)
	var got []string
	for _, a := range c.Accounts {
		got = append(got, fmt.Sprint(a.Name, a.APIURL, a.Token.Reveal(), a.Channel, a.Storm.Over, a.Storm.In))
	}
	require.Equal(t, []string{
		fmt.Sprint("one", "https://a.example.com", "b", "C0B", 3, time.Minute),
		fmt.Sprint("two", "https://a.example.com", "b", "C0TWO", 10, 5*time.Minute), // << merges the keys at its own place, not those below them
		fmt.Sprint("three", "https://a.example.com", "inline", "C0B", 3, time.Minute),
	}, got)
}

func TestBadAccountsAndDefaults(t *testing.T) {
	t.Parallel()
	path := folder(t, "wafbot.yaml", `account_defaults: {api_url: nowhere, name: all, storm: {ovr: 1, in: 0s}}
accounts:
  - {name: one, token: t, chanel: C0A}
  - {name: two, name: two}
  - {name: one, token: t, storm: {over: 0}}
  - just words
`)
	_, err := config.Load(path, []string{"WAFBOT_CHANNEL=C0A"})
	require.EqualError(t, err, strings.ReplaceAll(strings.TrimSpace(`
FILE:1:29: account_defaults.api_url: "nowhere" is no web address; write it like https://HOST/
FILE:1:38: account_defaults.name: is each account's own; write it there
FILE:1:57: account_defaults.storm.ovr: unknown key; did you mean "over"?
FILE:1:69: account_defaults.storm.in: "0s" is too short; write a duration longer than 0
FILE:3:27: accounts[0].chanel: unknown key; did you mean "channel"?
FILE:4:5: accounts[1].token: missing; set it
FILE:4:17: accounts[1].name: given twice, first on line 4; remove one
FILE:5:12: accounts[2].name: "one" is given twice; rename one
FILE:5:41: accounts[2].storm.over: "0" is too small; write 1 at least
FILE:6:5: accounts[3]: is a single value; write keys with values below it
FILE:6:5: accounts[3].name: missing; give it a name
FILE:6:5: accounts[3].token: missing; set it
environment: WAFBOT_CHANNEL: the accounts are in the file; set accounts[].channel there and unset this
`), "FILE", path))
}

func TestBadMerges(t *testing.T) {
	t.Parallel()
	requireProblems(t, []badConfig{
		{
			name: "what can't be merged",
			yaml: `
x-word: &word hello
x-self: &self {over: 3, <<: *self}
x-other: &other {ovr: 3, over: 0, over: 1}
accounts:
  - {name: a, api_url: "https://api.example.com", token: t, storm: {<<: *word}}
  - {name: b, api_url: "https://api.example.com", token: t, storm: *self}
  - {name: c, api_url: "https://api.example.com", token: t, storm: {<<: [*other]}}
  - {name: d, api_url: "https://api.example.com", token: t, storm: {<<: {over: 1}, <<: {in: 1m}}}
`,
			want: `
FILE:3:29: accounts[1].storm.<<: merges keys into themselves; refer to another anchor
FILE:4:18: accounts[2].storm.ovr: unknown key; did you mean "over"?
FILE:4:35: accounts[2].storm.over: given twice, first on line 4; remove one
FILE:6:73: accounts[0].storm.<<: merges no keys; write *NAME of an anchor &NAME that has keys below it
FILE:9:84: accounts[3].storm.<<: given twice, first on line 9; remove one
`,
		},
	})
}

// nodes are how many keys and values a configuration may have: fewer than what is shipped, but for make full.
var nodes = full.Of(20_000, 250_000)

func TestMain(m *testing.M) {
	if shipped := config.BoundNodes(nodes); shipped != 250_000 {
		panic("the bound is " + fmt.Sprint(shipped))
	}
	os.Exit(m.Run())
}

// A short file that refers to its own anchors again and again is refused in bounded time and memory.
func TestABombOfReferencesIsRefused(t *testing.T) {
	t.Parallel()
	nested := func(line func(name, before string) string) string {
		var b strings.Builder
		for i := range 12 {
			b.WriteString(line(fmt.Sprint("a", i+1), fmt.Sprint("*a", i)))
		}
		return b.String()
	}
	for name, bomb := range map[string]string{
		"merges": "x-a0: &a0 {over: 3}\n" + nested(func(name, before string) string {
			return fmt.Sprintf("x-%s: &%s {<<: [%s%s]}\n", name, name, before, strings.Repeat(", "+before, 19))
		}) + "accounts: [{name: a, api_url: 'https://h/', token: t, storm: *a12}]\n",
		"accounts": "x-r: &r [" + strings.Repeat("{}, ", 3000) + "{}]\nx-a: &a {name: a, routes: *r}\naccounts: [*a" + strings.Repeat(", *a", 3000) + "]\n",
		"defaults": "account_defaults: {routes: [" + strings.Repeat("{}, ", 3000) + "{}]}\naccounts: [{name: a}" + strings.Repeat(", {name: a}", 3000) + "]\n",
	} {
		_, err := config.Load(write(t, bomb), nil)
		require.ErrorContains(t, err, fmt.Sprintf(": YAML: with this there are over %d keys and values", nodes), name)
	}
}

// Each place has one test card, each pager is called by one, and the account's own channel has one in any case.
func TestCardsOfADrill(t *testing.T) {
	t.Parallel()
	of := func(routes ...config.Route) (words []string) {
		a := config.Account{Channel: "C1", OpsMention: "S0OPS", Routes: routes}
		for _, c := range a.TestCards() {
			words = append(words, strings.TrimSpace(c.Channel+" "+c.Mention+" "+c.Pager))
		}
		return words
	}
	page, other := &config.Page{URL: "https://pager.example.com"}, &config.Page{URL: "https://other.example.com"}
	incident := config.Match{Kind: config.OneOrMore{"incident"}}
	require.Equal(t, []string{"C1 S0OPS"}, of())
	require.Equal(t, []string{"C2", "C1 S0OPS"}, of(config.Route{Channel: "C2"}))
	require.Equal(t, []string{"C1", "C1 S1"}, of(config.Route{}, config.Route{Channel: "C1"}, config.Route{Mention: "S1"}, config.Route{Mention: "S1"}))
	require.Equal(t, []string{"C1 S1 kind incident", "C2  everything", "C2 S1"}, of(
		config.Route{Mention: "S1"}, config.Route{Match: incident, Mention: "S1", Page: page}, config.Route{Channel: "C2", Mention: "S1", Page: page},
		config.Route{Channel: "C2", Page: other},
	))
}

// Local users are responders, unless policy.terminal says otherwise: a bare role is everyone's, a list of users is
// closed.
func TestRolesOfTheTerminal(t *testing.T) {
	t.Parallel()
	const accounts = "\naccounts: [{name: acme, api_url: 'https://api.example.com', token: t, channel: C0123ABCD%s}]\n"
	for _, tt := range []struct {
		name, policy, own, variable string
		ann, other                  string
	}{
		{"left out", "", "", "", "responder", "responder"},
		{"for everyone", "policy: {terminal: viewer}", "", "", "viewer", "viewer"},
		{"by user", "policy: {terminal: {ann: admin}}", "", "", "admin", ""},
		{"by user, and the others", "policy: {terminal: {ann: admin, '*': viewer}}", "", "", "admin", "viewer"},
		{"nobody", "policy: {terminal: {}}", "", "", "", ""},
		{"by the account", "", ", policy: {terminal: {ann: admin}}", "", "admin", ""},
		{"the account's user and everyone", "policy: {terminal: viewer}", ", policy: {terminal: {ann: admin}}", "", "admin", "viewer"},
		{"the account's everyone", "policy: {terminal: {ann: admin}}", ", policy: {terminal: viewer}", "", "viewer", "viewer"},
		{"by a variable", "", "", "admin", "admin", "admin"},
		{"a variable wins", "policy: {terminal: {ann: admin}}", "", "viewer", "viewer", "viewer"},
		{"an empty variable", "policy: {terminal: viewer}", "", "", "viewer", "viewer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load(write(t, tt.policy+fmt.Sprintf(accounts, tt.own)), []string{"WAFBOT_TERMINAL=" + tt.variable})
			require.NoError(t, err)
			all := c.PolicyOf(0).Terminal
			role := func(user string) string {
				if u, named := all[user]; named {
					return u.Role
				}
				return all[config.EveryoneElse].Role
			}
			require.Equal(t, []string{tt.ann, tt.other}, []string{role("ann"), role("zoe")})
		})
	}
	for policy, says := range map[string]string{
		"policy: {terminal: god}":        `:1:20: policy.terminal: "god" is unknown here; write one of viewer, responder, admin`,
		"policy: {terminal: {'*': god}}": `policy.terminal.*: "god" is unknown here`,
		"policy: {terminal: ''}":         "policy.terminal.*.role: missing; write one of viewer, responder, admin",
	} {
		_, err := config.Load(write(t, policy+fmt.Sprintf(accounts, "")), nil)
		require.ErrorContains(t, err, says)
	}
	_, err := config.Load("", []string{"WAFBOT_TERMINAL=root"})
	require.ErrorContains(t, err, `WAFBOT_TERMINAL: "root" is unknown here; write one of viewer, responder, admin`)
}
