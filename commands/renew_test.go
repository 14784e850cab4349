package commands_test

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// going is what goes on: which addresses are still trying, and which attacks are not over.
type going struct {
	mu      sync.Mutex
	trying  []string
	attacks []string
}

func (g *going) StillTrying(_ string, all []netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(all, func(a netip.Addr) bool { return slices.Contains(g.trying, a.String()) })
}

func (g *going) GoesOn(_, attack string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Contains(g.attacks, attack)
}

func (g *going) set(trying, attacks []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trying, g.attacks = trying, attacks
}

// renewing prolongs for so long what is still trying.
func renewing(g *going, most time.Duration) func(*commands.Config) {
	return func(c *commands.Config) {
		c.StillTrying, c.GoesOn, c.Accounts[0].Policy.RenewWhileActive = g.StillTrying, g.GoesOn, most
	}
}

func isAsked(l record.DueDecision) bool { return l.Asks }
func isLate(l record.DueDecision) bool  { return l.Late }
func isEnded(l record.DueDecision) bool { return l.Ended }

func TestADenialIsProlongedWhileItsSourceStillTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &going{}
		w := newBubble(t, renewing(g, 10*time.Hour))
		ch := w.does(ann, "deny 203.0.113.7 for=4h reason=brute")
		made := w.listed("black")[0]
		line := words.Change(ch, nil).String()
		require.Contains(t, line, ", longer while it keeps trying, "+ch.At.Add(10*time.Hour).Truncate(time.Second).UTC().Format("2006-01-02 15:04")+" UTC at most")
		g.set([]string{"203.0.113.7"}, nil)
		runDue(t, w, 3*time.Hour+44*time.Minute)
		require.Equal(t, ch.Until, w.ledger.change(ch.ID).Until, "not long before its end")
		runDue(t, w, 2*time.Minute)
		require.Equal(t, ch.Until.Add(4*time.Hour), w.ledger.change(ch.ID).Until, "by its own length")
		audited := w.lastAudit()
		require.Equal(t, "extend "+ch.ID+` for=4h reason="it is still trying"`, audited.Line)
		require.Equal(t, []any{record.ViaClock, "done", "it is still trying"}, []any{audited.Actor.Via, audited.Outcome, audited.Why})
		runDue(t, w, 4*time.Hour)
		last := w.ledger.change(ch.ID)
		require.Equal(t, ch.At.Add(10*time.Hour).Truncate(time.Second), last.Until.Local(), "in all as far as may be")
		require.NotContains(t, words.Change(last, nil).String(), "longer")
		e := w.listed("black")[0]
		require.Equal(t, []any{made.ID, made.Reason, last.Until.Unix()}, []any{e.ID, e.Reason, e.ExpiredAt})
		require.Empty(t, w.ledger.takeDue(isAsked))
		sent := w.changesSent()
		runDue(t, w, 2*time.Hour)
		require.Len(t, w.ledger.takeDue(isAsked), 1, "no longer by itself")
		require.Equal(t, sent, w.changesSent())
		runDue(t, w, 15*time.Minute)
		require.Empty(t, w.listed("black"))
		require.Len(t, w.ledger.takeDue(isEnded), 1, "its card shows it")
		runDue(t, w, time.Hour)
		require.Empty(t, w.ledger.takeDue(isEnded))
	})
}

// An undo takes off what was prolonged, and what stood there before comes back.
func TestUndoOfWhatWasRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &going{}
		w := newBubble(t, renewing(g, 24*time.Hour))
		w.seed(waf.IPRule{Subnet: "203.0.113.8", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()})
		ch := w.does(ann, "deny 203.0.113.7 203.0.113.8 for=2h")
		require.Contains(t, words.Change(ch, nil).String(), "longer while one of them keeps trying")
		g.set([]string{"203.0.113.8"}, nil)
		runDue(t, w, 5*time.Hour)
		require.Equal(t, ch.Until.Add(4*time.Hour), w.ledger.change(ch.ID).Until)
		require.Len(t, w.listed("black"), 2, "all of one denial last as long")
		w.does(bob, "undo "+ch.ID)
		require.Empty(t, w.listed("black"), "what stood there before is over by now")
		n := len(w.audit.all())
		runDue(t, w, 5*time.Hour)
		require.Len(t, w.audit.all(), n, "and nothing looks at it any more")
	})
}

