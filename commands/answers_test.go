package commands_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Undo all says what still stops hits, and asks also about a single change.
func TestUndoAll(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	ch := w.does(ann, "deny 203.0.113.7 attack="+id)
	works := record.Efficacy{Finding: record.Working, Parts: map[string]record.Traffic{"203.0.113.7": {Stopped: record.Tally{N: 40}}}}
	require.NoError(t, w.ledger.saveJudged(t.Context(), "acme", []record.Judgement{{Change: ch, Efficacy: works}}))
	w.pass(time.Minute)
	for _, line := range []string{"undo all attack=" + id, "undo ALL by=@me", "undo --all by=@me"} {
		w.refuses(ann, line, refusal.ErrAsk, "Undo of: Deny 203.0.113.7 everywhere for 4 h? Before you do:", ch.ID+" Deny 203.0.113.7", "working, at least 40 stopped")
		w.asksInSpiteOfYes(ann, line)
	}
	w.refuses(ann, "undo all since=1h", refusal.ErrUsage, "Missing: attack= or by=")
	other := w.does(bob, "deny 203.0.113.8 attack="+id)
	w.refuses(ann, "undo attack="+id, refusal.ErrAsk, "Undo 2 changes", "working, at least 40 stopped", other.ID)
	inv := w.asks(bob, "undo "+other.ID+" "+w.does(bob, "deny 203.0.113.9").ID)
	inv.Yes = true
	res, err := w.do(inv)
	require.NoError(t, err)
	require.Len(t, undone(res), 2, "what isn't always asked about was answered beforehand")
	other = w.does(bob, "deny 203.0.113.8 attack="+id)
	res, err = w.all(ann, "undo all attack="+id)
	require.NoError(t, err)
	require.Equal(t, []string{other.ID, ch.ID}, undone(res))
	require.Empty(t, w.entries("black"))
}

// A verdict that an attack was none says what goes on, and who ends it.
func TestAVerdictSaysWhatStands(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].ConsoleURL = "https://console.example.com" })
	id := w.attackOn("/login")
	require.Equal(t, "Done. Verdict: real, by Ann 2026-11-20 03:00 UTC", w.writes(ann, "verdict real attack="+id))
	require.Contains(t, w.writes(ann, "verdict false_positive attack="+id), "No pager is called for it any more. No mitigation of it is in force")
	ch := w.does(ann, "deny 203.0.113.7 attack="+id)
	said := w.writes(ann, "verdict false_positive attack="+id)
	require.Contains(t, said, "Still in force: Deny 203.0.113.7 everywhere for 4 h "+ch.ID+". To undo them: undo attack="+id)
	require.Contains(t, said, "console https://console.example.com")
}

// A rule that wafbot put back is not said to be somebody else's without it.
func TestDeleteRuleOfOneThatWasPutBack(t *testing.T) {
	w := newWorld(t)
	switched := w.anyway(ann, "mode 4 block")
	w.does(ann, "undo "+switched.ID)
	w.pass(time.Minute)
	w.refuses(root, "delete-rule "+itoa(w.rules("service_mode")[0].ID), refusal.ErrAsk, "wafbot put this rule back as it was before "+switched.ID)
}

// What goes on is in the state that its card says, not in what the service says of its blocking.
func TestListsSayTheStateOfTheCard(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	require.Contains(t, textOf(w.reads(eve, "status")), "NOT BLOCKED · high attack")
	w.shows(id, record.AttackState{Paused: true, Severity: record.SeverityCritical})
	for _, line := range []string{"status", "summary", "attack " + id} {
		said := textOf(w.reads(eve, line))
		require.Contains(t, said, "QUIET · critical attack · SQL injection · Shop", line)
		require.NotContains(t, strings.ToLower(said), "not blocked", line)
	}
}

// A denied source keeps trying: its attack goes on in every answer until its card says that it is over.
func TestTriesThatAreStoppedGoOn(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.does(ann, "deny 203.0.113.7 attack="+id)
	w.pass(time.Hour)
	require.Contains(t, textOf(w.reads(eve, "status")), "Nothing is going on")
	require.Contains(t, textOf(w.reads(eve, "attack "+id)), "ENDED")

	shown := record.AttackState{Notified: true, Paused: true}
	w.shows(id, shown)
	require.Contains(t, textOf(w.reads(eve, "status")), "Going on: 1 attack")
	for _, line := range []string{"status", "summary", "attack " + id} {
		require.Contains(t, textOf(w.reads(eve, line)), "QUIET", line)
	}

	shown.StormID = "s1"
	w.shows(id, shown)
	require.Contains(t, textOf(w.reads(eve, "status")), "Nothing is going on", "its storm's card shows it")
	w.shows(id, record.AttackState{Notified: true, Quiet: true})
	require.Contains(t, textOf(w.reads(eve, "status")), "Nothing is going on")
	require.Contains(t, textOf(w.reads(eve, "attack "+id)), "ENDED")
}

