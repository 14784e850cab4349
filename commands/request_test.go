package commands_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// wayOut is a policy with the way out.
func wayOut(c *commands.Config) {
	c.Accounts[0].Policy.Approval.Approvers = "S0LEADS"
	c.Accounts[0].Policy.Approval.OverrideAfter = 5 * time.Minute
}

func via(who record.Actor, v record.Via) record.Actor {
	who.Via = v
	return who
}

var shell = record.Actor{ID: "cli:root", Name: "root", Via: record.ViaCLI}

func TestASecondPersonApproves(t *testing.T) {
	w := newWorld(t, wayOut)
	id := w.attackOn("/login")
	q := w.waits(ann, "deny country:FR for=2h reason=\"they all come from there\" attack="+id, "is broad", "@S0LEADS: Any responder but Ann may approve it before 2026-11-20 03:15 UTC",
		"Ann may override from 2026-11-20 03:05 UTC, for 1 h at most")
	require.Regexp(t, "^r[0-9a-z]{8}$", q.ID)
	require.Equal(t, record.RequestWaiting, q.State)
	require.Empty(t, q.Reach, "why it needs two says it")
	require.Equal(t, id, q.AttackID)
	e := w.lastAudit()
	require.Equal(t, []string{"waiting", q.ID, id}, []string{e.Outcome, e.Request, e.Attack})
	require.Contains(t, e.Why, "is broad")
	require.Len(t, e.After, 1)

	w.pass(10 * time.Minute)
	res := w.reads(bob, "approve "+q.ID[:5])
	require.Equal(t, "done", res.Outcome)
	require.Contains(t, textOf(res), "approved by Bob")
	require.Equal(t, []string{"FR [0] 2h0m0s"}, w.entries("black"), "its time begins when it is done")
	ch := res.Changes[0]
	require.Equal(t, []string{"Ann", "Bob", q.ID, id}, []string{ch.Actor.Name, ch.Approved.Name, ch.Request, ch.AttackID})
	require.Contains(t, words.Change(ch, nil).String(), "· Ann, approved by Bob 2026-11-20 03:10 UTC")
	require.Regexp(t, `^wafbot `+ch.ID+` by Ann \(U1ANN\) for `+id+`: approved by Bob: they all come from there$`, w.listed("black")[0].Reason)
	all := w.audit.all()
	approved, done := all[len(all)-2], all[len(all)-1]
	require.Equal(t, []string{"approved", "Bob", q.ID}, []string{approved.Outcome, approved.Actor.Name, approved.Request})
	require.Equal(t, []string{"done", "Ann", "Bob", ch.ID}, []string{done.Outcome, done.Actor.Name, done.Approved.Name, done.Change})
	require.Equal(t, "done", w.request().Outcome)
	w.does(ann, "undo "+ch.ID)
}

func TestWhoCanNotBeTheSecond(t *testing.T) {
	w := newWorld(t)
	guest := record.Actor{ID: "U9GUEST", Team: "T1", Name: "Guest", Via: record.ViaButton}
	stranger := bob
	stranger.Team = "T2"
	for _, verb := range []string{"approve", "reject"} {
		q := w.waits(ann, "deny country:FR")
		for _, self := range []record.Actor{ann, via(ann, record.ViaButton), via(ann, record.ViaMention)} {
			w.refuses(self, verb+" "+q.ID, refusal.ErrDenied, "you asked for this yourself", "Any responder but Ann may approve it")
		}
		w.refuses(shell, verb+" "+q.ID, refusal.ErrDenied, "the terminal can ask for approval and never give it")
		for _, other := range []record.Actor{guest, stranger, eve} {
			w.refuses(other, verb+" "+q.ID, refusal.ErrDenied)
		}
		require.Equal(t, "refused", w.lastAudit().Outcome)
	}
	off := w.waits(root, "mode 4 off")
	w.refuses(bob, "approve "+off.ID, refusal.ErrDenied, "needs the role admin")
	w.refuses(bob, "approve r0000000", refusal.ErrUsage, "Unknown request: r0000000")
	w.requireAsAtFirst()
	w.members.setFail()
	w.refuses(bob, "approve "+off.ID, refusal.ErrDenied, "Slack doesn't say who you are")
}

