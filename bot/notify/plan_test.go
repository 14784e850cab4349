package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// The attack of the plans, where its card is, and the delivery ids of its card.
var (
	through   = apiclient.Attack{ID: "x:1", Type: "sqli", BlockStatus: "not_blocked", Hits: apiclient.Known(9)}
	cardAt    = record.Place{Channel: "C1", TS: "1.1"}
	firstPost = record.CardDelivery("acme", "x:1")
)

// incident is the attack once an incident is known of it.
func incident() apiclient.Attack {
	a := through
	a.VulnID = "v1"
	return a
}

func (p Post) String() string {
	all := []string{strings.TrimSuffix(p.Channel+"/"+p.Thread, "/")}
	flag := func(set bool, words ...any) {
		if set {
			all = append(all, fmt.Sprint(words...))
		}
	}
	flag(p.replaces.TS != "", "edits ", p.replaces.TS)
	flag(p.card, "card")
	flag(p.Broadcast && p.Thread != "", "broadcast")
	flag(p.Urgent, "urgent")
	flag(p.follows, "follows")
	flag(p.edits, "edits the first")
	flag(p.optional, "optional")
	flag(p.Delivery != "e1", "as ", strings.ReplaceAll(p.Delivery, firstPost, "card"))
	flag(p.repost != "", "reposts in ", p.repost)
	for _, e := range p.supersedes {
		all = append(all, "supersedes "+e.ID)
	}
	if p.otherwise != nil {
		all = append(all, "else "+p.otherwise.String())
	}
	return strings.Join(all, " ")
}

// all is what a plan does, a line for each thing.
func (p plan) all() (all []string) {
	if p.stale {
		all = append(all, "stale")
	}
	if p.redraw {
		all = append(all, "redraw")
	}
	for _, e := range p.emits {
		all = append(all, fmt.Sprintf("emits %s: %s", strings.ReplaceAll(e.ID, firstPost, "card"), e.Kind))
	}
	for _, post := range p.posts {
		all = append(all, post.String())
	}
	if p.page != nil {
		all = append(all, "pages")
	}
	return all
}

// planned is one row: an event of a kind, the facts, and what is to be done.
type planned struct {
	name     string
	kind     record.EventKind
	id       string // of the event; "": e1
	channel  string // of the event; "": C1
	detail   record.Detail
	revision int
	subject  string // the attack, where it is another
	facts    facts
	want     []string
	says     string // in the first post
}

// test runs rows, which cover all the kinds given.
func test(t *testing.T, rows []planned, kinds ...record.EventKind) {
	t.Helper()
	n := made(Config{Slack: slackconn.Connect(slackconn.Config{})})
	covered := map[record.EventKind]bool{}
	for _, row := range rows {
		covered[row.kind] = true
		e := record.Event{ID: "e1", Account: "acme", Kind: row.kind, Channel: "C1", At: now, Order: row.revision, Detail: row.detail}
		if _, ok := row.detail.(record.AttackFacts); ok {
			e.Subject = cmp.Or(row.subject, through.ID)
		}
		if row.id != "" {
			e.ID = row.id
		}
		if row.channel != "" {
			e.Channel = row.channel
		}
		f := row.facts
		f.account, f.now, f.attack = Account{Account: &config.Account{Name: "acme", Channel: "C0"}, Page: func(context.Context, record.Page) error { return nil }}, now, record.AttackID("acme", "x:1")
		f.Event = e
		p, err := n.planners[row.kind](f)
		require.NoError(t, err, row.name)
		require.Equal(t, row.want, p.all(), row.name)
		if row.says != "" {
			blocks, err := json.Marshal(p.posts[0].Message.Blocks)
			require.NoError(t, err)
			require.Contains(t, p.posts[0].Message.Text+string(blocks), row.says, row.name)
		}
	}
	for _, kind := range kinds {
		require.True(t, covered[kind], "no row of %q", kind)
	}
}

func TestEachKindHasAHandler(t *testing.T) {
	t.Parallel()
	n := made(Config{Slack: slackconn.Connect(slackconn.Config{})})
	require.Len(t, n.planners, 28)
	for kind, plan := range n.planners {
		if kind == record.SummaryDue {
			continue
		}
		_, err := plan(facts{Event: record.Event{ID: "e1", Kind: kind}})
		require.EqualError(t, err, fmt.Sprintf("notify event e1: %s has the detail <nil>", kind))
	}
}

