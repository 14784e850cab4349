package commands_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/text"
)

// situation is what a card of the attack is drawn from.
func (w *world) situation(id string) call.Situation {
	w.t.Helper()
	a := w.cfg.Accounts[0]
	s := call.Situation{Account: a, Policy: w.cfg.PolicyOf(a), ID: id, Now: w.clock(), ListsReadAt: w.clock()}
	for page, err := range w.cfg.Services[a.Name].Attacks(context.Background(), apiclient.AttackFilter{From: w.clock().Add(-a.Lookback)}) {
		require.NoError(w.t, err)
		for _, attack := range page.Attacks {
			if record.AttackID(a.Name, attack.ID) == id {
				s.Attack = attack
			}
		}
	}
	for e, err := range w.cfg.Services[a.Name].IPRules(context.Background(), "") {
		require.NoError(w.t, err)
		s.Entries = append(s.Entries, e)
	}
	for r, err := range w.cfg.Services[a.Name].Rules(context.Background(), 0) {
		require.NoError(w.t, err)
		s.Rules = append(s.Rules, r)
	}
	s.Changes = slices.DeleteFunc(w.ledger.all(), func(c record.Change) bool { return c.AttackID != id })
	s.Others = efficacy.Others(s, 0)
	return s
}

func labels(a advice.Advice) []string {
	all := []string{}
	for _, s := range a.Suggestions {
		all = append(all, s.Label)
	}
	return all
}

func notes(a advice.Advice) string { return textOf(call.Result{Lines: a.Notes}) }

// Each button's line is one that a person could have typed, and pressing it does what its dialog says.
func TestButtonsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	for i, label := range []string{"Deny 203.0.113.7", "Patch", "Block mode"} {
		w := newWorld(t)
		id := w.attackOn("/login")
		offered := advice.Advise(w.situation(id))
		require.Equal(t, offered, advice.Advise(w.situation(id)), "the same situation, the same advice")
		require.Equal(t, label, labels(offered)[i])
		button := offered.Suggestions[i]
		confirm, line := button.In(300)
		require.LessOrEqual(t, utf8.RuneCountInString(confirm), 300)
		typed, err := grammar.Parse(line.String())
		require.NoError(t, err)
		require.Equal(t, line, typed)
		inv := w.asks(ann, line.String())
		inv.Actor.Via, inv.Warned = record.ViaButton, true
		res, err := w.do(inv)
		require.NoError(t, err)
		require.Equal(t, "done", res.Outcome)
		for _, ch := range res.Changes {
			require.Equal(t, id, ch.AttackID)
			undo := advice.Undo(ch, w.clock())
			require.Len(t, undo, 1)
			require.Equal(t, "undo "+ch.ID+" account=acme", undo[0].Line.String())
			w.does(ann, undo[0].Line.String())
			require.Empty(t, advice.Undo(w.ledger.change(ch.ID), w.clock()))
		}
		require.Equal(t, labels(offered), labels(advice.Advise(w.situation(id))), "all as before")
	}
}

func TestWhatIsDoneIsNotSuggestedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.does(ann, "deny attack="+id)
	require.Equal(t, []string{"Patch", "Block mode"}, labels(advice.Advise(w.situation(id))))
	w.does(ann, "patch attack="+id)
	require.Equal(t, []string{"Block mode"}, labels(advice.Advise(w.situation(id))))
	w.anyway(ann, "mode 4 block attack="+id)
	advice := advice.Advise(w.situation(id))
	require.Empty(t, labels(advice))
	require.Empty(t, notes(advice), "the mitigations' own lines on the card say it")
}

func TestWhyAButtonIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sources(cdn, source("lab", config.DenyApproval, "198.18.0.0/24")))
	top := func(ip string) waf.AttackSpec {
		return waf.AttackSpec{App: 4, Path: "/" + ip, Sources: []waf.SourceSpec{{IP: ip, PerSecond: 1}}}
	}
	w.seed(waf.IPRule{Subnet: "198.51.100.0/24", Reason: "trigger"})
	w.seed(waf.IPRule{List: "white", Subnet: "203.0.114.7", Reason: "partner"})
	brute := top("203.0.113.20")
	brute.Type = "brute"
	legacy := top("203.0.113.21")
	legacy.App = 7
	for words, spec := range map[string]waf.AttackSpec{
		"192.0.2.7 is our CDN: wafbot never denies it": top("192.0.2.7"), "198.18.0.7 is lab: no quick deny": top("198.18.0.7"), "10.0.0.9 is private addresses": top("10.0.0.9"), "198.51.100.7 is denied already forever (trigger)": top("198.51.100.7"),
		"All sources are on the allowlist, which wins over denials, patches and modes": top("203.0.114.7"), "no patch for attacks of this type (brute)": brute, "Legacy can't block": legacy,
	} {
		advice := advice.Advise(w.situation(w.attack(spec)))
		require.Contains(t, notes(advice), words)
		for _, label := range labels(advice) {
			if !strings.Contains(words, "patch") && !strings.Contains(words, "block") {
				require.NotContains(t, label, "Deny")
			} else {
				require.NotContains(t, label, "atch", words)
			}
		}
	}
	s := w.situation(w.attackOn("/login"))
	s.Policy.Changes = config.ChangesOff
	require.Empty(t, advice.Advise(s).Suggestions)
	s.Policy.Changes, s.Attack.Sources = config.ChangesOn, nil
	require.Contains(t, notes(advice.Advise(s)), "lists no source")
}

