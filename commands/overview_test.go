package commands_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/verb"
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
	w := newWorld(t)
	w.byHand("POST", "/v1/objects/hint/create", `{"clientid":5,"type":"service_mode","mode":"block","validated":false,"action":[{"type":"equal","value":"7","point":["instance"]}]}`)
	shown := textOf(w.reads(eve, "summary"))
	require.Contains(t, shown, "No incidents can be registered on Legacy since 2026-11-20 03:00 UTC: it is in mode block")
	require.NotContains(t, shown, "be registered on Shop")
}

// An application that is off registers no more incidents than one that blocks.
func TestSummaryOfModesInWhichNothingIsSeen(t *testing.T) {
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
	w := newWorld(t)
	one, two := w.attackOn("/a"), w.attackOn("/b")
	for _, id := range []string{one, two} {
		w.writes(bob, "ack attack="+id)
	}
	last := w.overview(ann).Ongoing[1].ID
	w.notes(last, 100)
	w.refuses(ann, "handover --all to=@me legal knows", refusal.ErrGuarded, "100 notes already")
	for _, id := range []string{one, two} {
		require.Equal(t, bob.ID, w.said(id).Owner.ID)
	}
}

func TestTakeOverThatWasCutShort(t *testing.T) {
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

var anyone = record.Actor{ID: "cli:eve", Name: "eve", Via: record.ViaCLI}

// turned follows a listing from page to page and gives the listed lines of each.
func (w *world) turned(who record.Actor, line string) [][]string {
	w.t.Helper()
	var pages [][]string
	res := w.reads(who, line)
	for {
		var listed []string
		for _, l := range res.Lines {
			if item, ok := strings.CutPrefix(l.String(), "• "); ok {
				listed = append(listed, item)
			}
		}
		pages = append(pages, listed)
		if res.Next == nil {
			return pages
		}
		require.Equal(w.t, "acme", res.Next.Keys["account"])
		res = w.reads(who, res.Next.String())
	}
}

func TestPages(t *testing.T) {
	w := newWorld(t)
	for i := range 28 {
		w.seed(waf.IPRule{Subnet: "203.0.113." + itoa(int64(i)), Reason: "by hand"})
	}
	sizes := func(who record.Actor, line string) []int {
		var n []int
		seen := map[string]bool{}
		for _, page := range w.turned(who, line) {
			if who.Via == record.ViaCLI { // there it begins with the titles of its columns
				require.Contains(t, page[0], "SOURCE")
				page = page[1:]
			}
			n = append(n, len(page))
			for _, l := range page {
				require.False(t, seen[l], "twice: %s", l)
				seen[l] = true
			}
		}
		return n
	}
	require.Equal(t, []int{10, 10, 8}, sizes(eve, "lists"))
	require.Equal(t, []int{10, 8}, sizes(eve, "lists page=2"))
	require.Equal(t, []int{25, 3}, sizes(eve, "lists --all"), "a message of a chat holds no more")
	require.Equal(t, []int{28}, sizes(anyone, "lists --all"))
	require.Equal(t, []int{10, 10, 8}, sizes(anyone, "lists"))
	require.Equal(t, []int{1}, sizes(eve, "lists black 203.0.113.9"))

	res := w.reads(eve, "lists black")
	require.Equal(t, "lists black account=acme page=2", res.Next.String())
	require.Contains(t, textOf(res), "… and 18 more")
	require.NotContains(t, textOf(res), "--all")
	require.Contains(t, textOf(w.reads(anyone, "lists page=2")), "… and 8 more: add --all")
	require.Len(t, res.Data, 28, "a program gets all of it")
	w.refuses(eve, "lists page=4", refusal.ErrUsage, "Invalid page: 4. The last one is 3")
	w.refuses(anyone, "lists --all page=2", refusal.ErrUsage, "The last one is 1")
	for _, page := range []string{"0", "-1", "two", "1.5", "99999999999"} {
		w.refuses(eve, "lists page="+page, refusal.ErrUsage, "Invalid page")
	}
	w.reads(eve, "lists white page=1") // an empty listing has a first page
}

func TestThePartsOfStatusShareTheirPages(t *testing.T) {
	w := newWorld(t)
	for i := range 23 {
		w.does(ann, "deny 203.0.113."+itoa(int64(i)))
		if i < 11 {
			w.attackOn("/p" + itoa(int64(i)))
		}
	}
	var sizes []int
	for _, page := range w.turned(eve, "status") {
		sizes = append(sizes, len(page))
	}
	require.Equal(t, []int{20, 11, 3}, sizes)
	sizes = nil
	for _, page := range w.turned(eve, "status --all") {
		sizes = append(sizes, len(page))
	}
	require.Equal(t, []int{23, 11}, sizes, "a message of a chat holds no more")
}

// A row begins with the id that undo wants: a chat cuts the end of a long one.
func TestRowsBeginWithTheirID(t *testing.T) {
	w := newWorld(t)
	ch := w.does(ann, "patch POST shop.example.com/"+strings.Repeat("a", 90)+" type=sqli part=post.form_urlencoded."+strings.Repeat("b", 50)+" for=2h")
	require.True(t, strings.HasPrefix(w.turned(eve, "status")[0][0], ch.ID+" Patch exactly POST"))
}

// program is the answer as --json gives it.
func (w *world) program(line string) map[string]any {
	w.t.Helper()
	text, err := json.Marshal(w.reads(eve, line))
	require.NoError(w.t, err)
	var out map[string]any
	require.NoError(w.t, json.Unmarshal(text, &out))
	return out
}

func TestAnswersForPrograms(t *testing.T) {
	w := newWorld(t)
	empty := w.program("lists")
	require.Equal(t, []any{}, empty["data"])
	require.Equal(t, []any{}, w.program("attacks")["data"])
	require.Equal(t, []any{}, w.program("audit")["data"])
	status := w.program("status")["data"].([]any)[0].(map[string]any)
	require.Equal(t, map[string]any{"account": "acme", "now": w.clock().Format(time.RFC3339), "ongoing": []any{}, "in_force": []any{}}, status)

	id := w.attackOn("/login")
	ch := w.does(ann, "deny attack="+id)
	for _, line := range []string{"attacks", "status", "attack " + id} {
		row := w.program(line)["data"]
		if list, ok := row.([]any); ok {
			row = list[0]
		}
		if line == "status" {
			inForce := row.(map[string]any)["in_force"].([]any)
			require.Equal(t, ch.ID, inForce[0].(map[string]any)["id"])
			require.Equal(t, "responder", inForce[0].(map[string]any)["role"])
			row = row.(map[string]any)["ongoing"].([]any)[0]
		}
		attack := row.(map[string]any)
		require.Equal(t, id, attack["id"], line)
		require.Equal(t, "acme", attack["account"])
		require.Equal(t, true, attack["ongoing"])
		require.Equal(t, "sqli", attack["attack"].(map[string]any)["type"])
	}
	entry := w.program("lists")["data"].([]any)[0].(map[string]any)
	require.Equal(t, "203.0.113.7/32", entry["subnet"])
	require.Equal(t, "black", entry["list"])
	require.Equal(t, map[string]any{"application": 4.0, "mode": "monitoring"}, w.program("mode 4")["data"])
	require.IsType(t, "", w.program("status")["lines"].([]any)[0], "lines are text")
}

// Programs get what is written down as it is kept.
func TestWhatWasWrittenForPrograms(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	for _, line := range []string{"ack", "ack", "handover to=@me", "note same botnet", "verdict real", "unack", "unack"} {
		res := w.reads(ann, line+" attack="+id)
		require.Equal(t, w.said(id), res.Data, line)
	}
	for _, line := range []string{"mute type=sqli", "mute type=sqli", "unmute type=sqli"} {
		res := w.reads(ann, line)
		require.Equal(t, "sqli", res.Data.(record.Mute).Type, line)
	}
}

func TestStatus(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) {
		c.Health = func(string) (record.PollHealth, bool) {
			return record.PollHealth{LastGood: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC), Failing: "the token is refused", Capped: "over 50,000 attacks"}, true
		}
	})
	w.attack(waf.AttackSpec{App: 4, Path: "/quiet", Type: "xss"})
	incident := w.attack(waf.AttackSpec{App: 4, Path: "/incident", Vulnerability: &waf.VulnSpec{ID: 812}})
	res := w.reads(eve, "status")
	require.Contains(t, textOf(res), "Going on: 2 attacks, 1 incident among them")
	require.Less(t, strings.Index(textOf(res), incident), strings.Index(textOf(res), "/quiet"), "incidents first")
	require.Contains(t, textOf(res), "WAF API unreachable: the token is refused; last good poll 1 h ago")
	require.Contains(t, textOf(res), "Not all attacks are watched: over 50,000 attacks")
	require.Contains(t, textOf(res), "wafbot is live")
	w.pass(16 * time.Minute)
	require.Contains(t, textOf(w.reads(eve, "")), "Nothing is going on (no hit in the last 15 min)")
	w.pass(5 * time.Second)
	require.Contains(t, textOf(w.reads(eve, "attacks")), "last hit 16 min ago", "no seconds")
}

