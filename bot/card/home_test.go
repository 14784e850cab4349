package card

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// requireHome fails if Slack would refuse the Home tab, or could.
func requireHome(t testing.TB, blocks []slack.Block) string {
	t.Helper()
	s, err := compiled("home")
	require.NoError(t, err)
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: slack.Blocks{BlockSet: blocks}}))
	require.Less(t, b.Len(), 250<<10)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(b.String()))
	require.NoError(t, err)
	require.NoError(t, s.Validate(doc))
	ids := map[string]bool{}
	for _, button := range buttonsOf(blocks) {
		require.False(t, ids[button.ActionID], "action_id %s comes twice", button.ActionID)
		ids[button.ActionID] = true
	}
	return b.String()
}

// burning is an attack that goes on.
func burning(change func(a *apiclient.Attack), owner *record.Owner) call.AttackRow {
	a := injection()
	change(&a)
	return call.AttackRow{
		ID: record.AttackID("acme", a.ID), Account: "acme", Ongoing: true, Attack: a, Triage: record.Triage{Owner: owner}, Card: "https://sandbox.slack.com/archives/C0WAF0001/p1795230000000100",
	}
}

// quietly is an account on which nothing goes on.
func quietly() report.Overview {
	of := acme()
	of.OngoingFor = 15 * time.Minute
	p := policy.Policy{Policy: config.Policy{Changes: config.ChangesOn}}
	return report.Overview{Account: "acme", Of: of, Policy: p, Now: now, Role: record.Responder, Health: &record.PollHealth{LastGood: now.Add(-5 * time.Second)}}
}

func busily() report.Overview {
	o := quietly()
	o.Ongoing = []call.AttackRow{
		burning(func(a *apiclient.Attack) { a.VulnID = "812" }, &record.Owner{ID: "U0ANN", Name: "Anna Weber", Since: now.Add(-4 * time.Minute)}),
		burning(func(a *apiclient.Attack) { a.ID, a.Path = "x:2", "/search" }, nil),
	}
	mode := switched()
	o.InForce = []record.Change{denied(), patched(), mode}
	o.Waiting = []record.ApprovalRequest{waits()}
	o.Muted = []record.Mute{{ID: "m4k2p9xw1", Account: "acme", Source: netip.MustParsePrefix("203.0.113.64/27"), Until: now.Add(time.Hour), By: anna()}}
	return o
}

// waits is a request for a second person.
func waits() record.ApprovalRequest {
	return record.ApprovalRequest{
		ID: "r7k2m9xw4", Account: "acme", Line: record.Line{Name: "deny", Words: []string{"country:FR"}}, Does: "Deny country:FR everywhere for 4 h", Role: record.Responder,
		Asker: record.Actor{ID: "U0ROB", Name: "Rob Diaz"}, At: now.Add(-2 * time.Minute), Until: now.Add(13 * time.Minute), State: record.RequestWaiting,
	}
}

func unreachably() report.Overview {
	o := quietly()
	o.Account, o.Fault = "globex", "not done: the service doesn't accept wafbot's token"
	o.Health = &record.PollHealth{LastGood: now.Add(-20 * time.Minute), Failing: "the service refuses the token", Since: now.Add(-20 * time.Minute)}
	o.PermissionLoss = &record.PermissionLoss{Account: "globex", Since: now.Add(-10 * time.Minute), Lacks: []record.Permission{record.PermissionLists}}
	return o
}

func home(change func(h *report.Home)) report.Home {
	h := report.Home{
		Accounts: []report.Overview{quietly()}, Who: anna(), Now: now,
	}
	change(&h)
	return h
}

