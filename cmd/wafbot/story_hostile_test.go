package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/hostiletext"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// requireHarmless holds all that was said to Slack, and each line of the log and of the audit trail, to the corpus'
// oracle. Slack's limits and schemas the emulated workspace holds it to.
func (w *world) requireHarmless() {
	w.t.Helper()
	for _, call := range w.Slack.Calls() {
		require.NoError(w.t, hostiletext.Lines(call.Args["text"], hostiletext.Markup), call.Method)
		for _, name := range []string{"blocks", "attachments", "view"} {
			if call.Args[name] == "" {
				continue
			}
			var doc any
			require.NoError(w.t, json.Unmarshal([]byte(call.Args[name]), &doc), "%s %s", call.Method, call.Args[name])
			require.NoError(w.t, hostiletext.Blocks(doc), call.Method)
		}
	}
	for line := range strings.Lines(w.journal.String()) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, `{"audit":`) || strings.HasPrefix(line, `{"event":`) { // as long as what was asked for, or attacked
			require.NoError(w.t, hostiletext.Plain(line))
			continue
		}
		require.NoError(w.t, hostiletext.LogLine(line))
		require.Regexp(w.t, `^time=\S+ level=\S+ msg=`, line, "one line an event")
	}
}

// hostileEverywhere has people and entries of others bear hostile names, and lets every attack have a card.
func hostileEverywhere(w *world) {
	w.rough = true
	w.cfg.Accounts[0].Storm.Over = 1_000_000
	unpaced(w) // Slack's pace is the matter of other stories
}

// special are the characters that mean something in a regular expression of the service.
var special = regexp.MustCompile(`[\\^$.|?*+()\[\]{}~&]`)

// hostileService writes the corpus into every field of attacks, and of entries and rules of others, and waits for a
// card of each attack.
func (w *world) hostileService() {
	w.t.Helper()
	a := w.cfg.Accounts[0]
	others, err := apiclient.New(apiclient.Config{BaseURL: a.APIURL, Token: a.Token, ClientID: a.ClientID})
	require.NoError(w.t, err)
	pairs := slices.Collect(slices.Chunk(hostiletext.Samples(), 2)) // one sample in some fields of an attack, another in the others
	for i, pair := range pairs {
		text, other := pair[0].Text, pair[len(pair)-1].Text
		text, other = text[:min(len(text), 3_000)], other[:min(len(other), 3_000)] // all of them are read in each poll
		spec := waf.AttackSpec{
			Host: other, Method: text, Path: "/" + other, Parameter: text, Type: other, Hits: 100, Vulnerability: &waf.VulnSpec{Title: text},
			Sources: []waf.SourceSpec{{IP: fmt.Sprintf("203.0.113.%d", i+1), PerSecond: 0.01}},
		}
		if i%2 == 0 {
			spec.Host, spec.Path, spec.Type, spec.Vulnerability = text, "/"+text, text, nil
		}
		if i == len(pairs)-1 {
			spec.Path = "/" + strings.Repeat("a", 100_000)
		}
		w.attack(spec)
		_, err := w.WAF.SeedIPRule("acme", waf.IPRule{Subnet: fmt.Sprintf("198.51.100.%d/32", i+1), Reason: text, Author: other})
		require.NoError(w.t, err)
		_, err = others.CreateRule(w.t.Context(), apiclient.Rule{
			Type: apiclient.RuleRegex, AttackType: "scanner", Regex: "x" + special.ReplaceAllString(text, "."), Comment: "x" + other, Point: apiclient.Point{{"header", "X" + text}},
			Conditions: []apiclient.Condition{{Type: "equal", Value: text, Point: apiclient.Part{"header", "HOST"}}, {Type: "regex", Value: special.ReplaceAllString(other, "."), Point: apiclient.Part{"uri"}}},
		})
		require.NoError(w.t, err)
	}
	w.until("a card each", func() bool { return len(w.cards("#waf")) == len(pairs) })
}

// typedSample is a sample as a person can type it, cut to what Slack accepts.
func typedSample(sample hostiletext.Sample) string {
	text := strings.ToValidUTF8(sample.Text, "\ufffd")
	if most := []rune(text); len(most) > 1_500 {
		text = string(most[:1_500])
	}
	return text
}

