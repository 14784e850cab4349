package commands_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestDeny(t *testing.T) {
	w := newWorld(t)
	res := w.reads(ann, `deny 203.0.113.7 198.51.100.0/24 reason="brute  force"`)
	require.Equal(t, []string{"198.51.100.0/24 [0] 4h0m0s", "203.0.113.7/32 [0] 4h0m0s"}, w.entries("black"))
	ch := res.Changes[0]
	require.Equal(t, "Deny 203.0.113.7, 198.51.100.0/24 everywhere for 4 h", ch.Does)
	require.Equal(t, ch, w.ledger.change(ch.ID), "what is notified is what is kept")
	require.Equal(t, record.StateDone, ch.State)
	require.Equal(t, "wafbot "+ch.ID+" by Ann (U1ANN): brute force", w.listed("black")[0].Reason)
	require.Contains(t, textOf(res), "accepted by the service, works in about 1 min. "+ch.ID+", by Ann, until 2026-11-20 07:00 UTC")
	require.Zero(t, ch.DueAt(), "the service lets entries expire by itself")
	w.pass(4 * time.Hour)
	require.Empty(t, w.entries("black"))
	require.False(t, ch.InForce(w.clock()))
}

// A list entry lives five minutes at least in the service's console: who asks for less is told, and asked, on each way
// in.
func TestAnEntryShorterThanTheServiceKeeps(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveAllow))
	id := w.attackOn("/login")
	const short = "the service's console lets a list entry live 5 min at least: this one may hold longer than "
	for who, line := range map[record.Actor]string{ann: "deny 203.0.113.7 for=4m59s", bob: "gray 203.0.113.7 1m", root: "allow 203.0.113.7 for=1m"} {
		w.refuses(who, line, refusal.ErrAsk, short, "for=5m is the shortest that is certain")
		w.asksInSpiteOfYes(who, line)
	}
	w.refuses(ann, "contain for=1m attack="+id, refusal.ErrAsk, short+"1 min")
	w.does(bob, "deny 203.0.113.8 for=5m")
	w.nothing(bob, "deny 203.0.113.8 for=1m", "denied already")

	ch := w.anyway(ann, "deny 203.0.113.7 for=2m attack="+id)
	require.Equal(t, []string{"203.0.113.7/32 [0] 2m0s", "203.0.113.8/32 [0] 5m0s"}, w.entries("black"))
	w.pass(time.Minute)
	w.refuses(ann, "extend "+ch.ID+" for=1m", refusal.ErrAsk, short+"2 min")
	w.asksInSpiteOfYes(ann, "extend "+ch.ID+" for=1m")
	w.does(ann, "extend "+ch.ID+" for=4m")
	require.Equal(t, "Deny 203.0.113.7 everywhere for 2 min: 2 min longer than now. The service's console lets a list entry live 5 min at least: this one may hold longer than 2 min.",
		advice.Extend(ch).Confirm.String())
	require.NotContains(t, advice.Extend(w.does(bob, "deny 203.0.113.9 for=5m")).Confirm.String(), "console")
}

// Who configures so short a time is told, not asked at each denial. A button's dialog says it, and its click isn't
// asked about again.
func TestAConfiguredTimeShorterThanTheServiceKeeps(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Durations.Deny = 2 * time.Minute })
	res, err := w.try(ann, "deny 203.0.113.9")
	require.NoError(t, err)
	require.Contains(t, textOf(res), "this one may hold longer than 2 min")

	id := w.attackOn("/login")
	button := advice.Advise(w.situation(id)).Suggestions[0]
	require.Contains(t, button.Confirm.String(), "on all applications for 2 min, usually within 1 min. The service's console lets a list entry live 5 min at least: this one may hold longer than 2 min.")
	confirm, line := button.In(1)
	require.Contains(t, confirm, "may hold longer than 2 min", "however little room there is")
	clicked := w.asks(ann, line.String())
	clicked.Actor.Via, clicked.Warned = record.ViaButton, true
	res, err = w.do(clicked)
	require.NoError(t, err)
	require.Equal(t, "done", res.Outcome)
	res = w.reads(bob, "contain 203.0.113.8 attack="+id)
	require.Contains(t, textOf(res), "this one may hold longer than 2 min")
}

