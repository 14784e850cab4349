package commands_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// Whatever becomes of the answer, one line makes one entry or rule, and one undo takes it back.
func TestTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"500_applied", "reset_applied", "cut", "status:500", "reset", "html"} {
		for _, times := range []int{1, 2} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.fault("POST /v4/ip_rules", kind, times)
				denied := w.does(ann, "deny 203.0.113.7")
				require.Equal(t, []string{"203.0.113.7"}, w.denied())
				require.Equal(t, denied.Until.Unix(), w.listed("black")[0].ExpiredAt)
				require.Equal(t, w.listed("black")[0].ID, denied.Steps[0].ID)

				w.fault("POST /v1/objects/hint/create", kind, 1)
				patched := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
				require.Len(t, w.rules("vpatch"), 1)
				require.Equal(t, w.rules("vpatch")[0].ID, patched.Steps[0].ID)

				w.fault("POST /v1/objects/hint/delete", kind, times)
				w.does(ann, "undo "+patched.ID)
				require.Empty(t, w.rules("vpatch"))
				w.fault("DELETE /v4/ip_rules", kind, times)
				w.does(ann, "undo "+denied.ID)
				require.Empty(t, w.entries("black"))
			})
		}
	}
}

func TestTheAnswerToAModeIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("POST /v1/objects/hint/create", "reset_applied", 1)
	w.fault("POST /v1/objects/hint/delete", "500_applied", 2)
	ch := w.anyway(ann, "mode 4 block")
	require.Equal(t, []string{"block"}, w.modes())
	w.fault("POST /v1/objects/hint/create", "500_applied", 1)
	w.fault("POST /v1/objects/hint/delete", "reset_applied", 1)
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"monitoring"}, w.modes())
}

func TestAPutBackWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.7", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.does(ann, "deny 203.0.113.7")
	w.fault("POST /v4/ip_rules", "500_applied", 1)
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"203.0.113.7/32 [0] 59m56.25s"}, w.entries("black"), "it took a while to be listed")
}

// An equal rule that was there before is never taken for the one that was lost.
func TestAnEqualRuleOfAnotherAuthor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.ledger.set(func(l *ledger) {
		l.saveFail = func(n int) bool {
			if n == 3 { // both are begun, and the denial is done
				w.pass(2 * time.Second)
				w.byHand("POST", "/v1/objects/hint/create", `{"clientid":5,"type":"vpatch","attack_type":"sqli","point":[["post"],["form_urlencoded","login"]],"validated":false,"action":[`+
					`{"type":"equal","value":"4","point":["instance"]},{"type":"equal","value":"shop.example.com","point":["header","HOST"]},{"type":"equal","value":"POST","point":["method"]},`+
					`{"type":"absent","value":null,"point":["path",0]},{"type":"equal","value":"login","point":["action_name"]},{"type":"absent","value":null,"point":["action_ext"]}]}`)
				w.fault("POST /v1/objects/hint/create", "status:500", 1)
			}
			return false
		}
	})
	res, err := w.try(ann, "contain attack="+id)
	require.NoError(t, err)
	rules := w.rules("vpatch")
	require.Len(t, rules, 2)
	require.Equal(t, rules[1].ID, res.Changes[1].Steps[0].ID)
	w.does(ann, "undo "+res.Changes[1].ID)
	require.Equal(t, rules[:1], w.rules("vpatch"))
}

// Another user takes over an entry while its deletion is under way: what that user made of it stays.
func TestADeletionThatAnotherUserOvertakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ch := w.does(ann, "deny 203.0.113.7")
	w.fault("DELETE /v4/ip_rules", "status:500", 2)
	w.ledger.set(func(l *ledger) {
		l.saveFail = func(n int) bool {
			if n == 1 {
				w.overwrite(w.listed("black")[0], "kept for the police", 24*time.Hour)
			}
			return false
		}
	})
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"203.0.113.7/32 [0] 24h0m0s"}, w.entries("black"))
}

func TestPerhapsDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("POST /v1/objects/hint/create", "status:500", 0)
	inv := w.asks(ann, "patch shop.example.com/login type=sqli part=get.q")
	_, err := w.do(inv)
	require.ErrorContains(t, err, "Failed, or perhaps done: Patch exactly")
	require.Equal(t, "unknown", w.lastAudit().Outcome)
	require.Empty(t, w.rules("vpatch"))
	w.service.ClearFaults()
	res, err := w.do(inv)
	require.NoError(t, err)
	require.Equal(t, "done", res.Outcome)
	require.Len(t, w.rules("vpatch"), 1)
	require.Empty(t, res.Changes[0].Fault)
}

// The service can't be read back: the outcome stays unknown, and the next request finds out.
func TestTheOutcomeStaysUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("POST /v4/ip_rules", "reset_applied", 2)
	require.NoError(t, w.service.SetFault(waf.Fault{Endpoint: "POST /v4/ip_rules", Kind: "status:500"}))
	read := 0
	w.ledger.set(func(l *ledger) {
		l.saveFail = func(int) bool { // the lists can't be read any more once the step is written down
			if read++; read == 1 {
				_ = w.service.SetFault(waf.Fault{Endpoint: "GET /v4/ip_rules", Kind: "status:500"})
			}
			return false
		}
	})
	_, err := w.try(ann, "deny 203.0.113.7")
	require.ErrorIs(t, err, refusal.ErrService)
	require.ErrorContains(t, err, "Failed, or perhaps done: Deny 203.0.113.7")
	require.ErrorContains(t, err, "Ask the same again")
	require.Equal(t, record.StateBegun, w.ledger.all()[0].State)
	require.Contains(t, textOf(w.reads(eve, "status")), "Being carried out: 1\n")
	require.Contains(t, textOf(w.reads(eve, "status")), "Deny 203.0.113.7 everywhere for 4 h · Ann 2026-11-20 03:00 UTC → 2026-11-20 07:00 UTC · outcome unknown since")
	w.service.ClearFaults()
	w.nothing(bob, "deny 203.0.113.7", "by Ann")
	require.Len(t, w.entries("black"), 1)
	require.Len(t, w.ledger.all(), 1)
	require.Equal(t, record.StateDone, w.ledger.all()[0].State)
}

// What fails while wafbot only looks is said to be not done: an error alone leaves its reader wondering.
func TestNothingBegunSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, kind := range []string{"status:500", "status:403", "unauthenticated"} {
		w.fault("GET /v4/ip_rules", kind, 0)
		w.refuses(ann, "deny 203.0.113.7", refusal.ErrService, ". Nothing was done")
		w.service.ClearFaults()
	}
	require.Zero(t, w.changesSent())
	w.fault("GET /v4/ip_rules", "status:500", 0)
	_, err := w.try(eve, "lists")
	require.ErrorIs(t, err, refusal.ErrService)
	require.NotContains(t, err.Error(), "Nothing was done", "of what only reads")
}
