package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox"
	"github.com/wafbot/wafbot/internal/sandbox/human"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

const attacker, neighbour = "203.0.113.7", "198.51.100.4"

// lineWorld is an emulated world with an attack going on, and an environment that gives the user of the operating
// system a role.
type lineWorld struct {
	*sandbox.World
	environ []string
	attack  string // its id, as people type it
}

func newLineWorld(t *testing.T, role string) lineWorld {
	t.Helper()
	return inWorld(t, openWorld(t), role)
}

func inWorld(t *testing.T, world *sandbox.World, role string) lineWorld {
	t.Helper()
	attack, err := world.WAF.StartAttack(waf.AttackSpec{
		Sources: []waf.SourceSpec{{IP: attacker, Country: "FR", PerSecond: 8}, {IP: neighbour, PerSecond: 2}}, Started: waf.Duration(time.Minute),
	})
	require.NoError(t, err)
	environ := append(world.Env(), "WAFBOT_REDIS_URL="+aRedis(t).url)
	if role != "" {
		path := writeConfig(t, "policy: {terminal: {"+osActor().Name+": "+role+"}}\n")
		environ = append(environ, "WAFBOT_CONFIG="+path)
	}
	return lineWorld{world, environ, record.AttackID("default", attack.ID)}
}

func (d lineWorld) with(environ ...string) lineWorld {
	d.environ = append(d.environ[:len(d.environ):len(d.environ)], environ...)
	return d
}

// changes are the requests that changed something at the service.
func (d lineWorld) changes() []string {
	var all []string
	for _, r := range d.WAF.Requests("acme") {
		write := strings.HasSuffix(r.Path, "/create") || strings.Contains(r.Path, "ip_rules") && r.Method == http.MethodPost
		if r.Method == http.MethodDelete || write {
			all = append(all, r.Method+" "+r.Path)
		}
	}
	return all
}

// entries are the denied addresses.
func (d lineWorld) entries(t *testing.T) []waf.IPRuleState {
	t.Helper()
	state, err := d.WAF.State("acme")
	require.NoError(t, err)
	var listed []waf.IPRuleState
	for _, e := range state.IPRules {
		if e.Listed {
			listed = append(listed, e)
		}
	}
	return listed
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	decoder := json.NewDecoder(strings.NewReader(text))
	require.NoError(t, decoder.Decode(&v), text)
	require.False(t, decoder.More(), "one value: %s", text)
	return v
}

// result is what --json prints of what was done.
type result struct {
	Outcome string          `json:"outcome"`
	Lines   []string        `json:"lines"`
	Changes []record.Change `json:"changes"`
	Attack  string          `json:"attack"`
	Account string          `json:"account"`
	Data    json.RawMessage `json:"data"`
}

// refusal is what --json prints of anything else.
type printRefusal struct {
	Outcome string `json:"outcome"`
	Error   string `json:"error"`
}

func TestReadsAtTheTerminal(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "")
	for _, tt := range []struct {
		line string
		text string // a part of the answer
		data string // a part of the data
	}{
		{"status", "Going on: 1 attack", `"ongoing":[{"id":"` + d.attack},
		{"attacks since=2h --all", d.attack, `"account":"default"`},
		{"incidents", "0 incidents", "[]"},
		{"attack " + d.attack, attacker, ""},
		{"attack " + d.attack[:5], attacker, ""},
		{"lists", "0 entries", "[]"},
		{"mode 4", "monitoring", ""},
		{"audit", "0 entries", "[]"},
		{"whoami", "responder", ""},
		{"help", "-y, --yes: don't ask", ""},
		{"help deny", "--from FILE: take targets from a file", ""},
	} {
		plain := typed(t, d.environ, strings.Fields(tt.line)...)
		require.Equal(t, exitDone, plain.code, "%s: %+v", tt.line, plain)
		require.Contains(t, plain.out, tt.text, tt.line)
		require.Empty(t, plain.err, tt.line)

		programs := typed(t, d.environ, append([]string{"--json"}, strings.Fields(tt.line)...)...)
		require.Equal(t, exitDone, programs.code, tt.line)
		res := decode[result](t, programs.out)
		require.Equal(t, "done", res.Outcome, tt.line)
		require.Contains(t, strings.Join(res.Lines, "\n"), tt.text, tt.line)
		require.Contains(t, compact(t, res.Data), tt.data, tt.line)
	}
	require.Empty(t, d.changes())
}