func TestWhatIsNotProlonged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line   string
		most   time.Duration
		before func(w *world, g *going)
		left   int
	}{
		"it is quiet":                    {"deny 203.0.113.7 for=1h", 24 * time.Hour, func(_ *world, g *going) { g.set(nil, nil) }, 0},
		"a range":                        {"deny 203.0.113.0/28 for=1h", 24 * time.Hour, nil, 0},
		"a range and an address":         {"deny 203.0.113.7 198.51.100.0/28 for=1h", 24 * time.Hour, nil, 0},
		"another list":                   {"gray 203.0.113.7 for=1h", 24 * time.Hour, nil, 0},
		"as long as it may last":         {"deny 203.0.113.7 for=1h", time.Hour, nil, 0},
		"switched off":                   {"deny 203.0.113.7 for=1h", 0, nil, 0},
		"the entry is another author's":  {"deny 203.0.113.7 for=1h", 24 * time.Hour, func(w *world, _ *going) { w.overwrite(w.listed("black")[0], "mine", 3*time.Hour) }, 1},
		"another author's entry, longer": {"deny 203.0.113.7 for=1h", 24 * time.Hour, func(w *world, _ *going) { e := w.listed("black")[0]; w.overwrite(e, e.Reason, 3*time.Hour) }, 1},
		"one of ours since": {"deny 203.0.113.7 for=1h", 24 * time.Hour, func(w *world, _ *going) {
			sources(source("our CDN", config.DenyNever, "203.0.113.0/24"))(&w.cfg)
			w.Runner = commands.New(w.cfg)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := &going{trying: []string{"203.0.113.7"}}
				w := newBubble(t, renewing(g, c.most))
				ch := w.does(ann, c.line)
				if c.before != nil {
					c.before(w, g)
				}
				sent := w.changesSent()
				runDue(t, w, time.Hour+time.Minute)
				require.Equal(t, sent, w.changesSent(), "nothing was sent")
				require.Equal(t, ch.Until, w.ledger.change(ch.ID).Until)
				require.Len(t, w.listed("black"), c.left)
				tried := slices.DeleteFunc(w.audit.all(), func(e record.AuditEntry) bool { return e.Actor.Via != record.ViaClock })
				require.LessOrEqual(t, len(tried), 1, "what was refused is not asked for again")
			})
		})
	}
}

// The service is away in the last quarter of an hour: people are asked, and wafbot goes on trying until it can.
func TestARenewalIsTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ch := w.does(ann, "deny 203.0.113.7 for=4h")
		w.fault("POST /v4/ip_rules", "status:500", 0)
		runDue(t, w, 3*time.Hour+50*time.Minute)
		require.Equal(t, ch.Until, w.ledger.change(ch.ID).Until)
		require.Len(t, w.ledger.takeDue(isAsked), 1)
		w.service.ClearFaults()
		runDue(t, w, 2*time.Minute)
		require.Equal(t, ch.Until.Add(4*time.Hour), w.ledger.change(ch.ID).Until)
		require.Empty(t, w.ledger.takeDue(isAsked))
	}, renewing(&going{trying: []string{"203.0.113.7"}}, 24*time.Hour))
}