var mentions = record.AttackFacts{Mention: "S0ONCALL"}

// waits is an event of the attack that waits.
func waits(id string, kind record.EventKind, revision int) record.Event {
	return record.Event{ID: id, Account: "acme", Kind: kind, Subject: through.ID, Channel: "C1", At: now, Order: revision, Detail: mentions}
}

func TestPlansOfAttacks(t *testing.T) {
	t.Parallel()
	first := facts{AttackDetails: record.AttackDetails{State: record.AttackState{Attack: through, Revision: 1}}}
	worse := facts{AttackDetails: record.AttackDetails{Card: cardAt,
		State: record.AttackState{Attack: through, Revision: 3, ObservedAt: now}},
		waiting: []record.Event{waits("e1", record.Worsened, 2)}}
	with := func(f facts, waiting ...record.Event) facts {
		f.waiting = waiting
		return f
	}
	owned, isIncident, elsewhere := worse, first, worse
	owned.Triage.Owner = &record.Owner{ID: "U0ANN"}
	isIncident.State.Attack = incident()
	elsewhere.Card.Channel = "C2"
	resumed := with(owned, waits("e1", record.Resumed, 2))
	noAttack := resumed
	noAttack.Triage = record.Triage{Verdict: &record.Verdict{Is: "test"}}
	test(t, []planned{
		{name: "an attack gets a card", kind: record.NewAttack, id: firstPost, detail: mentions, revision: 1, facts: first, want: []string{"C1 card as card"}},
		{name: "it has it", kind: record.NewAttack, id: firstPost, detail: mentions, revision: 1, facts: worse},
		{name: "an incident's is urgent", kind: record.NewIncident, id: firstPost, detail: mentions, revision: 1, facts: isIncident, want: []string{"C1 card urgent as card"}},
		{
			name: "what the card says is superseded", kind: record.NewAttack, id: firstPost, detail: mentions, revision: 1,
			facts: with(facts{AttackDetails: record.AttackDetails{State: record.AttackState{Attack: through, Revision: 2}}},
				waits(firstPost, record.NewAttack, 1), waits("e2", record.Worsened, 2), waits("e3", record.Grew, 3)),
			want: []string{"C1 card as card supersedes e2"},
		},
		{
			name: "the first event is as urgent as the attack by now", kind: record.BecameIncident, detail: mentions, revision: 1,
			facts: with(isIncident, waits(firstPost, record.NewAttack, 1), waits("e1", record.BecameIncident, 1)),
			want:  []string{"emits card: new incident", "C1 card urgent as card supersedes e1"},
		},
		{
			name: "an event without a card stays itself", kind: record.Worsened, detail: mentions, revision: 1, facts: with(first, waits("e1", record.Worsened, 1)),
			want: []string{"C1 card urgent as card"},
		},
		{
			name: "it got worse", kind: record.Worsened, detail: mentions, revision: 2, facts: worse, says: "S0ONCALL",
			want: []string{"stale", "C1/1.1 broadcast urgent reposts in C1 else C1 urgent"},
		},
		{
			name: "its owner is mentioned", kind: record.Worsened, detail: mentions, revision: 2, facts: owned, says: "U0ANN",
			want: []string{"stale", "C1/1.1 broadcast urgent reposts in C1 else C1 urgent"},
		},
		{name: "another message said it", kind: record.Worsened, detail: mentions, revision: 2, facts: with(worse), want: []string{"stale"}},
		{
			name: "the worst of it is said alone", kind: record.Worsened, detail: mentions, revision: 2,
			facts: with(worse, waits("e1", record.Worsened, 2), waits("e2", record.BecameIncident, 2)), want: []string{"stale"},
		},
		{
			name: "the newest facts supersede", kind: record.Worsened, detail: mentions, revision: 2,
			facts: with(worse, waits("e1", record.Worsened, 2), waits("e2", record.Grew, 3), waits("e3", record.Grew, 4)),
			want:  []string{"stale", "C1/1.1 broadcast urgent reposts in C1 supersedes e2 else C1 urgent supersedes e2"},
		},
		{
			name: "an incident's route wants the card elsewhere", kind: record.BecameIncident, detail: mentions, revision: 2, facts: elsewhere,
			want: []string{"C1 card urgent"},
		},
		{
			name: "an attack's card stays", kind: record.Worsened, detail: mentions, revision: 2, facts: elsewhere,
			want: []string{"stale", "C2/1.1 broadcast urgent reposts in C1 else C2 urgent"},
		},
		{name: "it grew", kind: record.Grew, detail: mentions, revision: 2,
			facts: facts{AttackDetails: record.AttackDetails{Card: cardAt}}, want: []string{"stale"}},
		{name: "it grew without a card", kind: record.Grew, detail: mentions, revision: 2},
		{name: "it went quiet", kind: record.WentQuiet, detail: mentions, revision: 2,
			facts: facts{AttackDetails: record.AttackDetails{Card: cardAt}},
			want:  []string{"stale", "emits course:e1: attack ended"}},
		{
			name: "it resumed: whom its route mentions", kind: record.Resumed, detail: mentions, revision: 2, facts: resumed, says: "S0ONCALL",
			want: []string{"stale", "C1/1.1 broadcast urgent reposts in C1 else C1 urgent"},
		},
		{
			name: "it resumed, and is a test", kind: record.Resumed, detail: mentions, revision: 2, facts: noAttack,
			want: []string{"stale"},
		},
		{
			name: "a storm went quiet", kind: record.WentQuiet,
			detail: mentions, revision: 2, subject: "storm:C1:1",
			facts: facts{AttackDetails: record.AttackDetails{Card: cardAt}},
			want:  []string{"stale"},
		},
	}, record.NewAttack, record.NewIncident, record.BecameIncident, record.Worsened, record.Grew, record.WentQuiet, record.Resumed)
}

