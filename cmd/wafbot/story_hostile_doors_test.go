package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/tricks"
)

// requireHarmlessPrint holds what a program prints to the corpus' oracle.
func requireHarmlessPrint(t *testing.T, printed, what string) {
	t.Helper()
	require.NoError(t, tricks.Lines(printed, tricks.Plain), what)
}

// What strangers wrote stands in what the terminal and the HTTP pages show, in forms and in the Home tab, and does nothing there.
func TestHostileTextAtTheOtherDoors(t *testing.T) {
	storyOver(t, []workspace.Ingress{workspace.IngressHTTP}, hostileEverywhere, func(t *testing.T, w *world) {
		w.hostileService()
		var attacks []string
		for _, card := range w.cards("#waf") {
			attacks = append(attacks, factsOf(card).Payload.Attack)
		}
		for i, trick := range tricks.All() {
			id := attacks[i%len(attacks)]
			for _, line := range [][]string{{"note", "attack=" + id, trick.Text}, {"deny", trick.Text, "-y"}, {trick.Text}, {"lists", trick.Text}, {"patch", "attack=" + id, "reason=" + trick.Text, "-y"}} {
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
			"status", "incidents", "attacks --all", "vulns all", "summary", "lists --all", "rules --all", "conditions --all", "audit --all", "audit verify", "whoami", "drill",
		} {
			w.requirePrinted(t, strings.Fields(line)...)
		}
		got := w.atShell("audit", "export")
		require.Equal(t, exitDone, got.code, got.err)
		for line := range strings.Lines(got.out) {
			require.True(t, json.Valid([]byte(line)), line)
			require.NoError(t, tricks.Plain(strings.TrimSuffix(line, "\n")))
		}
		for _, path := range []string{"/readyz", "/metrics", "/healthz"} {
			_, body := w.get(path)
			requireHarmlessPrint(t, body, path)
		}
		w.opensHome("rob")
		w.home("rob", "Going on")
		for _, verb := range []string{"deny", "remove", "mode", "unrule", "extend", "mute", "attack", "verdict", "indicator", "patch", "close"} {
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