// Redis is away for a moment of the renewal: it is tried again, whether the service had taken it by then or not.
func TestARenewalOutlivesTheStore(t *testing.T) {
	t.Parallel()
	for save := 1; save <= 3; save++ {
		for away, what := range map[time.Duration]string{time.Second: "for a moment", 11 * time.Minute: "for longer than its first attempt counts"} {
			synctest.Test(t, func(t *testing.T) {
				w := newBubble(t, renewing(&going{trying: []string{"203.0.113.7"}}, 24*time.Hour))
				ch := w.does(ann, "deny 203.0.113.7 for=4h")
				runDue(t, w, 3*time.Hour+44*time.Minute+59*time.Second)
				w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= save } })
				runDue(t, w, away+time.Second)
				w.ledger.set(func(l *ledger) { l.saveFail = nil })
				runDue(t, w, 3*time.Minute)
				require.Equal(t, ch.Until.Add(4*time.Hour), w.ledger.change(ch.ID).Until, "save %d, %s", save, what)
				require.Equal(t, w.ledger.change(ch.ID).Until.Unix(), w.listed("black")[0].ExpiredAt)
				require.Empty(t, w.ledger.takeDue(isAsked))
			})
		}
	}
}

// The policy allows less by now than when it was denied, or nothing: so far it is prolonged, then people are asked.
func TestThePolicyOfRenewalsChanges(t *testing.T) {
	t.Parallel()
	for most, longer := range map[time.Duration]time.Duration{0: 0, time.Hour: 0, 6 * time.Hour: 2 * time.Hour, 48 * time.Hour: 4 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := newBubble(t, renewing(&going{trying: []string{"203.0.113.7"}}, 24*time.Hour))
			ch := w.does(ann, "deny 203.0.113.7 for=4h")
			w.cfg.Accounts[0].Policy.RenewWhileActive = most
			w.Runner = commands.New(w.cfg)
			runDue(t, w, 3*time.Hour+50*time.Minute)
			require.Equal(t, ch.Until.Add(longer), w.ledger.change(ch.ID).Until, most)
			asked := w.ledger.takeDue(isAsked)
			require.Equal(t, longer == 0, len(asked) == 1, most)
			if len(asked) == 1 {
				require.Contains(t, change.EndingLines(asked[0].Change, w.clock())[1].String(), "lasts as long as wafbot may extend it by itself")
				require.NotContains(t, words.Change(w.ledger.change(ch.ID), nil).String(), "longer while it keeps trying")
			}
		})
	}
}

// What was made for as long as anything may hold is prolonged before its end as it would be at its end: by the clock,
// and by the button of the question.
func TestTheLongestIsProlonged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &going{trying: []string{"203.0.113.7"}}
		w := newBubble(t, renewing(g, 24*time.Hour), func(c *commands.Config) { c.Accounts[0].Policy.LongestDuration = 4 * time.Hour })
		id := w.attackOn("/login")
		g.set([]string{"203.0.113.7"}, []string{id})
		denied := w.does(ann, "deny 203.0.113.7 for=4h")
		patched := w.does(ann, "patch attack="+id+" for=4h")
		w.refuses(ann, "extend "+patched.ID+" for=4h", refusal.ErrGuarded, "nothing may hold longer than 4h from now")
		runDue(t, w, 3*time.Hour+46*time.Minute)
		require.Equal(t, denied.Until.Add(4*time.Hour), w.ledger.change(denied.ID).Until)
		asked := w.ledger.takeDue(isAsked)
		require.Len(t, asked, 1)
		w.does(bob, advice.Extend(asked[0].Change).Line.String())
		require.Equal(t, patched.Until.Add(4*time.Hour), w.ledger.change(patched.ID).Until)
		w.refuses(ann, "extend "+patched.ID+" for=30m", refusal.ErrGuarded, "nothing may hold longer than 4h from now")
	})
}