func TestPlansOfCards(t *testing.T) {
	t.Parallel()
	lost := record.AttackFacts{Former: cardAt.Message()}
	known := facts{AttackDetails: record.AttackDetails{Card: cardAt,
		State: record.AttackState{Attack: through, Revision: 2, Quiet: true}}}
	moved, unknown := known, facts{AttackDetails: record.AttackDetails{Card: cardAt}}
	moved.Card.TS = "2.2"
	goesOn := known
	goesOn.State.Quiet = false
	test(t, []planned{
		{name: "it is posted again", kind: record.CardLost, detail: lost, facts: known, want: []string{"C1 card"}},
		{name: "it has a successor", kind: record.CardLost, detail: lost, facts: moved},
		{name: "its attack is no longer stored", kind: record.CardLost, detail: lost, facts: unknown},
		{name: "it stands", kind: record.CardLeft, detail: lost, facts: facts{successor: text.New("elsewhere")}, want: []string{"C1/1.1 optional"}, says: "elsewhere"},
		{name: "it has no successor", kind: record.CardLeft, detail: lost},
		{name: "quiet", kind: record.AttackEnded, detail: record.AttackFacts{}, facts: known, want: []string{"C1/1.1 optional"}},
		{name: "it goes on again by now", kind: record.AttackEnded, detail: record.AttackFacts{}, facts: goesOn},
		{name: "quiet without a card", kind: record.AttackEnded, detail: record.AttackFacts{},
			facts: facts{AttackDetails: record.AttackDetails{State: known.State}}},
	}, record.CardLost, record.CardLeft, record.AttackEnded)
}

