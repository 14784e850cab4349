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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, renewing(&going{trying: []string{"203.0.113.7"}}, 24*time.Hour))
		ch := w.does(ann, "deny 203.0.113.7 for=4h")
		w.fault("POST /v4/ip_rules", "status:500", 0)
		runDue(t, w, 3*time.Hour+50*time.Minute)
		require.Equal(t, ch.Until, w.ledger.change(ch.ID).Until)
		require.Len(t, w.ledger.takeDue(isAsked), 1)
		w.service.ClearFaults()
		runDue(t, w, 2*time.Minute)
		require.Equal(t, ch.Until.Add(4*time.Hour), w.ledger.change(ch.ID).Until)
		require.Empty(t, w.ledger.takeDue(isAsked))
	})
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
			inv = w.asks(bob, button.Line.String())
			inv.Anyway = true
			_, err = w.do(inv)
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, renewing(&going{}, 24*time.Hour))
		id := w.attackOn("/login")
		_, err := w.try(ann, "contain attack="+id+" for=1h patch=1h")
		require.NoError(t, err)
		runDue(t, w, time.Hour+time.Minute)
		require.Empty(t, w.rules("vpatch"))
		require.Empty(t, w.listed("black"))
		saved := w.ledger.takeDue(func(record.DueDecision) bool { return true })
		require.Len(t, saved, 1)
		require.True(t, saved[0].Ended, "the entry went by itself")
	})
}
