package commands_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

func TestUndoMyLast(t *testing.T) {
	w := newWorld(t)
	first := w.does(ann, "deny 203.0.113.7")
	w.pass(time.Second)
	second := w.does(ann, "deny 203.0.113.8")
	w.pass(time.Second)
	w.does(bob, "deny 203.0.113.9")
	w.pass(time.Second)
	require.Equal(t, second.ID, w.does(ann, "undo").Undoes)
	w.pass(time.Second)
	require.Equal(t, first.ID, w.does(ann, "undo").Undoes)
	w.nothing(ann, "undo", "nothing of yours is in force")
	require.Equal(t, []string{"203.0.113.9/32 [0] 3h59m58s"}, w.entries("black"))
}

func TestUndoByPrefix(t *testing.T) {
	w := newWorld(t)
	ch := w.does(ann, "deny 203.0.113.7")
	undone := w.does(bob, "undo "+ch.ID[:4])
	require.Equal(t, "Undo of: Deny 203.0.113.7 everywhere for 4 h", undone.Does)
	require.Empty(t, w.entries("black"))
	kept := w.ledger.change(ch.ID)
	require.Equal(t, record.StateUndone, kept.State)
	require.Equal(t, "Bob", kept.EndedBy.Name)
	require.Equal(t, w.clock(), kept.EndedAt)
	w.nothing(ann, "undo "+ch.ID, "undone already by Bob at 2026-11-20 03:00 UTC")
	w.refuses(ann, "undo "+undone.ID, refusal.ErrUsage, "is an undo itself")
	require.NotContains(t, textOf(w.reads(eve, "status")), ch.ID)
}

func TestUndoOfAPutBackDenialIsOver(t *testing.T) {
	w := newWorld(t)
	first := w.does(ann, "deny 203.0.113.7 for=2h")
	w.pass(time.Minute)
	second := w.does(bob, "deny 203.0.113.7 for=4h")
	w.nothing(ann, "undo "+first.ID, "another author's now", second.ID)
	w.does(bob, "undo "+second.ID)
	require.Empty(t, w.entries("black"), "what was undone meanwhile doesn't come back")

	first = w.does(ann, "deny 203.0.113.7 for=2h")
	w.pass(time.Minute)
	second = w.does(bob, "deny 203.0.113.7 for=4h")
	w.does(bob, "undo "+second.ID)
	require.Equal(t, []string{"203.0.113.7/32 [0] 1h59m0s"}, w.entries("black"))
	w.does(ann, "undo "+first.ID)
	require.Empty(t, w.entries("black"))
}

func TestUndoLeavesWhatExpired(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.7", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.does(ann, "deny 203.0.113.7")
	w.pass(2 * time.Hour)
	w.does(ann, "undo "+ch.ID)
	require.Empty(t, w.entries("black"), "what was there before would have ended by now")
	ch = w.does(ann, "deny 203.0.113.8 for=1h")
	w.pass(2 * time.Hour)
	w.nothing(ann, "undo "+ch.ID, "gone already")
}

func TestUndoOfWhatNeverWas(t *testing.T) {
	w := newWorld(t)
	w.fault("POST /v4/ip_rules", "status:403", 1)
	_, err := w.try(ann, "deny 203.0.113.7")
	require.ErrorIs(t, err, refusal.ErrService)
	w.nothing(ann, "undo "+w.ledger.all()[0].ID, "was never made", "lacks the permission")
}

func TestUndoOfADeletedPatch(t *testing.T) {
	w := newWorld(t)
	ch := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
	w.pass(time.Minute) // what wafbot made later is there even where it isn't listed
	w.byHand("POST", "/v1/objects/hint/delete", `{"filter":{"clientid":[5],"id":`+itoa(ch.Steps[0].ID)+`}}`)
	w.byHand("POST", "/v1/objects/hint/create", `{"clientid":5,"type":"vpatch","attack_type":"sqli","point":[["get","q"]],"validated":false,"action":[`+
		`{"type":"equal","value":"shop.example.com","point":["header","HOST"]},{"type":"absent","value":null,"point":["path",0]},`+
		`{"type":"equal","value":"login","point":["action_name"]},{"type":"absent","value":null,"point":["action_ext"]}]}`)
	w.nothing(ann, "undo "+ch.ID, "gone already")
	require.Len(t, w.rules("vpatch"), 1, "an equal one of another author stays")
}