func TestPlansOfNotices(t *testing.T) {
	t.Parallel()
	owner := facts{AttackDetails: record.AttackDetails{Triage: record.Triage{Owner: &record.Owner{ID: "U0ANN",
		By: record.Actor{ID: "U0ROB"}}}}}
	ownerWithCard := owner
	ownerWithCard.Card = cardAt
	lapsed := facts{AttackDetails: record.AttackDetails{Card: cardAt, State: record.AttackState{Mention: "S0ONCALL"},
		Triage: record.Triage{UnackedAt: now, Lapsed: &record.Owner{ID: "U0ANN", Name: "Anna",
			Since: now.Add(-2 * time.Hour)}}}}
	elsewhere, resumed := lapsed, lapsed
	elsewhere.Card = record.Place{}
	resumed.State.ResumedAt = now
	test(t, []planned{
		{name: "the first start", kind: record.FirstStart, detail: record.FirstStartFacts{}, want: []string{"C1 urgent"}},
		{name: "rebuilt", kind: record.StoreRebuilt, detail: record.RebuildFacts{}, want: []string{"C1 urgent"}},
		{name: "unreachable", kind: record.APIUnreachable, detail: record.UnreachableFacts{}, want: []string{"redraw", "C1 urgent"}},
		{name: "reachable by now", kind: record.APIUnreachable, detail: record.UnreachableFacts{}, facts: facts{health: record.PollHealth{LastGood: now.Add(1)}}, want: []string{"redraw"}},
		{name: "a gap", kind: record.MonitoringGap, detail: record.GapFacts{From: now.Add(-time.Hour), To: now}, want: []string{"redraw", "C1 urgent"}},
		{name: "a pager", kind: record.PagerUnreachable, detail: record.PagerFault{Why: "away"}, want: []string{"C1 urgent"}, says: "away"},
		{name: "records of others", kind: record.ForeignRecords, detail: record.ForeignFacts{Records: 9}, want: []string{"C1 urgent"}, says: "9"},
		{name: "handed over", kind: record.HandedOver, detail: record.AttackFacts{To: "U0ANN"}, facts: owner, want: []string{"C1"}, says: "U0ANN"},
		{name: "handed over under its card", kind: record.HandedOver, detail: record.AttackFacts{To: "U0ANN"}, facts: ownerWithCard, want: []string{"C1/1.1 else C1"}},
		{name: "another has it by now", kind: record.HandedOver, detail: record.AttackFacts{To: "U0ROB"}, facts: owner},
		{name: "lapsed", kind: record.AckLapsed, detail: record.AttackFacts{To: "U0ANN"}, facts: lapsed, want: []string{"C1/1.1 broadcast urgent else C1 urgent"}, says: "S0ONCALL"},
		{name: "lapsed, without a card", kind: record.AckLapsed, detail: record.AttackFacts{To: "U0ANN"}, facts: elsewhere, want: []string{"C1 urgent"}, says: "U0ANN"},
		{name: "lapsed because it resumed, which was said", kind: record.AckLapsed, detail: record.AttackFacts{To: "U0ANN"}, facts: resumed},
		{name: "acknowledged again by now", kind: record.AckLapsed, detail: record.AttackFacts{To: "U0ANN"}, facts: ownerWithCard},
		{name: "taken over", kind: record.TookOver, detail: record.AttackFacts{To: "U0ANN"}, facts: facts{triage: map[string]record.Triage{
			"a1": {Owner: &record.Owner{ID: "U0ANN", From: "U0ROB", Since: now, By: record.Actor{ID: "U0ANN"}}},
		}}, want: []string{"C1"}, says: "U0ROB"},
		{name: "others have them by now", kind: record.TookOver, detail: record.AttackFacts{To: "U0ANN"}},
		{name: "a hand-over", kind: record.SummaryDue, want: []string{"C1"}, says: "Hand-over of acme"},
	}, record.FirstStart, record.StoreRebuilt, record.APIUnreachable, record.MonitoringGap, record.PagerUnreachable, record.ForeignRecords, record.HandedOver, record.TookOver, record.AckLapsed, record.SummaryDue)
}