func TestWhatEndsIsAskedAbout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		after time.Duration // when it is asked
	}{
		{"deny 203.0.113.0/28 for=4h attack=%", 3*time.Hour + 45*time.Minute},
		{"gray 203.0.113.7 for=20m attack=%", 15 * time.Minute}, // at three quarters
		{"patch attack=% for=2h", 105 * time.Minute},
		{"mode 4 block for=1h attack=%", 45 * time.Minute},
		{"indicator User-Agent evil host=shop.example.com for=1h attack=%", 45 * time.Minute},
		{"deny 203.0.113.7 for=4h attack=%", 3*time.Hour + 45*time.Minute}, // it is not trying any more
	} {
		synctest.Test(t, func(t *testing.T) {
			g := &going{}
			w := newBubble(t, renewing(g, 24*time.Hour))
			id := w.attackOn("/login")
			inv := w.asks(ann, replaced(c.line, id))
			inv.Anyway = true
			res, err := w.do(inv)
			require.NoError(t, err, c.line)
			g.set(nil, []string{id})
			runDue(t, w, c.after-2*time.Second)
			require.Empty(t, w.ledger.takeDue(isAsked), c.line)
			runDue(t, w, 4*time.Second)
			asked := w.ledger.takeDue(isAsked)
			require.Len(t, asked, 1, c.line)
			require.Equal(t, res.Changes[0].ID, asked[0].Change.ID)
			require.Contains(t, change.EndingLines(asked[0].Change, w.clock())[0].String(), " ends at "+res.Changes[0].Until.Format("2006-01-02 15:04")+" UTC and the attack goes on")
			button := advice.Extend(asked[0].Change)
			runDue(t, w, time.Minute)
			require.Empty(t, w.ledger.takeDue(isAsked), "once for each end")
			_, err = w.all(bob, button.Line.String())
			require.NoError(t, err)
			last := w.ledger.change(res.Changes[0].ID)
			runDue(t, w, last.Until.Sub(w.clock())-time.Second)
			require.Len(t, w.ledger.takeDue(isAsked), 1, "its new end is asked about, too")
		})
	}
}

// The account's owner was away when it was time to ask: people are notified that it has ended, once.
func TestWhatEndedUnaskedIsNotified(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &going{}
		w := newBubble(t, renewing(g, 24*time.Hour))
		id := w.attackOn("/login")
		ch := w.does(ann, "deny 203.0.113.0/28 for=1h attack="+id)
		w.does(ann, "deny 198.51.100.0/28 for=1h")
		g.set(nil, []string{id})
		<-time.After(time.Hour)
		runDue(t, w, 2*time.Second)
		asked := w.ledger.takeDue(isAsked)
		require.Len(t, asked, 1, "not of what was made for no attack")
		require.Equal(t, []any{ch.ID, true}, []any{asked[0].Change.ID, asked[0].Ended})
		require.Contains(t, change.EndingLines(asked[0].Change, w.clock())[0].String(), " ended at "+ch.Until.Format("2006-01-02 15:04")+" UTC while the attack went on")
		runDue(t, w, time.Hour)
		require.Empty(t, w.ledger.takeDue(isAsked))
	})
}

func replaced(line, id string) string {
	before, after, _ := strings.Cut(line, "%")
	return before + id + after
}

// Nothing goes on: it ends, and no user is asked.
func TestWhatIsOverEndsUnasked(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		id := w.attackOn("/login")
		w.reads(ann, "contain attack="+id+" for=1h patch=1h")
		runDue(t, w, time.Hour+time.Minute)
		require.Empty(t, w.rules("vpatch"))
		require.Empty(t, w.listed("black"))
		saved := w.ledger.takeDue(func(record.DueDecision) bool { return true })
		require.Len(t, saved, 1)
		require.True(t, saved[0].Ended, "the entry went by itself")
	}, renewing(&going{}, 24*time.Hour))
}

