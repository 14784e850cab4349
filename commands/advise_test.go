package commands_test

import (
	"fmt"
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
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// situation is what a card of the attack is drawn from.
func (w *world) situation(id string) call.Situation {
	w.t.Helper()
	a := w.cfg.Accounts[0]
	s := call.Situation{Account: a, Policy: w.cfg.PolicyOf(a), ID: id, Now: w.clock(), ListsReadAt: w.clock()}
	s.Attack = w.served(id)
	s.Entries, s.Rules = w.mirrored()
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
	w := newWorld(t, sources(cdn))
	id := w.attack(waf.AttackSpec{App: 4, Type: "brute", Path: "/login", Sources: []waf.SourceSpec{{IP: "192.0.2.7", PerSecond: 1}}})
	said := textOf(w.reads(ann, "attack "+id))
	for _, part := range []string{"192.0.2.7", "Mode by rules: monitoring", "Not offered: 192.0.2.7 is our CDN: wafbot never denies it", "Not offered: No patch: the service has no patch", "Not offered: No mode: each request"} {
		require.Contains(t, said, part)
	}
}

// After a denial the next source is named by what came since, never by old totals.
func TestTheNextSourceIsTheOneThatGetsThrough(t *testing.T) {
	w := newWorld(t)
	s := w.situation(w.attackOn("/login"))
	old, now := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("198.51.100.4")
	quiet := netip.MustParseAddr("198.51.100.99")
	then := s.Attack
	then.Hits, then.Sources = apiclient.Known(1000), []apiclient.Source{{IP: old, Hits: apiclient.Known(900)}, {IP: quiet, Hits: apiclient.Known(80)}, {IP: now, Hits: apiclient.Known(20)}}
	entry := apiclient.IPRule{List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.PrefixFrom(old, 32), Apps: []int{apiclient.AllApps}, Expires: s.Now.Add(time.Hour)}
	ch := record.Change{
		ID: "c1", Account: "acme", State: record.StateDone, At: s.Now.Add(-time.Minute), Until: s.Now.Add(time.Hour), Observed: &record.Observation{Attack: then},
		Steps: []record.Step{{Kind: record.AddEntry, Entry: &entry, Sent: true, Done: true, ID: 101}},
	}
	s.Changes, s.Entries = []record.Change{ch}, []apiclient.IPRule{*ch.Steps[0].Entry}
	s.Attack.Hits, s.Attack.Sources = apiclient.Known(1060), []apiclient.Source{{IP: old, Hits: apiclient.Known(900)}, {IP: quiet, Hits: apiclient.Known(80)}, {IP: now, Hits: apiclient.Known(70)}}
	offered := advice.Advise(s)
	require.Equal(t, "Deny 198.51.100.4", labels(offered)[0])
	require.Contains(t, offered.Suggestions[0].Confirm.String(), "83 % of hits since the last change")
}

func TestDialogsHoldAnyText(t *testing.T) {
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

// What a line would read as something else isn't offered: the attacker chose the method.
func TestAMethodThatALineCanNotName(t *testing.T) {
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

// A click carries nothing that an attacker wrote beside the message itself: a WAF before wafbot would take the click
// for the attack. The form for a path has it from the attack.
func TestButtonsHoldNothingOfAnAttacker(t *testing.T) {
	w := newWorld(t)
	path := "/login/union/select"
	id := w.attackOn(path)
	s := w.situation(id)
	all := slices.Concat(advice.Advise(s).Suggestions, advice.Triage(s), advice.UndoAll(s),
		[]call.Suggestion{advice.Acknowledge(s)})
	for _, g := range advice.More(s) {
		all = append(all, g.Do...)
	}
	for _, b := range all {
		for _, sent := range []string{b.Label, b.Line.String()} {
			require.NotContains(t, sent, "union")
			require.NotContains(t, sent, "shop.example.com")
		}
	}
	i := slices.IndexFunc(all, func(b call.Suggestion) bool { return b.Line.Name == "block-path" })
	f, err := w.formOf(root, all[i].Line.String())
	require.NoError(t, err)
	require.Equal(t, []string{"POST"}, heldBy(t, f, "method"))
	require.Equal(t, []string{"shop.example.com" + path}, heldBy(t, f, "place"))
}

// seen is what the poller counted.
func (w *world) seen(all map[string]record.SourceActivity) map[netip.Addr]record.SourceActivity {
	w.t.Helper()
	counted := map[netip.Addr]record.SourceActivity{}
	for source, n := range all {
		counted[netip.MustParseAddr(source)] = n
	}
	w.count(counted)
	return counted
}

// count keeps what the poller counted.
func (w *world) count(counted map[netip.Addr]record.SourceActivity) {
	w.t.Helper()
	w.polled(record.PollUpdate{Sources: counted})
}

// What is likely many people's is said on the card and in the dialog; the click isn't asked again. Who clicks on an
// older card, or types, is asked.
func TestASourceThatIsLikelyShared(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	before := advice.Advise(w.situation(id)).Suggestions[0]
	s := w.situation(id)
	s.Context.Sources = w.seen(map[string]record.SourceActivity{"203.0.113.7": {Attacks: 13, Apps: 4, Types: 3, Hours: 7}, "203.0.113.9": {Attacks: 11, Apps: 3, Types: 4, Hours: 6}, "198.51.100.4": {Attacks: 3, Apps: 1}})
	advice := advice.Advise(s)
	require.Contains(t, notes(advice), "203.0.113.7 is likely a CDN, proxy or office: it is in 13 attacks on 4 applications")
	deny := advice.Suggestions[0]
	require.Equal(t, "Deny 203.0.113.7", deny.Label)
	confirm, line := deny.In(300)
	require.Contains(t, confirm, "LIKELY A CDN, PROXY OR OFFICE (in 13 attacks on 4 applications)")
	require.LessOrEqual(t, utf8.RuneCountInString(confirm), 300)
	require.True(t, deny.Danger)
	require.Contains(t, line.String(), "--shared")
	click := func(b call.Suggestion) call.Invocation {
		_, line := b.In(300)
		inv := w.asks(ann, line.String())
		inv.Actor.Via, inv.Warned = record.ViaButton, true
		return inv
	}
	_, err := w.do(click(before))
	require.ErrorIs(t, err, refusal.ErrAsk)
	require.ErrorContains(t, err, "likely a CDN, proxy or office")
	w.refuses(ann, "deny 203.0.113.7", refusal.ErrAsk, "it is in 13 attacks on 4 applications, and denying it may hit all users behind it")
	w.refuses(ann, "gray 203.0.113.0/24", refusal.ErrAsk, "203.0.113.7 is likely")
	for line, said := range map[string]bool{"deny attack=" + id: true, "gray attack=" + id: true, "patch attack=" + id: false} {
		form, err := w.formOf(ann, line)
		require.NoError(t, err)
		require.Equal(t, said, strings.Contains(textOf(call.Result{Lines: form.Intro}), "203.0.113.7 is likely a CDN, proxy or office"), line)
	}
	w.does(ann, "deny 198.51.100.4")
	res, err := w.do(click(deny))
	require.NoError(t, err)
	require.Equal(t, "deny 203.0.113.7 attack="+id+" for=4h", res.Changes[0].Line.String(), "whose effect is the same")
	w.does(bob, "deny 203.0.113.9 --shared")
	require.Contains(t, textOf(w.reads(eve, "help deny")), "--shared: you know that the source is likely a CDN")
	require.Contains(t, textOf(w.reads(eve, "attack "+id)), "(also in 12 other attacks, on 4 applications in all)")
}

// What a denial would do nothing for is said before it is offered, on the card and to who types.
func TestADenialThatWouldDoNothing(t *testing.T) {
	w := newWorld(t)
	shop := w.attackOn("/login")
	legacy := w.attack(waf.AttackSpec{App: 7, Path: "/old"})
	w.seed(waf.IPRule{Subnet: "203.0.113.7", Reason: "trigger"})
	w.seed(waf.IPRule{List: "white", Subnet: "203.0.113.0/24", Pools: []int{4}, Reason: "partner"})
	offered := advice.Advise(w.situation(shop))
	require.Contains(t, notes(offered), "203.0.113.7 is on the allowlist for Shop forever (partner): denying it does nothing")
	require.NotContains(t, labels(offered), "Deny 203.0.113.7")

	offered = advice.Advise(w.situation(legacy))
	require.Contains(t, notes(offered), "Legacy can't block")
	require.Empty(t, labels(offered))
	for _, g := range advice.More(w.situation(legacy)) {
		for _, b := range g.Do {
			require.NotContains(t, b.Label, "Block by header")
		}
	}
	for _, line := range []string{"deny 198.51.100.9 attack=" + legacy, "gray 198.51.100.9 attack=" + legacy, "indicator User-Agent sqlmap host=old.example.com attack=" + legacy, "deny 198.51.100.9 app=Legacy"} {
		w.refuses(ann, line, refusal.ErrAsk, "it stops nothing on Legacy: what can't block")
	}
	w.does(ann, "deny 198.51.100.9")
	w.does(ann, "deny 198.51.100.10 app=Legacy,Shop")
}

// A few other attacks are a figure, and no warning.
func TestASourceSeenElsewhere(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	s := w.situation(id)
	s.Context.Sources = w.seen(map[string]record.SourceActivity{"203.0.113.7": {Attacks: 13, Apps: 2}})
	advice := advice.Advise(s)
	require.NotContains(t, notes(advice), "likely")
	require.Contains(t, advice.Suggestions[0].Confirm.String(), "Also in 12 other attacks, on 2 applications in all.")
	w.does(ann, "deny 203.0.113.7")
}

// A dialog never says less than what the button does; what matters least gives way.
func TestADialogWithoutRoom(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/" + strings.Repeat("very-long-path-", 20))
	s := w.situation(id)
	s.Context = record.AccountContext{RulesLockedAt: w.clock(), Sources: map[netip.Addr]record.SourceActivity{netip.MustParseAddr("203.0.113.7"): {Attacks: 1300, Apps: 40, Types: 9, Hours: 20}}}
	for _, b := range advice.Advise(s).Suggestions {
		confirm, line := b.In(300)
		require.LessOrEqual(t, utf8.RuneCountInString(confirm), 300)
		require.Equal(t, strings.Contains(confirm, "LIKELY A CDN"), line.Has("shared"), "what it has no room for, the click is asked about: %s", b.Label)
	}
	patch, _ := advice.Advise(s).Suggestions[1].In(300)
	for _, part := range []string{"Blocks SQL injection in POST shop.example.com/very-long", "only on Shop (4), for 7 days", "in minutes to 1 h"} {
		require.Contains(t, patch, part)
	}
}

func TestABroadDenialOfManyPeople(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBroad))
	const neverVisitors = "wafbot sees attacks, never visitors: it can't know whom else "
	for _, broad := range []string{"country:FR", "proxy:TOR", "datacenter:aws", "203.0.0.0/20", "2001:db8::/40"} {
		w.refuses(ann, "deny "+broad, refusal.ErrAsk, neverVisitors+broad+" hits")
		w.refuses(ann, "gray "+broad, refusal.ErrAsk, neverVisitors+broad+" hits")
	}
	require.Contains(t, textOf(w.reads(ann, "deny 203.0.113.0/24")), neverVisitors+"203.0.113.0/24 hits", "afterwards, of what one person may deny at once")
}

// That the rules are locked is known from the service's own answer, and over with the next rule that it takes.
func TestLockedRules(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	older := advice.Advise(w.situation(id))
	require.NotContains(t, notes(older), "locked")
	w.fault("POST /v1/objects/hint/create", "status:423", 0)
	w.refusesAfterSending(ann, "patch attack="+id, "locked its rules")
	require.Equal(t, w.clock(), w.accountContext().RulesLockedAt)

	s := w.situation(id)
	s.Context = w.accountContext()
	advice := advice.Advise(s)
	require.Contains(t, notes(advice), "The service's rules are locked, as it said at 2026-11-20 03:00 UTC")
	require.NotContains(t, advice.Suggestions[0].Line.String(), "--locked", "a denial is no rule")
	for _, i := range []int{1, 2} {
		require.Contains(t, advice.Suggestions[i].Line.String(), "--locked")
		require.Contains(t, older.Suggestions[i].Label, advice.Suggestions[i].Label)
	}
	w.service.ClearFaults()
	inv := w.asks(ann, older.Suggestions[2].Line.String())
	inv.Warned = true
	_, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrAsk, "its dialog didn't say so yet")
	require.ErrorContains(t, err, "rules are locked")
	inv = w.asks(ann, advice.Suggestions[1].Line.String())
	inv.Warned = true
	_, err = w.do(inv)
	require.NoError(t, err)
	require.Zero(t, w.accountContext().RulesLockedAt)
}