func TestUndoOfSeveralSources(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.8", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.does(ann, "deny 203.0.113.7 203.0.113.8 203.0.113.9")
	w.overwrite(w.entry("203.0.113.7"), "mine now", time.Hour)
	w.does(ann, "undo "+ch.ID)
	require.ElementsMatch(t, []string{"203.0.113.7/32 [0] 1h0m0s", "203.0.113.8/32 [0] 1h0m0s"}, w.entries("black"))
}

func TestAnUndoThatFailsCanBeAskedAgain(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.7", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.does(ann, "deny 203.0.113.7")
	w.fault("DELETE /v4/ip_rules", "status:403", 1)
	_, err := w.try(ann, "undo "+ch.ID)
	require.ErrorIs(t, err, refusal.ErrService)
	require.ErrorContains(t, err, "Failed: Undo of: Deny")
	require.Equal(t, record.StateDone, w.ledger.change(ch.ID).State)
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, "by hand", w.listed("black")[0].Reason)
}

// all does a line in spite of its warnings.
func (w *world) all(who record.Actor, line string) (call.Result, error) {
	w.t.Helper()
	inv := w.asks(who, line)
	inv.Anyway = true
	return w.do(inv)
}

// undone are the changes that a result undid, in that order.
func undone(res call.Result) (ids []string) {
	for _, ch := range res.Changes {
		ids = append(ids, ch.Undoes)
	}
	return ids
}

func TestUndoOfAWholeAttack(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	denied := w.does(ann, "deny 203.0.113.7 for=2h attack="+id)
	w.pass(time.Second)
	longer := w.does(bob, "deny 203.0.113.7 for=4h attack="+id)
	w.pass(time.Second)
	patched := w.does(bob, "patch attack="+id)
	w.pass(time.Second)
	other := w.does(bob, "deny 198.51.100.4 attack="+id)
	w.pass(time.Second)
	kept := w.does(ann, "deny 198.51.100.99")
	w.overwrite(w.entry("198.51.100.4"), "mine now", time.Hour)

	_, err := w.try(ann, "undo attack="+id)
	var asked *refusal.Refusal
	require.ErrorAs(t, err, &asked)
	require.ErrorIs(t, err, refusal.ErrAsk)
	require.Equal(t, "undo "+strings.Join([]string{other.ID, patched.ID, longer.ID, denied.ID}, " ")+" account=acme", asked.Line.String(), "just these, whatever is done meanwhile")
	require.Contains(t, asked.Text.String(), "Undo 4 changes, the newest first?")
	require.Contains(t, asked.Text.String(), denied.ID+" Deny 203.0.113.7 everywhere for 2 h · Ann 2026-11-20 03:00 UTC → ")
	w.pass(time.Second)
	w.does(bob, "deny 198.51.100.77 attack="+id)

	res, err := w.all(ann, asked.Line.String())
	require.NoError(t, err)
	require.Equal(t, []string{patched.ID, longer.ID, denied.ID}, undone(res))
	require.Contains(t, textOf(res), "the entry for 198.51.100.4 is another author's now (mine now), left as it is")
	require.Contains(t, textOf(res), "203.0.113.7 is on the denylist until 2026-11-20 05:00 UTC again, as before", "and then it goes with the one before")
	require.Empty(t, w.rules("vpatch"))
	require.ElementsMatch(t, []string{"198.51.100.4", "198.51.100.99", "198.51.100.77"}, w.denied())
	require.Equal(t, record.StateDone, w.ledger.change(kept.ID).State)
	for _, ch := range res.Changes {
		require.Equal(t, id, ch.AttackID)
	}
}

