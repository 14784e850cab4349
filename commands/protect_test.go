package commands_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestWhatIsProtectedIsNotDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sources(cdn))
	id := w.attackOn("/login")
	w.refuses(ann, "protect 203.0.113.7", refusal.ErrDenied, "needs the role admin")
	ch := w.does(ann, "deny attack="+id)
	require.Contains(t, textOf(w.reads(ann, "undo "+ch.ID)), "If it must never be denied again, an admin can say so: protect 203.0.113.7")
	ch = w.does(ann, "deny attack="+id)
	require.Contains(t, textOf(w.reads(root, "undo "+ch.ID)), "Never deny it again? protect 203.0.113.7")

	res := w.reads(root, `protect 203.0.113.7 name="branch office" reason=ticket`)
	require.Contains(t, textOf(res), "Protected: 203.0.113.7 branch office, never denied, by Root 2026-11-20 03:00 UTC p")
	require.Contains(t, textOf(res), ": ticket")
	require.Equal(t, "done", w.lastAudit().Outcome)
	for _, line := range []string{"deny 203.0.113.7", "gray 203.0.113.0/24", "contain attack=" + id, "deny ::ffff:203.0.113.7"} {
		w.refuses(root, line, refusal.ErrGuarded, "branch office", "never denied")
	}
	require.Contains(t, textOf(w.reads(eve, "attack "+id)), "203.0.113.7 FR 90 % = branch office")
	s := w.situation(id)
	s.Policy = s.Policy.With(w.accountContext().Protected)
	require.Contains(t, notes(advice.Advise(s)), "203.0.113.7 is branch office: wafbot never denies it")
	require.Equal(t, []string{"Deny 198.51.100.4", "Patch", "Block mode"}, labels(advice.Advise(s)))
	s.Entries = append(s.Entries, apiclient.IPRule{List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix("203.0.113.0/24"), Expires: w.clock().Add(time.Hour)})
	a := advice.Advise(s)
	require.NotContains(t, notes(a), "branch office", "it is said once")
	require.Len(t, a.Denied, 1)
	require.Equal(t, "branch office IS DENIED until 2026-11-20 04:00 UTC: customers may be shut out. An admin takes it off: remove 203.0.113.0/24 list=black", a.Denied[0].String())
	require.Equal(t, "End deny of branch offi…", a.Remedies[0].Label)

	w.nothing(root, `protect 203.0.113.7 name="branch office"`, "Protected already: 203.0.113.7")
	w.refuses(root, "unprotect 192.0.2.1", refusal.ErrNothing, "192.0.2.1 is our CDN by the configuration")
	w.refuses(root, "unprotect 198.51.100.1", refusal.ErrNothing, "is not protected on acme")
	w.refuses(ann, "unprotect 203.0.113.7", refusal.ErrDenied)
	require.Contains(t, textOf(w.reads(root, "unprotect "+w.accountContext().Protected[0].ID)), "No longer protected: 203.0.113.7")
	w.does(ann, "deny 203.0.113.7")
}

func (w *world) accountContext() record.AccountContext {
	w.t.Helper()
	s, err := w.triage.AccountContext(w.t.Context(), "acme")
	require.NoError(w.t, err)
	return s
}

func TestSeveralAreProtectedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "198.51.100.0/24", Reason: "by hand"})
	res := w.reads(root, "protect 198.51.100.7 2001:db8::/64 deny=approval")
	require.Contains(t, textOf(res), "198.51.100.7 protected by Root, denied only with approval")
	require.Contains(t, textOf(res), "It is denied now forever (by hand), and stays so: remove 198.51.100.0/24 list=black takes it off")
	require.Len(t, w.accountContext().Protected, 2)
	w.waits(root, "deny 2001:db8::1", "protected by Root")
	w.reads(root, "protect 2001:db8::/64 name=lab")
	require.Len(t, w.accountContext().Protected, 2, "the same again takes its place")
	w.refuses(root, "deny 2001:db8::1", refusal.ErrGuarded, "is in lab (2001:db8::/64), which is never denied")
	w.reads(root, "unprotect 2001:db8::/64")
	require.Len(t, w.accountContext().Protected, 1)
}

// No user may make wafbot useless by protecting the world.
func TestWideRangesAreAskedAbout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, all := range []string{"0.0.0.0/0", "203.0.0.0/11", "2001::/31"} {
		w.refuses(root, "protect "+all, refusal.ErrGuarded, "too wide to be protected")
	}
	w.refuses(root, "protect country:FR", refusal.ErrUsage)
	w.refuses(root, "protect 203.0.0.0/16", refusal.ErrAsk, "203.0.0.0/16 is wide: nothing in it can be denied any more")
	require.Empty(t, w.accountContext().Protected)
	inv := w.asks(root, "protect 203.0.0.0/16")
	inv.Anyway = true
	_, err := w.do(inv)
	require.NoError(t, err)
	require.Len(t, w.accountContext().Protected, 1)
}

