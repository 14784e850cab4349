package commands_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// lastLoss is the last permission loss, and how often one was saved.
func (w *world) lastLoss() (t record.PermissionLoss, saves int) {
	w.t.Helper()
	t, err := w.store.Ledger.PermissionLoss(behind(w.t), "acme")
	require.NoError(w.t, err)
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	return t, len(w.ledger.lost)
}

// leftToDo is what a refused change leaves to do.
func (w *world) leftToDo(r record.RefusedChange) (lines []string) {
	for _, s := range r.Steps {
		lines = append(lines, words.ByHand(w.cfg.Accounts[0], s).String())
	}
	return lines
}

func TestPermissionLost(t *testing.T) {
	t.Parallel()
	const lists, create = "POST /v4/ip_rules", "POST /v1/objects/hint/create"
	for name, c := range map[string]struct {
		endpoint, kind, line string
		cannot               string
		does                 string
		hand                 []string
	}{
		"a token": {"", "unauthenticated", "deny 203.0.113.7 203.0.113.8 app=4 for=2h reason=\"card test\"", "change anything", "Deny 203.0.113.7, 203.0.113.8 on Shop for 2 h", []string{
			"add to the denylist: 203.0.113.7, on Shop, until 2026-11-20 05:00 UTC, reason by Ann (U1ANN): card test",
			"add to the denylist: 203.0.113.8, on Shop, until 2026-11-20 05:00 UTC, reason by Ann (U1ANN): card test",
		}},
		"a token for writing": {lists, "unauthenticated", "deny 203.0.113.7", "change anything", "Deny 203.0.113.7 everywhere for 4 h", []string{
			"add to the denylist: 203.0.113.7, everywhere, until 2026-11-20 07:00 UTC, reason by Ann (U1ANN)",
		}},
		"lists": {lists, "status:403", "deny 203.0.113.7", "change IP lists", "Deny 203.0.113.7 everywhere for 4 h", []string{
			"add to the denylist: 203.0.113.7, everywhere, until 2026-11-20 07:00 UTC, reason by Ann (U1ANN)",
		}},
		"lists that can't be read": {"GET /v4/ip_rules", "status:403", "gray 203.0.113.7", "change IP lists", "Graylist 203.0.113.7 everywhere for 24 h", []string{
			"add to the graylist: 203.0.113.7, everywhere, until 2026-11-21 03:00 UTC, reason by Ann (U1ANN)",
		}},
		"modes":   {create, "status:403", "mode Shop block for=2h", "switch modes", "Switch Shop to block for 2 h", []string{"set the mode of Shop to block", "delete rule "}},
		"patches": {create, "inner:403", "patch shop.example.com/login type=sqli part=get.q", "change patches and other rules", "Patch exactly", []string{"create the rule: vpatch sqli in get.q, for shop.example.com/login"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fault(c.endpoint, c.kind, 0)
			refuse := func(who record.Actor, line string) {
				inv := w.asks(who, line)
				inv.Anyway = true
				_, err := w.do(inv)
				require.ErrorIs(t, err, refusal.ErrService)
			}
			refuse(ann, c.line)
			loss, saves := w.lastLoss()
			require.Equal(t, 1, saves)
			require.True(t, loss.GoesOn())
			require.Equal(t, []any{"acme", w.clock(), 403, 1, c.cannot}, []any{loss.Account, loss.Since, loss.Status, loss.Revision, loss.Cannot()})
			require.NotEmpty(t, change.PermissionFix(loss))
			require.Len(t, loss.Refused, 1)
			require.Contains(t, loss.Refused[0].Does, c.does)
			require.Equal(t, ann.ID, loss.Refused[0].By.ID)
			hand := w.leftToDo(loss.Refused[0])
			require.Len(t, hand, len(c.hand))
			for i, words := range c.hand {
				require.Contains(t, hand[i], words)
			}
			again, err := grammar.Parse(advice.Retry(loss, loss.Refused[0]).Line.String())
			require.NoError(t, err)
			require.Equal(t, "acme", again.Keys["account"])

			w.pass(time.Minute)
			refuse(bob, c.line)
			loss, saves = w.lastLoss()
			require.Equal(t, 2, saves)
			require.Len(t, loss.Refused, 1, "the same again")
			require.Equal(t, bob.ID, loss.Refused[0].By.ID)
			require.Equal(t, w.clock().Add(-time.Minute), loss.Since, "in the same permission loss")

			w.service.ClearFaults()
			inv := w.asks(ann, again.String())
			inv.Anyway = true
			_, err = w.do(inv)
			require.NoError(t, err)
			loss, saves = w.lastLoss()
			require.Equal(t, 3, saves)
			require.Equal(t, w.clock(), loss.Until)
			require.Empty(t, loss.Refused, "it is done")

			w.does(ann, "deny 198.51.100.77")
			_, saves = w.lastLoss()
			require.Equal(t, 3, saves, "nothing to say")
			w.pass(time.Minute)
			w.fault("", "unauthenticated", 0)
			refuse(ann, "deny 198.51.100.78")
			loss, _ = w.lastLoss()
			require.True(t, loss.GoesOn())
			require.Equal(t, w.clock(), loss.Since, "another permission loss")
		})
	}
}