func TestDenyTheTopSource(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	ch := w.does(ann, "deny attack="+id[:5])
	require.Equal(t, "deny 203.0.113.7 attack="+id+" for=4h", ch.Line.String())
	require.Equal(t, id, ch.AttackID)
	require.Contains(t, w.listed("black")[0].Reason, " for "+id)
	w.does(ann, "deny 192.0.2.9 attack="+id) // another source of the same attack
}

func TestNoSourceListed(t *testing.T) {
	id := record.AttackID("acme", "x:1")
	w := newWorld(t)
	w.knows(apiclient.Attack{ID: "x:1", Type: "sqli"})
	w.refuses(ann, "deny attack="+id, refusal.ErrGuarded, "lists no source for "+id)
	w.refuses(ann, "contain attack="+id, refusal.ErrGuarded, "lists no source")
	w.does(ann, "deny 203.0.113.7 attack="+id)
}

func TestDeniedAlready(t *testing.T) {
	w := newWorld(t)
	ch := w.does(ann, "deny 203.0.113.7 for=4h")
	w.nothing(bob, "deny 203.0.113.7 for=4h", "done already by Ann", ch.ID)
	w.pass(time.Minute)
	w.nothing(bob, "deny 203.0.113.7 for=3h", "denied already until 2026-11-20 07:00 UTC", ch.ID, "by Ann)")
	w.nothing(bob, "deny 203.0.113.7 for=3h app=4", "denied already")

	w.seed(waf.IPRule{Subnet: "198.51.100.0/24", Reason: "trigger: brute force", ExpiredAt: w.clock().Add(24 * time.Hour).Unix()})
	w.nothing(ann, "deny 198.51.100.9", "denied already until 2026-11-21 03:01 UTC", "trigger: brute force")
	w.seed(waf.IPRule{Subnet: "192.0.2.9"})
	w.nothing(ann, "deny 192.0.2.9 for=30d", "forever", "automatic")
}

// A shorter one gives way and comes back; a longer one is never touched.
func TestAShorterOneIsKeptAsBefore(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.7", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.does(ann, "deny 203.0.113.7 for=4h")
	require.Equal(t, []string{"203.0.113.7/32 [0] 4h0m0s"}, w.entries("black"))
	require.True(t, ch.Steps[0].Force)
	require.Equal(t, "by hand", ch.Steps[0].Before[0].Reason)
	require.Contains(t, w.lastAudit().Before[0], `reason="by hand"`)
	w.does(bob, "undo "+ch.ID)
	require.Equal(t, []string{"203.0.113.7/32 [0] 1h0m0s"}, w.entries("black"))
	require.Equal(t, "by hand", w.listed("black")[0].Reason)
}

// An entry for fewer applications stands beside the new one: overwriting it could shorten it.
func TestDenyNeverShortensWhatHoldsForSomeApplications(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.7", Pools: []int{4}, Reason: "by hand"})
	w.nothing(ann, "deny 203.0.113.7 app=Shop", "already forever", "by hand")
	ch := w.does(ann, "deny 203.0.113.7")
	require.False(t, ch.Steps[0].Force)
	both := []string{"203.0.113.7/32 [0] 4h0m0s", "203.0.113.7/32 [4] forever"}
	require.Equal(t, both, w.entries("black"))
	w.does(ann, "undo")
	require.Equal(t, both[1:], w.entries("black"))
	w.does(ann, "deny 203.0.113.7 app=7,shop")
	require.Equal(t, []string{"203.0.113.7/32 [4 7] 4h0m0s", both[1]}, w.entries("black"))
}

func TestSomeOfThemAreDeniedAlready(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.7", Reason: "by hand"})
	res := w.reads(ann, "deny 203.0.113.7 203.0.113.8")
	require.Equal(t, "Deny 203.0.113.8 everywhere for 4 h", res.Changes[0].Does)
	require.Contains(t, textOf(res), "203.0.113.7 is denied already forever (by hand)")
	w.does(ann, "undo")
	require.Equal(t, []string{"203.0.113.7/32 [0] forever"}, w.entries("black"))
}

func TestValuesOfAnotherEntryStay(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBroad))
	w.seed(waf.IPRule{RuleType: "country", SourceValues: []string{"FR", "DE"}, Reason: "by hand"})
	w.nothing(ann, "deny country:FR", "by hand")
	w.anyway(ann, "deny country:FR country:NL")
	require.Equal(t, []string{"DE,FR [0] forever", "NL [0] 4h0m0s"}, w.entries("black"))

	w = newWorld(t, withoutApproval(config.ApproveBroad))
	w.seed(waf.IPRule{RuleType: "country", SourceValues: []string{"FR", "DE"}, ExpiredAt: w.clock().Add(time.Hour).Unix()})
	_, err := w.all(ann, "deny country:FR")
	require.ErrorIs(t, err, refusal.ErrService)
	require.ErrorContains(t, err, "Failed: Deny country:FR everywhere for 4 h")
	require.ErrorContains(t, err, "lists")
	require.Equal(t, []string{"DE,FR [0] 1h0m0s"}, w.entries("black"))
}

