package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/hostiletext"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

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
