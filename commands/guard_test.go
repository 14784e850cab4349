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
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

var cdn = source("our CDN", config.DenyNever, "192.0.2.0/24", "2001:db8:c::/48")

func TestBuiltInRangesAreNeverDenied(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBroad, config.ApproveForever, config.ApproveSource))
	for target, words := range map[string]string{
		"10.0.0.1": "private", "::ffff:10.0.0.1": "private", "::ffff:0a00:1": "private", "10.0.0.0/7": "", "172.16.0.0/12": "private", "172.20.1.1": "private",
		"192.168.1.0/24": "private", "192.168.0.0/15": "contains", "::ffff:192.168.0.0/112": "private", "127.0.0.1": "loopback", "::1": "loopback",
		"169.254.169.254": "link-local", "fe80::1": "link-local", "100.64.0.1": "carrier-grade", "100.64.0.0/12": "carrier-grade", "fd00::1": "unique-local",
		"fc00::/7": "", "0.0.0.0/0": "", "::/0": "", "::ffff:0:0/96": "", "0.0.0.0": "this network", "::": "this network", "::/48": "", "8.0.0.0/6": "contains",
	} {
		for _, verb := range []string{"deny", "gray"} {
			before := w.changesSent()
			_, err := w.try(root, verb+" "+target)
			require.Error(t, err, target)
			require.Contains(t, err.Error(), words, target)
			require.Equal(t, before, w.changesSent())
		}
	}
	for _, target := range []string{"::ffff:0:0/90", "::ffc0:0:0/90", "::fffe:0:0/95"} {
		w.refuses(root, "deny "+target, refusal.ErrUsage)
	}
	require.Empty(t, w.entries("black"))
}

func TestNamedSourcesAreNotDenied(t *testing.T) {
	pentest := source("pen test", config.DenyApproval, "203.0.113.64/27")
	unsaid := source("office", "", "198.51.100.8/29")
	mapped := source("mapped", config.DenyNever, "::ffff:203.0.114.0/120")
	w := newWorld(t, sources(pentest, cdn, unsaid, mapped), withoutApproval(config.ApproveBroad))
	for target, words := range map[string]string{
		"192.0.2.1": "is in our CDN (192.0.2.0/24)", "192.0.2.0/24": "our CDN", "192.0.2.128/25": "our CDN", "192.0.2.0/23": "contains 192.0.2.0/24 of our CDN",
		"::ffff:192.0.2.9": "our CDN", "2001:db8:c::1": "our CDN", "2001:db8::/32": "contains", "198.51.100.9": "office", "203.0.114.1": "mapped",
		"192.0.0.0/12": "our CDN",
	} {
		w.refuses(root, "deny "+target, refusal.ErrGuarded, words)
		w.refuses(root, "deny 8.8.8.8 "+target+" app=4", refusal.ErrGuarded, words)
		w.refuses(root, "gray "+target, refusal.ErrGuarded, words)
	}
	w.waits(root, "deny 203.0.113.65", "pen test", "approval")
	w.waits(root, "deny 203.0.113.0/24", "contains 203.0.113.64/27 of pen test")
	w.reads(root, "protect 198.18.5.7 name=door")
	w.refuses(root, "deny 198.18.5.0/24", refusal.ErrGuarded, "contains 198.18.5.7 of door")
	w.does(ann, "deny 203.0.113.7")
}

// What needs approval never hides what is never denied.
func TestTheStrictestSourceCounts(t *testing.T) {
	lab := source("lab", config.DenyApproval, "10.1.0.0/16", "192.0.2.128/25")
	for _, with := range []func(*commands.Config){withoutApproval(), withoutApproval(config.ApproveSource)} {
		w := newWorld(t, sources(lab, cdn), with)
		w.refuses(root, "deny 10.1.2.3", refusal.ErrGuarded, "private addresses")
		w.refuses(root, "deny 192.0.2.129", refusal.ErrGuarded, "our CDN")
	}
	w := newWorld(t, sources(source("lab", config.DenyApproval, "198.51.100.0/24")), withoutApproval(config.ApproveSource))
	w.refuses(root, "deny 198.51.100.7", refusal.ErrAsk, "198.51.100.7 is in lab (198.51.100.0/24)") // nothing else would say it
	w.anyway(root, "deny 198.51.100.7")
}

