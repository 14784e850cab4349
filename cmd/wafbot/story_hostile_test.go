package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
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
