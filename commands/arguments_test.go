package commands_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for line, words := range map[string]string{
		"deny":                                          "Missing: a source",
		"deny 203.0.113":                                "Invalid IP address or range",
		"deny 203.0.113.7/33":                           "Invalid IP address or range",
		"deny fe80::1%eth0":                             "Invalid IP address or range",
		"deny fe80::/64%eth0":                           "Invalid IP address or range",
		"deny 203.0.113.7/24":                           "Perhaps 203.0.113.0/24 or 203.0.113.7",
		"deny country:FRA":                              "Invalid country",
		"deny country:":                                 "Invalid country",
		"deny proxy:SOCKS":                              "Invalid proxy",
		"deny datacenter:mine":                          "Invalid datacenter",
		"deny planet:mars":                              "Invalid IP address or range",
		`deny ""`:                                       "Empty: target",
		"deny 203.0.113.7 for=4":                        "Invalid duration",
		"deny 203.0.113.7 for=-1h":                      "Invalid duration",
		"deny 203.0.113.7 for=0s":                       "Invalid duration",
		"deny 203.0.113.7 for=1ms":                      "Invalid duration",
		"deny 203.0.113.7 for=99999999999999y":          "Invalid duration",
		"deny 203.0.113.7 for=":                         "Empty: for",
		"deny 203.0.113.7 app=Shoop":                    "Shop (4)",
		"deny 203.0.113.7 app=0":                        "Invalid application",
		"deny 203.0.113.7 app=4,":                       "Invalid application",
		"deny 203.0.113.7 fro=4h":                       "did you mean for?",
		"deny 203.0.113.7 target=192.0.2.1":             "Unknown argument: target=",
		"deny 203.0.113.7 --all":                        "Unknown option: --all",
		"deny 203.0.113.7 account=globex":               "Unknown account: globex",
		"deny attack=a234 for=1h":                       "Unknown attack: a234",
		"deny attack=a2":                                "needs at least 4 characters",
		"allow 203.0.113":                               "Invalid IP address or range",
		"gray x":                                        "Invalid IP address or range",
		"contain":                                       "Missing: attack=",
		"contain 203.0.113.7":                           "Missing: attack=",
		"patch":                                         "Missing: an attack, or HOST/PATH",
		"patch shop.example.com":                        "Invalid HOST/PATH",
		"deny 203.0.113.7,203.0.113.8":                  "Spaces stand between several",
		"patch /login":                                  "Missing: type= and part=",
		"patch shop.example.com/login":                  "Missing: type= and part=",
		"patch shop.example.com/login type=sqli":        "Missing: type= and part=",
		"patch a/b c/d e/f type=sqli part=get.q":        "Write one path",
		"patch shop.example.com/ type=brute part=get.q": "Invalid type of attack for a patch: brute",
		"patch shop.example.com/ type=sqli part=body.x": "Invalid part of a request: body.x",
		"mode":                           "Missing: app, ",
		"mode Shoop":                     "Invalid application",
		"mode 4 strict":                  "Invalid mode: strict",
		"mode 4 block 2h 3h":             "Two values of for=: 2h, 3h. Write one",
		"mode 4 block for=soon":          "Invalid duration",
		"remove":                         "Missing: entry",
		"remove nonsense":                "Invalid IP address or range",
		"remove 203.0.113.7 list=purple": "Invalid list: purple",
		"undo c123 c456":                 "Unknown change: c123",
		"undo c1234 by=me":               "not both",
		"undo by=me":                     "Missing: since=",
		"undo since=30m":                 "Missing: by=, whose changes, or attack=",
		"undo by=me since=soon":          "Invalid duration",
		"undo c1234":                     "Unknown change: c1234",
		"undo c12":                       "Unknown change: c12",
		"attack":                         "Missing: id",
		"attacks since=forever":          "Invalid duration: forever. Example: since=24h",
		"incidents since=yesterday":      "Invalid duration",
		"audit since=x":                  "Invalid duration",
		"lists purple text":              "Invalid list: purple",
		"status now":                     "One word too many",
		"whoami x":                       "One word too many",
	} {
		w.refuses(root, line, refusal.ErrUsage, words)
	}
	_, err := w.try(root, "help nonsense")
	require.ErrorIs(t, err, refusal.ErrUnknown)
}

func TestUsageIsSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refuses(ann, "deny 203.0.113.7 fro=4h", refusal.ErrUsage, "Unknown argument: fro= (did you mean for?). Example: deny 203.0.113.7")
}

func TestAHostileWordIsSaidBackHarmless(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hostile := "x\u202e\u0007" + strings.Repeat("y", 10_000)
	for _, line := range []string{"deny %", "patch %", "mode %", "undo %", "mode 4 %", "deny 1.2.3.4 for=%", "deny 1.2.3.4 app=%", "remove %", "deny attack=%", "deny 1.2.3.4 account=%"} {
		_, err := w.try(root, strings.ReplaceAll(line, "%", hostile))
		require.ErrorIs(t, err, refusal.ErrUsage, line)
		require.NotContains(t, err.Error(), "\u202e", line)
		require.NotContains(t, err.Error(), "\u0007", line)
		require.Less(t, len(err.Error()), 800, line)
	}
}

// A target in whatever spelling is denied, and removed, as one and the same.
func TestSpellingsOfATarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(config.ApproveBroad))
	for typed, canonical := range map[string]string{
		"203.0.113.7": "203.0.113.7", "203.0.113.7/32": "203.0.113.7", "::ffff:203.0.113.7": "203.0.113.7", "::ffff:203.0.113.0/120": "203.0.113.0/24",
		"2001:0DB8::1": "2001:db8::1", "2001:db8:1::/48": "2001:db8:1::/48", "country:fr": "country:FR", "Proxy:tor": "proxy:TOR", "DATACENTER:AWS": "datacenter:aws",
	} {
		ch := w.insists(ann, "deny "+typed)
		require.Equal(t, []string{canonical}, ch.Line.Words)
		w.nothing(ann, "deny "+canonical, "already")
		w.does(ann, "remove "+typed)
		require.Empty(t, w.entries("black"))
	}
}

func TestTargetsRoundTrip(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) {
		c.Accounts[0].Policy.Changes, c.Accounts[0].Policy.Approval.RequiredFor, c.Accounts[0].Policy.WidestPrefix.IPv4, c.Accounts[0].Policy.WidestPrefix.IPv6 = config.ChangesDryRun, nil, 12, 32
	})
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.OneOf(
			rapid.StringMatching(`(1?[0-9]{1,2}\.){3}1?[0-9]{1,2}(/[0-9]{1,2})?`), rapid.StringMatching(`[0-9a-f:]{2,12}(/[0-9]{1,3})?`),
			rapid.StringMatching(`country:[a-zA-Z]{2}`), rapid.String(),
		).Draw(rt, "target")
		l := record.Line{Name: "deny", Words: []string{word}}
		res, err := w.do(call.Invocation{Line: l, Actor: ann, ID: "x", At: w.clock()})
		if err != nil {
			var refusal *refusal.Refusal
			require.ErrorAs(rt, err, &refusal, "in words for people")
			return
		}
		require.Equal(rt, "dry_run", res.Outcome)
	})
	require.Zero(t, w.changesSent())
}
