package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/cmd/wafbot/doctor"
	"github.com/wafbot/wafbot/commands/verb"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox"
)

var updateMan = flag.Bool("update", false, "write docs/wafbot.1")

const manPage = "../../docs/wafbot.1"

// The man page says what help says: it is made of the same descriptions.
func TestManPage(t *testing.T) {
	t.Parallel()
	got := documentProgram(described())
	if *updateMan {
		require.NoError(t, os.WriteFile(manPage, []byte(got), 0o600))
	}
	want, err := os.ReadFile(manPage)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s (go test ./cmd/wafbot -run TestManPage -update writes it again)", manPage)
}

// roff makes any text safe to stand in a line of the page, and keeps its dashes to be copied.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}

// entry is a term and what it means.
func entry(b *strings.Builder, term, means string) {
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(term), roff(means))
}

func documentProgram(programs []*kong.Node) string {
	var b strings.Builder
	b.WriteString(`.\" Written by go test ./cmd/wafbot -run TestManPage -update from the descriptions of the commands. Don't edit.
.TH WAFBOT 1 "" wafbot "User Commands"
.SH NAME
wafbot \- bring attacks on a cloud WAF to Slack and carry out what people decide there
.SH SYNOPSIS
.B wafbot
.I PROGRAM
.RI [ OPTIONS ]
.br
.B wafbot
.I VERB
.RI [ OBJECT .\|.\|.]
.RI [ KEY = VALUE .\|.\|.]
.RI [ OPTIONS ]
.SH DESCRIPTION
A Slack bot for on\-call engineers: see each attack on your cloud WAF, stop it from Slack, undo it.
A program runs or checks the bot.
Every other word is a verb of the bot, with the same words, roles, guards and audit as in Slack.
It asks before it changes anything, unless told
.BR \-\-yes .
.SH PROGRAMS
`)
	for _, p := range programs {
		documentNode(&b, "", p)
	}
	b.WriteString(".SH VERBS\nKeys stand in any order, quotes work as in a shell. Words in brackets may be left out.\n")
	for _, cmd := range verb.All() {
		entry(&b, cmd.Usage(), cmd.Summary)
		b.WriteString(".RS\n")
		for _, arg := range cmd.Args {
			entry(&b, arg.Name, arg.Help)
		}
		for _, also := range cmd.Aliases {
			entry(&b, "Also "+also, "the same")
		}
		b.WriteString(".RE\n")
	}
	b.WriteString(".SH OPTIONS OF A VERB\n")
	for _, o := range options() {
		entry(&b, o.String(), o.Help)
	}
	b.WriteString(`.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
failed, refused or waiting, or doctor found something wrong
.TP
.B 2
wrong usage, a bad configuration, or a question without a terminal to ask
.SH FILES
.TP
.I /etc/wafbot/wafbot.env
the environment of the service that the Debian package installs
.SH SEE ALSO
.UR https://github.com/wafbot/wafbot
The documentation
.UE
`)
	return b.String()
}

// documentNode writes about a program, or about each of those that it consists of.
func documentNode(b *strings.Builder, before string, n *kong.Node) {
	for _, child := range n.Children {
		documentNode(b, before+n.Name+" ", child)
	}
	if len(n.Children) > 0 {
		return
	}
	words := []string{before + n.Name}
	for _, p := range n.Positional {
		words = append(words, p.Summary())
	}
	entry(b, strings.Join(words, " "), n.Help)
	b.WriteString(".RS\n")
	for _, f := range n.Flags {
		term := "--" + f.Name
		if !f.IsBool() {
			term += "=" + f.FormatPlaceHolder()
		}
		entry(b, term, f.Help)
	}
	b.WriteString(".RE\n")
}

// offered are the words that the program offers at the end of a line.
func offered(t *testing.T, line string) (words []string) {
	t.Helper()
	var out bytes.Buffer
	terminal{out: &out}.complete(described(), strings.Split(line, " "))
	for row := range strings.Lines(out.String()) {
		word, _, _ := strings.Cut(row, "\t")
		words = append(words, word)
	}
	return words
}

