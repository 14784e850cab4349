package commands_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/rebuild"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// emptied loses the ledger and fills it again from these changes' messages and the service's lists; unread: these can't
// be read.
func (w *world) emptied(unread bool, posted ...record.Change) rebuild.Known {
	w.t.Helper()
	var back []record.Change
	for _, c := range posted {
		c, _ := throughSlack(w.t, c)
		back = append(back, c)
	}
	w.ledger.forget()
	w.service.CatchUp()
	var entries []apiclient.IPRule
	for e, err := range w.cfg.Services["acme"].IPRules(w.t.Context(), "") {
		require.NoError(w.t, err)
		if !unread {
			entries = append(entries, e)
		}
	}
	var rules []apiclient.Rule
	for r, err := range w.cfg.Services["acme"].Rules(w.t.Context(), 0) {
		require.NoError(w.t, err)
		rules = append(rules, r)
	}
	r := rebuild.Changes(w.cfg.Accounts[0], back, rebuild.Service{Entries: entries, Rules: rules}, w.clock())
	w.ledger.set(func(l *ledger) {
		for _, c := range r.Changes {
			l.put(c)
		}
	})
	return r
}

func TestWhatIsInForceIsRebuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	seeded := waf.IPRule{RuleType: "ip_range", Subnet: "203.0.113.7/32", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()}
	w.seed(seeded)
	before := w.entries("black")
	deny := w.does(ann, "deny attack="+id)
	patch := w.does(ann, "patch attack="+id)
	mode := w.anyway(ann, "mode 4 block for=1h")
	gray := w.does(ann, "gray 192.0.2.8 for=1h")
	prolonged := w.does(ann, "extend "+gray.ID+" for=2h")
	taken := w.does(bob, "deny 192.0.2.9")
	undo := w.does(bob, "undo "+taken.ID)

	// Last in whatever order, and of some an earlier state only: an extension or an undo names both.
	r := w.emptied(false, undo, prolonged, gray, mode, patch, deny, taken)
	require.Empty(t, r.Listed)
	require.Empty(t, r.Unknown)
	require.Equal(t, record.StateUndone, w.ledger.change(taken.ID).State)
	require.Equal(t, "Bob", w.ledger.change(taken.ID).EndedBy.Name)
	require.Equal(t, prolonged.Until, w.ledger.change(gray.ID).Until)
	status := textOf(w.reads(eve, "status"))
	require.Contains(t, status, "Modes that have not returned: 1\n")
	require.Contains(t, status, "In force by wafbot: 3\n")
	w.nothing(ann, "deny attack="+id, "done already by Ann")

	w.does(ann, "undo "+deny.ID)
	require.Equal(t, before, w.entries("black"), "what stood there before is back")
	w.does(ann, "undo "+patch.ID)
	require.Empty(t, w.rules("vpatch"))
	w.does(ann, "undo "+gray.ID)
	require.Empty(t, w.entries("gray"))
	require.Equal(t, []string{"block"}, w.modes())
	later := w.clock().Add(time.Hour)
	ids, err := w.ledger.DueChanges(t.Context(), "acme", later)
	require.NoError(t, err)
	ids = slices.DeleteFunc(ids, func(id string) bool { return change.VerifiesDeletion(w.ledger.change(id), later) })
	require.Equal(t, []string{mode.ID}, ids, "the mode still ends by itself")
	w.does(ann, "undo "+mode.ID)
	require.Equal(t, []string{"monitoring"}, w.modes())
}

func TestWhatStandsOnTheListsIsRebuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(config.ApproveAllow))
	id := w.attackOn("/login")
	deny := w.does(ann, "deny 192.0.2.1 192.0.2.2 attack="+id+" for=3h")
	gray := w.does(bob, "gray 192.0.2.3 app=Shop reason=why")
	allow := w.does(root, "allow 192.0.2.4")
	w.seed(waf.IPRule{RuleType: "ip_range", Subnet: "192.0.2.99/32", Reason: "wafbot is great"})
	r := w.emptied(false)
	require.ElementsMatch(t, []string{deny.ID, gray.ID, allow.ID}, r.Listed)
	require.Len(t, r.Changes, 3)

	got := w.ledger.change(deny.ID)
	require.Contains(t, []string{"Deny 192.0.2.1, 192.0.2.2 everywhere", "Deny 192.0.2.2, 192.0.2.1 everywhere"}, got.Does)
	require.ElementsMatch(t, []string{"192.0.2.1", "192.0.2.2"}, got.Line.Words)
	require.Equal(t, []any{id, deny.Until, "deny", ann.ID, "Ann"}, []any{got.AttackID, got.Until, got.Line.Name, got.Actor.ID, got.Actor.Name})
	require.Equal(t, "gray 192.0.2.3 app=4", w.ledger.change(gray.ID).Line.String())
	require.Equal(t, record.Admin, w.ledger.change(allow.ID).Role)
	w.refuses(ann, "extend "+allow.ID+" for=1h", refusal.ErrDenied, "admin")
	for _, c := range []record.Change{deny, gray, allow} {
		w.does(root, "undo "+c.ID)
	}
	require.Equal(t, []string{"192.0.2.99/32 [0] forever"}, w.entries("black"), "another author's")
	require.Empty(t, w.entries("gray"))
	require.Empty(t, w.entries("white"))
}