// A token that may change lists and not modes: what it may says nothing of what it may not.
func TestPermissionLostInPart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("POST /v1/objects/hint/create", "status:403", 0)
	id := w.attackOn("/login")
	_, err := w.try(ann, "contain attack="+id+" 203.0.113.7")
	require.ErrorContains(t, err, "Failed in part")
	loss, _ := w.lastLoss()
	require.Equal(t, "change patches and other rules", loss.Cannot())
	require.Len(t, loss.Refused, 1)
	require.Equal(t, "patch", loss.Refused[0].Line.Name)
	w.does(ann, "deny 203.0.113.8")
	inv := w.asks(ann, "mode Shop block")
	inv.Anyway = true
	_, err = w.do(inv)
	require.Error(t, err)
	loss, _ = w.lastLoss()
	require.True(t, loss.GoesOn())
	require.Equal(t, "change patches and other rules or switch modes", loss.Cannot())
	require.Contains(t, change.PermissionFix(loss).String(), "may not change patches and other rules (/v1/objects/hint), nor switch modes (/v1/objects/hint): an admin")
	w.service.ClearFaults()
	w.does(ann, "patch attack="+id)
	loss, _ = w.lastLoss()
	require.True(t, loss.GoesOn())
	require.Equal(t, "switch modes", loss.Cannot())
	w.anyway(ann, "mode Shop block")
	loss, _ = w.lastLoss()
	require.False(t, loss.GoesOn())
	require.Empty(t, loss.Refused)
}

func TestPermissionIsNotLost(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"status:400", "status:404", "status:409", "status:423", "status:429", "status:500", "reset", "500_applied"} {
		w := newWorld(t)
		w.fault("POST /v4/ip_rules", kind, 0)
		_, err := w.try(ann, "deny 203.0.113.7")
		require.True(t, err != nil || kind == "500_applied")
		_, saves := w.lastLoss()
		require.Zero(t, saves, kind)
	}
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = config.ChangesDryRun })
	w.fault("", "unauthenticated", 0)
	_, err := w.try(ann, "deny 203.0.113.7")
	require.Error(t, err)
	_, saves := w.lastLoss()
	require.Zero(t, saves, "nothing would have been changed")
}

// A mode should return while the token is refused: that is said once, tried each minute, and done as soon as the token
// is good again.
func TestAnEndThatIsDueWhilePermissionIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		mode := w.anyway(ann, "mode Shop block for=10m")
		patch := w.does(ann, "patch shop.example.com/login type=sqli part=get.q for=20m")
		w.fault("", "unauthenticated", 0)
		_, err := w.try(bob, "deny 203.0.113.7")
		require.Error(t, err)
		loss, _ := w.lastLoss()
		due := change.DueMeanwhile(loss, w.ledger.all(), w.clock())
		require.Equal(t, []string{mode.ID, patch.ID}, []string{due[0].ID, due[1].ID})
		require.Contains(t, change.DueLine(w.cfg.Accounts[0], due[0], w.clock()).String(), "Shop should return to monitoring at ")
		require.Contains(t, change.DueLine(w.cfg.Accounts[0], due[0], w.clock()).String(), "can't as long as this lasts")

		runDue(t, w, 15*time.Minute)
		loss, saves := w.lastLoss()
		require.Equal(t, 2, saves, "once, though it was tried often")
		require.Len(t, loss.Refused, 2)
		require.Equal(t, []any{mode.ID, record.ViaClock}, []any{loss.Refused[1].Ends, loss.Refused[1].By.Via})
		require.Contains(t, w.leftToDo(loss.Refused[1])[0], "set the mode of Shop to monitoring")
		require.Contains(t, change.DueLine(w.cfg.Accounts[0], mode, w.clock()).String(), "NOT done")
		due = change.DueMeanwhile(loss, w.ledger.all(), w.clock())
		require.Len(t, due, 1, "the other was tried")

		w.service.ClearFaults()
		runDue(t, w, 61*time.Second)
		require.Equal(t, []string{"monitoring"}, w.modes())
		loss, _ = w.lastLoss()
		require.False(t, loss.GoesOn())
		require.Len(t, loss.Refused, 1)
		require.Contains(t, loss.Refused[0].Does, "Deny 203.0.113.7", "still not done")
	})
}

func TestManyRefusedChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("", "unauthenticated", 0)
	for _, target := range []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4", "203.0.113.5", "203.0.113.6", "203.0.113.7"} {
		_, err := w.try(ann, "deny "+target)
		require.Error(t, err)
	}
	for _, line := range []string{"remove 203.0.113.9", "delete-rule 12", "undo"} { // of which nothing is known without a look
		_, err := w.try(root, line)
		require.Error(t, err)
	}
	loss, _ := w.lastLoss()
	require.Len(t, loss.Refused, 5)
	require.Positive(t, loss.More)
}

func TestStatusShowsThatPermissionIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NotContains(t, textOf(w.reads(eve, "status")), "WAF permission lost")
	w.fault("POST /v4/ip_rules", "status:403", 0)
	_, err := w.try(ann, "deny 203.0.113.7")
	require.Error(t, err)
	require.Contains(t, textOf(w.reads(eve, "status")), "WAF permission lost: the service doesn't let wafbot change IP lists, since 2026-11-20 03:00 UTC")
}
