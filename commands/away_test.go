package commands_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
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
			t.Parallel()
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
				inv := w.asks(root, strings.Replace(line, "undo", "undo "+before.ID, 1))
				inv.Anyway = true
				_, err := w.do(inv)
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
	t.Parallel()
	w := newWorld(t)
	w.ledger.set(func(l *ledger) { l.readFail = true })
	require.Contains(t, textOf(w.reads(eve, "status")), "What is in force is unknown")
	w.audit.setFail(true)
	w.refuses(eve, "audit", refusal.ErrAway, "standard output")
}

// Without the store it is unknown who is on an attack: nothing says that nobody is, and the first line says that
// nothing can be changed.
func TestWithoutTheStoreNobodyIsUnacknowledged(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