func TestPlansOfChanges(t *testing.T) {
	t.Parallel()
	denied := record.Change{
		ID: "c1", Account: "acme", Does: "Deny 203.0.113.7", State: record.StateDone, Actor: record.Actor{ID: "U0ANN"}, At: now.Add(-time.Hour), Until: now.Add(time.Hour),
		Steps: []record.Step{{Kind: record.AddEntry, Entry: &apiclient.IPRule{ID: 7}, Sent: true, Done: true}},
	}
	of := func(ch record.Change, at record.Place) facts {
		return facts{AttackDetails: record.AttackDetails{Changes: []record.Change{ch}, Card: at,
			Efficacy: map[string]record.Efficacy{"c1": {Finding: record.NotWorking}}}, change: ch}
	}
	failed, late, removed, undone, terminal, working := denied, denied, denied, denied, denied, of(denied, cardAt)
	failed.State, failed.Fault = record.StateHalf, "the service is away"
	late.Late, late.Steps = &record.Late{Due: now}, []record.Step{{Kind: record.CreateRule, Rule: &apiclient.Rule{ID: 7}, Sent: true, Done: true}}
	removed.Steps = []record.Step{{Kind: record.DeleteRule, Rule: &apiclient.Rule{ID: 7, Comment: strings.Repeat("c", 900)}, Done: true}}
	undone.State = record.StateUndone
	terminal.Actor.ID = "cli:ann"
	working.Efficacy = nil
	named, ends := record.ChangeFacts{Change: "c1"}, record.ChangeFacts{Change: "c1", Until: denied.Until}
	test(t, []planned{
		{name: "a change without an attack", kind: record.ChangeSettled, detail: named, facts: of(denied, record.Place{}), want: []string{"C0"}},
		{name: "under its card", kind: record.ChangeSettled, detail: named, facts: of(denied, cardAt), want: []string{"C1/1.1 reposts in C1 else C0"}},
		{name: "a failure mentions its author", kind: record.ChangeSettled, detail: named, facts: of(failed, record.Place{}), want: []string{"C0 urgent"}, says: "U0ANN"},
		{name: "that it was late was said in the channel", kind: record.ChangeSettled, detail: named, facts: of(late, cardAt), want: []string{"C0"}},
		{name: "what it removed takes two messages", kind: record.ChangeSettled, detail: named, facts: of(removed, cardAt), want: []string{"C1/1.1 reposts in C1 else C0", "C0 follows as e1-2 else C0 as e1-2"}},
		{name: "a change that was lost", kind: record.ChangeSettled, detail: named},
		{name: "ending", kind: record.MitigationEnding, detail: ends, facts: of(denied, cardAt), want: []string{"C1/1.1 urgent else C1 urgent"}, says: "U0ANN"},
		{name: "ending without a card", kind: record.MitigationEnding, detail: ends, facts: of(denied, record.Place{}), want: []string{"C1 urgent"}},
		{name: "a terminal's is ending", kind: record.MitigationEnding, detail: ends, facts: of(terminal, cardAt), want: []string{"C1/1.1 broadcast urgent else C1 urgent"}},
		{name: "extended by now", kind: record.MitigationEnding, detail: record.ChangeFacts{Change: "c1", Until: now}, facts: of(denied, cardAt)},
		{name: "undone before it ends", kind: record.MitigationEnding, detail: ends, facts: of(undone, cardAt)},
		{name: "overdue", kind: record.EndOverdue, detail: ends, facts: of(late, cardAt), want: []string{"C1 urgent"}},
		{name: "ended by now", kind: record.EndOverdue, detail: ends, facts: of(denied, cardAt)},
		{name: "not working", kind: record.MitigationNotWorking, detail: named, facts: of(denied, cardAt), want: []string{"C1/1.1 broadcast urgent else C1 urgent"}},
		{name: "working by now", kind: record.MitigationNotWorking, detail: named, facts: working},
		{name: "the source returned", kind: record.DeniedSourceReturned, detail: named, facts: of(denied, record.Place{}), want: []string{"C1 urgent"}},
		{name: "undone by now", kind: record.DeniedSourceReturned, detail: named, facts: of(undone, cardAt)},
	}, record.ChangeSettled, record.MitigationEnding, record.EndOverdue, record.MitigationNotWorking, record.DeniedSourceReturned)
}