// refusesAfterSending expects that the service refused.
func (w *world) refusesAfterSending(who record.Actor, line, words string) {
	w.t.Helper()
	_, err := w.try(who, line)
	require.ErrorIs(w.t, err, refusal.ErrService)
	require.ErrorContains(w.t, err, words)
}

// A patch that is wider makes another one useless: the card offers none, and a click on an older card says so.
func TestAWiderPatchCovers(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBlockPath))
	id := w.attackOn("/login")
	older := advice.Advise(w.situation(id)).Suggestions[1]
	w.anyway(root, "block-path POST shop.example.com/login for=30m")
	w.service.CatchUp()
	advice := advice.Advise(w.situation(id))
	require.Contains(t, notes(advice), "which is wider, covers it already")
	require.Equal(t, []string{"Deny 203.0.113.7", "Block mode"}, labels(advice))
	inv := w.asks(ann, older.Line.String())
	inv.Warned = true
	_, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrAsk)
	require.ErrorContains(t, err, "which is wider, covers it already")
}

// The dialog of a mode says what is lost, and when it returns.
func TestAModeReturns(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveForever))
	id := w.attackOn("/login")
	mode := advice.Advise(w.situation(id)).Suggestions[2]
	require.Contains(t, mode.Confirm.String(), "No incidents are detected meanwhile.")
	require.Contains(t, mode.Confirm.String(), "For 2 h the WAF blocks all attacks")
	w.refuses(ann, "mode Shop block for=90m", refusal.ErrAsk, "until it returns by itself, in 1 h 30 min, wafbot can't know")
	w.refuses(ann, "mode Shop block for=forever", refusal.ErrAsk, "until it is switched back, wafbot can't know")
	ch := w.anyway(ann, "mode Shop block for=90m")
	require.Equal(t, w.clock().Add(90*time.Minute), ch.Until)
}