func TestSources(t *testing.T) {
	t.Parallel()
	file := cdn
	file.File, file.ReadAt, file.Broken = "/etc/wafbot/cdn.txt", newWorld(t).clock(), "line 3: no range"
	lab := source("lab", config.DenyApproval, "198.51.100.0/25")
	lab.Cards = false
	w := newWorld(t, sources(file, lab))
	w.reads(root, "protect 198.51.100.200 name=door")
	res := w.reads(eve, "sources")
	for _, line := range []string{
		"Sources that are never denied, or only with approval, on acme: 9", "192.0.2.0/24, 2001:db8:c::/48 our CDN, never denied, with /etc/wafbot/cdn.txt as of 2026-11-20 03:00 UTC. It can't be read now: line 3: no range",
		"198.51.100.0/25 lab, denied only with approval, no cards", "198.51.100.200 door, never denied, by Root", "10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 private addresses", "by nature",
	} {
		require.Contains(t, textOf(res), line)
	}
	require.Contains(t, textOf(w.reads(eve, "status")), "Source our CDN: /etc/wafbot/cdn.txt can't be read: line 3: no range. What it held at 2026-11-20 03:00 UTC counts")
	for word, n := range map[string]int{"LAB": 1, "198.51.100.9": 1, "198.51.100.0/24": 2, "10.": 1, "nothing": 0} {
		data, err := json.Marshal(w.reads(eve, "sources "+word).Data)
		require.NoError(t, err)
		var found []struct{ Name, By string }
		require.NoError(t, json.Unmarshal(data, &found))
		require.Len(t, found, n, word)
	}
	w.ledger.set(func(l *ledger) { l.readFail = true })
	require.Contains(t, textOf(w.reads(eve, "sources")), "What an admin protected is unknown")
	w.refuses(root, "deny 203.0.113.9", refusal.ErrAway)
}

func TestAttacksFromSourcesWithoutCards(t *testing.T) {
	t.Parallel()
	lab := source("pen test", config.DenyApproval, "203.0.113.0/24")
	lab.Cards = false
	w := newWorld(t, sources(cdn, lab))
	single := w.attack(waf.AttackSpec{App: 4, Path: "/lab", Sources: []waf.SourceSpec{{IP: "203.0.113.7", PerSecond: 1}, {IP: "203.0.113.8", PerSecond: 1}}})
	mixed := w.attackOn("/login")
	own := w.attack(waf.AttackSpec{App: 4, Path: "/cdn", Sources: []waf.SourceSpec{{IP: "192.0.2.7", PerSecond: 1}}})
	for id, cardless := range map[string]bool{single: true, mixed: false, own: false} {
		a := w.situation(id).Attack
		require.Equal(t, cardless, w.cfg.PolicyOf(w.cfg.Accounts[0]).Cardless(a))
		a.VulnID = "812"
		require.False(t, w.cfg.PolicyOf(w.cfg.Accounts[0]).Cardless(a), "an incident is posted")
		if said := textOf(w.reads(eve, "explain attack="+id)); cardless {
			require.Contains(t, said, "It comes only from sources that shall give no cards")
		} else {
			require.NotContains(t, said, "no cards")
		}
	}
}

// What an admin protected is no choice of a form any more, as what the configuration names never was.
func TestAFormOffersNothingProtected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sources(source("lab", config.DenyApproval, "203.0.113.9/32")))
	id := w.attackOn("/login")
	w.reads(root, "protect 203.0.113.7 name=office")
	form, err := w.formOf(ann, "deny attack="+id)
	require.NoError(t, err)
	for _, f := range form.Fields {
		for _, o := range f.Options {
			require.NotEqual(t, "203.0.113.7", o.Value)
		}
	}
}

// A name is a stranger's text as any other: it neither fills a card nor breaks its lines.
func TestANameOfAnyLength(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.reads(root, `protect 203.0.113.7 name="`+strings.Repeat("office ", 500)+`"`)
	s := w.situation(id)
	s.Policy = s.Policy.With(w.accountContext().Protected)
	require.Less(t, len(notes(advice.Advise(s))), 500)
	_, err := w.try(ann, "deny 203.0.113.7")
	require.ErrorIs(t, err, refusal.ErrGuarded)
	require.Less(t, len(err.Error()), 500)
}

// The cards of attacks that come from there are drawn again: their buttons would still deny it.
func TestProtectingRedrawsCards(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.knows(w.situation(id).Attack, apiclient.Attack{ID: "other", Last: w.clock()})
	for _, line := range []string{"protect 203.0.113.0/28", "unprotect 203.0.113.0/28"} {
		w.ledger.redrawn = nil
		w.reads(root, line)
		require.Equal(t, []string{id}, w.ledger.redrawn, line)
	}
}

// An undo brings no denial back of what is protected meanwhile.
func TestAnUndoDeniesNothingProtected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "198.51.100.7", Reason: "by hand"})
	ch := w.anyway(root, "remove 198.51.100.7 list=black")
	w.reads(root, "protect 198.51.100.7 name=office")
	w.nothing(ann, "undo "+ch.ID, "198.51.100.7 is office by now, which is never denied: its entry doesn't come back")
	require.Empty(t, w.entries("black"))

	w.seed(waf.IPRule{Subnet: "198.51.100.8", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch = w.does(ann, "deny 198.51.100.8 for=4h")
	w.reads(root, "protect 198.51.100.8 name=door")
	require.Contains(t, textOf(w.reads(ann, "undo "+ch.ID)), "198.51.100.8 is door by now, which is never denied")
	require.Empty(t, w.entries("black"))
}

func TestSoManyRangesAreProtected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for half := range 2 {
		line := "protect"
		for i := range 250 {
			line += fmt.Sprintf(" 198.51.%d.%d", 100+half, i)
		}
		_, err := w.try(root, line)
		require.NoError(t, err)
	}
	w.refuses(root, "protect 198.51.102.1", refusal.ErrGuarded, "more than 500 ranges would be protected", "sources")
	_, err := w.try(root, `protect 198.51.100.1 name="the office"`)
	require.NoError(t, err, "one of them, with another name")
}