// described are the programs.
var described = sync.OnceValue(func() []*kong.Node {
	parser, err := newParser(&terminal{out: io.Discard, err: io.Discard})
	if err != nil {
		panic(err) // no program would run
	}
	return parser.Model.Children
})

func TestWordsAreCompleted(t *testing.T) {
	t.Parallel()
	for _, each := range []struct {
		line string
		want []string
	}{
		{"de", []string{"demo", "deny", "delete-rule"}},
		{"--v", []string{"--version"}},
		{"help compl", []string{"completion"}},
		{"help deny ", nil},
		{"no-such-verb ", nil},
		{"completion ", []string{"bash", "zsh", "fish"}},
		{"completion bash ", nil},
		{"config ", []string{"check", "schema", "show"}},
		{"config s", []string{"schema", "show"}},
		{"config check ", []string{anyFile}},
		{"config show wafbot.y", []string{anyFile}},
		{"config schema ", nil},
		{"config show --", []string{"--help"}},
		{"serve --", []string{"--config", "--help"}},
		{"serve --config ", []string{anyFile}},
		{"serve --config=wafbot.y", []string{anyFile}},
		{"demo --speed ", nil},
		{"verdict ", []string{"real", "false_positive", "test", "attack=", "account="}},
		{"verdict real ", []string{"attack=", "account="}},
		{"verdict real attack=ak7q2m9xw ac", []string{"account="}},
		{"deny 203.0.113.7 ", []string{"attack=", "for=", "app=", "reason=", "account="}},
		{"block 203.0.113.7 for=4h for", nil},
		{"deny 203.0.113.7 for=1", []string{"for=15m", "for=1h", "for=12h", "for=1d", "for=1w"}},
		{"deny 203.0.113.7 --s", []string{"--shared"}},
		{"mode 4 safe", []string{"safe_blocking"}},
		{"--json mode", nil}, // an option before the verb
		{"deny --from ", []string{anyFile}},
		{"deny --from targets 203.0.113.7 at", []string{"attack="}},
	} {
		require.Equal(t, each.want, offered(t, each.line), "%q", each.line)
	}
	require.Contains(t, offered(t, ""), "status")
	require.Equal(t, exitDone, typed(t, nil, completeWord).code)
	require.Contains(t, typed(t, nil, completeWord, "de").out, "deny\tput sources on the denylist")
}

func TestEveryArgumentIsCompletedWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	for _, cmd := range verb.All() {
		for _, name := range append(cmd.Aliases, cmd.Name) {
			for _, arg := range cmd.Args {
				if !arg.Object {
					require.Contains(t, offered(t, name+" "+arg.Name), arg.Name+"=")
					offered(t, name+" "+arg.Name+"=")
				}
			}
		}
	}
}

func TestCompletionIsForKnownShells(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		got := typed(t, nil, "completion", shell)
		require.Equal(t, exitDone, got.code)
		require.Contains(t, got.out, completeWord)
	}
	require.Equal(t, answered{exitUsage, "", "wafbot: <shell> must be one of \"bash\",\"zsh\",\"fish\" but got \"csh\"; wafbot completion --help says more\n"}, typed(t, nil, "completion", "csh"))
}

func TestVersionIsOneLine(t *testing.T) {
	t.Parallel()
	got := typed(t, nil, "version")
	require.Regexp(t, `^wafbot \S+ \(commit .*go1\..*\)\n$`, got.out)
	require.Equal(t, got, typed(t, nil, "--version"))
}