// Attackers write the corpus into every field of a record, other authors into their entries, people into their names,
// lines and notes, and the service into its refusals: the bot posts, answers, logs and audits it, and nothing of it
// does anything.
func TestHostileTextEverywhere(t *testing.T) {
	full.Only(t)
	overOne(t, workspace.IngressHTTP, hostileEverywhere, func(t *testing.T, w *world) {
		w.hostileService()
		for i, sample := range hostiletext.Samples() {
			require.NoError(t, w.Slack.SetUser(workspace.User{ID: "U0ROB0002", Name: "rob", RealName: typedSample(sample), TeamID: "T0SANDBOX"}))
			said := strings.NewReplacer(`"`, `'`, "\\", "/").Replace(typedSample(sample))
			line := []string{
				typedSample(sample), "deny " + typedSample(sample), `lists "` + said + `"`, fmt.Sprintf(`deny 198.51.100.%d for=1h reason="%s"`, 100+i, said),
			}[i%4]
			if strings.TrimSpace(line) != "" && utf8.ValidString(line) {
				w.types("rob", line)
			}
		}
		for _, line := range []string{"attacks all", "incidents", "lists", "vulns all", "trends", "summary", "status", "audit", "rules", "conditions"} {
			w.types("vic", line)
		}
		w.polls(4)
		w.until("all is answered", func() bool {
			return w.state("acme").Requests["POST /v1/objects/attack"] > 0 && len(w.ephemerals("vic")) >= 10
		})
		require.NotEmpty(t, w.journal.String())
	})
}

// requireHarmlessPrint holds what a program prints to the corpus' oracle.
func requireHarmlessPrint(t *testing.T, printed, what string) {
	t.Helper()
	require.NoError(t, hostiletext.Lines(printed, hostiletext.Plain), what)
}

// What strangers wrote stands in what the terminal and the HTTP pages show, in forms and in the Home tab, and does
// nothing there.
func TestHostileTextAtTheOtherDoors(t *testing.T) {
	full.Only(t)
	overOne(t, workspace.IngressHTTP, hostileEverywhere, func(t *testing.T, w *world) {
		w.hostileService()
		var attacks []string
		for _, card := range w.cards("#waf") {
			attacks = append(attacks, factsOf(card).Payload.Attack)
		}
		for i, sample := range hostiletext.Samples() {
			id := attacks[i%len(attacks)]
			for _, line := range [][]string{{"note", "attack=" + id, sample.Text}, {"deny", sample.Text, "-y"}, {sample.Text}, {"lists", sample.Text}, {"patch", "attack=" + id, "reason=" + sample.Text, "-y"}} {
				got := w.atShell(line...)
				requireHarmlessPrint(t, got.out+got.err, fmt.Sprintf("%.300q", line))
			}
		}
		for _, id := range attacks {
			for _, verb := range []string{"attack", "report", "explain"} {
				w.requirePrinted(t, verb, "attack="+id)
			}
		}
		for _, line := range []string{
			"status", "incidents", "attacks --all", "vulns all", "trends", "summary", "lists --all", "rules --all", "conditions --all", "audit --all", "whoami", "drill",
		} {
			w.requirePrinted(t, strings.Fields(line)...)
		}
		got := w.atShell("audit", "export")
		require.Equal(t, exitDone, got.code, got.err)
		for line := range strings.Lines(got.out) {
			require.True(t, json.Valid([]byte(line)), line)
			require.NoError(t, hostiletext.Plain(strings.TrimSuffix(line, "\n")))
		}
		for _, path := range []string{"/readyz", "/metrics", "/healthz"} {
			_, body := w.get(path)
			requireHarmlessPrint(t, body, path)
		}
		w.opensHome("rob")
		w.home("rob", "Going on")
		for _, verb := range []string{"deny", "remove", "mode", "delete-rule", "extend", "mute", "attack", "verdict", "indicator", "patch", "block-path"} {
			w.types("ann", verb)
			w.until(verb+" opens a form", func() bool { return w.Slack.OpenView("ann") != nil })
			w.leaves("ann")
		}
	})
}

