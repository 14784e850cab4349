package commands_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// stores stores requests, behind the store's back.
func (w *world) stores(all ...record.ApprovalRequest) {
	for _, q := range all {
		w.redis.HSet("{a:"+q.Account+"}:approvals", q.ID, jsonOf(w.t, q))
	}
}

// waiting is a request of Bob's that waits for so long.
func (w *world) waiting(id, does string, lasts time.Duration) record.ApprovalRequest {
	return record.ApprovalRequest{
		ID: id, Account: "acme", Does: does, Role: record.Responder, Asker: bob, At: w.clock(), Until: w.clock().Add(lasts), State: record.RequestWaiting,
	}
}

// overview is what status gives programs of the account.
func (w *world) overview(who record.Actor) report.Overview {
	w.t.Helper()
	all, ok := w.reads(who, "status").Data.([]report.Overview)
	require.True(w.t, ok)
	require.Len(w.t, all, 1)
	return all[0]
}

func TestStatusShowsWhatWaitsAndWhatHasNotReturned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) {
		c.CardLinks = func(_ context.Context, account string, attacks []string) map[string]string {
			return map[string]string{attacks[0]: "https://slack.example/" + account + "/" + attacks[0]}
		}
		broken := source("our CDN", config.DenyNever, "192.0.2.0/24")
		broken.File, broken.Broken = "cdn.txt", "no such file"
		sources(broken)(c)
	})
	id := w.attackOn("/login")
	over, decided := w.waiting("r2222222", "Deny 1.1.1.1", time.Minute), w.waiting("r3333333", "Deny 2.2.2.2", time.Hour)
	decided.State = record.RequestApproved
	w.stores(w.waiting("r1111111", "Allow 3.3.3.3", time.Hour), w.waiting("r4444444", "Deny country:FR", 15*time.Minute), over, decided)
	w.anyway(ann, "mode Shop block for=1h")
	w.does(ann, "deny 203.0.113.7 for=4h")
	w.pass(2 * time.Minute)

	shown := textOf(w.reads(eve, "status"))
	require.Contains(t, shown, "card https://slack.example/acme/"+id+" NOT BLOCKED · high attack · SQL injection · Shop")
	require.Contains(t, shown, "r4444444 Deny country:FR · asked by Bob 2026-11-20 03:00 UTC · until 2026-11-20 03:15 UTC")
	require.Less(t, strings.Index(shown, "r4444444"), strings.Index(shown, "r1111111"), "what is over first stands first")
	require.NotContains(t, shown, "r2222222")
	require.NotContains(t, shown, "r3333333")
	require.Contains(t, shown, "Waiting for approval: 2\n")
	require.Contains(t, shown, "Modes that have not returned: 1\n")
	require.Contains(t, shown, "In force by wafbot: 1\n")
	require.Contains(t, shown, "Switch Shop to block for 1 h · Ann 2026-11-20 03:00 UTC → 2026-11-20 04:00 UTC · accepted by the service, compiling, due by 2026-11-20 04:00 UTC · returns by itself")
	require.Contains(t, shown, "Source our CDN: cdn.txt can't be read: no such file")
	require.NotContains(t, textOf(w.reads(anyone, "status")), "slack.example", "a terminal opens nothing")
	o := w.overview(eve)
	require.Equal(t, "https://slack.example/acme/"+id, o.Ongoing[0].Card)
	require.Len(t, o.Waiting, 2)

	w.pass(time.Hour)
	shown = textOf(w.reads(eve, "status"))
	require.Contains(t, shown, "Modes that have not returned: 1\n", "what wafbot could not end is still there")
	require.Contains(t, shown, "Should have ended, and is tried each minute: ")
	require.NotContains(t, shown, "Waiting for")
	w.pass(24 * time.Hour)
	require.Len(t, w.overview(eve).InForce, 1, "an entry ends by itself, a mode doesn't")

	w.ledger.set(func(l *ledger) { l.unread = "}:approvals" })
	require.True(t, w.overview(eve).NoStore)
}