func TestAttackById(t *testing.T) {
	w := newWorld(t, sources(source("pen test", config.DenyApproval, "198.51.100.0/24")))
	id := w.attack(waf.AttackSpec{App: 4, Path: "/login", Vulnerability: &waf.VulnSpec{ID: 812}})
	service := w.state().Attacks[0].ID
	for _, typed := range []string{id, id[:4], strings.ToUpper(id), service, strings.NewReplacer("0", "O", "1", "L").Replace(id[:1]) + strings.NewReplacer("0", "o", "1", "i").Replace(id[1:])} {
		res := w.reads(eve, "attack "+typed)
		require.Equal(t, id, res.AttackID, typed)
		require.Contains(t, textOf(res), "NOT BLOCKED · critical incident · SQL injection · Shop · 100 hits")
		require.Contains(t, textOf(res), "vulnerability 812")
		require.Contains(t, textOf(res), "198.51.100.4 NL")
		require.Contains(t, textOf(res), "= pen test")
	}
	ch := w.does(ann, "deny attack="+id)
	require.Contains(t, textOf(w.reads(eve, "attack "+id)), ch.ID)
	w.does(bob, "undo "+ch.ID)
	require.Contains(t, textOf(w.reads(eve, "attack "+id)), "undone by Bob")
}