// Of a patch that holds for a week the attack is no longer stored.
func TestUndoOfAForgottenAttack(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	ch := w.does(ann, "patch attack="+id)
	w.pass(3 * 24 * time.Hour)
	w.refuses(ann, "undo attack="+id[:5], refusal.ErrUsage, "Unknown attack")
	w.nothing(ann, "undo attack=a00000000", "nothing like that is in force")
	require.Equal(t, ch.ID, w.does(ann, "undo attack="+id).Undoes)
}

// denied are the addresses on the denylist.
func (w *world) denied() (all []string) {
	for _, e := range w.listed("black") {
		all = append(all, strings.TrimSuffix(e.Subnet, "/32"))
	}
	slices.Sort(all)
	return all
}

func (w *world) entry(address string) waf.IPRule {
	w.t.Helper()
	for _, e := range w.listed("black") {
		if e.Subnet == address+"/32" {
			return e
		}
	}
	w.t.Fatalf("no entry for %s", address)
	return waf.IPRule{}
}

func TestUndoOfWhatAUserDid(t *testing.T) {
	w := newWorld(t)
	old := w.does(ann, "deny 203.0.113.1")
	w.pass(time.Hour)
	first := w.does(ann, "deny 203.0.113.2")
	w.pass(time.Second)
	w.does(bob, "deny 203.0.113.3")
	w.pass(time.Second)
	second := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
	w.pass(time.Second)
	gone := w.does(ann, "deny 203.0.113.4")
	w.does(ann, "undo "+gone.ID)
	for _, line := range []string{"undo by=@me since=30m", "undo by=U1ANN since=30m", "undo by=an since=30m"} {
		_, err := w.try(ann, line)
		var asked *refusal.Refusal
		require.ErrorAs(t, err, &asked, line)
		require.Equal(t, "undo "+second.ID+" "+first.ID+" account=acme", asked.Line.String(), line)
	}
	w.refuses(bob, "undo by=U since=30m", refusal.ErrUsage, "fits several people: ", "Ann (U1ANN)", "Bob (U2BOB)")
	w.nothing(bob, "undo by=root since=30m", "nothing like that is in force on acme")
	w.refuses(eve, "undo by=ann since=30m", refusal.ErrDenied)

	w.refuses(bob, "undo by=ann since=30m", refusal.ErrDenied, "undo by=ann since=30m needs the role admin; yours is responder", "to type undo by=ann since=30m")

	res, err := w.all(root, "undo by=@ann since=30m")
	require.Error(t, err, "a name, not an @name")
	require.Empty(t, res.Changes)
	res, err = w.all(root, "undo by=ann since=30m")
	require.NoError(t, err)
	require.Equal(t, []string{second.ID, first.ID}, undone(res))
	require.ElementsMatch(t, []string{"203.0.113.1", "203.0.113.3"}, w.denied())
	require.Equal(t, "Root", w.ledger.change(first.ID).EndedBy.Name)
	require.Equal(t, record.StateDone, w.ledger.change(old.ID).State)
	single := w.does(ann, "undo by=@me since=2h")
	require.Equal(t, old.ID, single.Undoes, "one is no more of a question than undo itself")
}

// What was undone since the question is left.
func TestUndoOfSeveralIDs(t *testing.T) {
	w := newWorld(t)
	first := w.does(ann, "deny 203.0.113.2")
	w.pass(time.Second)
	second := w.does(ann, "deny 203.0.113.3")
	w.does(bob, "undo "+second.ID)
	res, err := w.all(ann, "undo "+first.ID+" "+second.ID)
	require.NoError(t, err)
	require.Equal(t, []string{first.ID}, undone(res))
	require.Contains(t, textOf(res), "Deny 203.0.113.3 everywhere for 4 h: undone already by Bob")
	require.Empty(t, w.denied())
}

