package commands_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// answer is the first line of what a line as a person types it is answered.
func (w *world) answer(who record.Actor, line string) string {
	l, err := grammar.Parse(line)
	if err == nil {
		inv := w.asks(who, line)
		inv.Line = l
		res, done := w.do(inv)
		if err = done; err == nil {
			return res.Lines[0].String()
		}
	}
	var refused *refusal.Refusal
	require.True(w.t, errors.As(err, &refused), "%s: %v", line, err)
	first, _, _ := strings.Cut(refused.Text.String(), "\n")
	return first
}

// Lines as people type them, with the answer's first line. Each is typed into a world in which an attack goes on;
// ATTACK is its id.
func TestLinesAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		who          record.Actor
		before       string // what Ann typed first
		typed, first string // first begins the answer
	}{
		// What is meant is understood.
		{ann, "", "deny 203.0.113.7 4h", "Done. Deny 203.0.113.7 everywhere for 4 h: accepted by the service, works in about 1 min. c"},
		{ann, "", "deny 203.0.113.7 for 2h", "Done. Deny 203.0.113.7 everywhere for 2 h: accepted"},
		{ann, "", "Deny 203.0.113.7 for 30 minutes", "Done. Deny 203.0.113.7 everywhere for 30 min: accepted"},
		{ann, "", "deny 203.0.113.7 for=4 hours", "Done. Deny 203.0.113.7 everywhere for 4 h: accepted"},
		{ann, "", "deny 203.0.113.7 for= 4h", "Done. Deny 203.0.113.7 everywhere for 4 h: accepted"},
		{ann, "", "deny 2h 203.0.113.7", "Done. Deny 203.0.113.7 everywhere for 2 h: accepted"},
		{ann, "", "deny 203.0.113.7 reason=because he is evil", "Done. Deny 203.0.113.7 everywhere for 4 h: accepted"},
		{ann, "", "deny 203.0.113.7 reason=because he's evil for=1h", "Done. Deny 203.0.113.7 everywhere for 1 h: accepted"},
		{ann, "", "block 203.0.113.7", "Done. Deny 203.0.113.7 everywhere for 4 h: accepted"},
		{ann, "", "blacklist 203.0.113.7 1 week", "Done. Deny 203.0.113.7 everywhere for 7 days: accepted"},
		{root, "", "whitelist 198.51.100.9 1h", "Waiting for approval: Allow 198.51.100.9 everywhere for 1 h. r"},
		{ann, "deny 203.0.113.7", "unban 203.0.113.7", "Done. Take 203.0.113.7 off the denylist: accepted"},
		{ann, "", "mode shop blocking", "Switch Shop to block for 2 h? Before you do:"},
		{ann, "", "mode shop block 30 min", "Switch Shop to block for 30 min? Before you do:"},
		{eve, "", "mode Shop", "Mode of Shop by rules: monitoring"},
		{ann, "", "claim attack=ATTACK", "Done. Ann is on it since 2026-11-20 03:00 UTC"},
		{ann, "", "assign @me attack=ATTACK", "Done. Ann is on it since 2026-11-20 03:00 UTC, taken over"},
		{ann, "", "assign to=@me attack=ATTACK @bob knows more", "Done. Ann is on it since 2026-11-20 03:00 UTC, taken over"},
		{ann, "", "assign <@U2BOB|bob> please look attack=ATTACK", "Done. Bob is on it since 2026-11-20 03:00 UTC, handed over by Ann"},
		{ann, "", "note for 4h nothing happened attack=ATTACK", "Done. Note of Ann 2026-11-20 03:00 UTC: for 4h nothing happened"},
		{ann, "", "verdict False-Positive attack=ATTACK", "Done. Verdict: false positive, by Ann"},
		{ann, "", "mute type=sqli 2h", "Done. Muted: type=sqli until 2026-11-20 05:00 UTC"},
		{eve, "", "attacks 2h", "acme: 1 attack in the last 2 h"},
		{eve, "deny 203.0.113.7", "lists blacklist", "acme: 1 entry"},
		{eve, "", "whoami", "Eve: viewer. You may read"},
		{eve, "", "summary 12h", "Hand-over of acme: the last 12 h"},
		{ann, "deny 203.0.113.7", "extend last 2h", "Unknown change: last, on acme"},
		{ann, "deny 203.0.113.7", "deny 203.0.113.7", "Done, nothing to change. "},

		// What is wrong is named, with what it should be and an example.
		{ann, "", "deny 5.6.7", "Invalid IP address or range: 5.6.7. Example: deny 203.0.113.7"},
		{ann, "", "deny 203.0.113.7, 203.0.113.8", "Invalid IP address or range: 203.0.113.7,. Spaces stand between several, no commas. Example: deny 203.0.113.7 198.51.100.9"},
		{ann, "", "deny country:FRA", "Invalid country: country:FRA. Its two letters, as ISO 3166 has them. Example: deny country:FR"},
		{ann, "", "deny 203.0.113.7 for=soon", "Invalid duration: soon. Example: for=4h"},
		{ann, "", "deny 203.0.113.7 4h 2h", "Two values of for=: 4h, 2h. Write one. Example: deny 203.0.113.7"},
		{ann, "", "deny 203.0.113.7" + strings.Repeat(" 4h", 100), "Two values of for=: 4h, 4h, 4h and 97 more. Write one. Example: deny 203.0.113.7"},
		{ann, "", "deny 203.0.113.7 for=4h 2h", "Two values of for=: 4h, 2h. Write one. Example: deny 203.0.113.7"},
		{ann, "", "deny 203.0.113.7 fro=4h", "Unknown argument: fro= (did you mean for?). Example: deny 203.0.113.7"},
		{ann, "", "mode shop strict", "Invalid mode: strict. One of off, monitoring, safe_blocking, block, default. Example: mode 4 block"},
		{ann, "", "dney 203.0.113.7", "Unknown command: dney (did you mean deny?). help lists them"},
		{ann, "", "assign @rob attack=ATTACK", "Invalid user: @rob. A mention in Slack; at the terminal the user's id"},
		{ann, "", `deny 203.0.113.7 reason="evil`, "A quote is not closed. Example: "},
		{ann, "", "block", "Missing: which source. Example: block 203.0.113.7. block-path blocks a path, mode shop block what attacks an application"},
		{ann, "", "block /login", "Invalid IP address or range: /login. Example: block 203.0.113.7. block-path blocks a path, mode shop block what attacks an application"},
		{ann, "", "block shop", "Invalid IP address or range: shop. Example: block 203.0.113.7. block-path blocks a path"},
		{ann, "deny 203.0.113.7", "undo all", "Missing: attack= or by=. Example: undo all by=@me"},
		{ann, "", "undo by=@rob", "Missing: since=, how far back. Example: undo by=@me since=30m"},
		{ann, "", "extend 4h", "Missing: change, the change's id, as c7k2m9xw4. Example: extend c7k2m9xw4 for=4h"},
		{root, "", "close /login 30m", "Missing: place, HOST/PATH, exactly; without HOST: this path on every host. Example: block-path POST shop.example.com/login for=30m"},
		{ann, "", "ack", "Missing: attack=, the attack's id, as on its card; in a card's thread it need not be written. Example: ack attack=ak7q2m9xw"},
		{ann, "", "ack ATTACK", "One word too many: ATTACK (did you mean attack=ATTACK?). Example: ack attack="},
		{ann, "", "verdict fp attack=ATTACK", "Invalid verdict: fp. One of real, false_positive, test. Example: verdict real"},
		{ann, "", "mute type=sql 1h", "Invalid type of attack: sql. Example: type=sqli"},
		{ann, "", "approve r1234567", "Unknown request: r1234567, on acme. It may be over a week old, or was lost with wafbot's store (Redis): ask for the change again"},
		{ann, "", "mute 1h", "Missing: one of attack=, source= and type=, and only one. Example: mute type=scanner for=1h"},
		{eve, "", "attack azzz", "Unknown attack: azzz. None has that id in the last 24 h: attacks since=1d lists them"},
		{eve, "", "attack az", "Unknown attack: az. An id needs at least 4 characters"},
		{eve, "", "trends 30d", "Invalid duration: 30d. The service goes back 7 days. Example: since=7d"},
		{eve, "", "attacks page=9", "Invalid page: 9. The last one is 1"},
		{ann, "", "snooze 1h", "Unknown command: snooze. Nothing was changed. mute suppresses notifications for a while, ack says that you are on it, verdict says what it was"},
		{ann, "", "resolve attack=ATTACK", "Unknown command: resolve. Nothing was changed. mute "},

		// What is refused says why, and whom to ask.
		{eve, "", "deny 203.0.113.7", "Refused: deny needs the role responder; yours is viewer"},
		{ann, "", "mode shop off", "Refused: mode 4 off needs the role admin; yours is responder"},
		{ann, "", "deny 192.0.2.1", "Refused: 192.0.2.1 is in our CDN (192.0.2.0/24), which is never denied"},
		{ann, "", "unblock 203.0.113.9", "Refused: 203.0.113.9 is on no list"},
		{ann, "deny 203.0.113.7", "undo all by=@me", "Undo of: Deny 203.0.113.7 everywhere for 4 h? Before you do:"},
	} {
		t.Run(tt.typed, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sources(cdn))
			attack := w.attackOn("/login")
			if tt.before != "" {
				w.does(ann, tt.before)
			}
			got := w.answer(tt.who, strings.ReplaceAll(tt.typed, "ATTACK", attack))
			require.True(t, strings.HasPrefix(got, strings.ReplaceAll(tt.first, "ATTACK", attack)), "answered: %s", got)
			require.LessOrEqual(t, len([]rune(got)), 250, "one line")
		})
	}
}