const smallConfig = `
slack: {bot_token: xoxb-secret-1, signing_secret: secret-2}
account_defaults: {api_url: "https://api.example.com", poll_interval: 20s}
accounts:
  - {name: acme, token: secret-3, channel: C0ACME}
`

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	good := writeConfig(t, smallConfig)
	require.Equal(t, answered{exitDone, good + ": right, accounts: 1\n", ""}, typed(t, nil, "config", "check", good))
	require.Equal(t, answered{exitDone, good + ": right, accounts: 1\n", ""}, typed(t, []string{"WAFBOT_CONFIG=" + good}, "config", "check"))
	bad := writeConfig(t, "polcy: 1\nlisten: x\n"+smallConfig)
	require.Equal(t, answered{exitUsage, "", bad + ":1:1: polcy: unknown key; did you mean \"policy\"?\n" +
		bad + ":2:9: listen: \"x\" is no address to listen on; write it like 127.0.0.1:8080 or :8080\n"}, typed(t, nil, "config", "check", bad))
	noSlack := writeConfig(t, "accounts: [{name: acme, api_url: 'https://h/', token: t, channel: C0ACME}]\n")
	require.Contains(t, typed(t, nil, "config", "check", noSlack).err, "slack.bot_token: missing", "serve would refuse it")
	require.Equal(t, exitDone, typed(t, nil, "config", "show", noSlack).code, "the terminal takes it")
}

// What serve refuses, config check refuses, in the same words and with the same exit code.
func TestConfigCheckIsWhatServeDoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, link, blanks, folder := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "blanks"), filepath.Join(dir, "folder")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink(pipe, link))
	require.NoError(t, os.WriteFile(blanks, []byte("AB CD\n"), 0o600))
	require.NoError(t, os.Mkdir(folder, 0o700))
	with := func(account string) string { return strings.Replace(smallConfig, "token: secret-3", account, 1) }
	slack := func(key string) string { return strings.Replace(smallConfig, "signing_secret: secret-2", key, 1) }
	const noFile = " is a folder, a pipe or a device, and must be a file: wafbot reads it again later"
	for _, bad := range []struct{ yaml, says string }{
		{with(`token: "AB CD"`), "accounts[0].token: token holds a space"},
		{with("token_file: " + blanks), "accounts[0].token_file: read token file " + blanks + ": token holds a space"},
		{with("token: t, api_url: 'https://h/?a=b'"), "accounts[0].api_url: base address must not hold a query"},
		{with("token: t, routes: [{page: {name: p, format: pagerduty, url: 'https://h/'}}]"), "routing key"},
		{with("token_file: " + pipe), pipe + noFile},
		{with("token_file: " + link), link + noFile},
		{with("token_file: /dev/zero"), "/dev/zero" + noFile},
		{with("token_file: " + folder), folder + noFile},
		{slack("signing_secret_file: " + pipe), pipe + noFile},
		{slack("app_token_file: " + pipe), pipe + noFile},
		{smallConfig + "redis: {url_file: " + pipe + "}\n", pipe + noFile},
		{smallConfig + "redis: {url: 'rediss://h', tls: {ca_file: " + pipe + "}}\n", pipe + noFile},
		{smallConfig + "redis: {url: 'rediss://h', tls: {cert_file: " + pipe + ", key_file: " + pipe + "}}\n", pipe + noFile},
		{smallConfig + "redis: {url: 'http://h'}\n", "is no Redis address"},
		{smallConfig + "listen: nowhere\n", "is no address to listen on"},
		{"accounts: [{name: acme, api_url: 'https://h/', token: t, channel: C0ACME}]\n", "slack.bot_token: missing"},
	} {
		path := writeConfig(t, bad.yaml)
		checked := typed(t, nil, "config", "check", path)
		require.Equal(t, exitUsage, checked.code, "%s: %+v", bad.yaml, checked)
		require.Contains(t, checked.err, bad.says)
		require.Equal(t, checked, typed(t, nil, "serve", "--config", path), bad.yaml)
	}
	require.Contains(t, typed(t, nil, "config", "check", pipe).err, "read config: "+pipe+noFile)
}

func TestConfigShowAndSchema(t *testing.T) {
	t.Parallel()
	shown := typed(t, nil, "config", "show", writeConfig(t, smallConfig))
	require.Equal(t, exitDone, shown.code)
	require.Contains(t, shown.out, "poll_interval: 20s")
	require.Contains(t, shown.out, "[redacted]")
	require.NotContains(t, shown.out, "secret-")
	schema := typed(t, nil, "config", "schema")
	require.Equal(t, exitDone, schema.code)
	require.True(t, json.Valid([]byte(schema.out)))
	require.Equal(t, exitUsage, typed(t, nil, "config", "chek").code)
}