// What is left of an entry is still wafbot's own, however often a source is taken off it.
func TestSourcesOfOneEntryAreRemovedOneByOne(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBroad))
	w.anyway(ann, "deny country:FR country:DE country:NL")
	w.pass(time.Second)
	w.does(bob, "remove country:DE")
	w.pass(time.Second)
	w.does(bob, "remove country:FR")
	require.Equal(t, []string{"NL [0] 3h59m58s"}, w.entries("black"))
	w.does(bob, fmt.Sprint("remove ", w.listed("black")[0].ID))
	require.Empty(t, w.entries("black"))
}

func TestTheAllowlistWins(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{List: "white", Subnet: "203.0.113.0/24", Reason: "partner"})
	w.refuses(ann, "deny 203.0.113.7", refusal.ErrNothing, "203.0.113.7 is on the allowlist forever (partner), which wins", "remove 203.0.113.0/24 list=white")
	w.refuses(ann, "gray 203.0.113.7", refusal.ErrNothing, "allowlist")

	w.seed(waf.IPRule{List: "white", Subnet: "198.51.100.7", Pools: []int{4}, Reason: "tester"})
	w.refuses(ann, "deny 198.51.100.7 app=4", refusal.ErrNothing, "tester")
	w.refuses(ann, "deny 198.51.100.7", refusal.ErrAsk, "allowlist on Shop", "there it has no effect")
	w.refuses(ann, "deny 198.51.100.0/24", refusal.ErrAsk, "198.51.100.7 is on the allowlist")
	w.anyway(ann, "deny 198.51.100.0/24")
	w.nothing(ann, "deny 198.51.100.0/24 for=1h", "already") // nothing to do is nothing to ask about
	w.pass(4 * time.Hour)
	w.anyway(ann, "deny 198.51.100.7 app=7")

	w.refuses(ann, "gray 198.51.100.7 app=7", refusal.ErrNothing, "denylist")
}

func TestAskingHandsBackTheLine(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.seed(waf.IPRule{List: "white", Subnet: "198.51.100.7", Pools: []int{4}})
	_, err := w.try(ann, "BAN reason='x y' 198.51.100.7 attack="+id[:6])
	var refused *refusal.Refusal
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, refusal.ErrAsk)
	require.Equal(t, `deny 198.51.100.7 account=acme attack=`+id+` reason="x y"`, refused.Line.String())
	require.Len(t, refused.Warnings, 1)
	require.Equal(t, "asked", w.lastAudit().Outcome)
	w.anyway(ann, refused.Line.String())
}

func TestGrayAndAllow(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveAllow))
	w.does(ann, "gray 203.0.113.7")
	w.does(root, "allow 203.0.113.7")
	require.Equal(t, []string{"203.0.113.7/32 [0] 24h0m0s"}, w.entries("gray"))
	require.Equal(t, []string{"203.0.113.7/32 [0] 1h0m0s"}, w.entries("white"))
}

func TestRemove(t *testing.T) {
	w := newWorld(t)
	denied := w.does(ann, "deny 203.0.113.7")
	ch := w.does(bob, "remove 203.0.113.7")
	require.Empty(t, w.entries("black"))
	require.NotContains(t, textOf(w.reads(eve, "status")), denied.ID, "no longer in force")
	w.does(ann, "deny 203.0.113.7") // within the same minute
	require.Len(t, w.entries("black"), 1)
	w.nothing(ann, "undo "+ch.ID, "again already")

	id := w.seed(waf.IPRule{Subnet: "192.0.2.9", Reason: "trigger"})
	w.refuses(ann, "remove 192.0.2.9", refusal.ErrDenied, "remove 192.0.2.9 needs the role admin; yours is responder")
	w.refuses(root, "remove 192.0.2.9", refusal.ErrAsk, "wafbot did not make this entry (trigger)", "come back by itself")
	ch = w.anyway(root, "remove "+itoa(id))
	require.Len(t, w.entries("black"), 1)
	w.does(root, "undo "+ch.ID)
	require.Contains(t, w.entries("black"), "192.0.2.9/32 [0] forever")
	require.Equal(t, "trigger", w.listed("black")[1].Reason)
}

