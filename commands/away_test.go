package commands_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

func TestStoreAway(t *testing.T) {
	t.Parallel()
	for name, break_ := range map[string]func(*ledger){
		"no lock":       func(l *ledger) { l.beginFail = true },
		"can't be read": func(l *ledger) { l.readFail = true },
		"can't be written": func(l *ledger) {
			l.saveFail = func(int) bool { return true }
		},
		"can't be written just once": func(l *ledger) {
			l.saveFail = func(n int) bool { return n == 1 }
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withoutApproval(config.ApproveAllow, config.ApproveModeOff, config.ApproveBlockPath))
			id := w.attackOn("/login")
			before := w.does(ann, "deny 203.0.113.99")
			sent := w.changesSent()
			for line, least := range everyLine(id) {
				if least == record.Viewer || slices.ContainsFunc([]string{"remove", "delete-rule", "extend", "unack", "unmute", "unprotect"}, func(verb string) bool { return strings.HasPrefix(line, verb) }) {
					continue
				}
				if name == "can't be written just once" && strings.HasPrefix(line, "contain") {
					continue // its patch could be
				}
				w.ledger.set(break_)
				_, err := w.all(root, strings.Replace(line, "undo", "undo "+before.ID, 1))
				require.ErrorIs(t, err, refusal.ErrAway, line)
				require.ErrorContains(t, err, "Redis", line)
				require.Equal(t, "failed", w.lastAudit().Outcome, line)
			}
			require.Equal(t, sent, w.changesSent(), "nothing may be sent")
			w.ledger.set(break_)
			for _, line := range []string{"status", "attacks", "incidents", "lists", "mode 4", "attack " + id, "whoami", "help"} {
				w.reads(eve, line)
			}
		})
	}
}

func TestStatusWithoutTheStoreSaysSo(t *testing.T) {
	w := newWorld(t)
	w.ledger.set(func(l *ledger) { l.readFail = true })
	require.Contains(t, textOf(w.reads(eve, "status")), "What is in force is unknown")
	w.audit.setFail(true)
	w.refuses(eve, "audit", refusal.ErrAway, "standard output")
}

// Without the store it is unknown who is on an attack: nothing says that nobody is, and the first line says that
// nothing can be changed.
func TestWithoutTheStoreNobodyIsUnacknowledged(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.reads(ann, "ack attack="+id)
	w.ledger.set(func(l *ledger) { l.readFail = true })
	for _, line := range []string{"status", "summary", "attack " + id} {
		said := textOf(w.reads(eve, line))
		require.NotContains(t, said, "Unacknowledged", line)
		require.NotContains(t, said, "changes are made", line)
		require.Contains(t, said, "unknown", line)
		if !strings.HasPrefix(line, "attack") {
			first, _, _ := strings.Cut(said, "\n")
			require.Contains(t, first, "unable to change anything now: its store (Redis)", line)
		}
	}
	home, ok := w.reads(root, "status").Home.(*report.Home)
	require.True(t, ok)
	for _, part := range home.Parts(false) {
		for _, row := range part.Rows {
			require.Empty(t, row.Do, "nothing is offered that can't be done")
		}
	}
}

// A change whose record is damaged is neither done again nor undone, and status names it.
func TestADamagedChangeIsUnknown(t *testing.T) {
	w := newWorld(t)
	ch := w.does(ann, "deny 203.0.113.7")
	w.redis.HSet("{a:acme}:changes", ch.ID, `{"id":"`+ch.ID+`","steps":7}`)
	sent := w.changesSent()
	w.refuses(ann, "undo "+ch.ID, refusal.ErrAway, "the record of change "+ch.ID, "damaged", "unknown")
	require.Equal(t, sent, w.changesSent())
	require.Contains(t, textOf(w.reads(eve, "status")), "Damaged in Redis, and set aside: {a:acme}:changes "+ch.ID+". Whether change "+ch.ID+" is in force is unknown, and wafbot can't end it")
	w.reads(eve, "attacks")
	w.does(ann, "deny 203.0.113.8")
}

func TestTheServiceRefuses(t *testing.T) {
	for kind, words := range map[string]string{
		"unauthenticated": "token", "status:403": "permission", "status:400": "invalid", "status:404": "doesn't find it", "status:423": "locked", "status:429": "no more requests",
		"inner:403": "permission",
	} {
		w := newWorld(t)
		w.fault("POST /v4/ip_rules", kind, 0)
		_, err := w.try(ann, "deny 203.0.113.7")
		require.ErrorIs(t, err, refusal.ErrService, kind)
		require.ErrorContains(t, err, "Failed: Deny 203.0.113.7 everywhere for 4 h: the service", kind)
		require.ErrorContains(t, err, words, kind)
		e := w.lastAudit()
		require.Equal(t, "failed", e.Outcome)
		require.Contains(t, e.Why, words)
		require.Len(t, w.audit.all(), 1, "once")
		require.Equal(t, record.StateFailed, w.ledger.all()[0].State)
		require.NotContains(t, textOf(w.reads(eve, "status")), "In force by wafbot: 1")
	}
}

func TestTheServiceCannotBeRead(t *testing.T) {
	for kind, words := range map[string]string{
		"unauthenticated": "token", "status:403": "permission", "status:429": "no more requests", "status:500": "error of its own", "html": "error of its own",
		"reset": "can't be reached", "cut": "can't be reached",
	} {
		w := newWorld(t)
		w.fault("", kind, 0)
		for _, line := range []string{"attacks", "incidents", "lists", "mode 4", "deny 203.0.113.7", "mode 4 block", "remove 203.0.113.7", "attack a1234567"} {
			w.refuses(root, line, refusal.ErrService, words)
		}
		require.Contains(t, textOf(w.reads(root, "status")), words)
	}
}

// What a line needs of the service is being read while it is checked. A refusal doesn't wait for that, and who may change nothing has nothing read.
func TestARefusalDoesNotWaitForTheService(t *testing.T) {
	w := newWorld(t, sources(cdn))
	w.refuses(eve, "deny 203.0.113.7", refusal.ErrDenied)
	require.Empty(t, w.service.Requests(""))
	w.fault("GET /v4/ip_rules", "hang", 0)
	w.refuses(root, "deny 192.0.2.1", refusal.ErrGuarded, "our CDN")
}

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
			_, err = w.all(ann, again.String())
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
	_, err = w.all(ann, "mode Shop block")
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
	inBubble(t, func(t *testing.T, w *world) {
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
	w := newWorld(t)
	require.NotContains(t, textOf(w.reads(eve, "status")), "WAF permission lost")
	w.fault("POST /v4/ip_rules", "status:403", 0)
	_, err := w.try(ann, "deny 203.0.113.7")
	require.Error(t, err)
	require.Contains(t, textOf(w.reads(eve, "status")), "WAF permission lost: the service doesn't let wafbot change IP lists, since 2026-11-20 03:00 UTC")
}
