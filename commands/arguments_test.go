package commands_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for line, words := range map[string]string{
		"deny":                                          "which source?",
		"deny 203.0.113":                                "is no source",
		"deny 203.0.113.7/33":                           "is no source",
		"deny fe80::1%eth0":                             "is no source",
		"deny fe80::/64%eth0":                           "is no source",
		"deny 203.0.113.7/24":                           "did you mean 203.0.113.0/24 or 203.0.113.7?",
		"deny country:FRA":                              "is no country",
		"deny country:":                                 "is no country",
		"deny proxy:SOCKS":                              "is no kind of proxy",
		"deny datacenter:mine":                          "is no data center",
		"deny planet:mars":                              "is no source",
		`deny ""`:                                       "target is empty",
		"deny 203.0.113.7 for=4":                        "is no duration",
		"deny 203.0.113.7 for=-1h":                      "is no duration",
		"deny 203.0.113.7 for=0s":                       "is no duration",
		"deny 203.0.113.7 for=1ms":                      "is no duration",
		"deny 203.0.113.7 for=99999999999999y":          "is no duration",
		"deny 203.0.113.7 for=":                         "for is empty",
		"deny 203.0.113.7 app=Shoop":                    "Shop (4)",
		"deny 203.0.113.7 app=0":                        "is no application",
		"deny 203.0.113.7 app=4,":                       "is no application",
		"deny 203.0.113.7 fro=4h":                       "did you mean for?",
		"deny 203.0.113.7 target=192.0.2.1":             "target= is no argument",
		"deny 203.0.113.7 --all":                        "--all is no option",
		"deny 203.0.113.7 account=globex":               "is no account",
		"deny attack=a234 for=1h":                       "no attack a234",
		"deny attack=a2":                                "at least 4 characters",
		"allow 203.0.113":                               "is no source",
		"gray x":                                        "is no source",
		"contain":                                       "attack= is missing",
		"contain 203.0.113.7":                           "attack= is missing",
		"patch":                                         "patch what?",
		"patch shop.example.com":                        "is no HOST/PATH",
		"deny 203.0.113.7,203.0.113.8":                  "write several with spaces between them",
		"patch /login":                                  "is no HOST/PATH",
		"patch shop.example.com/login":                  "type= and part= are needed",
		"patch shop.example.com/login type=sqli":        "type= and part= are needed",
		"patch a/b c/d e/f type=sqli part=get.q":        "write one path",
		"patch shop.example.com/ type=any part=get.q":   "clean ones too",
		"patch shop.example.com/ type=brute part=get.q": "can't be patched",
		"patch shop.example.com/ type=sqli part=body.x": "is no part",
		"mode":                           "which app?",
		"mode Shoop":                     "is no application",
		"mode 4 strict":                  "is none of",
		"mode 4 block 2h":                "one word too many",
		"mode 4 block for=soon":          "is no duration",
		"remove":                         "which entry?",
		"remove nonsense":                "is no source",
		"remove 203.0.113.7 list=purple": "is no list",
		"undo c123 c456":                 "no change c123",
		"undo c1234 by=me":               "not both",
		"undo by=me":                     "how far back?",
		"undo since=30m":                 "whose changes?",
		"undo by=me since=soon":          "is no duration",
		"undo c1234":                     "no change c1234",
		"undo c12":                       "no change c12",
		"attack":                         "which id?",
		"attacks since=forever":          "needs an end",
		"incidents since=yesterday":      "is no duration",
		"audit since=x":                  "is no duration",
		"lists purple text":              "is no list",
		"status now":                     "one word too many",
		"whoami x":                       "one word too many",
	} {
		w.refuses(root, line, refusal.ErrUsage, words)
	}
	_, err := w.try(root, "help nonsense")
	require.ErrorIs(t, err, refusal.ErrUnknown)
}

func TestUsageIsSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refuses(ann, "deny 203.0.113.7 fro=4h", refusal.ErrUsage, "Usage: deny [TARGET…] [attack=…] [for=…] [app=…] [reason=…]")
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
	w := newWorld(t, withoutApproval(policy.ApproveBroad))
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
		c.Accounts[0].Policy.Changes, c.Accounts[0].Policy.RequiredFor, c.Accounts[0].Policy.WidestIPv4, c.Accounts[0].Policy.WidestIPv6 = policy.ChangesDryRun, nil, 12, 32
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