func TestDoctorAtTheTerminal(t *testing.T) {
	t.Parallel()
	d := newLineWorld(t, "")
	got := typed(t, d.environ, "doctor")
	require.Equal(t, exitDone, got.code, "%+v", got)
	require.Empty(t, got.err)
	require.Contains(t, got.out, "\nok    channel C0WAF0001 #waf: wafbot is in it, for WAFBOT_CHANNEL\n")
	got = typed(t, d.environ, "doctor", "--json", "--post")
	require.Equal(t, exitDone, got.code, "%+v", got)
	require.True(t, decode[doctor.Report](t, got.out).OK)
	require.Len(t, d.Slack.Messages("C0WAF0001"), 1)

	got = typed(t, d.with("WAFBOT_REDIS_URL=redis://"+closedAddress).environ, "doctor", "--json")
	require.Equal(t, exitFailed, got.code)
	require.False(t, decode[doctor.Report](t, got.out).OK)
	require.Contains(t, got.err, "1 thing is wrong; fix it and run doctor again")
	got = typed(t, d.environ, "doctor", "--config", writeConfig(t, "polcy: {}\n"))
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.out, "WRONG config ")
}

func TestDoctorThatIsStoppedSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs strings.Builder
	code := run(ctx, terminal{environ: newLineWorld(t, "").environ, args: []string{"doctor"}, out: &out, err: &errs})
	require.Equal(t, exitFailed, code)
	require.Empty(t, out.String(), "half the findings would look like all")
	require.Contains(t, errs.String(), "stopped before everything was checked")
}

// Libraries log as the program does: each of its commands says where.
func TestLibrariesLogAsConfigured(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	environ := append(openWorld(t).Env(), "WAFBOT_LOG_FORMAT=json")
	for _, line := range [][]string{{"serve"}, {"status"}} {
		var out bytes.Buffer
		var given *slog.Logger
		run(t.Context(), terminal{
			args: line, environ: append(environ, "WAFBOT_LISTEN="+busy.Addr().String()), out: io.Discard, err: &out,
			hangup: make(chan os.Signal, 1), libraries: func(log *slog.Logger) { given = log },
		})
		out.Reset()
		slog.NewLogLogger(given.Handler(), slog.LevelError).Print("http: TLS handshake error")
		require.True(t, json.Valid(out.Bytes()), "%s: %s", line, out.String())
	}
}

func TestTheLogAsConfigured(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logAs(&out, config.Log{Level: "warn", Format: "json"}).With("account", "acme")
	log.Info("below")
	log.WarnContext(record.WithRequest(t.Context(), "e12345678"), "above", "path", "/a\u202eb\n{\"level\":\"ERROR\"}")
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
	var line map[string]string
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, []string{"WARN", "above", "acme", "e12345678"}, []string{line["level"], line["msg"], line["account"], line["request_id"]})
	require.NotContains(t, line["path"], "\u202e")

	out.Reset()
	log = logAs(&out, config.Log{Level: "debug", Format: "text"})
	log.Debug("detail")
	require.Contains(t, out.String(), "level=DEBUG msg=detail\n")
	require.NotContains(t, out.String(), "request_id")
}

func TestManifest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		base string
		says string // beside the link
	}{
		{"Socket Mode", nil, "", "an app token with the scope connections:write"},
		{"HTTP", []string{"--url", "https://waf.example.com"}, "https://waf.example.com", "its signing secret"},
		{"a slash at the end", []string{"--url=https://waf.example.com:8443/"}, "https://waf.example.com:8443", "its signing secret"},
		{"loopback, for trying", []string{"--url", "http://127.0.0.1:8080"}, "http://127.0.0.1:8080", "its signing secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := typed(t, nil, append([]string{"manifest"}, tt.args...)...)
			require.Equal(t, exitDone, got.code, "%+v", got)
			require.Equal(t, slackconn.Manifest(tt.base, "/waf", "wafbot"), got.out, "nothing else, so that it can be piped")
			intro, link, _ := strings.Cut(strings.TrimSpace(got.err), "\n")
			require.Contains(t, intro, "Open this to create the app")
			require.Contains(t, intro, tt.says)
			require.Equal(t, slackconn.ManifestLink(got.out), link)
		})
	}
}