func TestHomeShowsWhatStatusShows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.stores(w.waiting("r1111111", "Deny country:FR", time.Hour))
	w.does(ann, "deny 203.0.113.7 for=4h")
	buttons := func(who record.Actor) (lines []string) {
		res := w.reads(who, "status")
		require.Equal(t, res.Data, res.Home.(*report.Home).Accounts)
		for _, p := range res.Home.(*report.Home).Parts(true) {
			for _, r := range p.Rows {
				for _, s := range r.Do {
					lines = append(lines, s.Line.String())
				}
			}
		}
		return lines
	}
	ack, undo := "ack account=acme attack="+id, "undo "+w.ledger.all()[0].ID+" account=acme"
	approve, reject := "approve r1111111 account=acme", "reject r1111111 account=acme"
	require.Equal(t, []string{ack, approve, reject, undo}, buttons(ann))
	require.Equal(t, []string{ack, undo}, buttons(bob), "who asked can't decide")
	require.Empty(t, buttons(eve), "a viewer only looks")
	w.writes(ann, "ack attack="+id)
	require.NotContains(t, buttons(ann), ack)
	require.Equal(t, "ack", mustParse(t, ack).Name)
}

func mustParse(t *testing.T, line string) record.Line {
	t.Helper()
	l, err := grammar.Parse(line)
	require.NoError(t, err)
	require.Equal(t, line, l.String())
	return l
}

func TestSummary(t *testing.T) {
	t.Parallel()
	night := time.Date(2026, 11, 20, 1, 0, 0, 0, time.UTC)
	w := newWorld(t)
	w.missed(record.Outage{From: night, Until: night.Add(10 * time.Minute), Why: "the service can't be reached"})
	quiet := textOf(w.reads(eve, "summary"))
	require.Contains(t, quiet, "Hand-over of acme: the last 10 h, since 2026-11-19 17:00 UTC. wafbot is live")
	require.Contains(t, quiet, "Nothing is going on (no hit in the last 15 min)")
	require.Contains(t, quiet, "Nothing of wafbot's is in force")
	require.Contains(t, quiet, "What happened: no incidents are known of, 0 other attacks; 0 of these blocked by the WAF alone")
	require.Contains(t, quiet, "Not watched from 2026-11-20 01:00 UTC to 2026-11-20 01:10 UTC (10 min): the service can't be reached")

	w.anyway(ann, "mode Shop block for=2h")
	w.does(ann, "deny 203.0.113.7 for=4h")
	w.does(ann, "patch GET shop.example.com/p type=xss part=get.q for=7d")
	w.does(bob, "deny 203.0.113.8 for=4h")
	w.does(bob, "undo")
	w.seed(waf.IPRule{List: "black", RuleType: "ip_range", Subnet: "198.51.100.9/32", Reason: "soc ticket 7"})
	w.stores(w.waiting("r1111111", "Deny country:FR", time.Hour))
	id := w.attackOn("/login")
	w.writes(bob, "note same botnet attack="+id)
	w.pass(10 * time.Minute)
	shown := textOf(w.reads(ann, "summary since=12h"))
	for _, part := range []string{
		"Going on: 1 attack, 0 incidents among them", id, "Unacknowledged", "Waiting for approval: 1", "r1111111 Deny country:FR",
		"Ends on your shift, until 2026-11-20 13:10 UTC: 1\n", "In force for longer: 1\n", "Modes that have not returned: 1\n", "returns by itself",
		"No incidents can be registered on Shop from 2026-11-20 03:00 UTC to 2026-11-20 05:00 UTC: it is in mode block",
		"Denied by others than wafbot: 1\n", "198.51.100.9 everywhere", "soc ticket 7", "Undone: 1\n",
		"Deny 203.0.113.8 everywhere for 4 h · Bob · undone by Bob 2026-11-20 03:00 UTC: no reason given",
		"Note of Bob 2026-11-20 03:00 UTC: same botnet",
	} {
		require.Contains(t, shown, part)
	}
	res := w.reads(ann, "summary")
	var labels []string
	for _, p := range res.Parts {
		for _, s := range p.Do {
			labels = append(labels, s.Label+": "+s.Line.String())
		}
	}
	require.Equal(t, []string{"I take over: handover account=acme to=@me --all"}, labels)
	s, ok := res.Data.(report.Summary)
	require.True(t, ok)
	require.ElementsMatch(t, w.overview(ann).InForce, s.InForce, "one picture")

	w.pass(2 * time.Hour)
	w.does(root, "undo "+w.modeChange().ID)
	require.Contains(t, textOf(w.reads(ann, "summary")), "No incidents could be registered on Shop from 2026-11-20 03:00 UTC to 2026-11-20 05:10 UTC: it was in mode block")
	w.pass(11 * time.Hour)
	later := textOf(w.reads(ann, "summary since=5h"))
	for _, part := range []string{"could be registered", "Undone", "Note of", "Denied by others"} {
		require.NotContains(t, later, part, "it was before")
	}
	w.refuses(ann, "summary since=forever", refusal.ErrUsage, "Invalid duration: forever. Example: since=24h")
}