// What the card leaves out, its details say: all sources, the mode, and why a button is missing.
func TestDetailsSayWhyAButtonIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sources(cdn))
	id := w.attack(waf.AttackSpec{App: 4, Type: "brute", Path: "/login", Sources: []waf.SourceSpec{{IP: "192.0.2.7", PerSecond: 1}}})
	said := textOf(w.reads(ann, "attack "+id))
	for _, part := range []string{"192.0.2.7", "Mode by rules: monitoring", "Not offered: 192.0.2.7 is our CDN: wafbot never denies it", "Not offered: No patch: the service has no patch", "Not offered: No mode: each request"} {
		require.Contains(t, said, part)
	}
}

// After a denial the next source is named by what came since, never by old totals.
func TestTheNextSourceIsTheOneThatGetsThrough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.situation(w.attackOn("/login"))
	old, now := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("198.51.100.4")
	quiet := netip.MustParseAddr("198.51.100.99")
	then := s.Attack
	then.Hits, then.Sources = apiclient.Known(1000), []apiclient.Source{{IP: old, Hits: apiclient.Known(900)}, {IP: quiet, Hits: apiclient.Known(80)}, {IP: now, Hits: apiclient.Known(20)}}
	ch := deniedBy(entryFor(apiclient.ListDeny, "203.0.113.7/32", apiclient.AllApps))
	ch.At, ch.Until, ch.Observed = s.Now.Add(-time.Minute), s.Now.Add(time.Hour), &record.Observation{Attack: then}
	s.Changes, s.Entries = []record.Change{ch}, []apiclient.IPRule{*ch.Steps[0].Entry}
	s.Attack.Hits, s.Attack.Sources = apiclient.Known(1060), []apiclient.Source{{IP: old, Hits: apiclient.Known(900)}, {IP: quiet, Hits: apiclient.Known(80)}, {IP: now, Hits: apiclient.Known(70)}}
	offered := advice.Advise(s)
	require.Equal(t, "Deny 198.51.100.4", labels(offered)[0])
	require.Contains(t, offered.Suggestions[0].Confirm.String(), "83 % of hits since the last change")
}

func TestDialogsHoldAnyText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.situation(w.attackOn("/login"))
	s.Attack.Path = "/" + strings.Repeat("é", 500)
	s.Attack.Domain = strings.Repeat("a", 200) + ".example.com"
	for _, b := range advice.Advise(s).Suggestions {
		confirm, _ := b.In(300)
		require.LessOrEqual(t, utf8.RuneCountInString(confirm), 300)
		require.LessOrEqual(t, utf8.RuneCountInString(b.Label), 75)
		require.LessOrEqual(t, utf8.RuneCountInString(b.Title), 100)
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", "a\nb\x00": `a\x0ab\x00`, "\u202eabc": `\u{202e}abc`, "\xff": `\xff`, "a\u200bb": `a\u{200b}b`, "tab\t": `tab\x09`, "é": "é",
	} {
		require.Equal(t, want, text.Sanitize(in, 60))
	}
	require.Equal(t, "abcd…", text.Sanitize("abcdefgh", 5))
	require.Equal(t, "abcde", text.Sanitize("abcde", 5))
	require.LessOrEqual(t, utf8.RuneCountInString(text.Sanitize("e"+strings.Repeat("\u0301", 500), 60)), 60)
}

// What a line would read as something else isn't offered: the attacker chose the method.
func TestAMethodThatALineCanNotName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	offers := func(method string) bool {
		s := w.situation(w.attack(waf.AttackSpec{App: 4, Method: method, Path: "/login"}))
		return slices.ContainsFunc(advice.More(s), func(g advice.Group) bool {
			return slices.ContainsFunc(g.Do, func(do call.Suggestion) bool { return do.Line.Name == "block-path" })
		})
	}
	require.True(t, offers("PROPFIND"))
	require.False(t, offers("FOREVER"))
}