// The terminal asks, and a user in Slack decides.
func TestTheTerminalAsks(t *testing.T) {
	w := newWorld(t)
	q := w.waits(shell, "mode 4 off")
	res := w.reads(root, "approve "+q.ID)
	require.Equal(t, "root, approved by Root", strings.SplitN(words.Change(res.Changes[0], nil).String(), " · ",
		3)[1][:len("root, approved by Root")])
	require.Equal(t, []string{"off"}, w.modes())
}

func TestARequestIsDecidedOnce(t *testing.T) {
	w := newWorld(t)
	q := w.waits(ann, "deny country:FR")
	var wg sync.WaitGroup
	texts := make([]string, 8)
	for i := range texts {
		inv := w.asks([]record.Actor{bob, root}[i%2], "approve "+q.ID)
		wg.Go(func() {
			res, err := w.Do(t.Context(), inv)
			if texts[i] = textOf(res); err != nil {
				texts[i] = err.Error()
			}
		})
	}
	wg.Wait()
	by := w.request().Decided.Name
	require.Equal(t, 1, w.changesSent())
	for _, said := range texts {
		require.Contains(t, said, "approved by "+by)
	}
	w.refuses(bob, "reject "+q.ID, refusal.ErrNothing, "approved by "+by)
	w.refuses(ann, "override "+q.ID+" reason=\"no answer at all\"", refusal.ErrNothing, "approved by "+by)
}

func TestASecondPersonRejects(t *testing.T) {
	w := newWorld(t)
	q := w.waits(ann, "deny country:FR")
	res := w.reads(bob, "reject "+q.ID+" reason=\"half our users\"")
	require.Contains(t, textOf(res), "rejected by Bob 2026-11-20 03:00 UTC: half our users")
	require.Equal(t, []string{"rejected", "half our users"}, []string{w.lastAudit().Outcome, w.lastAudit().Why})
	w.refuses(root, "approve "+q.ID, refusal.ErrNothing, "rejected by Bob")
	w.requireAsAtFirst()
	w.waits(ann, "deny country:FR")
}

func TestARequestExpires(t *testing.T) {
	w := newWorld(t)
	q := w.waits(ann, "deny country:FR")
	w.pass(15*time.Minute - time.Second)
	again := w.waits(bob, "deny country:FR reason=me", "asked already by Ann", q.ID)
	require.Equal(t, q.ID, again.ID, "one request for one effect")
	w.pass(time.Second)
	w.refuses(bob, "approve "+q.ID, refusal.ErrNothing, "no answer before 2026-11-20 03:15 UTC")
	w.runDue()
	require.Equal(t, record.RequestExpired, w.request().State)
	require.Equal(t, []string{"expired", "wafbot"}, []string{w.lastAudit().Outcome, w.lastAudit().Actor.Name})
	require.Zero(t, approval.DueAt(w.request()))
	w.refuses(bob, "approve "+q.ID, refusal.ErrNothing, "no answer")
	require.NotEqual(t, q.ID, w.waits(ann, "deny country:FR").ID, "it can be asked again")
	w.requireAsAtFirst()
}

// runDue has the account's time looked at until nothing is due.
func (w *world) runDue() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	due := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { w.RunDue(ctx, "acme", due) })
	due <- struct{}{}
	for w.isDue() {
		due <- struct{}{}
	}
	due <- struct{}{} // taken when the one before is done
	cancel()
	wg.Wait()
}

// isDue reports whether a change or a request is due.
func (w *world) isDue() bool {
	ids, err := w.ledger.DueChanges(w.t.Context(), "acme", w.clock())
	require.NoError(w.t, err)
	all, err := w.asked.Requests(w.t.Context(), "acme")
	require.NoError(w.t, err)
	return len(ids) > 0 || slices.ContainsFunc(all, func(q record.ApprovalRequest) bool {
		return !approval.DueAt(q).IsZero() && !w.clock().Before(approval.DueAt(q))
	})
}

// The same click again is the same request, and the same approval.
func TestDeliveriesOfARequestComeAgain(t *testing.T) {
	w := newWorld(t)
	ask := w.asks(ann, "deny country:FR")
	first, err := w.do(ask)
	require.NoError(t, err)
	w.pass(11 * time.Minute)
	again, err := w.do(ask)
	require.NoError(t, err)
	require.Equal(t, first.Data.(record.ApprovalRequest).ID, again.Data.(record.ApprovalRequest).ID)
	approve := w.asks(bob, "approve "+w.request().ID)
	_, err = w.do(approve)
	require.NoError(t, err)
	res, err := w.do(approve)
	require.NoError(t, err)
	require.Equal(t, "done", res.Outcome)
	require.Len(t, res.Changes, 1)
	require.Equal(t, 1, w.changesSent())
	again, err = w.do(ask)
	require.NoError(t, err)
	require.Contains(t, textOf(again), "approved by Bob")
	late := w.asks(bob, "approve "+w.waits(ann, "deny country:DE").ID)
	w.pass(10*time.Minute + time.Second)
	_, err = w.do(late)
	require.ErrorIs(t, err, refusal.ErrGuarded)
	require.ErrorContains(t, err, "over 10 min ago")
}