// Whoever has one address of a /64 has all: the card names the network, and denying it stops all of them.
func TestAnAttackFromOneNetworkOfIPv6(t *testing.T) {
	w := newWorld(t)
	from := []waf.SourceSpec{{IP: "203.0.113.7", PerSecond: 1}, {IP: "198.51.100.4", PerSecond: 1}}
	for i := range 8 {
		from = append(from, waf.SourceSpec{IP: fmt.Sprintf("2001:db8:5:6::%x", 100+i), PerSecond: 3})
	}
	id := w.attack(waf.AttackSpec{App: 4, Path: "/login", Sources: from})
	s := w.situation(id)
	const network = "2001:db8:5:6::/64"
	offered := advice.Advise(s)
	require.Equal(t, "Deny "+network, labels(offered)[0])
	confirm, _ := offered.Suggestions[0].In(300)
	require.Contains(t, confirm, network+" on all applications for 4 h,")
	require.Contains(t, confirm, "92 % of hits as of 03:00 UTC; up to 2 other sources go on")
	require.Contains(t, confirm, "Everyone in this /64 is blocked")
	require.NotContains(t, confirm, "while it keeps trying", "a range isn't renewed")
	require.Equal(t, "deny "+network+" account=acme attack="+id+" for=4h", offered.Suggestions[0].Line.String())

	ch := w.does(ann, "deny attack="+id)
	require.Equal(t, network, ch.Steps[0].Entry.Subnet.String())
	s = w.situation(id)
	require.NotContains(t, labels(advice.Advise(s)), "Deny "+network)
	require.Len(t, efficacy.Mitigations(s)[0].Sources, 1)
	w.does(ann, "undo "+ch.ID)

	own := newWorld(t, sources(source("our monitoring", config.DenyNever, "2001:db8:5:6::77/128")))
	s = own.situation(own.attack(waf.AttackSpec{App: 4, Path: "/login", Sources: from}))
	require.NotContains(t, labels(advice.Advise(s)), "Deny "+network)
	require.Contains(t, notes(advice.Advise(s)), network+" is our monitoring")
	own.refuses(ann, "deny "+network, refusal.ErrGuarded, "our monitoring")
}