// modeChange is the switch of a mode that is in force.
func (w *world) modeChange() record.Change {
	for _, ch := range w.ledger.all() {
		if ch.Line.Name == "mode" && ch.State == record.StateDone {
			return ch
		}
	}
	return record.Change{}
}

func TestSummaryOfAModeThatOthersSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.byHand("POST", "/v1/objects/hint/create", `{"clientid":5,"type":"service_mode","mode":"block","validated":false,"action":[{"type":"equal","value":"7","point":["instance"]}]}`)
	shown := textOf(w.reads(eve, "summary"))
	require.Contains(t, shown, "No incidents can be registered on Legacy since 2026-11-20 03:00 UTC: it is in mode block")
	require.NotContains(t, shown, "be registered on Shop")
}

// An application that is off registers no more incidents than one that blocks.
func TestSummaryOfModesInWhichNothingIsSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.byHand("POST", "/v1/objects/hint/create", `{"clientid":5,"type":"service_mode","mode":"off","validated":false,"action":[{"type":"equal","value":"7","point":["instance"]}]}`)
	w.anyway(ann, "mode Shop safe_blocking for=2h")
	w.pass(30 * time.Minute)
	w.anyway(ann, "mode Shop block for=1h")
	w.next(root, "mode app:default block for=1h")
	shown := textOf(w.reads(eve, "summary"))
	for _, part := range []string{
		"No incidents can be registered on Legacy since 2026-11-20 03:00 UTC: it is in mode off",
		"No incidents could be registered on Shop from 2026-11-20 03:00 UTC to 2026-11-20 03:30 UTC: it was in mode safe_blocking",
		"No incidents can be registered on Shop from 2026-11-20 03:30 UTC to 2026-11-20 04:30 UTC: it is in mode block",
		"No incidents can be registered on the default application since 2026-11-20 03:31 UTC: it is in mode block",
	} {
		require.Contains(t, shown, part)
	}
	w.pass(3 * time.Hour)
	require.Contains(t, textOf(w.reads(eve, "summary")), "No incidents can be registered on Shop since 2026-11-20 03:30 UTC: it is in mode block", "it should have returned and has not")
}

func TestSummaryWhereTheServiceDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.does(ann, "deny 203.0.113.7 for=4h")
	for _, endpoint := range []string{"POST /v1/objects/attack", "GET /v4/ip_rules"} {
		w.fault(endpoint, "status:403", 10)
	}
	shown := textOf(w.reads(eve, "summary"))
	require.Contains(t, shown, "Going on: unknown\n")
	require.Contains(t, shown, "What happened: unknown, see above")
	require.Contains(t, shown, "Denied by others: unknown: ")
	require.Contains(t, shown, "Deny 203.0.113.7 everywhere", "what wafbot knows is shown")
	w.ledger.set(func(l *ledger) { l.readFail = true })
	shown = textOf(w.reads(eve, "summary"))
	require.Contains(t, shown, "What is in force is unknown")
	require.NotContains(t, shown, "Nothing of wafbot's")
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nothing(ann, "handover --all to=@me", "Nothing is going on on acme")
	one, two, three := w.attackOn("/a"), w.attackOn("/b"), w.attackOn("/c")
	w.writes(bob, "ack attack="+one)
	w.writes(bob, "ack attack="+two)
	w.pass(time.Minute)
	before := len(w.ledger.triaged)
	inv := w.asks(ann, "handover --all to=@me account=acme")
	res, err := w.do(inv)
	require.NoError(t, err)
	require.Contains(t, textOf(res), "Ann is on 3 attacks of acme now: ")
	require.Contains(t, textOf(res), "Until now: Bob on 2, unacknowledged: 1")
	require.Equal(t, "handover to=me --all", w.lastAudit().Line)
	require.Contains(t, w.lastAudit().After[0], "Bob on 2")
	for _, id := range []string{one, two, three} {
		require.Equal(t, ann.ID, w.said(id).Owner.ID)
		require.Contains(t, textOf(res), id)
	}
	require.Equal(t, bob.ID, w.said(one).Owner.From)
	require.Len(t, w.ledger.triaged, before+3, "each card is drawn again")
	require.Empty(t, w.notified.of(record.HandedOver), "no user is notified once for each attack")
	event := record.Event{ID: "take over " + inv.ID, Account: "acme", Kind: record.TookOver, At: inv.At, Detail: record.AttackFacts{To: ann.ID}, Request: inv.RequestID()}
	require.Equal(t, []record.Event{event}, w.notified.events)

	res, err = w.do(inv)
	require.NoError(t, err)
	require.Contains(t, textOf(res), "Bob on 2, unacknowledged: 1", "the same request again has the same answer")
	require.Equal(t, []record.Event{event, event}, w.notified.events, "and is notified by the same event")
	w.pass(time.Minute)
	w.nothing(ann, "handover --all to=@me", "Ann is on all 3 attacks of acme already")
	w.writes(ann, `handover --all "legal knows" to=U2BOB`, "Bob is on 3 attacks", "Ann on 3, unacknowledged: 0")
	require.Equal(t, "legal knows", w.said(three).Notes[0].Text)
	require.Equal(t, record.AttackFacts{To: bob.ID}, w.notified.events[2].Detail)
	require.Equal(t, w.notified.events[1:], w.ledger.events(), "the same event again is stored once")

	shown := textOf(w.reads(ann, "summary"))
	require.Contains(t, shown, "Notes: 1\n")
	require.Contains(t, shown, " and 2 more Note of Ann 2026-11-20 03:02 UTC: legal knows", "one note on all of them")
	doc := w.document(two)
	require.Contains(t, doc, "UTC Ann takes it over\n")
	require.Contains(t, doc, "UTC Ann hands it over to Bob: legal knows\n")

	w.refuses(ann, "handover --all to=@me attack="+one, refusal.ErrUsage, "not both")
	w.refuses(eve, "handover --all to=@me", refusal.ErrDenied, "role responder")
	w.refuses(ann, "handover --all to=U4EVE", refusal.ErrGuarded, "role viewer")
	in := w.asks(ann, "handover --all to=@me")
	in.Attack = one
	res, err = w.do(in)
	require.NoError(t, err, "in a card's thread it is all of them, too")
	require.Contains(t, textOf(res), "Ann is on 3 attacks")
	w.fault("POST /v1/objects/attack", "status:403", 10)
	w.refuses(bob, "handover --all to=@me", refusal.ErrService, "")
}

// What is refused of one attack is refused of all: no answer says that nothing was done while half of it was.
func TestTakeOverThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.attackOn("/a"), w.attackOn("/b")
	for _, id := range []string{one, two} {
		w.writes(bob, "ack attack="+id)
	}
	last := w.overview(ann).Ongoing[1].ID
	for i := range 100 {
		w.writes(bob, fmt.Sprintf("note attack=%s %d", last, i))
	}
	w.refuses(ann, "handover --all to=@me legal knows", refusal.ErrGuarded, "100 notes already")
	for _, id := range []string{one, two} {
		require.Equal(t, bob.ID, w.said(id).Owner.ID)
	}
}

func TestTakeOverThatWasCutShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"/a", "/b", "/c"} {
		w.writes(bob, "ack attack="+w.attackOn(path))
	}
	inv := w.asks(ann, "handover --all to=@me")
	w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n == 1 } })
	_, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrAway)
	require.Empty(t, w.notified.events)
	w.ledger.set(func(l *ledger) { l.saveFail = nil })
	res, err := w.do(inv)
	require.NoError(t, err)
	require.Contains(t, textOf(res), "Ann is on 3 attacks", "all at once")
	require.Contains(t, textOf(res), "Bob on 3, unacknowledged: 0")
	require.Len(t, w.notified.of(record.TookOver), 1)
	require.Equal(t, apiclient.StatusNotBlocked, w.overview(ann).Ongoing[0].Attack.Status())
}