// Wherever the approver's process dies, the replica that gets the delivery again finishes it, once.
func TestACrashAmidAnApproval(t *testing.T) {
	for line, saves := range map[string]int{"deny country:FR": 4, "mode 4 off": 5, "contain country:FR attack=": 6} {
		for fails := 1; fails <= saves; fails++ {
			w := newWorld(t)
			asked := line
			if strings.HasSuffix(line, "=") {
				asked += w.attackOn("/login")
			}
			q := w.waits(root, asked)
			inv := w.asks(via(root2, record.ViaButton), "approve "+q.ID)
			w.members.add(root2)
			w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= fails } })
			_, _ = w.do(inv)
			w.ledger.set(func(l *ledger) { l.saveFail = nil })
			w.pass(time.Minute)
			_, err := w.do(inv)
			require.NoError(t, err, "%s %d", line, fails)
			sent := w.changesSent()
			require.Equal(t, []string{"approved", "done", "Root2"}, []string{string(w.request().State), w.request().Outcome, w.request().Decided.Name}, "%s %d", line, fails)
			switch line[:4] {
			case "mode":
				require.Equal(t, []string{"off"}, w.modes())
			case "cont":
				require.Len(t, w.rules("vpatch"), 1)
				require.Len(t, w.entries("black"), 1)
				require.Equal(t, 2, sent)
			default:
				require.Len(t, w.entries("black"), 1)
				require.Equal(t, 1, sent)
			}
			for _, ch := range w.ledger.all() {
				require.Equal(t, "Root2", ch.Approved.Name)
			}
		}
	}
}

// root2 is another admin.
var root2 = record.Actor{ID: "U6ROOT2", Team: "T1", Name: "Root2", Via: record.ViaSlash}

// What was approved and cut short for good is said not to be done; what was sent, to be.
func TestAnAbandonedApproval(t *testing.T) {
	for saves, want := range map[int]struct {
		state   record.RequestState
		outcome string
	}{2: {record.RequestClosed, ""}, 4: {record.RequestApproved, "done"}} {
		w := newWorld(t)
		q := w.waits(ann, "deny country:FR")
		w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= saves } })
		_, _ = w.try(bob, "approve "+q.ID)
		w.ledger.set(func(l *ledger) { l.saveFail = nil })
		require.True(t, w.request().InHand())
		w.pass(10 * time.Minute)
		w.runDue()
		require.Equal(t, want.state, w.request().State)
		require.Equal(t, want.outcome, w.request().Outcome)
		require.Zero(t, approval.DueAt(w.request()))
	}
}

// Of two changes that were approved at once the second was not done: the request doesn't say that all was.
func TestAnApprovalOfWhichAPartIsLeft(t *testing.T) {
	for saves, says := range map[int]string{3: "cut short: the service lists nothing of it", 5: "NOT done, or only partly", 6: ""} {
		w := newWorld(t)
		q := w.waits(ann, "contain country:FR attack="+w.attackOn("/login"))
		w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= saves } })
		_, _ = w.try(bob, "approve "+q.ID)
		w.ledger.set(func(l *ledger) { l.saveFail = nil })
		w.pass(10 * time.Minute)
		w.runDue()
		require.Contains(t, w.request().Fault, says, saves)
		require.Equal(t, map[bool]string{true: "failed", false: "done"}[says != ""], w.request().Outcome, saves)
	}
}