func TestWidth(t *testing.T) {
	w := newWorld(t)
	w.waits(ann, "deny 203.0.0.0/23", "wider than /24")
	w.waits(ann, "deny 2001:db8::/47", "wider than /48")
	w.refuses(root, "remove 203.0.0.0/23", refusal.ErrNothing)
	w.does(ann, "deny 203.0.112.0/24")
	w.does(ann, "deny 2001:db8::/48")
	for _, broad := range []string{"country:FR", "proxy:TOR", "datacenter:aws"} {
		w.waits(root, "deny "+broad, "broad")
	}
	own := newWorld(t, withoutApproval(config.ApproveBroad), func(c *commands.Config) {
		c.Accounts[0].Policy.WidestPrefix.IPv4, c.Accounts[0].Policy.WidestPrefix.IPv6 = 16, 40
	})
	own.does(ann, "deny 203.0.0.0/16 2001:db8::/40")
	own.anyway(ann, "deny 204.0.0.0/12")
	own.refuses(root, "deny 208.0.0.0/11", refusal.ErrGuarded, "wider than the service takes")
	own.refuses(root, "deny 2400::/31", refusal.ErrGuarded, "wider than the service takes")
	own.refuses(ann, "deny country:FR", refusal.ErrAsk, "wafbot sees attacks, never visitors: it can't know whom else country:FR hits")
	own.anyway(ann, "deny country:FR country:DE proxy:TOR datacenter:aws")
	require.Subset(t, own.entries("black"), []string{"DE,FR [0] 4h0m0s", "TOR [0] 4h0m0s", "aws [0] 4h0m0s"})
}

func TestHowLong(t *testing.T) {
	w := newWorld(t)
	w.refuses(ann, "deny 203.0.113.7 for=31d", refusal.ErrGuarded, "longest allowed", "30d")
	w.waits(ann, "deny 203.0.113.7 for=forever", "never end")
	w.refuses(ann, "mode 4 block for=5w", refusal.ErrGuarded, "longest")
	w.waits(ann, "patch shop.example.com/login type=sqli part=get.q for=forever")
	w.does(ann, "deny 203.0.113.7 for=30d")

	own := newWorld(t, withoutApproval(config.ApproveForever))
	ch := own.does(ann, "deny 203.0.113.7 for=FOREVER")
	require.Zero(t, ch.Until)
	require.Equal(t, "Deny 203.0.113.7 everywhere forever", ch.Does)
	require.Equal(t, []string{"203.0.113.7/32 [0] forever"}, own.entries("black"))
	require.NotContains(t, textOf(own.reads(ann, "status")), "3022")
	own.nothing(bob, "deny 203.0.113.7", "forever", "Ann")
}

func TestAllowAndModeOffNeedASecond(t *testing.T) {
	w := newWorld(t)
	w.waits(root, "mode 4 off", "lets everything through")
	w.waits(root, "allow 203.0.113.7", "past every protection")
	own := newWorld(t, withoutApproval(config.ApproveAllow), sources(cdn))
	own.does(root, "allow 203.0.113.7 192.0.2.1 10.0.0.1")
	require.Len(t, own.entries("white"), 3, "what is never denied may be allowed")
}

func TestChangesOff(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = config.ChangesOff })
	w.refuses(root, "deny 203.0.113.7", refusal.ErrGuarded, "policy.changes: off")
	w.reads(root, "status")
}

func TestDryRunSaysWhatWouldBeSent(t *testing.T) {
	for _, changes := range []string{config.ChangesDryRun, ""} {
		w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = changes })
		id := w.attackOn("/login")
		for line, words := range map[string][]string{
			"deny 203.0.113.9 for=2h reason=x": {"Dry run: Deny 203.0.113.9 everywhere for 2 h", "2026-11-20T05:00:00Z", "by Ann", ": x"},
			"patch attack=" + id:               {"Dry run: Patch exactly POST shop.example.com/login", "create vpatch sqli in post.form_urlencoded.login"},
			"contain attack=" + id:             {"Deny 203.0.113.7", "Patch exactly"},
		} {
			res := w.reads(ann, line)
			require.Equal(t, "dry_run", res.Outcome)
			for _, word := range words {
				require.Contains(t, textOf(res), word)
			}
			require.Equal(t, "dry_run", w.lastAudit().Outcome)
			require.NotEmpty(t, w.lastAudit().After)
		}
		require.Zero(t, w.changesSent())
		require.Empty(t, w.ledger.all())
	}
}

func TestWhatIsProtectedIsNotDenied(t *testing.T) {
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
	w := newWorld(t)
	for _, all := range []string{"0.0.0.0/0", "203.0.0.0/11", "2001::/31"} {
		w.refuses(root, "protect "+all, refusal.ErrGuarded, "too wide to be protected")
	}
	w.refuses(root, "protect country:FR", refusal.ErrUsage)
	w.refuses(root, "protect 203.0.0.0/16", refusal.ErrAsk, "203.0.0.0/16 is wide: nothing in it can be denied any more")
	require.Empty(t, w.accountContext().Protected)
	_, err := w.all(root, "protect 203.0.0.0/16")
	require.NoError(t, err)
	require.Len(t, w.accountContext().Protected, 1)
}

func TestSources(t *testing.T) {
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
	w := newWorld(t)
	for half := range 2 {
		line := "protect"
		for i := range 250 {
			line += fmt.Sprintf(" 198.51.%d.%d", 100+half, i)
		}
		w.reads(root, line)
	}
	w.refuses(root, "protect 198.51.102.1", refusal.ErrGuarded, "more than 500 ranges would be protected", "sources")
	w.reads(root, `protect 198.51.100.1 name="the office"`)
}