func TestExtendADenial(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	first := w.does(ann, "deny 203.0.113.7 198.51.100.4 for=4h attack="+id)
	before := w.listed("black")
	w.pass(time.Hour)
	redrawn := w.notified.redrawn
	res := w.reads(bob, "extend "+first.ID[:5]+" for=2h reason=retrying")
	ch := res.Changes[0]
	require.Equal(t, "Extend by 2 h: Deny 203.0.113.7, 198.51.100.4 everywhere for 4 h", ch.Does)
	require.Equal(t, "extend "+first.ID+" for=2h reason=retrying", ch.Line.String())
	require.Contains(t, textOf(res), "accepted by the service, works in about 1 min. "+first.ID+", by Bob, until 2026-11-20 09:00 UTC")
	require.Equal(t, []string{"198.51.100.4/32 [0] 5h0m0s", "203.0.113.7/32 [0] 5h0m0s"}, w.entries("black"), "from its end on")
	for i, e := range w.listed("black") {
		require.Equal(t, before[i].ID, e.ID)
		require.Equal(t, before[i].Reason, e.Reason, "it stays the entry of the change that made it")
	}
	require.Equal(t, w.clock().Add(5*time.Hour), w.ledger.change(first.ID).Until)
	require.Equal(t, "Ann", w.ledger.change(first.ID).Actor.Name)
	require.Equal(t, []string{first.ID + ":done", ch.ID + ":done"}, w.notified.ids())
	require.Equal(t, redrawn+1, w.notified.redrawn, "so that the card is redrawn")
	audited := w.lastAudit()
	require.Equal(t, "done", audited.Outcome)
	require.Equal(t, ch.ID, audited.Change)
	require.Equal(t, "Bob", audited.Actor.Name)
	require.Equal(t, "retrying", audited.Why)
	require.Empty(t, advice.Undo(ch, w.clock()), "the change that it extends has one")
	require.Contains(t, audited.Before[0], "until 2026-11-20T07:00:00Z")
	require.Contains(t, audited.After[0], "until 2026-11-20T09:00:00Z force=true")
	status := textOf(w.reads(eve, "status"))
	require.Contains(t, status, "In force by wafbot: 1\n")
	require.Contains(t, status, "→ 2026-11-20 09:00 UTC")
	require.NotContains(t, textOf(w.reads(eve, "attack "+id)), "Extend")

	w.does(bob, "extend "+first.ID+" for=1h")
	require.Equal(t, []string{"198.51.100.4/32 [0] 6h0m0s", "203.0.113.7/32 [0] 6h0m0s"}, w.entries("black"))
	w.does(ann, "undo "+first.ID)
	require.Empty(t, w.entries("black"))
	require.Equal(t, record.StateUndone, w.ledger.change(ch.ID).State)
	w.nothing(bob, "extend "+first.ID+" for=2h", "undone already by Ann")
}

func TestUndoOfAnExtendedDenialPutsBackWhatStoodThere(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.7", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.does(ann, "deny 203.0.113.7 for=4h")
	w.does(ann, "extend "+ch.ID+" for=4h")
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"203.0.113.7/32 [0] 1h0m0s"}, w.entries("black"))
	require.Equal(t, "by hand", w.listed("black")[0].Reason)
}

// Of rules only wafbot knows the end: it moves, and nothing is sent.
func TestExtendAPatch(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		patched := w.does(ann, "patch shop.example.com/login type=sqli part=get.q for=20m")
		switched := w.anyway(ann, "mode 4 block for=20m")
		sent := w.changesSent()
		res := w.reads(bob, "extend "+patched.ID+" for=20m")
		require.Contains(t, textOf(res), "done; the service need not know. "+patched.ID+", by Bob, until")
		require.Contains(t, words.Change(res.Changes[0], nil).String(), "done; the service need not know "+patched.ID,
			"as the channel's message says")
		w.does(bob, "extend "+switched.ID+" for=40m")
		require.Equal(t, sent, w.changesSent())
		require.Equal(t, patched.Until.Add(20*time.Minute), w.ledger.change(patched.ID).DueAt())
		runDue(t, w, 40*time.Minute-time.Second)
		require.Len(t, w.rules("vpatch"), 1)
		runDue(t, w, 3*time.Second)
		require.Empty(t, w.rules("vpatch"))
		require.Equal(t, []string{"block"}, w.modes())
		runDue(t, w, 20*time.Minute)
		require.Equal(t, []string{"monitoring"}, w.modes())
	})
}

func TestExtendOnce(t *testing.T) {
	for _, line := range []string{"deny 203.0.113.7 for=4h", "patch shop.example.com/login type=sqli part=get.q for=4h"} {
		w := newWorld(t)
		ch := w.does(ann, line)
		inv := w.asks(ann, "extend "+ch.ID+" for=4h")
		_, err := w.do(inv)
		require.NoError(t, err)
		sent := w.changesSent()
		res, err := w.do(inv)
		require.NoError(t, err)
		require.Equal(t, "done", res.Outcome, "the same delivery gets the same answer")
		w.nothing(bob, "extend "+ch.ID+" for=4h", "done already by Ann")
		require.Equal(t, sent, w.changesSent())
		require.Equal(t, ch.Until.Add(4*time.Hour), w.ledger.change(ch.ID).Until)
		w.pass(time.Minute)
		w.does(bob, "extend "+ch.ID+" for=4h")
		require.Equal(t, ch.Until.Add(8*time.Hour), w.ledger.change(ch.ID).Until)
	}
}