func TestTheServiceRefusesWhatWasApproved(t *testing.T) {
	w := newWorld(t)
	q := w.waits(ann, "deny country:FR")
	w.fault("POST /v4/ip_rules", "status:403", 0)
	_, err := w.try(bob, "approve "+q.ID)
	require.ErrorIs(t, err, refusal.ErrService)
	require.Equal(t, "failed", w.request().Outcome)
	require.Contains(t, words.Approval(w.request(), w.clock()).String(),
		"approved by Bob 2026-11-20 03:00 UTC: Failed: Deny country:FR")
	require.Contains(t, textOf(w.reads(eve, "audit")), "deny country:FR for=4h: failed "+w.ledger.only().ID+" "+q.ID+", approved by Bob, the service")

	w = newWorld(t, wayOut)
	q = w.waits(ann, "deny country:FR")
	w.fault("POST /v4/ip_rules", "status:403", 0)
	w.pass(5 * time.Minute)
	_, err = w.try(ann, "override "+q.ID+` reason="no answer, shop is down"`)
	require.ErrorIs(t, err, refusal.ErrService)
	require.Contains(t, words.Approval(w.request(), w.clock()).String(),
		"override tried, without approval, 2026-11-20 03:05 UTC: Failed")
}

func TestDryRunAsksForNoApproval(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = config.ChangesDryRun })
	res := w.reads(ann, "deny country:FR")
	require.Equal(t, "dry_run", res.Outcome)
	require.Contains(t, textOf(res), "It would need approval first: country:FR is broad")
	all, err := w.asked.Requests(t.Context(), "acme")
	require.NoError(t, err)
	require.Empty(t, all)
	w.refuses(bob, "approve r1234567", refusal.ErrGuarded, "nothing that was asked for is sent")
}

// What waits from before can be rejected when changes are not on any more, and nothing else.
func TestRequestsFromBeforeADryRun(t *testing.T) {
	for _, changes := range []string{config.ChangesDryRun, config.ChangesOff} {
		w := newWorld(t, wayOut)
		q := w.waits(ann, "deny country:FR")
		w.cfg.Accounts[0].Policy.Changes = changes
		w.Runner = commands.New(w.cfg)
		w.pass(6 * time.Minute)
		w.refuses(bob, "approve "+q.ID, refusal.ErrGuarded, "changes are not on")
		w.refuses(ann, "override "+q.ID+` reason="no answer, shop is down"`, refusal.ErrGuarded, "changes are not on")
		w.reads(bob, "reject "+q.ID)
		require.Equal(t, record.RequestRejected, w.request().State)
	}
}

func TestAllThatNeedsApprovalIsAskedAtOnce(t *testing.T) {
	lab := source("lab", config.DenyApproval, "198.51.100.0/24")
	w := newWorld(t, sources(lab, cdn))
	q := w.waits(ann, "deny country:FR 198.51.100.7 203.0.0.0/20 for=forever", "country:FR is broad", "is in lab", "wider than /24", "never end")
	require.Len(t, q.Needs, 4)
	require.Contains(t, q.Reach, "203.0.0.0/20 is 4,096 addresses, everywhere")
	lasting := newWorld(t, withoutApproval(config.ApproveBroad)).waits(ann, "deny country:FR for=forever")
	require.Equal(t, []string{"country:FR is everybody there, everywhere: wafbot sees attacks, never visitors"}, lasting.Reach)
	w.refuses(ann, "deny country:FR 192.0.2.1", refusal.ErrGuarded, "is in our CDN", "never denied")
}

// What was approved is what the asker saw: whatever got worse since closes the request.
func TestThePremiseChanged(t *testing.T) {
	t.Parallel()
	now := func(w *world) int64 { return w.clock().Add(time.Hour).Unix() }
	for name, c := range map[string]struct {
		line  string
		since func(w *world)
		says  string
	}{
		"another author's entry stands there": {"deny 203.0.0.0/20", func(w *world) { w.seed(waf.IPRule{Subnet: "203.0.0.0/20", ExpiredAt: now(w)}) }, "which it would overwrite"},
		"a part was allowed":                  {"deny 203.0.0.0/20", func(w *world) { w.seed(waf.IPRule{List: "white", Subnet: "203.0.1.0/24", ExpiredAt: now(w)}) }, "there is a new warning: 203.0.1.0/24 is on the allowlist"},
		"all of it was allowed":               {"deny 203.0.0.0/20", func(w *world) { w.seed(waf.IPRule{List: "white", Subnet: "203.0.0.0/16", ExpiredAt: now(w)}) }, "which wins"},
		"it is denied already":                {"deny 203.0.0.0/20", func(w *world) { w.seed(waf.IPRule{Subnet: "203.0.0.0/16", ExpiredAt: now(w) + 1e6}) }, "is denied already"},
		"another mode":                        {"mode 4 off", func(w *world) { w.anyway(ann, "mode 4 block") }, "now it would also delete rule"},
		"a rule for a part of it": {"mode 4 off", func(w *world) {
			w.byHand(http.MethodPost, "/v1/objects/hint/create", `{"clientid":5,"type":"service_mode","mode":"block","validated":false,"action":[{"type":"equal","value":"4","point":["instance"]},{"type":"iequal","value":"a.example.com","point":["header","HOST"]}]}`)
		}, "there is a new warning"},
		"the asker lost his role": {"mode 4 off", func(w *world) { w.members.drop(root.ID) }, "Root may not do that any more"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.members.add(root2)
			q := w.waits(root, c.line)
			c.since(w)
			sent := w.changesSent()
			w.refuses(root2, "approve "+q.ID, refusal.ErrGuarded, "no longer what it was", c.says, "Root can ask again")
			require.Equal(t, sent, w.changesSent())
			require.Equal(t, record.RequestClosed, w.request().State)
			require.Equal(t, "closed", w.lastAudit().Outcome)
			require.Contains(t, w.lastAudit().Why, c.says)
			w.refuses(root2, "approve "+q.ID, refusal.ErrNothing, "closed")
		})
	}
}