// requirePrinted types a line for people and for programs.
func (w *world) requirePrinted(t *testing.T, args ...string) {
	t.Helper()
	plain := w.atShell(args...)
	requireHarmlessPrint(t, plain.out+plain.err, strings.Join(args, " "))
	programs := w.atShell(append(slices.Clone(args), "--json")...)
	requireHarmlessPrint(t, programs.out+programs.err, strings.Join(args, " ")+" --json")
	require.True(t, json.Valid([]byte(programs.out)), "%s --json: %s", args, programs.out)
}

// What Slack refuses in an attacker's words is logged, and shown on the HTTP pages, without doing anything; and so is
// what people write into forms, with what is wrong about it.
func TestHostileRefusalsAndForms(t *testing.T) {
	full.Only(t)
	overOne(t, workspace.IngressHTTP, hostileEverywhere, func(t *testing.T, w *world) {
		for i, sample := range hostiletext.Samples() {
			w.Slack.SetFault(workspace.Fault{Kind: "x" + sample.Text, Method: "views.open", Times: 1})
			w.types("ann", "deny")
			w.until("the refusal is logged", func() bool { return strings.Count(w.journal.String(), `msg="open view"`) > i })
			for field, verb := range map[string]string{"Addresses and ranges": "deny", "Regular expression": "indicator", "Place": "block-path"} {
				w.types("ann", verb)
				w.sees("ann", field)
				answered := w.submits("ann", map[string]any{field: typedSample(sample)})
				var doc any
				if json.Unmarshal([]byte(answered.Body), &doc) == nil {
					requireHarmlessStrings(t, doc)
				}
				for w.Slack.OpenView("ann") != nil { // below an answer is the form, which the next one must not be taken for
					w.leaves("ann")
				}
			}
		}
		w.stop()
		w.Slack.SetFault(workspace.Fault{Kind: "\u202e*x*\x1b[2J\u0301", Method: "auth.test"})
		w.start()
		_, body := w.get("/readyz")
		require.Contains(t, body, "Slack refuses it")
		requireHarmlessPrint(t, body, "/readyz")
	})
}

// requireHarmlessStrings holds each text in a JSON value to the oracle, but for a view's private_metadata: nobody sees
// it, and it holds what was typed as it was typed.
func requireHarmlessStrings(t *testing.T, doc any) {
	t.Helper()
	switch d := doc.(type) {
	case string:
		require.NoError(t, hostiletext.Lines(d, hostiletext.Plain))
	case []any:
		for _, v := range d {
			requireHarmlessStrings(t, v)
		}
	case map[string]any:
		for key, v := range d {
			if key != "private_metadata" {
				requireHarmlessStrings(t, v)
			}
		}
	}
}

// What is said of wrong usage says again what was typed, or pasted: flags, files, verbs.
func TestHostileTextInUsageErrors(t *testing.T) {
	full.Only(t)
	t.Parallel()
	environ := newLineWorld(t, "").environ
	for _, sample := range hostiletext.Samples() {
		text := strings.ReplaceAll(sample.Text, "\x00", "") // no argument holds it
		if text == "" {
			continue // which leaves the file out
		}
		for _, args := range [][]string{
			{text}, {"help", text}, {"deny", "--from", text}, {"serve", "--" + text}, {"serve", "--config", text}, {"doctor", text}, {"status", "--config", text}, {"deny", text + "=1"},
		} {
			got := typed(t, environ, args...)
			requireHarmlessPrint(t, got.out+got.err, fmt.Sprintf("%.300q", args))
		}
	}
}

const form = "application/x-www-form-urlencoded"

// signedRequest is a request as Slack would send it at a time: signed with the secret.
func signedRequest(t testing.TB, address, kind, body, secret string, at time.Time) *http.Request {
	t.Helper()
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	require.NoError(t, err)
	req.Header = http.Header{
		"Content-Type": {kind}, "X-Slack-Request-Timestamp": {stamp}, "X-Slack-Signature": {"v0=" + hex.EncodeToString(mac.Sum(nil))},
	}
	return req
}