// What a line reads is named by the service's time, which the terminal learns from the first answer.
func TestTheServicesClockIsAnotherOne(t *testing.T) {
	t.Parallel()
	for _, ahead := range full.Some(2, []time.Duration{-10 * time.Minute, -6 * time.Second, 6 * time.Second, 10 * time.Minute}) {
		d := inWorld(t, openWorldWith(t, sandbox.Config{ServiceAhead: ahead}), "responder")
		for _, line := range []string{
			"deny " + attacker + " for=1h -y", "status", "summary", "summary since=2h", "attacks", "trends", "lists",
			"report attack=" + d.attack, "explain attack=" + d.attack, "undo -y",
		} {
			got := typed(t, d.environ, strings.Fields(line)...)
			require.Equal(t, exitDone, got.code, "%s, %s: %+v", ahead, line, got)
			require.NotContains(t, got.out+got.err, "Failed", line)
		}
	}
}

// A fault has a line in the log, which at a terminal is standard error. A person reads its reference.
func TestAFaultAtTheTerminal(t *testing.T) {
	t.Parallel()
	log := newJournal()
	a := app{botOptions: botOptions{log: logAs(log, config.Log{})}}
	err := a.forPeople(t.Context(), call.Invocation{ID: "one"}, io.ErrUnexpectedEOF)
	require.ErrorContains(t, err, "Failed: something went wrong inside wafbot. Its log says what, under the reference")
	require.Empty(t, human.Inside(err.Error()))
	require.True(t, log.has("unexpected EOF", "request_id="))
	refused := refusal.Nothing("nothing to do")
	require.Equal(t, refused, a.forPeople(t.Context(), call.Invocation{}, refused))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorContains(t, a.forPeople(stopped, call.Invocation{}, stopped.Err()), "stopped before there was an answer")
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	if raw == nil {
		return ""
	}
	text, err := json.Marshal(raw)
	require.NoError(t, err)
	return string(text)
}

func TestDenyAndUndoFromAScript(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "responder")
	got := typed(t, d.environ, "deny", attacker, "for=1h", "reason=night shift", "-y", "--json")
	require.Equal(t, exitDone, got.code, "%+v", got)
	res := decode[result](t, got.out)
	require.Equal(t, "done", res.Outcome)
	require.Equal(t, "default", res.Account)
	require.Len(t, res.Changes, 1)
	require.Equal(t, record.StateDone, res.Changes[0].State)
	require.Equal(t, osActor(), res.Changes[0].Actor)
	require.True(t, d.WAF.Denied("acme", attacker))
	require.False(t, d.WAF.Denied("acme", neighbour))
	require.Contains(t, d.entries(t)[0].Reason, "night shift")
	require.Empty(t, got.err, "audit lines are for serve")

	got = typed(t, d.environ, "deny", attacker, "for=1h", "-y")
	require.Contains(t, got.out, "done already by "+osActor().Name)
	require.Len(t, d.changes(), 1, "nothing was sent for what holds already")

	got = typed(t, d.environ, "undo", res.Changes[0].ID, "-y")
	require.Equal(t, exitDone, got.code, "%+v", got)
	require.Empty(t, d.entries(t))

	got = typed(t, d.environ, "audit", "--json")
	var outcomes []string
	for _, e := range decode[struct{ Data []record.AuditEntry }](t, got.out).Data {
		require.Equal(t, osActor().ID, e.Actor.ID)
		require.Equal(t, record.ViaCLI, e.Actor.Via)
		outcomes = append(outcomes, e.Outcome)
	}
	require.Equal(t, []string{"done", "nothing", "done"}, outcomes)
}

func TestAScriptWithoutYesIsNotObeyed(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "responder")
	got := typed(t, d.environ, "deny", attacker, "for=1h")
	require.Equal(t, exitUsage, got.code)
	require.Empty(t, got.out)
	require.Contains(t, got.err, "Deny "+attacker+" everywhere for 1 h?", "what would be done")
	require.Contains(t, got.err, "add -y")
	require.Empty(t, d.changes())

	got = typed(t, d.environ, "deny", attacker, "--json")
	require.Equal(t, exitUsage, got.code)
	require.Equal(t, "asked", decode[printRefusal](t, got.out).Outcome)
	require.Empty(t, d.changes())
}