// Others' entries are an admin's to remove, also on a detour.
func TestOthersEntriesStayTheirs(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "192.0.2.9", Reason: "trigger", ExpiredAt: w.clock().Add(2 * time.Hour).Unix()})
	over := w.does(ann, "deny 192.0.2.9 for=4h")
	w.refuses(ann, "remove 192.0.2.9", refusal.ErrDenied, "needs the role admin")
	w.refuses(root, "remove 192.0.2.9", refusal.ErrAsk, "took the place of one that wafbot did not make (trigger)", "undo "+over.ID+" brings that back")
	longer := w.does(ann, "deny 192.0.2.9 for=8h")
	w.refuses(ann, "remove 192.0.2.9", refusal.ErrDenied, "needs the role admin")
	w.does(ann, "undo "+longer.ID)
	w.does(ann, "undo "+over.ID)
	require.Equal(t, []string{"192.0.2.9/32 [0] 2h0m0s"}, w.entries("black"))
	w.refuses(ann, "remove 192.0.2.9", refusal.ErrDenied, "needs the role admin")
	w.pass(time.Minute)
	w.does(ann, "deny 192.0.2.9 for=4h")
	w.pass(2 * time.Hour)
	w.does(ann, "remove 192.0.2.9") // the other one would be over by now
}

func TestRemoveWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.0/24"})
	w.nothing(root, "remove 203.0.113.7", "is on no list itself, but 203.0.113.0/24 on the denylist covers it: entry")
	w.nothing(root, "remove 203.0.112.0/23")
	w.nothing(root, "remove 99999")
	w.seed(waf.IPRule{Subnet: "203.0.113.0/24", List: "gray"})
	w.refuses(root, "remove 203.0.113.0/24", refusal.ErrUsage, "stands there 2 times", "denylist", "graylist")
	w.anyway(root, "remove 203.0.113.0/24 list=gray")
	require.Empty(t, w.entries("gray"))
	require.Len(t, w.entries("black"), 1)
}

func TestOnlyWhatIsAnnouncedIsRemoved(t *testing.T) {
	w := newWorld(t)
	w.does(ann, "deny 203.0.113.7")
	// Another user takes the entry over in the console: it keeps its number.
	entry := w.listed("black")[0]
	w.overwrite(entry, "kept for the police", 24*time.Hour)
	w.refuses(bob, "remove 203.0.113.7", refusal.ErrDenied)
	w.nothing(ann, "undo", "another author's now", "kept for the police")
	require.Equal(t, []string{"203.0.113.7/32 [0] 24h0m0s"}, w.entries("black"))
}

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
	w := newWorld(t)
	var ch record.Change
	require.Equal(t, 3, w.requests("POST /v4/ip_rules", func() { ch = w.does(ann, "deny 203.0.113.7 203.0.113.8 203.0.113.9") }))
	w.fault("DELETE /v4/ip_rules", "reset_applied", 2)
	require.Equal(t, 5, w.requests("DELETE /v4/ip_rules", func() { w.does(ann, "undo "+ch.ID) }), "all in one, then each until it is answered")
	require.Empty(t, w.entries("black"))
}

func TestAPartlyFailedBatchIsToldPerValue(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveBroad))
	w.fault("POST /v4/ip_rules", "status:403", 2) // of three, which are sent side by side
	_, err := w.all(ann, "deny 203.0.113.7 203.0.113.8 country:FR country:DE")
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

// sentEntries are the entries that were sent to be added since the n-th request.
func (w *world) sentEntries(n int) []map[string]any {
	w.t.Helper()
	var sent []map[string]any
	for _, r := range w.service.Requests("acme")[n:] {
		if r.Method != http.MethodPost || r.Path != "/v4/ip_rules" {
			continue
		}
		var body struct {
			ClientID int            `json:"clientid"`
			IPRule   map[string]any `json:"ip_rule"`
		}
		require.NoError(w.t, json.Unmarshal([]byte(r.Body), &body))
		require.Equal(w.t, 5, body.ClientID)
		require.Contains(w.t, body.IPRule["reason"], "wafbot c")
		delete(body.IPRule, "reason")
		sent = append(sent, body.IPRule)
	}
	return sent
}