// within are ways in which IPv6 writes an IPv4 address: each holds 10.1.2.3, then 192.0.2.9 of the CDN, then
// 203.0.113.7.
var within = map[string][3]string{
	"NAT64":            {"64:ff9b::10.1.2.3", "64:ff9b::192.0.2.9", "64:ff9b::203.0.113.7"},
	"NAT64 of its own": {"64:ff9b:1::10.1.2.3", "64:ff9b:1:7:8::192.0.2.9", "64:ff9b:1:ffff::203.0.113.7"},
	"6to4":             {"2002:a01:203::1", "2002:c000:209:1::/64", "2002:cb00:7107::/48"},
	"v4-mapped":        {"::ffff:10.1.2.3", "::ffff:192.0.2.9", "::ffff:203.0.113.7"},
	"SIIT":             {"::ffff:0:10.1.2.3", "::ffff:0:192.0.2.9", "::ffff:0:203.0.113.7"},
	"v4-compatible":    {"::10.1.2.3", "::192.0.2.9", "::203.0.113.7"},
	"Teredo":           {"2001:0:1234:5678:8000:63bf:f5fe:fdfc", "2001:0:4136:e378::3fff:fdf6", "2001::34ff:8ef8"},
	"ISATAP":           {"2001:db8:1::5efe:10.1.2.3", "2001:db8::200:5efe:192.0.2.9", "fd00:1::5efe:cb00:7107"},
}

func TestIPv4WithinIPv6IsGuardedAsSuch(t *testing.T) {
	w := newWorld(t, sources(cdn), withoutApproval(config.ApproveBroad))
	for name, of := range within {
		for _, verb := range []string{"deny ", "gray "} {
			w.refuses(root, verb+of[0], refusal.ErrGuarded, "private addresses (10.0.0.0/8), which is never denied")
			w.refuses(root, verb+of[1], refusal.ErrGuarded, "our CDN (192.0.2.0/24), which is never denied")
		}
		if name != "ISATAP" { // that of the last one is in a private network
			w.does(ann, "deny "+of[2])
			w.reads(root, "protect "+of[2])
			w.refuses(root, "gray 203.0.113.7", refusal.ErrGuarded, "protected by Root")
			w.refuses(root, "gray 203.0.113.0/24", refusal.ErrGuarded, "protected by Root")
			w.reads(root, "unprotect "+of[2])
			w.reads(root, "protect 203.0.113.0/28 name=door")
			w.refuses(root, "gray "+of[2], refusal.ErrGuarded, "door")
			w.reads(root, "unprotect 203.0.113.0/28")
			w.does(root, "remove "+of[2])
		}
	}
	w.does(ann, "deny 2001:db8::5eff:10.1.2.3") // not quite ISATAP
}

// What is wider than the part of IPv6 that carries IPv4 contains all of it.
func TestRangesThatCarryIPv4AreJudgedByIt(t *testing.T) {
	w := newWorld(t, sources(cdn))
	for target, words := range map[string]string{
		"2002::/16": "never denied", "2000::/12": "never denied", "2001::/32": "never denied", "2001::/16": "never denied", "64:ff9b::/96": "never denied",
		"64:ff9b:1::/48": "never denied", "64:ff9b:1::/64": "never denied", "64:ff9b::/32": "never denied", "2002:a00::/24": "never denied",
		"64:ff9b::1000:0/100": "stands for 16.0.0.0/4, which is wider than the service takes (/12)", "2001:0:4136:e378::/65": "never denied",
	} {
		w.refuses(root, "deny "+target, refusal.ErrGuarded, words)
		w.refuses(root, "protect "+target, refusal.ErrGuarded, "too wide to be protected")
	}
	w.refuses(root, "deny ::/0", refusal.ErrUsage)
	w.refuses(root, "deny 2002:c000:200::/39", refusal.ErrGuarded, "our CDN")
	w.waits(ann, "deny 64:ff9b::203.0.0.0/112", "64:ff9b::cb00:0/112 stands for 203.0.0.0/16, which is wider than /24")
	w.waits(ann, "deny 2002:cb00::/32", "stands for 203.0.0.0/16, which is wider than /24")
	w.does(ann, "deny 64:ff9b::203.0.113.0/120")
}

// A named range that stands for all of IPv4 doesn't keep every address from being denied.
func TestAWholeCarrierGuardsItselfAlone(t *testing.T) {
	gateway := source("our NAT64", config.DenyNever, "64:ff9b::/96", "2002::/16")
	w := newWorld(t, sources(gateway))
	w.does(ann, "deny 203.0.113.7")
	w.refuses(root, "deny 64:ff9b::203.0.113.7", refusal.ErrGuarded, "our NAT64")
	w.refuses(root, "deny 2002:cb00:7107::1", refusal.ErrGuarded, "our NAT64")
}