func TestAPersonIsAsked(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "responder")
	for _, no := range []string{"", "\n", "n\n", "yess\n"} {
		got := typedAtTerminal(t, d.environ, no, "deny", attacker)
		require.Equal(t, exitFailed, got.code)
		require.Contains(t, got.err, "Deny "+attacker+" everywhere for 4 h?\nDo it? [y/N] ")
		require.Contains(t, got.err, "nothing was done")
		require.NotContains(t, got.err, `"audit"`, "a person is not shown JSON")
	}
	require.Empty(t, d.changes())

	got := typedAtTerminal(t, d.environ, "Y\n", "deny", attacker)
	require.Equal(t, exitDone, got.code, "%+v", got)
	require.Contains(t, got.out, "Deny "+attacker)
	require.True(t, d.WAF.Denied("acme", attacker))

	got = typedAtTerminal(t, d.environ, "y\n", "mode", "4", "block", "for=1h")
	require.Contains(t, got.err, "Before you do:\n• ", "one yes is for the warnings too")
	require.Equal(t, exitDone, got.code, "%+v", got)
	require.Contains(t, d.changes(), "POST /v1/objects/hint/create")
}

func TestTheQuestionEndsWithTheProgram(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "responder")
	ctx, cancel := context.WithCancel(t.Context())
	never, write, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, write.Close())
		require.NoError(t, never.Close())
	})
	asked := askedWriter{cancel}
	code := run(ctx, terminal{args: []string{"deny", attacker}, environ: d.environ, in: never, asks: true, out: asked, err: asked})
	require.Equal(t, exitFailed, code)
	require.Empty(t, d.changes())
}

// askedWriter interrupts the program when it asks.
type askedWriter struct{ interrupt func() }

func (w askedWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "[y/N]") {
		w.interrupt()
	}
	return len(p), nil
}

func TestDenyFromAFile(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "responder")
	file := filepath.Join(t.TempDir(), "targets.txt")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }

	write("\ufeff# seen at night\r\n" + attacker + " # the worst\r\n\r\n198.51.100.0/24 203.0.113.8\r\n")
	got := typed(t, d.environ, "deny", "--from", file, "for=1h", "-y", "--json")
	require.Equal(t, exitDone, got.code, "%+v", got)
	res := decode[result](t, got.out)
	require.Len(t, res.Changes, 1, "one change")
	for _, address := range []string{attacker, neighbour, "203.0.113.8"} {
		require.True(t, d.WAF.Denied("acme", address), address)
	}
	require.Len(t, d.entries(t), 3)
	got = typed(t, d.environ, "undo", "-y")
	require.Equal(t, exitDone, got.code, "%+v", got)
	require.Empty(t, d.entries(t), "one undo")

	before := len(d.changes())
	for _, tt := range []struct{ text, says string }{
		{attacker + "\n\n203.0.113.300\n", file + ":3: Invalid IP address or range: 203.0.113.300"},
		{attacker + "\n" + "app=4\n", file + ":2: Invalid IP address or range: app=4"},
		{"# my own\n192.0.2.9\n", file + ":2: Refused: 192.0.2.9 is in "},
		{"# nothing\n", file + " holds none"},
	} {
		write(tt.text)
		got := typed(t, d.environ, "deny", "--from="+file, "-y")
		require.NotEqual(t, exitDone, got.code)
		require.Contains(t, got.err, tt.says)
	}
	require.Len(t, d.changes(), before, "a file is taken whole or not at all")
}

// watch runs the bot beside the terminal until the test ends.
func (d lineWorld) watch(t *testing.T) *world {
	t.Helper()
	cfg, err := config.Load("", d.environ)
	require.NoError(t, err)
	cfg.Accounts[0].PollInterval = 250 * time.Millisecond
	w := &world{World: d.World, t: t, cfg: cfg, journal: newJournal()}
	w.start()
	t.Cleanup(func() {
		w.stop()
		w.requireClean()
	})
	return w
}