// A message that is kept true is posted once, edited when something new is to be shown, and followed by a message that
// mentions people.
func TestPlansOfMessagesThatAreKeptTrue(t *testing.T) {
	t.Parallel()
	at := record.Place{Channel: "C2", TS: "5.5"}
	asked := record.ApprovalRequest{ID: "r1", Account: "acme", Does: "Deny 203.0.113.7", Asker: record.Actor{ID: "U0ANN"}, State: record.RequestWaiting, Revision: 1, Until: now.Add(time.Hour)}
	rejected, overridden := asked, asked
	rejected.State, rejected.Decided, rejected.Revision = record.RequestRejected, &record.Actor{ID: "U0ROB"}, 2
	overridden.State, overridden.Decided, overridden.Revision, overridden.Outcome = record.RequestOverridden, &record.Actor{ID: "U0ANN"}, 2, "done"
	asks := record.ApprovalChanged{Request: "r1"}

	loss := record.PermissionLoss{Account: "acme", Since: now.Add(-time.Hour), Revision: 1}
	back := loss
	back.Until, back.Revision = now, 2
	lost := record.PermissionChanged{Since: loss.Since}

	drill := record.Drill{ID: "d1", Account: "acme", Page: true, At: now, Cards: []record.DrillCard{{Channel: "C1", Pager: "everything"}, {Channel: "C2"}}}
	acknowledged := drill
	acknowledged.Cards = []record.DrillCard{drill.Cards[0], {Channel: "C2", By: &record.Actor{ID: "U0ROB"}}}
	test(t, []planned{
		{name: "asked", kind: record.ApprovalAsked, detail: asks, facts: facts{request: asked}, want: []string{"C0 urgent as r1"}},
		{name: "asked under a card", kind: record.ApprovalAsked, detail: asks,
			facts: facts{AttackDetails: record.AttackDetails{Card: cardAt}, request: asked},
			want:  []string{"C1/1.1 broadcast urgent as r1 else C0 urgent as r1"}},
		{name: "shown", kind: record.ApprovalAsked, detail: asks, facts: facts{request: asked, kept: kept{at: at, shows: 1}}},
		{
			name: "rejected", kind: record.ApprovalAsked, detail: asks, facts: facts{request: rejected, kept: kept{at: at, shows: 1}},
			want: []string{"C0 edits 5.5 urgent as r1", "C0 urgent follows as r1-decided else C0 urgent as r1-decided"},
		},
		{
			name: "rejected before it was posted", kind: record.ApprovalAsked, detail: asks, facts: facts{request: rejected},
			want: []string{"C0 urgent as r1", "C0 urgent follows as r1-decided else C0 urgent as r1-decided"},
		},
		{
			name: "overridden", kind: record.ApprovalAsked, detail: asks, facts: facts{request: overridden, kept: kept{at: at, shows: 1}},
			want: []string{"C0 edits 5.5 urgent as r1", "C0 urgent as r1-decided"},
		},
		{name: "a request that was lost", kind: record.ApprovalAsked, detail: asks},

		{name: "permission lost", kind: record.PermissionLost, detail: lost, facts: facts{loss: loss}, want: []string{"C1 urgent as " + loss.ID()}},
		{name: "more is refused", kind: record.PermissionLost, detail: lost, facts: facts{loss: loss, kept: kept{at: at}}, want: []string{"C1 edits 5.5 urgent as " + loss.ID()}},
		{name: "that is shown", kind: record.PermissionLost, detail: lost, facts: facts{loss: loss, kept: kept{at: at, shows: 1}}},
		{
			name: "permission is back", kind: record.PermissionLost, detail: lost, facts: facts{loss: back, kept: kept{at: at, shows: 1}},
			want: []string{"C1 edits 5.5 urgent as " + loss.ID(), "C2 urgent as " + loss.ID() + "-over"},
		},
		{name: "it was over before it was notified", kind: record.PermissionLost, detail: lost, facts: facts{loss: back}},
		{name: "a loss before", kind: record.PermissionLost, detail: record.PermissionChanged{}, facts: facts{loss: loss}},

		{name: "a drill", kind: record.DrillChanged, detail: record.DrillFacts{Drill: "d1"}, facts: facts{drill: drill}, want: []string{"C1 as drill d1-0", "pages"}},
		{
			name: "its other card, acknowledged", kind: record.DrillChanged, detail: record.DrillFacts{Drill: "d1", Card: 1}, facts: facts{drill: acknowledged},
			want: []string{"C1 as drill d1-1", "C1 edits the first as drill d1-1"},
		},
		{
			name: "its report", kind: record.DrillChanged, detail: record.DrillFacts{Drill: "d1", Report: true}, facts: facts{drill: acknowledged},
			want: []string{"C1 as drill d1-0", "C1 follows"},
		},
		{name: "a drill before", kind: record.DrillChanged, detail: record.DrillFacts{Drill: "d0"}, facts: facts{drill: drill}},
	}, record.ApprovalAsked, record.PermissionLost, record.DrillChanged)
}