// At the terminal the rows of a listing have columns with titles; in a chat they are lines.
func TestListingsHaveColumnsAtTheTerminal(t *testing.T) {
	w := newWorld(t)
	w.attackOn("/login")
	w.does(ann, "deny 203.0.113.7")
	w.insists(ann, "patch shop.example.com/login type=sqli part=get.q")
	columns := func(line text.Text) (titles []string) {
		for _, cell := range line.Cells() {
			titles = append(titles, cell.String())
		}
		return titles
	}
	for line, titles := range map[string][]string{
		"attacks": {"ID", "TYPE", "APPLICATION", "STATUS", "HITS", "SOURCES", "LAST HIT", "WHERE"}, "lists": {"ID", "LIST", "SOURCE", "WHERE", "UNTIL", "WHY, BY"},
		"rules": {"ID", "WHAT", "BY"}, "conditions": {"ID", "FOR", "RULES"}, "audit": {"NO.", "WHEN", "WHO", "LINE", "OUTCOME"}, "sources": {"RANGES", "NAME", "DENIED"},
	} {
		there := w.reads(anyone, line).Lines
		require.Equal(t, titles, columns(there[1]), line)
		for _, row := range there[2:] {
			if cells := row.Cells(); len(cells) > 1 {
				require.LessOrEqual(t, len(cells), len(titles), "%s: %s", line, row)
			}
		}
		require.NotEqual(t, there[1].String(), w.reads(eve, line).Lines[1].String())
	}
}

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

func TestWrongArguments(t *testing.T) {
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
		"deny proxy:nord":                               "One of VPN, SES, PUB, WEB, TOR",
		"deny city:Paris":                               "Invalid IP address or range",
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

func TestAHostileWordIsSaidBackHarmless(t *testing.T) {
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

func TestUnknownVerbs(t *testing.T) {
	w := newWorld(t)
	for verb, hint := range map[string]string{"dney": "deny", "statsu": "status", "blok": "block", "udno": "undo", "atack": "attack"} {
		w.refuses(root, verb+" 203.0.113.7", refusal.ErrUnknown, "did you mean "+hint+"?", "help")
	}
	for _, verb := range []string{"x", "xylophone", "\u202e" + strings.Repeat("k", 5000)} {
		_, err := w.try(root, verb)
		require.ErrorIs(t, err, refusal.ErrUnknown)
		require.NotContains(t, err.Error(), "did you mean")
		require.NotContains(t, err.Error(), "\u202e")
		require.Less(t, len(err.Error()), 300)
	}
	require.False(t, w.Changes(record.Line{Name: "xylophone"}))
}

func TestAliases(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, "deny 203.0.113.7 for=4h", w.does(ann, "block 203.0.113.7").Line.String())
	w.does(ann, "unban 203.0.113.7")
	w.does(ann, "ban 203.0.113.7 for=1h")
	w.does(ann, "unblock 203.0.113.7")
	w.does(ann, "grey 203.0.113.7")
	require.Empty(t, w.entries("black"))
	require.Equal(t, []string{"203.0.113.7/32 [0] 24h0m0s"}, w.entries("gray"))
}

// The words that people know from elsewhere, and those of before, mean a verb and are nowhere kept.
func TestAnAliasBecomesItsVerb(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBlockPath))
	aliases := map[string]string{
		"block": "deny", "ban": "deny", "blacklist": "deny", "unblock": "remove", "unban": "remove", "whitelist": "allow", "grey": "gray", "claim": "ack", "release": "unack",
		"close": "block-path", "unrule": "delete-rule", "assign": "handover", "alone": "override", "break-glass": "override", "block-header": "indicator",
	}
	known := map[string]string{}
	for _, cmd := range verb.All() {
		for _, alias := range cmd.Aliases {
			known[alias] = cmd.Name
		}
	}
	require.Equal(t, aliases, known)
	delete(aliases, "block") // alone it means too much: TestBlockIsAboutSources
	for alias, name := range aliases {
		require.Equal(t, name, w.InThread(record.Line{Name: alias}, "").Name)
		help, err := verb.Help(alias)
		require.NoError(t, err)
		require.Contains(t, help[0].String(), name)
		_, err = w.try(eve, alias)
		require.Error(t, err)
		require.Equal(t, name, w.lastAudit().Line, "a refusal is audited by the verb")
	}

	id := w.attackOn("/login")
	require.Equal(t, "block-path POST shop.example.com/login for=30m", w.anyway(root, "close POST shop.example.com/login for=30m").Line.String())
	require.Equal(t, "block-path POST shop.example.com/login for=30m", w.lastAudit().Line)
	w.nothing(root, "block-path POST shop.example.com/login for=30m")
	w.writes(ann, "claim attack="+id)
	require.Equal(t, "ack attack="+id, w.lastAudit().Line)
	w.nothing(ann, "ack attack="+id)
	f, err := w.formOf(root, "close")
	require.NoError(t, err)
	require.Equal(t, "Block path", f.Title)
	require.Equal(t, "block-path", f.Base.Name)
}

func TestChangesSeparatesReadsFromChanges(t *testing.T) {
	w := newWorld(t)
	for line, want := range map[string]bool{
		"": false, "status": false, "attacks": false, "lists": false, "audit": false, "whoami": false, "help": false, "mode 4": false, "attack a1234": false, "incidents": false,
		"deny 1.2.3.4": true, "ban 1.2.3.4": true, "allow 1.2.3.4": true, "gray 1.2.3.4": true, "contain attack=a1234": true, "patch attack=a1234": true,
		"mode 4 block": true, "remove 1.2.3.4": true, "undo": true,
	} {
		l, err := grammar.Parse(line)
		require.NoError(t, err)
		require.Equal(t, want, w.Changes(l), line)
	}
}