// denyOfMany names 120 sources.
func denyOfMany() string {
	var targets []string
	for i := range 120 {
		targets = append(targets, fmt.Sprintf("198.51.%d.%d", 17*i%251, 31*i%253))
	}
	return "deny " + strings.Join(targets, " ") + " for=1h"
}

// A denial of more sources than a message can name is completed from the lists.
func TestAMemoWithoutItsStepsIsCompleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := w.does(ann, denyOfMany())
	longer := w.does(ann, "extend "+many.ID+" for=1h")
	r := w.emptied(false, many, longer)
	require.Empty(t, r.Unknown)
	require.Len(t, w.ledger.change(many.ID).Steps, 120)
	require.Len(t, w.ledger.change(longer.ID).Steps, 120)
	require.Equal(t, longer.Until, w.ledger.change(many.ID).Until)
	w.does(ann, "undo "+many.ID)
	require.Empty(t, w.entries("black"))
}

// Not every renewal of a denial is posted: how long it holds the lists say. It is renewed on, if its message had room
// for that, and an undo knows its entries.
func TestARenewalThatWasNotPostedIsRebuilt(t *testing.T) {
	t.Parallel()
	for line, whole := range map[string]bool{"deny 198.51.0.0 for=1h": true, denyOfMany(): false} {
		t.Run(fmt.Sprint(whole), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newBubble(t, renewing(&going{trying: []string{"198.51.0.0"}}, 24*time.Hour))
				ch := w.does(ann, line)
				runDue(t, w, 100*time.Minute)
				renewed := w.ledger.change(ch.ID).Until
				require.Equal(t, ch.Until.Add(time.Hour), renewed)
				w.emptied(false, ch)
				require.WithinDuration(t, renewed, w.ledger.change(ch.ID).Until, 0)
				if whole {
					runDue(t, w, time.Hour)
					require.WithinDuration(t, renewed.Add(time.Hour), w.ledger.change(ch.ID).Until, 0)
					w.emptied(false, ch)
				}
				w.does(ann, "undo "+ch.ID)
				require.Empty(t, w.entries("black"))
			})
		})
	}
}

// Without the lists what such a denial did isn't known: rather none than one whose undo would find nothing to undo.
func TestAMemoWithoutItsStepsAndWithoutTheLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := w.does(ann, denyOfMany())
	few := w.does(ann, "deny 192.0.2.1")
	r := w.emptied(true, many, few)
	require.Equal(t, []string{many.ID}, r.Unknown)
	require.Len(t, r.Changes, 1)
	w.refuses(ann, "undo "+many.ID, refusal.ErrUsage, "Unknown change")
}

func TestNothingIsChangedBeforeItIsReadBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.redis.Del("{a:acme}:epoch")
	w.refuses(ann, "deny 192.0.2.1", refusal.ErrAway, "is empty", "being rebuilt from the channels")
	require.Contains(t, textOf(w.reads(eve, "status")), "What is in force is unknown: wafbot's store (Redis) is empty")
	require.Zero(t, w.changesSent())
}

// What a rule says that has no room in a message is read from the service, and an undo knows it again.
func TestARuleThatWasLeftOutIsCompleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ch := w.does(root, "patch POST shop.example.com/"+strings.Repeat("p", 900)+" type=sqli part=post")
	back, _ := throughSlack(t, ch)
	require.Empty(t, back.Steps[0].Rule.Conditions)
	r := w.emptied(false, ch)
	require.Empty(t, r.Unknown)
	require.True(t, apiclient.SameRule(*ch.Steps[0].Rule, *w.ledger.change(ch.ID).Steps[0].Rule))
	w.does(root, "undo "+ch.ID)
	require.Empty(t, w.rules("vpatch"))
}

// Of many entries those are in the messages that took the place of others: what stood there before comes back.
func TestEntriesThatWereLeftOutAreCompletedBesideOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed(waf.IPRule{RuleType: "ip_range", Subnet: "198.51.0.0/32", Reason: "by hand", ExpiredAt: w.clock().Add(time.Minute).Unix()})
	before := w.entries("black")
	many := w.does(ann, denyOfMany())
	back, _ := throughSlack(t, many)
	require.Len(t, back.Steps, 1)
	r := w.emptied(false, many)
	require.Empty(t, r.Unknown)
	require.Len(t, w.ledger.change(many.ID).Steps, 120)
	w.does(ann, "undo "+many.ID)
	require.Equal(t, before, w.entries("black"))
}
