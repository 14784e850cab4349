package commands_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// requests counts the requests to an endpoint that a play sends.
func (w *world) requests(endpoint string, play func()) (n int) {
	before := len(w.service.Requests(""))
	play()
	for _, r := range w.service.Requests("")[before:] {
		if r.Method+" "+r.Path == endpoint {
			n++
		}
	}
	return n
}

// What an entry holds already, for longer or shorter, goes its own way: the batch never overwrites.
func TestABatchOverwritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(config.ApproveBroad))
	w.seed(waf.IPRule{RuleType: "country", SourceValues: []string{"NL"}, Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	var ch record.Change
	require.Equal(t, 2, w.requests("POST /v4/ip_rules", func() { ch = w.insists(ann, "deny country:FR country:NL country:DE country:ES") }))
	require.Equal(t, []string{"DE,ES,FR [0] 4h0m0s", "NL [0] 4h0m0s"}, w.entries("black"))
	require.Equal(t, []bool{false, true}, []bool{ch.Steps[0].Force, ch.Steps[1].Force})
	require.Equal(t, 2, w.requests("DELETE /v4/ip_rules", func() { w.does(ann, "undo "+ch.ID) }), "before and after what comes back")
	require.Equal(t, []string{"NL [0] 1h0m0s"}, w.entries("black"))
}

// What was asked for still holds however the values stand in the line, and when one of them was denied meanwhile.
func TestABatchIsApproved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for line, want := range map[string]string{"deny country:FR country:DE": "DE,FR [0] 4h0m0s", "deny datacenter:ovh datacenter:aws": "aws,ovh [0] 4h0m0s"} {
		w.does(bob, "approve "+w.waits(ann, line).ID)
		require.Contains(t, w.entries("black"), want)
	}
	q := w.waits(ann, "deny country:NL country:ES")
	w.seed(waf.IPRule{RuleType: "country", SourceValues: []string{"NL"}, Reason: "by hand", ExpiredAt: w.clock().Add(5 * time.Hour).Unix()})
	w.does(bob, "approve "+q.ID)
	require.Contains(t, w.entries("black"), "ES [0] 4h0m0s")
}

// A value of a batch is taken off and put back, the rest stays, and the undo of the batch finds all of it.
func TestOneOfABatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(config.ApproveBroad))
	ch := w.insists(ann, "deny country:FR country:DE country:ES")
	n := len(w.service.Requests(""))
	removed := w.does(bob, "remove country:DE")
	require.Equal(t, "Take country:DE off the denylist", removed.Does)
	require.Equal(t, []string{"ES,FR [0] 4h0m0s"}, w.entries("black"))
	var order []string
	for _, r := range w.service.Requests("")[n:] {
		if r.Path == "/v4/ip_rules" && r.Method != http.MethodGet {
			order = append(order, r.Method)
		}
	}
	require.Equal(t, []string{"POST", "DELETE"}, order, "the rest is added first")
	w.nothing(bob, "remove country:DE", "is on no list")

	w.does(bob, "undo "+removed.ID)
	require.Equal(t, []string{"DE [0] 4h0m0s", "ES,FR [0] 4h0m0s"}, w.entries("black"))
	w.insists(bob, "extend "+ch.ID+" for=1h")
	require.Equal(t, []string{"DE [0] 5h0m0s", "ES,FR [0] 5h0m0s"}, w.entries("black"))
	w.pass(time.Minute)
	require.Equal(t, 1, w.requests("DELETE /v4/ip_rules", func() { w.does(ann, "undo "+ch.ID) }), "both in one request")
	require.Empty(t, w.entries("black"))
}

// One of a batch is to last longer: only that one is overwritten, and comes back as it was.
func TestOneOfABatchLastsLonger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(config.ApproveBroad))
	ch := w.insists(ann, "deny country:FR country:DE for=2h")
	longer := w.insists(bob, "deny country:FR for=8h")
	require.Equal(t, []string{"DE [0] 2h0m0s", "FR [0] 8h0m0s"}, w.entries("black"))
	w.does(bob, "undo "+longer.ID)
	require.Equal(t, []string{"DE [0] 2h0m0s", "FR [0] 2h0m0s"}, w.entries("black"))
	w.does(ann, "undo "+ch.ID)
	require.Empty(t, w.entries("black"))
}

// A service that keeps the number of an entry of which it overwrites a part must not lose the rest with it.
func TestTheRestThatKeepsTheNumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(config.ApproveBroad))
	w.insists(ann, "deny country:FR country:DE")
	w.ledger.set(func(l *ledger) {
		l.saveFail = func(int) bool {
			e := w.listed("black")[0]
			w.byHand(http.MethodPost, "/v4/ip_rules", `{"clientid":5,"force":true,"ip_rule":{"list":"black","rule_type":"country","source_values":["FR"],"pools":[0],"expired_at":`+
				itoa(w.clock().Add(time.Hour).Unix())+`,"reason":"taken meanwhile"}}`) // so the rest has the number of the whole
			require.NotEqual(t, int64(0), e.ID)
			l.saveFail = nil
			return false
		}
	})
	w.does(bob, "remove country:FR")
	require.Equal(t, []string{"DE [0] 4h0m0s", "FR [0] 1h0m0s"}, w.entries("black"), "what others took meanwhile stays, and so does the rest")
}

func TestAddressesAreDeletedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ch record.Change
	require.Equal(t, 3, w.requests("POST /v4/ip_rules", func() { ch = w.does(ann, "deny 203.0.113.7 203.0.113.8 203.0.113.9") }))
	w.fault("DELETE /v4/ip_rules", "reset_applied", 2)
	require.Equal(t, 5, w.requests("DELETE /v4/ip_rules", func() { w.does(ann, "undo "+ch.ID) }), "all in one, then each until it is answered")
	require.Empty(t, w.entries("black"))
}

func TestAPartlyFailedBatchIsToldPerValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withoutApproval(config.ApproveBroad))
	w.fault("POST /v4/ip_rules", "status:403", 2) // of three, which are sent side by side
	inv := w.asks(ann, "deny 203.0.113.7 203.0.113.8 country:FR country:DE")
	inv.Anyway = true
	_, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrService)
	made := w.listed("black")
	require.Len(t, made, 1)
	says := map[string]string{
		"203.0.113.7/32": "Done for 203.0.113.7; not for 203.0.113.8, country:FR, country:DE. undo c",
		"203.0.113.8/32": "Done for 203.0.113.8; not for 203.0.113.7, country:FR, country:DE. undo c",
		"":               "Done for country:FR, country:DE; not for 203.0.113.7, 203.0.113.8. undo c",
	}[made[0].Subnet]
	require.ErrorContains(t, err, says)
	w.service.ClearFaults()
	w.does(ann, "undo")
	require.Empty(t, w.entries("black"))
}