func TestManifestRefusesAWrongAddress(t *testing.T) {
	t.Parallel()
	for address, says := range map[string]string{
		"waf.example.com":                 "is no web address; write it like https://wafbot.example.com",
		"ftp://waf.example.com":           "is no web address",
		"https://":                        "is no web address",
		"https://a b":                     "is no web address",
		"http://waf.example.com":          "must begin with https://",
		"https://waf.example.com/slack":   "must end behind the host",
		"https://waf.example.com/slack/A": "must end behind the host",
		"https://waf.example.com/hq":      "must end behind the host",
		"https://waf.example.com?x=1":     "must end behind the host",
		"https://waf.example.com/#top":    "must end behind the host",
		"https://me:pass@waf.example.com": "holds a user name or a password",
	} {
		got := typed(t, nil, "manifest", "--url", address)
		require.Equal(t, exitUsage, got.code, "%s: %+v", address, got)
		require.Empty(t, got.out, address)
		require.Contains(t, got.err, says, address)
		require.NotContains(t, got.err, "pass@", "not repeated")
	}
	for _, tt := range [][3]string{
		{"--command", "waf", "--command is no slash command; write it like /waf"},
		{"--command", "/WAF", "write it like /waf"},
		{"--command", "/waf: x", "write it like /waf"},
		{"--command", "/" + strings.Repeat("w", 32), "up to 31"},
		{"--name", "", "--name must be 1 to 35"},
		{"--name", `waf"bot`, "--name must be 1 to 35"},
		{"--name", strings.Repeat("w", 36), "--name must be 1 to 35"},
	} {
		got := typed(t, nil, "manifest", tt[0]+"="+tt[1])
		require.Equal(t, exitUsage, got.code, "%v: %+v", tt, got)
		require.Contains(t, got.err, tt[2])
	}
	second := typed(t, nil, "manifest", "--command", "/waf-test", "--name", "wafbot-test")
	require.Equal(t, slackconn.Manifest("", "/waf-test", "wafbot-test"), second.out)
}

func TestSandboxPrintsAnEnvironment(t *testing.T) {
	t.Parallel()
	program := start(t, nil, "sandbox", "--listen", ":0", "--deliver", "http://127.0.0.1:18080/")
	var environ, names []string
	for line := program.line(t); line != ""; line = program.line(t) {
		name, value, ok := strings.Cut(line, "=")
		require.True(t, ok, line)
		require.NotEmpty(t, value, line)
		environ, names = append(environ, line), append(names, name)
	}
	slices.Sort(names)
	require.Equal(t, []string{
		"WAFBOT_ADMINS", "WAFBOT_API_TOKEN", "WAFBOT_API_URL", "WAFBOT_CHANGES", "WAFBOT_CHANNEL", "WAFBOT_LISTEN", "WAFBOT_NEVER_DENY", "WAFBOT_REDIS_URL",
		"WAFBOT_RESPONDERS", "WAFBOT_SLACK_API_URL", "WAFBOT_SLACK_APP_TOKEN", "WAFBOT_SLACK_BOT_TOKEN", "WAFBOT_SLACK_SIGNING_SECRET", "WAFBOT_VIEWERS",
	}, names)

	cfg, err := config.Load("", environ)
	require.NoError(t, err)
	require.NoError(t, cfg.CheckServe())
	require.Equal(t, "127.0.0.1:18080", cfg.Listen, "where the world delivers to")
	require.Equal(t, "on", cfg.Policy.Changes)

	got := typed(t, environ, "status")
	require.Equal(t, exitDone, got.code, "the emulated service answers: %+v", got)
	require.Contains(t, got.out, "Status of default")

	left := program.stop()
	require.Equal(t, exitDone, left.code, left.err)
}