func TestUndoOfOverlappingModes(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.anyway(ann, "mode 4 block attack="+id)
	w.pass(time.Second)
	w.anyway(root, "mode 4 safe_blocking attack="+id)
	res, err := w.all(ann, "undo attack="+id)
	require.NoError(t, err)
	require.Len(t, res.Changes, 2)
	require.Equal(t, []string{"monitoring"}, w.modes())
}

func TestUndoOfManyHalfFails(t *testing.T) {
	w := newWorld(t)
	first := w.does(ann, "deny 203.0.113.2")
	w.pass(time.Second)
	second := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
	w.fault("POST /v1/objects/hint/delete", "status:423", 0)
	_, err := w.all(ann, "undo by=@me since=1h")
	require.ErrorIs(t, err, refusal.ErrService)
	require.ErrorContains(t, err, "Failed in part. ")
	require.ErrorContains(t, err, "Failed: Undo of: Patch exactly")
	require.ErrorContains(t, err, "Undo of: Deny 203.0.113.2 everywhere for 4 h: accepted")
	require.Equal(t, []any{record.StateUndone, record.StateDone}, []any{w.ledger.change(first.ID).State, w.ledger.change(second.ID).State})
	w.service.ClearFaults()
	w.fault("POST /v1/objects/hint", "status:403", 0)
	_, err = w.all(ann, "undo by=@me since=1h")
	require.ErrorContains(t, err, "lacks the permission")
	lost, _ := w.lastLoss()
	require.Equal(t, "Undo of: "+second.Does, lost.Refused[0].Does, "WAF permission is lost, which is notified")
	require.Equal(t, "failed", w.lastAudit().Outcome)
	w.service.ClearFaults()
	require.Equal(t, second.ID, w.does(ann, "undo by=@me since=1h").Undoes)
}

// A process dies after each of its saves: the same request again finishes, and reports all of it.
func TestACrashAmidAnUndoOfMany(t *testing.T) {
	for save := 1; save <= 10; save++ {
		w := newWorld(t)
		id := w.attackOn("/login")
		var made []string
		for _, line := range []string{"deny 203.0.113.7 for=2h", "deny 203.0.113.7", "patch"} {
			made = append([]string{w.does(ann, line+" attack="+id).ID}, made...)
			w.pass(time.Second)
		}
		w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= save } })
		inv := w.asks(ann, "undo attack="+id)
		inv.Anyway = true
		_, err := w.do(inv)
		w.ledger.set(func(l *ledger) { l.saveFail = nil })
		w.pass(time.Minute)
		late := w.does(ann, "deny 198.51.100.4 attack="+id) // was not meant
		res, again := w.do(inv)
		require.NoError(t, again)
		require.Equal(t, made, undone(res), "save %d", save)
		require.Equal(t, []string{"198.51.100.4"}, w.denied())
		require.Empty(t, w.rules("vpatch"))
		sent := w.changesSent()
		res, again = w.do(inv)
		require.NoError(t, again)
		require.Equal(t, made, undone(res))
		require.Equal(t, sent, w.changesSent())
		require.Equal(t, record.StateDone, w.ledger.change(late.ID).State)
		if err == nil {
			return // there are no more saves
		}
		require.True(t, errors.Is(err, refusal.ErrAway), err)
	}
	require.Fail(t, "more saves than were tried")
}

// Long after, what was begun is finished, and the rest is not begun.
func TestAnUndoOfManyThatIsFoundLate(t *testing.T) {
	w := newWorld(t)
	w.does(ann, "deny 203.0.113.7")
	w.pass(time.Second)
	second := w.does(ann, "deny 203.0.113.8")
	w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= 2 } })
	inv := w.asks(ann, "undo by=@me since=1h")
	inv.Anyway = true
	_, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrAway)
	w.ledger.set(func(l *ledger) { l.saveFail = nil })
	w.pass(11 * time.Minute)
	res, err := w.do(inv)
	require.NoError(t, err)
	require.Equal(t, []string{second.ID}, undone(res))
	require.Contains(t, textOf(res), "what was not begun by then was not done")
	require.Equal(t, []string{"203.0.113.7"}, w.denied())
}