func TestWhatCannotBeExtended(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveAllow, config.ApproveModeOff))
	denied := w.does(ann, "deny 203.0.113.7 for=4h")
	w.refuses(ann, "extend "+denied.ID, refusal.ErrUsage, "Missing: for=")
	w.refuses(ann, "extend c000 for=4h", refusal.ErrUsage, "Unknown change: c000")
	w.refuses(eve, "extend "+denied.ID+" for=4h", refusal.ErrDenied, "needs the role responder")
	w.waits(ann, "extend "+denied.ID+" for=forever", "never end")
	w.refuses(ann, "extend "+denied.ID+" for=30d", refusal.ErrGuarded, "it would hold until 2026-12-20 07:00 UTC: nothing may hold longer than 30d from now")
	w.pass(time.Second)
	longer := w.does(ann, "extend "+denied.ID+" for=1h")
	for _, verb := range []string{"undo " + longer.ID, "extend " + longer.ID + " for=1h", "undo"} {
		w.refuses(ann, verb, refusal.ErrUsage, longer.ID+" only extends "+denied.ID+": name that one")
	}
	w.overwrite(w.listed("black")[0], "kept for the police", 24*time.Hour)
	w.refuses(ann, "extend "+denied.ID+" for=1h", refusal.ErrGuarded, "there is nothing to extend", "is another author's now (kept for the police)")

	short := w.does(ann, "deny 203.0.113.8 for=1h")
	w.pass(time.Hour)
	w.nothing(ann, "extend "+short.ID+" for=1h", "is over: ask for it again")
	gone := w.does(ann, "deny 203.0.113.9")
	removed := w.does(ann, "remove 203.0.113.9")
	w.refuses(ann, "extend "+gone.ID+" for=1h", refusal.ErrGuarded, "gone already")
	w.nothing(ann, "extend "+removed.ID+" for=1h", "has no end")

	patched := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
	w.pass(time.Minute) // what wafbot made later is there even where it isn't listed
	w.byHand("POST", "/v1/objects/hint/delete", `{"filter":{"clientid":[5],"id":`+itoa(patched.Steps[0].ID)+`}}`)
	w.refuses(ann, "extend "+patched.ID+" for=1h", refusal.ErrGuarded, "rule "+itoa(patched.Steps[0].ID)+" was deleted or changed")

	allowed := w.does(root, "allow 198.51.100.7")
	w.refuses(ann, "extend "+allowed.ID+" for=1h", refusal.ErrDenied, "needs the role admin")
	off := w.anyway(root, "mode 4 off")
	w.refuses(ann, "extend "+off.ID+" for=1h", refusal.ErrDenied, "needs the role admin")
	w.does(root, "extend "+off.ID+" for=1h")
}