// signed sends such a request.
func (w *world) signed(path, kind, body string, at time.Time) (status int, answer string) {
	w.t.Helper()
	return w.do(signedRequest(w.t, w.address+path, kind, body, w.cfg.Slack.SigningSecret.Reveal(), at))
}

func TestForgedLateAndOversized(t *testing.T) {
	overOne(t, workspace.IngressHTTP, asItIs, func(t *testing.T, w *world) {
		command := w.types("vic", "whoami")
		w.ephemeral("vic", "viewer")
		forged, err := w.Slack.Forge(t.Context(), command)
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, forged.Status)

		deny := url.Values{"command": {"/waf"}, "text": {"deny 198.51.100.9"}, "user_id": {"U0ANN0001"}, "team_id": {"T0SANDBOX"}, "channel_id": {"C0WAF0001"}}.Encode()
		for _, off := range []time.Duration{-6 * time.Minute, 6 * time.Minute} {
			status, _ := w.signed("/slack/commands", form, deny, time.Now().Add(off))
			require.Equal(t, http.StatusUnauthorized, status, "%s off", off)
		}
		for _, path := range []string{"/slack/commands", "/slack/interactions", "/slack/events"} {
			status, _ := w.signed(path, form, strings.Repeat("x", 1<<20+1), time.Now())
			require.Equal(t, http.StatusRequestEntityTooLarge, status)
			status, _ = w.get(path)
			require.Equal(t, http.StatusMethodNotAllowed, status)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.address+path, strings.NewReader(deny))
			require.NoError(t, err)
			status, _ = w.do(req)
			require.Equal(t, http.StatusUnauthorized, status, "no signature")
		}
		status, _ := w.get("/nowhere")
		require.Equal(t, http.StatusNotFound, status)
		w.acknowledged(w.Slack.VerifyURL(t.Context()))
		require.Empty(t, w.sent())

		status, _ = w.signed("/slack/commands", form, deny, time.Now().Add(-4*time.Minute))
		require.Equal(t, http.StatusOK, status, "the same is done when it is signed in time")
		w.message("#waf", "Deny 198.51.100.9")
	})
}

func TestWhatTheBotDoesNotUnderstandIsAcknowledged(t *testing.T) {
	overOne(t, workspace.IngressHTTP, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		click := w.card(attacker).click("rob", "Deny "+attacker)
		w.ephemeral("rob", "accepted by the service")
		values, err := url.ParseQuery(click.EnvelopeBody)
		require.NoError(t, err)
		var payload map[string]any
		require.NoError(t, json.Unmarshal([]byte(values.Get("payload")), &payload))
		sends := func(key string, value any) {
			t.Helper()
			old := payload[key]
			payload[key], payload["trigger_id"] = value, rand.Text() // each is a press of its own
			text, err := json.Marshal(payload)
			require.NoError(t, err)
			payload[key] = old
			status, _ := w.signed("/slack/interactions", form, url.Values{"payload": {string(text)}}.Encode(), time.Now())
			require.Equal(t, http.StatusOK, status)
		}
		action := func(id string) []any {
			return []any{map[string]any{"type": "button", "action_id": id, "value": "deny 198.51.100.77"}}
		}
		sends("actions", action("retired_in_v2"))
		w.ephemeral("rob", "This message is out of date", "status", "help")
		sends("actions", []any{})
		sends("type", "block_suggestion_of_tomorrow")
		w.until("three answers", func() bool { return len(w.ephemerals("rob", "This message is out of date")) == 3 })
		sends("actions", action("link:7")) // the client has opened the address

		sends("actions", "no list")
		for _, body := range []string{"payload=%7Bnope", "payload=", "", "%zz", "payload=[]"} {
			status, _ := w.signed("/slack/interactions", form, body, time.Now())
			require.Equal(t, http.StatusOK, status, body)
			status, _ = w.signed("/slack/events", "application/json", body, time.Now())
			require.Equal(t, http.StatusOK, status, body)
		}
		status, _ := w.signed("/slack/commands", form, "%zz", time.Now())
		require.Equal(t, http.StatusOK, status)
		require.Len(t, w.entries("acme"), 1)
		require.Len(t, w.ephemerals("rob"), 4)
	})
}