// What is typed without its name is stored, audited and compared as what is meant.
func TestWhatIsUnderstoodIsOneLine(t *testing.T) {
	t.Parallel()
	for typed, meant := range map[string]string{
		"deny 203.0.113.7 4h":                                     "deny 203.0.113.7 for=4h",
		"deny 203.0.113.7 for 4 hours":                            "deny 203.0.113.7 for=4h",
		"deny 203.0.113.7 for=240 min":                            "deny 203.0.113.7 for=4h",
		"deny reason=he is evil app=4 203.0.113.7 for=4h":         "deny 203.0.113.7 app=4 for=4h reason=\"he is evil\"",
		"deny 203.0.113.7 reason=it holds x=y and more for=4h":    "deny 203.0.113.7 for=4h reason=\"it holds x=y and more\"",
		`deny reason="he is evil" 203.0.113.7 4h`:                 "deny 203.0.113.7 for=4h reason=\"he is evil\"",
		"indicator User-Agent 5m type=scanner":                    "indicator USER-AGENT 5m for=4h type=scanner",
		"block-path POST shop.example.com/login 30 minutes":       "block-path POST shop.example.com/login for=30m",
		"patch shop.example.com/login type=sqli part=get.q 1 day": "patch shop.example.com/login for=1d part=get.q type=sqli",
	} {
		w := newWorld(t, withoutApproval(config.ApproveBlockPath, config.ApproveRulesEverywhere))
		require.Equal(t, meant, w.insists(root, typed).Line.String(), typed)
	}
}

// The grammar knows no verbs: what it takes for keys in an unquoted reason is what some verb knows.
func TestTheKeysOfAllVerbs(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{"account": true}
	for _, cmd := range verb.All() {
		for _, arg := range cmd.Args {
			if !arg.Object {
				keys[arg.Name] = true
			}
		}
	}
	delete(keys, "reason")
	for key := range keys {
		l, err := grammar.Parse("x reason=one two " + key + "=3h")
		require.NoError(t, err)
		require.Equal(t, map[string]string{"reason": "one two", key: "3h"}, l.Keys)
	}
	l, err := grammar.Parse("x reason=one other=3")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"reason": "one other=3"}, l.Keys)
}