func TestListsSearch(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.0/24", Reason: "trigger \u202ebrute"})
	w.seed(waf.IPRule{List: "white", Subnet: "198.51.100.7", Reason: "partner"})
	require.Contains(t, textOf(w.reads(eve, "lists")), "2 entries")
	require.NotContains(t, textOf(w.reads(eve, "lists")), "\u202e")
	for line, found := range map[string]string{
		"lists black": "203.0.113.0/24", "lists 203.0.113.9": "203.0.113.0/24", "lists 203.0.0.0/16": "203.0.113.0/24", "lists PARTNER": "198.51.100.7",
		"lists allow partner": "198.51.100.7", "lists white": "198.51.100.7",
	} {
		res := w.reads(eve, line)
		require.Contains(t, textOf(res), "1 entry", line)
		require.Contains(t, textOf(res), found, line)
	}
	require.Contains(t, textOf(w.reads(eve, "lists gray")), "0 entries")
	require.Contains(t, textOf(w.reads(eve, "lists blakc")), "0 entries with blakc", "a mistyped list is a text that nothing has")
}

func TestListingsAreCut(t *testing.T) {
	w := newWorld(t)
	for i := range 12 {
		w.attackOn("/p" + itoa(int64(i)))
	}
	require.Contains(t, textOf(w.reads(eve, "attacks")), "… and 2 more")
	require.Len(t, w.reads(eve, "attacks --all").Lines, 13)
	require.Contains(t, textOf(w.reads(eve, "incidents")), "0 incidents in the last 24 h")
}

func TestHelp(t *testing.T) {
	w := newWorld(t)
	screen := w.reads(eve, "help").Lines
	require.Len(t, screen, 15, "it fits one screen")
	for i, most := range []string{"status: ", "attack ID: ", "ack attack=ID: ", "deny 203.0.113.7 4h: ", "patch attack=ID: ", "undo: "} {
		require.Contains(t, screen[i].String(), most, "what is used most stands on top")
	}
	for _, l := range screen {
		require.LessOrEqual(t, len([]rune(l.String())), 80, l)
	}
	for _, cmd := range verb.All() {
		require.Contains(t, textOf(call.Result{Lines: screen[6:13]}), cmd.Name)
	}
	overview := textOf(w.reads(eve, "help all"))
	help, err := verb.Help("all")
	require.NoError(t, err)
	require.Equal(t, overview, textOf(call.Result{Lines: help}))
	for v, role := range map[string]string{"lists": "viewer to read", "mode": "viewer to read, responder to change", "deny": "responder to change", "delete-rule": "admin to change"} {
		require.Contains(t, textOf(w.reads(eve, "help "+v)), "Role: "+role)
	}
	for _, v := range []string{"status", "incidents", "attacks", "attack", "vulns", "contain", "deny", "allow", "gray", "patch", "block-path", "indicator", "mode", "lists", "remove", "rules",
		"conditions", "delete-rule", "undo", "extend", "audit", "whoami", "help"} {
		require.Contains(t, overview, v)
		one, err := verb.Help(v)
		require.NoError(t, err)
		require.Equal(t, textOf(w.reads(eve, "help "+v)), textOf(call.Result{Lines: one}))
		require.Contains(t, textOf(call.Result{Lines: one}), "Role: ")
	}
	require.Less(t, strings.Index(overview, "To look"), strings.Index(overview, "rules: "))
	require.Less(t, strings.Index(overview, "conditions: "), strings.Index(overview, "To act"))
	require.Less(t, strings.Index(overview, "To act"), strings.Index(overview, "delete-rule RULE"))
	require.Less(t, strings.Index(overview, "To act"), strings.Index(overview, "approve REQUEST"))
	_, err = verb.Help("ban")
	require.NoError(t, err)
	_, err = verb.Help("bam")
	require.ErrorIs(t, err, refusal.ErrUnknown)
}

// A line that help gives as an example is a line of the grammar.
func TestExamplesAreLines(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Changes = config.ChangesDryRun })
	examples := 0
	for _, v := range []string{"vulns", "rules", "contain", "deny", "lists", "remove", "patch", "block-path", "indicator", "mode", "extend"} {
		lines, err := verb.Help(v)
		require.NoError(t, err)
		for _, l := range lines {
			example, ok := strings.CutPrefix(l.String(), "Example: ")
			if !ok {
				continue
			}
			examples++
			_, err := w.try(root, example)
			if err != nil {
				require.NotContains(t, err.Error(), "Usage: ", example)
			}
			parsed, err := grammar.Parse(example)
			require.NoError(t, err)
			require.Equal(t, v, parsed.Name)
		}
	}
	require.Equal(t, 11, examples)
}