func TestTheChannelSeesWhatTheTerminalDoes(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "responder")
	w := d.watch(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	card, err := d.Slack.WaitMessage(ctx, "#waf", func(m workspace.Message) bool { return strings.Contains(m.Plain(), d.attack) && len(m.Buttons()) > 0 })
	require.NoError(t, err)

	// With the attack named, its card says it.
	got := typed(t, d.environ, "deny", "attack="+d.attack, "-y")
	require.Equal(t, exitDone, got.code, "%+v", got)
	_, err = d.Slack.WaitMessage(ctx, "#waf", func(m workspace.Message) bool {
		return m.TS == card.TS && m.Edited > 0 && strings.Contains(m.Plain(), osActor().Name) && strings.Contains(m.Plain(), "[Undo")
	})
	require.NoError(t, err)

	// Without one it is a line of its own, with an undo that works in Slack.
	got = typed(t, d.environ, "deny", neighbour, "-y")
	require.Equal(t, exitDone, got.code, "%+v", got)
	line, err := d.Slack.WaitMessage(ctx, "#waf", func(m workspace.Message) bool {
		return m.TS != card.TS && strings.Contains(m.Plain(), "Deny "+neighbour) && len(m.Buttons()) > 0
	})
	require.NoError(t, err)
	require.Contains(t, line.Plain(), osActor().Name)
	_, err = d.Slack.Click(ctx, workspace.Click{User: "rob", Channel: "waf", TS: line.TS, Button: "Undo"})
	require.NoError(t, err)
	w.until("the denial is undone", func() bool { return !d.WAF.Denied("acme", neighbour) })
	require.True(t, d.WAF.Denied("acme", attacker), "the other one stays")

	got = typed(t, d.environ, "undo", "-y")
	require.Equal(t, exitDone, got.code, "my last one: %+v", got)
	require.False(t, d.WAF.Denied("acme", attacker))
}

// shell is an environment with a configuration for the terminal, whose user has that role. What needs approval is
// written as in YAML.
func (w *world) shell(approval string, role record.Role) []string {
	w.t.Helper()
	a := w.cfg.Accounts[0]
	return []string{"WAFBOT_CONFIG=" + writeConfig(w.t, fmt.Sprintf(`
timezone: Europe/Berlin
slack: {bot_token: %s, api_url: %q}
redis: {url: %q}
accounts: [{name: acme, api_url: %q, token: %s, client_id: %d, channel: %s, ongoing_for: %s, applications: {4: Shop}}]
sources: []
policy: {changes: on, approval: {required_for: %s}, responders: [U0ROB0002], admins: [U0ANN0001], terminal: {%s: %s}}
`, w.cfg.Slack.BotToken.Reveal(), w.cfg.Slack.APIURL, w.redis.url, a.APIURL, a.Token.Reveal(), a.ClientID, a.Channel, a.OngoingFor,
		approval, osActor().Name, role))}
}

// atShell has the user of the operating system, a responder, type a line in the world's configuration.
func (w *world) atShell(args ...string) answered {
	w.t.Helper()
	return typed(w.t, w.shell("[]", record.Responder), args...)
}

func TestRolesAtTheTerminal(t *testing.T) {
	t.Parallel()
	world := openWorld(t)
	for _, tt := range []struct {
		role, line string
		code       int
		says       string
	}{
		{"viewer", "deny " + attacker, exitFailed, "deny needs the role responder; yours is viewer\nAt the terminal policy.terminal in the configuration file gives roles, as terminal: {"},
		{"", "allow " + attacker, exitFailed, "allow needs the role admin; yours is responder"},
		{"admin", "mode 4 default for=10m", exitDone, "Switch application 4 to default"},
	} {
		d := inWorld(t, world, tt.role)
		got := typed(t, d.environ, append(strings.Fields(tt.line), "-y")...)
		require.Equal(t, tt.code, got.code, "%+v", got)
		require.Contains(t, got.out+got.err, tt.says)
		if tt.code == exitDone {
			continue // the last one
		}
		require.Empty(t, d.changes())
		got = typed(t, d.environ, "audit")
		require.Contains(t, got.out, "refused", "refusals are audited")

		got = typed(t, d.environ, append(strings.Fields(tt.line), "-y", "--json")...)
		require.Equal(t, exitFailed, got.code)
		answer := decode[printRefusal](t, got.out)
		require.Equal(t, "refused", answer.Outcome)
		require.Contains(t, answer.Error, tt.says)
	}
}