// What the policy forbids by now is not prolonged, even if its author was allowed to begin it.
func TestExtendIsGuardedLikeTheChangeItself(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveForever, config.ApproveBlockPath))
	denied := w.does(ann, "deny 203.0.113.7")
	closed := w.anyway(root, "block-path POST shop.example.com/login for=30m")
	w.refuses(root, "extend "+closed.ID+" for=30m", refusal.ErrAsk, "Extend by 30 min: Block POST shop.example.com/login", "those of your users neither")
	w.anyway(root, "extend "+closed.ID+" for=30m")
	sources(source("our CDN", config.DenyNever, "203.0.113.0/24"))(&w.cfg)
	w.cfg.Accounts[0].Policy.Approval.RequiredFor = []string{config.ApproveBlockPath}
	w.Runner = commands.New(w.cfg)
	w.pass(time.Minute)
	w.refuses(ann, "extend "+denied.ID+" for=1h", refusal.ErrGuarded, "is in our CDN", "never denied")
	w.waits(root, "extend "+closed.ID+" for=30m")
	w.cfg.Sources = nil
	w.Runner = commands.New(w.cfg)
	ch := w.does(ann, "extend "+denied.ID+" for=forever")
	require.Equal(t, "Extend forever: Deny 203.0.113.7 everywhere for 4 h", ch.Does)
	require.Equal(t, []string{"203.0.113.7/32 [0] forever"}, w.entries("black"))
	require.Zero(t, w.ledger.change(denied.ID).Until)
	w.nothing(ann, "extend "+denied.ID+" for=1h", "has no end")
	w.does(ann, "undo "+denied.ID)
	require.Empty(t, w.entries("black"))
}

func TestOnlyWhatIsOursIsExtended(t *testing.T) {
	w := newWorld(t)
	ch := w.does(ann, "deny 203.0.113.7 203.0.113.8 for=4h")
	w.overwrite(w.entry("203.0.113.7"), "kept for the police", time.Hour)
	res := w.reads(ann, "extend "+ch.ID+" for=4h")
	require.Contains(t, textOf(res), "the entry for 203.0.113.7 is another author's now (kept for the police), left as it is")
	require.Equal(t, []string{"203.0.113.7/32 [0] 1h0m0s", "203.0.113.8/32 [0] 8h0m0s"}, w.entries("black"))
}

func TestExtendInDryRun(t *testing.T) {
	w := newWorld(t)
	denied := w.does(ann, "deny 203.0.113.7")
	patched := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
	w.cfg.Accounts[0].Policy.Changes = config.ChangesDryRun
	w.Runner = commands.New(w.cfg)
	sent := w.changesSent()
	require.Contains(t, textOf(w.reads(ann, "extend "+denied.ID+" for=1h")), "Dry run: Extend by 1 h: Deny 203.0.113.7 everywhere for 4 h. Nothing was sent")
	require.Contains(t, textOf(w.reads(ann, "extend "+patched.ID+" for=1h")), "Nothing was changed")
	require.Equal(t, sent, w.changesSent())
	require.Equal(t, denied.Until, w.ledger.change(denied.ID).Until)
	require.Equal(t, patched.Until, w.ledger.change(patched.ID).Until)
	require.Equal(t, "dry_run", w.lastAudit().Outcome)
}

// A process dies at any point: who gets the delivery again, or types the same, prolongs it once; an undo takes it back
// in any case.
func TestACrashWhileExtending(t *testing.T) {
	for _, line := range []string{"deny 203.0.113.7 for=4h", "patch shop.example.com/login type=sqli part=get.q for=4h"} {
		for save := 1; save <= 4; save++ {
			for _, next := range []string{"the same delivery", "the same line", "an undo"} {
				w := newWorld(t)
				ch := w.does(ann, line)
				w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= save } })
				inv := w.asks(ann, "extend "+ch.ID+" for=4h")
				_, err := w.do(inv)
				if err != nil {
					require.ErrorIs(t, err, refusal.ErrAway)
				}
				w.ledger.set(func(l *ledger) { l.saveFail = nil })
				if next != "an undo" {
					if next == "the same line" {
						inv = w.asks(bob, "extend "+ch.ID+" for=4h")
					}
					_, err = w.do(inv)
					require.NoError(t, err, "%s, save %d, %s", line, save, next)
					require.Equal(t, ch.Until.Add(4*time.Hour), w.ledger.change(ch.ID).Until, "%s, save %d, %s", line, save, next)
					if strings.HasPrefix(line, "deny") {
						require.Equal(t, ch.Until.Add(4*time.Hour).Unix(), w.entry("203.0.113.7").ExpiredAt)
					}
				}
				w.does(ann, "undo "+ch.ID)
				require.Empty(t, w.entries("black"), "%s, save %d, %s", line, save, next)
				require.Empty(t, w.rules("vpatch"))
				_, err = w.do(inv)
				require.ErrorIs(t, err, refusal.ErrNothing, "it stays undone")
				require.Empty(t, w.entries("black"))
			}
		}
	}
}