func homes() map[string][]slack.Block {
	busy := func(h *report.Home) { h.Accounts = []report.Overview{busily()} }
	ask := Ask(&refusal.Refusal{
		Text: text.New(text.Bold("Undo of: Deny 203.0.113.7"), "? Before you do:", "\n• it is still trying"), Line: record.Line{Name: "undo", Words: []string{"c7k2m9xw4"}},
	})
	return map[string][]slack.Block{
		"quiet": Home(home(func(*report.Home) {})),
		"busy":  Home(home(busy)),
		"storm": Home(home(func(h *report.Home) {
			busy(h)
			c := scanned()
			h.Accounts[0].Storms = []call.StormRow{{ID: c.Situation.ID, Account: "acme", Attack: c.Situation.Attack, Storm: *c.Situation.Storm, Card: "https://sandbox.slack.com/archives/C0WAF0001/p1795230000000200"}}
		})),
		"viewer":  Home(home(func(h *report.Home) { busy(h); h.Accounts[0].Role = record.Viewer })),
		"dry-run": Home(home(func(h *report.Home) { busy(h); h.Accounts[0].Policy.Changes = config.ChangesDryRun })),
		"one-unreachable": Home(home(func(h *report.Home) {
			h.Accounts, h.Trouble = []report.Overview{busily(), unreachably()}, text.Lines{text.New(text.Bold("Sources: "), "/etc/wafbot/cdn.txt can't be read: what it held last is still guarded")}
		})),
		"store-unreachable": Home(home(func(h *report.Home) { h.Accounts[0].NoStore, h.Accounts[0].Store = true, "can't be reached" })),
		"no-role":           HomeUnavailable(text.New("You have no role here")),
		"unknown":           HomeUnavailable(text.New("Something went wrong inside wafbot")),
		"asked":             Renumber(slices.Concat(ask.Blocks, Home(home(busy)))),
	}
}

func TestHomeGolden(t *testing.T) {
	t.Parallel()
	for name, blocks := range homes() {
		text := requireHome(t, blocks)
		for _, markup := range markupOf(t, blocks) {
			for line := range strings.SplitSeq(markup, "\n") {
				requireHarmless(t, line)
			}
		}
		golden(t, filepath.Join("testdata", "home", name+".json"), text)
	}
}

func TestHomeButtons(t *testing.T) {
	t.Parallel()
	lines := func(h report.Home) (all []string) {
		for _, b := range buttonsOf(Home(h)) {
			all = append(all, b.Text.Text+": "+b.Value)
			require.Equal(t, b.Text.Text == "Undo" || b.Text.Text == "Approve", b.Confirm != nil, "%s acts on a click", b.Text.Text)
		}
		return all
	}
	busy := home(func(h *report.Home) { h.Accounts = []report.Overview{busily()} })
	require.Equal(t, []string{
		"Refresh: refresh", "Acknowledge: ack account=acme attack=" + record.AttackID("acme", "x:2"), "Approve: approve r7k2m9xw4 account=acme",
		"Reject: reject r7k2m9xw4 account=acme", "Undo: undo c7k2m9xw4 account=acme", "Undo: undo c4p8t2rz1 account=acme",
	}, lines(busy), "an owned attack has no button, and what is overdue is tried by itself")
	asker := busy
	asker.Who.ID = "U0ROB"
	require.NotContains(t, strings.Join(lines(asker), "\n"), "Approve", "an asker approves no request of their own")
	viewer := busy
	viewer.Accounts[0].Role = record.Viewer
	require.Equal(t, []string{"Refresh: refresh"}, lines(viewer), "no button that would be refused")
}

// crowd is a Home tab of very many accounts on which everything is going on, and every text is as long as it can be.
func crowd(accounts, each int, text string) report.Home {
	return home(func(h *report.Home) {
		h.Accounts = nil
		for i := range accounts {
			o := busily()
			o.Account = fmt.Sprintf("account-%04d", i)
			o.Ongoing, o.Waiting = nil, slices.Repeat(o.Waiting, each)
			for j := range each {
				o.Ongoing = append(o.Ongoing, burning(func(a *apiclient.Attack) {
					a.ID, a.Path, a.Domain, a.Type = fmt.Sprint(i, ":", j), text, text, text
					a.Hits = known(int64(j))
				}, nil))
			}
			ch := denied()
			ch.Does, ch.Actor.Name = text, text
			o.InForce = append(slices.Repeat([]record.Change{ch}, each), switched())
			o.Muted = slices.Repeat(o.Muted, each)
			o.Health.Failing = text
			h.Accounts = append(h.Accounts, o)
		}
		worst := &h.Accounts[accounts-1]
		worst.Ongoing = append(worst.Ongoing, burning(func(a *apiclient.Attack) { a.ID, a.VulnID, a.Path = "worst", "812", "/worst" }, nil))
	})
}