// A second person who was asked for one of the owner's sources was not asked for another one.
func TestAnotherSourceIsAnotherNeed(t *testing.T) {
	named := []config.Source{source("lab", config.DenyApproval, "203.0.113.0/28")}
	w := newWorld(t, func(c *commands.Config) { c.Sources = func(string) []config.Source { return named } })
	q := w.waits(ann, "deny 203.0.113.0/24", "of lab")
	named = append(named, source("office", config.DenyApproval, "203.0.113.16/28"))
	w.refuses(bob, "approve "+q.ID, refusal.ErrGuarded, "one more thing needs approval by now: 203.0.113.0/24 contains 203.0.113.16/28 of office")
	w.reads(root, "protect 203.0.113.32/28 name=shop")
	w.refuses(ann, "deny 203.0.113.0/24", refusal.ErrGuarded, "of shop, which is never denied")
}

// The same source and the holes of two attacks: two requests.
func TestRequestsOfTwoAttacks(t *testing.T) {
	w := newWorld(t)
	one := w.waits(ann, "contain country:FR attack="+w.attackOn("/login"))
	other := w.waits(ann, "contain country:FR attack="+w.attackOn("/search"))
	require.NotEqual(t, one.ID, other.ID)
	require.Empty(t, one.Reach, "a patch hits no clean request")
	for _, q := range []record.ApprovalRequest{one, other} {
		res := w.reads(bob, "approve "+q.ID)
		require.NotEmpty(t, res.Changes)
	}
	require.Len(t, w.entries("black"), 1)
	require.Len(t, w.rules("vpatch"), 2)
}

// What grew with the attack, or was done in part already, is no other premise; nor is what helps.
func TestThePremiseHolds(t *testing.T) {
	w := newWorld(t)
	seeded := w.clock().Add(time.Hour).Unix()
	w.seed(waf.IPRule{Subnet: "203.0.0.0/20", ExpiredAt: seeded})
	q := w.waits(ann, "deny 203.0.0.0/20 203.1.0.0/20")
	w.pass(time.Minute)
	w.seed(waf.IPRule{Subnet: "203.1.0.0/16", ExpiredAt: seeded + 1e6})
	res := w.reads(bob, "approve "+q.ID)
	require.Equal(t, "done", res.Outcome)
	require.Len(t, res.Changes[0].Steps, 1, "the other one is denied already")
	require.Contains(t, textOf(res), "203.1.0.0/20 is denied already")
}

// What is denied already needs no approval, beside what isn't.
func TestWhatIsThereNeedsNoApproval(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.0.0/20", ExpiredAt: w.clock().Add(48 * time.Hour).Unix()})
	w.does(ann, "deny 203.0.0.0/20 198.51.100.9")
	require.Len(t, w.waits(ann, "deny 203.0.0.0/20 198.51.0.0/20").Needs, 1)
}