// Another user extended it further while the first outcome was unknown: resumed, that one shortens nothing.
func TestAnExtensionNeverShortens(t *testing.T) {
	for _, further := range []string{"8h", "forever"} {
		w := newWorld(t, withoutApproval(config.ApproveForever))
		ch := w.does(ann, "deny 203.0.113.7 for=4h")
		w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= 2 } })
		first := w.asks(ann, "extend "+ch.ID+" for=1h")
		_, err := w.do(first)
		require.ErrorIs(t, err, refusal.ErrAway)
		w.ledger.set(func(l *ledger) { l.saveFail = nil })
		w.does(bob, "extend "+ch.ID+" for="+further)
		until, entries := w.ledger.change(ch.ID).Until, w.entries("black")
		_, err = w.do(first)
		require.NoError(t, err)
		require.Equal(t, until, w.ledger.change(ch.ID).Until, further)
		require.Equal(t, entries, w.entries("black"), further)
		w.does(ann, "undo "+ch.ID)
		require.Empty(t, w.entries("black"))
	}
}

// The service took a long one whose answer is lost for good: a short one asked after it leaves the longer end, and so
// does a half done one.
func TestAShorterExtensionLeavesALongerEnd(t *testing.T) {
	w := newWorld(t)
	ch := w.does(ann, "deny 203.0.113.7 for=4h")
	w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= 2 } })
	long := w.asks(ann, "extend "+ch.ID+" for=8h")
	_, err := w.do(long)
	require.ErrorIs(t, err, refusal.ErrAway)
	w.ledger.set(func(l *ledger) { l.saveFail = nil })
	w.service.CatchUp()
	w.nothing(bob, "extend "+ch.ID+" for=1h", "203.0.113.7 is on the denylist until 2026-11-20 15:00 UTC already")
	require.Equal(t, []string{"203.0.113.7/32 [0] 12h0m0s"}, w.entries("black"))
	_, err = w.do(long)
	require.NoError(t, err)
	require.Equal(t, ch.Until.Add(8*time.Hour), w.ledger.change(ch.ID).Until)
}

func TestAnExtensionThatIsHalfDone(t *testing.T) {
	w := newWorld(t)
	ch := w.does(ann, "deny 203.0.113.7 203.0.113.8 for=4h")
	w.fault("POST /v4/ip_rules", "status:403", 1) // of one of the two
	_, err := w.try(ann, "extend "+ch.ID+" for=4h")
	require.ErrorContains(t, err, "Failed in part")
	require.ErrorContains(t, err, "Ask the same again")
	require.NotContains(t, err.Error(), "undo", "an extension has none")
	ends := func() (all []time.Duration) {
		for _, e := range w.listed("black") {
			all = append(all, time.Unix(e.ExpiredAt, 0).Sub(w.clock()))
		}
		slices.Sort(all)
		return all
	}
	require.Equal(t, []time.Duration{4 * time.Hour, 8 * time.Hour}, ends())
	w.does(bob, "extend "+ch.ID+" for=1h")
	require.Equal(t, []time.Duration{5 * time.Hour, 8 * time.Hour}, ends(), "nothing is shortened")
	w.does(ann, "undo "+ch.ID)
	require.Empty(t, w.entries("black"))
}

// It was due to end, but before the clock's turn a user extended it, for a while or forever.
func TestTheClockDoesNotEndWhatWasProlonged(t *testing.T) {
	for _, longer := range []string{"1h", "forever"} {
		w := newWorld(t, withoutApproval(config.ApproveForever))
		ch := w.does(ann, "patch shop.example.com/login type=sqli part=get.q for=1h")
		w.pass(59 * time.Minute)
		w.does(ann, "extend "+ch.ID+" for="+longer)
		w.pass(time.Minute)
		w.nothing(record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}, "undo "+ch.ID, "was extended meanwhile")
		require.Len(t, w.rules("vpatch"), 1)
	}
}