// openWorld is a quiet emulated world for as long as the test lasts.
func openWorld(t testing.TB) *sandbox.World {
	t.Helper()
	return openWorldWith(t, sandbox.Config{})
}

func openWorldWith(t testing.TB, cfg sandbox.Config) *sandbox.World {
	t.Helper()
	cfg.Quiet, cfg.Speed, cfg.Patience = true, 600, patience
	world, err := sandbox.New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- world.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return world
}

// Who has the emulated world listen where other machines reach it is warned.
func TestAWorldThatOthersReach(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program, listen string
		warned          bool
	}{
		{"sandbox", "0.0.0.0:0", true}, {"sandbox", "[::]:0", true}, {"sandbox", "127.0.0.1:0", false}, {"sandbox", ":0", false}, {"demo", "0.0.0.0:0", true},
	} {
		running := start(t, nil, tt.program, "--listen", tt.listen)
		running.line(t)
		left := running.stop()
		require.Equal(t, tt.warned, strings.Contains(left.err, "level=WARN msg=\"other machines reach the emulated world"), "%+v: %s", tt, left.err)
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	demo := start(t, nil, "demo", "--listen", ":0")
	address := demo.line(t)
	page, err := url.Parse(address)
	require.NoError(t, err)
	require.Equal(t, "http", page.Scheme)
	require.Equal(t, "127.0.0.1", page.Hostname())
	require.NotEqual(t, "0", page.Port())
	for _, elsewhere := range []string{"127.0.0.2", "::1"} { // where only those are heard who listen everywhere
		_, err := net.Dial("tcp", net.JoinHostPort(elsewhere, page.Port()))
		require.Error(t, err, "nothing listens outside loopback unless configured to")
	}

	status, body := fetch(t, address)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "<title>wafbot")

	left := demo.stop()
	require.Equal(t, exitDone, left.code, left.err)
	require.Empty(t, left.out, "the address is all of standard output")
	require.NotContains(t, left.err, "level=ERROR")
	_, err = net.Dial("tcp", page.Host)
	require.Error(t, err, "no replica listens any more")
}

func TestDemoOnABusyPort(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	for _, program := range []string{"demo", "sandbox"} {
		got := typed(t, nil, program, "--listen", busy.Addr().String())
		require.Equal(t, exitFailed, got.code)
		require.Empty(t, got.out)
		require.Contains(t, got.err, "address already in use; --listen 127.0.0.1:0 picks a free port")
	}
}

func TestDemoWithReplicas(t *testing.T) {
	t.Parallel()
	require.Equal(t, exitUsage, typed(t, nil, "demo", "--replicas", "0").code)
	demo := start(t, nil, "demo", "--listen", ":0", "--replicas", "3")
	address := demo.line(t)
	channel := func() string {
		_, body := fetch(t, address+"/sandbox/slack/messages?channel=waf&user=rob")
		return body
	}
	require.Eventually(t, func() bool { return strings.Contains(channel(), "wafbot watches acme") }, patience, 20*time.Millisecond)
	for range 6 { // whichever replica takes them
		res, err := http.Post(address+"/sandbox/slack/command", "application/json", strings.NewReader(`{"user":"rob","channel":"#waf","text":"deny 198.51.100.200"}`))
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode, "%s", body) // a busy machine acknowledges after Slack's three seconds
	}
	require.Eventually(t, func() bool { return strings.Count(channel(), "Done, nothing to change") >= 5 }, patience, 20*time.Millisecond)
	require.Equal(t, 1, strings.Count(channel(), `"bot_id":"B0WAFBOT","text":"*wafbot watches acme*`), "posted by one")
	left := demo.stop()
	require.Equal(t, exitDone, left.code, left.err)
	for line := range strings.Lines(left.err) {
		late := strings.Contains(line, "i/o timeout") || strings.Contains(line, "deadline exceeded") // a busy machine keeps Redis waiting
		require.False(t, strings.Contains(line, "level=ERROR") && !late, line)
	}
}