func TestHomeOfAThousandAccounts(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"short", strings.Repeat("a", 10_000), strings.Repeat("* `<!channel>", 1_000), "\u202e\x00"} {
		accounts := full.Of(150, 1_000)
		if words != "short" {
			accounts = 30
		}
		h := crowd(accounts, 3, words)
		blocks := Home(h)
		answer := Lines(slices.Repeat(text.Lines{text.New(strings.Repeat("x", 280))}, 40))
		requireHome(t, Renumber(slices.Concat(answer.Blocks, blocks)))
		shown := strings.Join(markupOf(t, blocks), "\n")
		require.Contains(t, shown, "Going on: "+known(int64(3*accounts+1)).String()+" attacks")
		require.Contains(t, shown, "more: type `status account=NAME`")
		first := strings.Index(shown, "critical incident")
		require.Greater(t, first, 0, "the worst of all is shown, whichever account it is on")
		require.Less(t, first, strings.Index(shown, "account-0000"))
		for part, n := range map[string]int{"Waiting for approval: ": 3 * accounts, "Modes that have not returned: ": accounts, "In force by wafbot: ": 3 * accounts, "Health: 0 of ": accounts} {
			require.Contains(t, strings.ReplaceAll(shown, "*", ""), part+known(int64(n)).String())
		}
	}
}

func summaries() map[string]report.Summary {
	at := func(o report.Overview) report.Summary {
		return report.Summary{
			Overview: o, Since: now.Add(-10 * time.Hour), Who: anna(),
		}
	}
	busy, quiet, unreachable := at(busily()), at(quietly()), at(unreachably())
	quiet.Attacks, quiet.BlockedAnyway = 41, 41
	rob := record.Actor{ID: "U0ROB", Name: "Rob Diaz"}
	undone := denied()
	undone.ID, undone.State, undone.EndedBy, undone.EndedAt = "c1z1z1z1z", record.StateUndone, &rob, now.Add(-time.Hour)
	busy.Incidents, busy.Attacks, busy.BlockedAnyway = 1, 12, 7
	busy.Undone = []report.Undone{{Change: undone, Why: "it was the office"}, {Change: undone}}
	busy.Others = []apiclient.IPRule{{
		ID: 9, List: apiclient.ListDeny, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix("198.51.100.0/24"), Apps: []int{0}, Author: "soc@example.com", Created: now.Add(-3 * time.Hour), Expires: now.Add(9 * time.Hour),
	}}
	busy.Notes = []report.NoteOn{{Attack: "ak7q2m9xw", Note: record.Note{By: rob, At: now.Add(-2 * time.Hour), Text: "same botnet as on Monday"}}}
	window := quiet
	window.Modes = []efficacy.ModeWindow{{App: 4, Mode: "block", From: now.Add(-2 * time.Hour), Until: now.Add(-time.Hour)}, {App: 7, Mode: "block"}, {App: 9, Mode: "off", From: now.Add(-time.Hour)}}
	unreachable.Unread = "the service doesn't accept wafbot's token"
	unreachable.Outages = []record.Outage{{From: now.Add(-8 * time.Hour), Until: now.Add(-7 * time.Hour)}, {From: now.Add(-20 * time.Minute), Why: "the service refuses the token"}}
	lost := quiet
	lost.NoStore, lost.Store = true, "can't be reached"
	return map[string]report.Summary{"quiet": quiet, "busy": busy, "block-window": window, "unreachable": unreachable, "store-unreachable": lost}
}