// Every kind of entry, on every list: what is sent, what is shown, how it is taken off and put back.
func TestKindsOfEntries(t *testing.T) {
	type entry = map[string]any
	lists := [][2]string{{"deny", "black"}, {"allow", "white"}, {"gray", "gray"}}
	for _, of := range []struct {
		target string
		want   []entry
	}{
		{"203.0.113.7", []entry{{"rule_type": "ip_range", "subnet": "203.0.113.7/32"}}},
		{"203.0.113.0/24", []entry{{"rule_type": "ip_range", "subnet": "203.0.113.0/24"}}},
		{"203.0.0.0/16", []entry{{"rule_type": "ip_range", "subnet": "203.0.0.0/16"}}},
		{"2001:db8::/48", []entry{{"rule_type": "ip_range", "subnet": "2001:db8::/48"}}},
		{"COUNTRY:fr", []entry{{"rule_type": "country", "source_values": []any{"FR"}}}},
		{"country:FR country:de", []entry{{"rule_type": "country", "source_values": []any{"FR", "DE"}}}},
		{"proxy:tor", []entry{{"rule_type": "proxy_type", "source_values": []any{"TOR"}}}},
		{"proxy:VPN 203.0.113.7", []entry{{"rule_type": "proxy_type", "source_values": []any{"VPN"}}, {"rule_type": "ip_range", "subnet": "203.0.113.7/32"}}},
		{"datacenter:AWS", []entry{{"rule_type": "datacenter", "source_values": []any{"aws"}}}},
		{"datacenter:gce datacenter:azure", []entry{{"rule_type": "datacenter", "source_values": []any{"gce", "azure"}}}},
	} {
		target, want := of.target, of.want
		if !full.On() { // each kind on one list
			lists = append(lists[1:], lists[0])
		}
		for _, on := range lists[:full.Of(1, 3)] {
			verb, list := on[0], on[1]
			w := newWorld(t, withoutApproval(config.ApproveBroad, config.ApproveAllow))
			n := len(w.service.Requests("acme"))
			ch := w.insists(root, verb+" "+target+" app=Shop for=2h")
			sent := w.sentEntries(n)
			var expected []entry // in any order: several addresses are sent side by side
			for _, e := range want {
				all := entry{"list": list, "pools": []any{4.0}, "expired_at": float64(w.clock().Add(2 * time.Hour).Unix())}
				maps.Copy(all, e)
				expected = append(expected, all)
			}
			require.ElementsMatch(t, expected, sent, "%s %s", verb, target)
			require.Len(t, w.listed(list), len(want))
			shown := textOf(w.reads(eve, "lists "+list))
			for _, word := range ch.Line.Words {
				require.Contains(t, shown, word)
				require.Contains(t, shown, " on Shop until 2026-11-20 05:00 UTC")
				require.Contains(t, textOf(w.reads(eve, "lists "+word)), "1 entry", word)
				w.nothing(root, verb+" "+word+" app=Shop for=1h", "already")
				removed := w.does(root, "remove "+word)
				require.Contains(t, textOf(w.reads(eve, "lists "+word)), "0 entries", word)
				w.does(root, "undo "+removed.ID)
				require.Contains(t, textOf(w.reads(eve, "lists "+word)), "1 entry", word)
				require.Equal(t, len(ch.Line.Words), w.sourcesOn(list), "the others were left")
			}
			w.does(root, "undo "+ch.ID)
			require.Empty(t, w.listed(list), "%s %s", verb, target)
		}
	}
}

// sourcesOn counts the sources on a list.
func (w *world) sourcesOn(list string) (n int) {
	for _, e := range w.listed(list) {
		n += max(len(e.SourceValues), 1)
	}
	return n
}

// What other authors have on the lists, and wafbot would not put there, is shown and taken off like the rest.
func TestKindsOfOthers(t *testing.T) {
	w := newWorld(t)
	id := w.seed(waf.IPRule{RuleType: "country", SourceValues: []string{"FR", "DE"}, Reason: "by hand"})
	require.Contains(t, textOf(w.reads(eve, "lists country:DE")), "denylist: country:DE, country:FR everywhere forever (by hand)")
	w.nothing(root, "remove country:DE", "itself, but country:DE, country:FR on the denylist covers it: entry "+itoa(id))
	ch := w.anyway(root, "remove "+itoa(id))
	require.Empty(t, w.listed("black"))
	w.does(root, "undo "+ch.ID)
	require.Equal(t, []string{"DE,FR [0] forever"}, w.entries("black"))
}