func TestRefusalsAtTheTerminal(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "admin")
	for _, tt := range []struct {
		line    string
		code    int
		outcome string
		says    string
	}{
		{"deny", exitUsage, "usage", "Missing: a source"},
		{"deny nonsense", exitUsage, "usage", "Invalid IP address or range: nonsense. Example: deny 203.0.113.7"},
		{"deny " + attacker + " fro=1h", exitUsage, "usage", "Unknown argument: fro= (did you mean for?)"},
		{"deny " + attacker + " for=soon", exitUsage, "usage", "Invalid duration: soon. Example: for=4h"},
		{"deny " + attacker + " account=nobody", exitUsage, "usage", "Unknown account: nobody"},
		{"status --loud", exitUsage, "usage", "Unknown option: --loud"},
		{"mode 4 loud", exitUsage, "usage", "loud"},
		{"attack azzzzzzzz", exitUsage, "usage", "azzzzzzzz"},
		{"deny 192.0.2.9", exitFailed, "refused", "never denied"},
		{"deny 10.1.2.3", exitFailed, "refused", "private addresses"},
		{"remove " + neighbour, exitFailed, "nothing", neighbour},
	} {
		var got answered
		var answer printRefusal
		for tries := 0; tries == 0 || answer.Outcome == "away" && tries < 10; tries++ { // a busy machine's Redis isn't there within a second
			got = typed(t, d.environ, append(strings.Fields(tt.line), "-y", "--json")...)
			answer = decode[printRefusal](t, got.out)
		}
		require.Equal(t, tt.code, got.code, "%s: %+v", tt.line, got)
		require.Equal(t, tt.outcome, answer.Outcome, "%s: %+v", tt.line, answer)
		require.Contains(t, answer.Error, tt.says, tt.line)

		got = typed(t, d.environ, append(strings.Fields(tt.line), "-y")...)
		require.Equal(t, tt.code, got.code, tt.line)
		require.Empty(t, got.out, tt.line)
		require.Contains(t, got.err, tt.says, tt.line)
		require.True(t, strings.HasPrefix(got.err, "wafbot: "), "the reason comes first: %s", got.err)
		require.NotContains(t, got.err, "{", "and no JSON")
	}
	require.Empty(t, d.changes())
}

// The terminal can request an approval, never give one.
func TestTheTerminalWaitsForAnApproval(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "admin")
	got := typed(t, d.environ, "deny", "country:FR", "-y", "--json")
	require.Equal(t, exitFailed, got.code, "%+v", got)
	var answer struct {
		Outcome string                 `json:"outcome"`
		Data    record.ApprovalRequest `json:"data"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &answer))
	require.Equal(t, "waiting", answer.Outcome)
	got = typed(t, d.environ, "deny", "country:FR", "-y")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.out, "Waiting for approval: Deny country:FR everywhere for 4 h. "+answer.Data.ID)
	got = typed(t, d.environ, "approve", answer.Data.ID)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.err, "the terminal can ask for approval and never give it")
	require.Empty(t, d.changes())
}

func TestWithoutRedisNothingIsChanged(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "responder").with("WAFBOT_REDIS_URL=redis://" + closedAddress + "/0")
	got := typed(t, d.environ, "deny", attacker, "-y", "--json")
	require.Equal(t, exitFailed, got.code)
	require.Equal(t, "away", decode[printRefusal](t, got.out).Outcome)
	require.Empty(t, d.changes())

	got = typed(t, d.environ, "attacks")
	require.Equal(t, exitDone, got.code, "reads go on: %+v", got)
	require.Contains(t, got.out, d.attack)
}

func TestADryRunShowsWhatWouldBeSent(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "responder").with("WAFBOT_CHANGES=dry_run")
	got := typed(t, d.environ, "deny", attacker)
	require.Equal(t, exitDone, got.code, "nothing to ask: %+v", got)
	require.Contains(t, got.out, attacker)
	require.Empty(t, d.changes())

	got = typed(t, d.environ, "deny", attacker, "-y", "--json")
	require.Equal(t, "dry_run", decode[result](t, got.out).Outcome)
	require.Empty(t, d.changes())
}