// What a change prolongs may be prolonged meanwhile.
func TestThePremiseOfAnExtension(t *testing.T) {
	w := newWorld(t, withoutApproval(config.ApproveModeOff))
	ch := w.anyway(root, "mode 4 off for=1h")
	w.cfg.Accounts[0].Policy.Approval.RequiredFor = []string{config.ApproveModeOff}
	w.Runner = commands.New(w.cfg)
	q := w.waits(root, "extend "+ch.ID+" for=2h")
	w.ledger.set(func(l *ledger) {
		longer := l.only()
		longer.Until = longer.Until.Add(time.Hour)
		l.put(longer)
	})
	w.refuses(root2, "approve "+q.ID, refusal.ErrDenied) // no member yet
	w.members.add(root2)
	w.refuses(root2, "approve "+q.ID, refusal.ErrGuarded, "what it extends has another end by now")
}

// When the service can't be asked, nothing is decided: it can be tried again.
func TestAnApprovalThatCanNotRead(t *testing.T) {
	w := newWorld(t)
	q := w.waits(ann, "deny country:FR")
	w.fault("GET /v4/ip_rules", "status:500", 0)
	w.refuses(bob, "approve "+q.ID, refusal.ErrService, "Nothing was done")
	require.Equal(t, record.RequestWaiting, w.request().State)
	w.service.ClearFaults()
	w.reads(bob, "approve "+q.ID)
}

func TestOverride(t *testing.T) {
	w := newWorld(t, wayOut)
	q := w.waits(ann, "deny country:FR")
	const why = ` reason="no  answer, shop is down"`
	w.refuses(bob, "override "+q.ID+why, refusal.ErrDenied, "only Ann, who asked, may override")
	w.refuses(ann, "override "+q.ID+why, refusal.ErrGuarded, "not before 2026-11-20 03:05 UTC")
	w.pass(5*time.Minute - time.Second)
	w.runDue()
	require.False(t, w.request().OverrideOpen)
	w.pass(time.Second)
	w.runDue()
	require.True(t, w.request().OverrideOpen, "the card offers it")
	require.Equal(t, q.Until, approval.DueAt(w.request()))
	w.refuses(ann, "override "+q.ID, refusal.ErrUsage, "Missing: reason=")
	w.refuses(ann, "override "+q.ID+` reason="too  short"`, refusal.ErrUsage, "at least 10 characters")
	res := w.reads(via(ann, record.ViaButton), "override "+q.ID+why)
	require.Equal(t, []string{"FR [0] 1h0m0s"}, w.entries("black"), "an hour at most, whatever was asked for")
	require.Contains(t, textOf(res), "by Ann, override, until 2026-11-20 04:05 UTC")
	ch := res.Changes[0]
	require.True(t, ch.Overridden)
	require.Nil(t, ch.Approved)
	require.Contains(t, words.Change(ch, nil).String(), "Deny country:FR everywhere for 1 h · Ann, override 2026")
	require.Regexp(t, `: override: no answer, shop is down$`, w.listed("black")[0].Reason)
	all := w.audit.all()
	require.Equal(t, []string{"overridden", "no answer, shop is down", "Ann"}, []string{all[len(all)-2].Outcome, all[len(all)-2].Why, all[len(all)-2].Actor.Name})
	require.Equal(t, []string{string(record.RequestOverridden), "done", "Deny country:FR everywhere for 1 h"}, []string{string(w.request().State), w.request().Outcome, w.request().Does})
	w.refuses(bob, "approve "+q.ID, refusal.ErrNothing, "override, without approval")
}

func TestWhatCannotBeOverridden(t *testing.T) {
	const why = ` reason="no answer, shop is down"`
	for line, says := range map[string]string{
		"deny 203.0.113.7 for=forever":             "what never ends can't be overridden",
		"deny country:FR for=forever":              "what never ends can't be overridden",
		"allow 203.0.113.7":                        "can't be overridden",
		"allow country:FR":                         "can't be overridden",
		"contain country:FR patch=forever attack=": "what never ends can't be overridden",
	} {
		w := newWorld(t, wayOut)
		if strings.HasSuffix(line, "=") {
			line += w.attackOn("/login")
		}
		q := w.waits(root, line)
		require.Zero(t, q.OverrideAt, line)
		w.pass(6 * time.Minute)
		w.refuses(root, "override "+q.ID+why, refusal.ErrGuarded, says, " but Root may approve it")
		w.requireAsAtFirst()
	}
	none := newWorld(t, wayOut, func(c *commands.Config) { c.Accounts[0].Policy.Approval.OverrideAfter = 0 })
	q := none.waits(ann, "deny country:FR")
	none.pass(6 * time.Minute)
	none.refuses(ann, "override "+q.ID+why, refusal.ErrGuarded, "nothing is overridden here")

	over := newWorld(t, wayOut)
	q = over.waits(ann, "deny country:FR")
	over.pass(15 * time.Minute)
	over.refuses(ann, "override "+q.ID+why, refusal.ErrNothing, "no answer before")

	changed := newWorld(t, wayOut)
	q = changed.waits(ann, "deny 203.0.0.0/20")
	changed.pass(6 * time.Minute)
	changed.seed(waf.IPRule{Subnet: "203.0.0.0/20", ExpiredAt: changed.clock().Add(time.Minute).Unix()})
	changed.refuses(ann, "override "+q.ID+why, refusal.ErrGuarded, "which it would overwrite")
}