func summaryMessage(s report.Summary) Message {
	var lines text.Lines
	for _, p := range s.Parts(true) {
		lines = append(lines, p.Title)
	}
	return partsMessage(call.Result{Lines: lines, Parts: s.Parts(true)})
}

func TestSummaryGolden(t *testing.T) {
	t.Parallel()
	all := summaries()
	var notices strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		msg := summaryMessage(all[name])
		requireFits(t, msg)
		notice := Summary(acme(), call.Result{Data: all[name]}).Text
		require.LessOrEqual(t, len([]rune(notice)), maxNotice)
		notices.WriteString(name + ": " + notice + "\n")
		golden(t, filepath.Join("testdata", "summary", name+".json"), pretty(t, msg))
	}
	golden(t, filepath.Join("testdata", "summary", "notifications.txt"), notices.String())
}

func TestSummaryStaysWithinLimits(t *testing.T) {
	t.Parallel()
	each := full.Of(40, 300)
	for _, text := range full.Some(1, []string{
		strings.Repeat("a", 10_000), strings.Repeat("<!channel>", 1_000), strings.Repeat("* `", 3_000), "\u202e\x00",
	}) {
		s := summaries()["busy"]
		s.Overview = crowd(1, each, text).Accounts[0]
		s.Others = slices.Repeat(s.Others, 200)
		s.Others[0].Reason = text
		undone := s.InForce[0]
		undone.EndedBy = &record.Actor{Name: text}
		s.Undone = slices.Repeat([]report.Undone{{Change: undone, Why: text}}, 200)
		s.Notes = slices.Repeat([]report.NoteOn{{Attack: text, Note: record.Note{Text: text, By: record.Actor{Name: text}}}}, 200)
		s.Outages = slices.Repeat([]record.Outage{{Why: text}}, 200)
		s.Modes = slices.Repeat([]efficacy.ModeWindow{{Mode: text}}, 200)
		msg := summaryMessage(s)
		requireFits(t, msg)
		shown := strings.Join(markupOf(t, msg.Blocks), "\n")
		require.Contains(t, shown, fmt.Sprint(each-4, " more"))
		labels := []string{}
		for _, b := range buttonsOf(msg.Blocks) {
			labels = append(labels, b.Text.Text)
		}
		require.Contains(t, labels, "I take over")
	}
}

func TestWhomATakeoverMentions(t *testing.T) {
	t.Parallel()
	since := now.Add(-time.Minute)
	owner := func(from string, at time.Time, by record.Actor) record.Triage {
		return record.Triage{Owner: &record.Owner{ID: "U0ANN", Name: "Anna Weber", Since: at, By: by, From: from}}
	}
	cases := map[string]record.Triage{"a4": owner("", now, anna()), "a5": {}, "a6": owner("U0ROB", now.Add(-time.Hour), anna())}
	for i := range 7 {
		cases[fmt.Sprintf("a1%d", i)] = owner("U0ROB", now, anna())
	}
	cases["a20"] = owner("cli:root", now, anna())
	summaryOf := func(cases map[string]record.Triage) string {
		return strings.Join(markupOf(t, Lines(TakeoverLines(record.Event{Account: "acme", At: since, Detail: record.AttackFacts{To: "U0ANN"}}, cases)).Blocks), "\n")
	}
	require.Equal(t, "*Anna Weber* takes over 9 attacks of *acme*\n<@U0ROB>: no longer yours: `a10`, `a11`, `a12`, `a13`, `a14` and 2 more\n`@cli:root`: no longer yours: `a20`", summaryOf(cases))
	rob := record.Actor{ID: "U0ROB", Name: "Rob Diaz"}
	require.Equal(t, "<@U0ANN>: Rob Diaz hands 1 attack of *acme* over to you", summaryOf(map[string]record.Triage{"a1": owner("", now, rob)}))
}