// In a card's thread a bare undo is still one's last, wherever it was made.
func TestABareUndoInAThread(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.does(ann, "deny 203.0.113.7 attack="+id)
	w.pass(time.Second)
	last := w.does(ann, "deny 198.51.100.4")
	inv := w.asks(ann, "undo")
	inv.Attack = id
	res, err := w.do(inv)
	require.NoError(t, err)
	require.Equal(t, []string{last.ID}, undone(res))
	require.Empty(t, res.Changes[0].AttackID)
}

func TestUndoOfTooMany(t *testing.T) {
	w := newWorld(t)
	for range 22 {
		w.does(ann, "deny 203.0.113."+itoa(int64(w.ids+1)))
		w.pass(time.Second)
	}
	_, err := w.try(ann, "undo by=@me since=1h")
	require.ErrorContains(t, err, "Undo 20 changes, the newest first?")
	require.ErrorContains(t, err, "2 older changes will be left: ask again for them")
}

// An undo that found nothing left closes the change, which says so.
func TestAnUndoThatFoundNothingLeft(t *testing.T) {
	w := newWorld(t)
	ch := w.does(ann, "deny 203.0.113.7")
	w.pass(time.Minute) // what wafbot made later is there even where it isn't listed
	w.byHand("DELETE", "/v4/ip_rules", `{"filter":{"clientid":5,"id":[`+itoa(ch.Steps[0].ID)+`]}}`)
	w.nothing(bob, "undo "+ch.ID, "gone already")
	closed := w.ledger.change(ch.ID)
	require.True(t, closed.Gone)
	require.Contains(t, words.Change(closed, nil).String(), "undone by Bob 2026-11-20 03:01 UTC, nothing of it was left")
	read, err := change.ReadMetadata(change.Metadata(closed)...)
	require.NoError(t, err)
	require.Equal(t, []any{record.StateUndone, true}, []any{read.State, read.Gone}, "as an emptied store finds it")
}

// What goes on holding for a source whose denial is undone is named, with its author.
func TestUndoNamesWhatStillCovers(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.knows(apiclient.Attack{
		ID: w.served(id).ID, Sources: []apiclient.Source{{IP: netip.MustParseAddr("203.0.113.7"), Country: "FR"}},
	})
	day := w.clock().Add(24 * time.Hour).Unix()
	w.seed(waf.IPRule{Subnet: "203.0.113.0/24", Author: "Olga", Pools: []int{4}, ExpiredAt: day})
	w.seed(waf.IPRule{RuleType: "country", SourceValues: []string{"DE", "FR"}, Reason: "since spring", ExpiredAt: day})
	w.seed(waf.IPRule{RuleType: "country", SourceValues: []string{"NL"}, Reason: "not his", ExpiredAt: day})
	w.seed(waf.IPRule{RuleType: "datacenter", SourceValues: []string{"aws"}, Reason: "who knows", ExpiredAt: day})
	for _, gone := range []bool{false, true} {
		ch := w.does(ann, "deny 203.0.113.7 attack="+id)
		if gone {
			w.byHand("DELETE", "/v4/ip_rules", `{"filter":{"clientid":5,"id":[`+itoa(ch.Steps[0].ID)+`]}}`)
		}
		res := w.reads(ann, "undo "+ch.ID)
		said := textOf(res)
		require.Contains(t, said, "still on the denylist: 203.0.113.0/24 covers it on Shop until 2026-11-21 03:00 UTC")
		require.Contains(t, said, "still on the denylist: country:DE, country:FR covers it until 2026-11-21 03:00 UTC (since spring)")
		require.NotContains(t, said, "NL")
		require.NotContains(t, said, "aws")
	}
}