// What wafbot does by itself asks for no approval: it waits for people.
func TestTheClockAsksNoApproval(t *testing.T) {
	w := newWorld(t)
	w.refuses(record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}, "deny country:FR", refusal.ErrNeedsApproval, "needs approval")
}

func TestARequestNeedsTheStore(t *testing.T) {
	w := newWorld(t)
	w.ledger.set(func(l *ledger) { l.saveFail = func(int) bool { return true } })
	w.refuses(ann, "deny country:FR", refusal.ErrAway, "nothing is changed")
	w.ledger.set(func(l *ledger) { l.saveFail = nil })
	q := w.waits(ann, "deny country:FR")
	w.ledger.set(func(l *ledger) { l.readFail = true })
	w.refuses(bob, "approve "+q.ID, refusal.ErrAway)
}

// What was approved is renewed as far as the card said; what was done alone is not.
func TestTheClockRenewsWhatWasApproved(t *testing.T) {
	byClock := record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}
	lab := source("lab", config.DenyApproval, "198.51.100.0/24")
	w := newWorld(t, wayOut, sources(lab), func(c *commands.Config) { c.Accounts[0].Policy.RenewWhileActive = 10 * time.Hour })
	w.pass(500 * time.Millisecond)
	q := w.waits(ann, "deny 198.51.100.7")
	require.Contains(t, q.Reach, "it is extended while it keeps trying, for 10 h at most")
	w.pass(500 * time.Millisecond)
	res, err := w.try(bob, "approve "+q.ID)
	require.NoError(t, err)
	ch := res.Changes[0]
	w.pass(4*time.Hour - time.Minute)
	w.does(byClock, "extend "+ch.ID+" for=4h")
	require.Equal(t, []string{"198.51.100.7/32 [0] 4h1m0s"}, w.entries("black"))
	w.pass(4 * time.Hour)
	w.refuses(byClock, "extend "+ch.ID+" for=4h", refusal.ErrNeedsApproval, "is in lab")
	w.waits(ann, "extend "+ch.ID+" for=4h", "is in lab")

	q = w.waits(ann, "deny 198.51.100.8")
	w.pass(5 * time.Minute)
	res = w.reads(ann, "override "+q.ID+` reason="no answer, shop is down"`)
	require.Zero(t, res.Changes[0].Renew)
	require.Equal(t, w.clock().Add(time.Hour), res.Changes[0].Until)
}

// The person who decides chooses among what waits, and learns at once if the role does not suffice for a form.
func TestTheFormsOfRequests(t *testing.T) {
	w := newWorld(t, wayOut)
	q := w.waits(ann, "deny country:FR")
	for _, verb := range []string{"approve", "reject", "override"} {
		f, err := w.formOf(bob, verb)
		require.NoError(t, err)
		require.Equal(t, []call.Option{{Value: q.ID, Label: q.ID + " Deny country:FR everywhere for 4 h"}}, f.Fields[0].Options)
	}
	intro := func(who record.Actor) string {
		f, err := w.formOf(who, "override "+q.ID)
		require.NoError(t, err)
		return textOf(call.Result{Lines: f.Intro})
	}
	require.Contains(t, intro(bob), "Not by you, or not now: only Ann, who asked, may override")
	require.Contains(t, intro(ann), "Not by you, or not now: not before 2026-11-20 03:05 UTC")
	w.pass(5 * time.Minute)
	require.NotContains(t, intro(ann), "Not by you")
}

func TestARequestOfAnotherAccount(t *testing.T) {
	w := newWorld(t, secondAccount)
	w.refuses(bob, "approve r7k2m9xw4 account=globex", refusal.ErrUsage, "Unknown request: r7k2m9xw4, on globex. One of another account? Add account= with one of: acme, globex")
}
