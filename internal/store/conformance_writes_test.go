package store_test

import (
	"context"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
)

func (s conforming) changeIDs(t *testing.T, account string) (ids []string) {
	t.Helper()
	for _, c := range must(s.Ledger.Changes(t.Context(), account))(t) {
		ids = append(ids, c.ID)
	}
	return ids
}

func testChanges(t *testing.T, s conforming) {
	at := now()
	require.Empty(t, s.changeIDs(t, "acme"))
	whole := record.Change{
		ID: "c1", Account: "acme", Line: record.Line{Name: "deny", Words: []string{"203.0.113.7"}, Keys: map[string]string{"for": "4h"}}, Does: "Deny 203.0.113.7",
		Actor: ann(), At: at.Add(-time.Hour), Until: at.Add(3 * time.Hour), State: record.StateBegun,
	}
	s.save(t, whole)
	s.save(t, record.Change{ID: "c4", Account: "acme", State: record.StateDone, At: at}, record.Change{ID: "c2", Account: "acme", State: record.StateDone, At: at.Add(-time.Minute)})
	s.save(t, record.Change{ID: "c3", Account: "acme", State: record.StateDone, At: at})
	for range 5 { // the same order each time
		require.Equal(t, []string{"c3", "c4", "c2", "c1"}, s.changeIDs(t, "acme"))
	}
	whole.State = record.StateDone
	s.save(t, whole)
	require.Equal(t, whole, must(s.Ledger.Changes(t.Context(), "acme"))(t)[3])
	require.Empty(t, s.changeIDs(t, "other"))

	s.drafted(t, func(l *store.Draft) {
		e := entry(at, "deny 203.0.113.7")
		n, err := l.Save(t.Context(), record.Saves{Changes: []record.Change{whole}, Entry: &e})
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.Zero(t, must(l.Save(t.Context(), record.Saves{}))(t), "nothing is stored")
	})
	require.Len(t, must(s.Audit.Entries(t.Context(), "acme", at.Add(-time.Minute)))(t), 1)
}

// eventOf is one of the account.
func eventOf(id string, kind record.EventKind, detail record.Detail) record.Event {
	return record.Event{ID: id, Account: "acme", Kind: kind, Channel: "C1", At: now(), Detail: detail}
}

// saves writes something in every way that a draft has, each with an event if it takes any: these are the events.
func saves(ctx context.Context, l *store.Draft, at time.Time) (errs map[string]error, events []record.Event) {
	facts := record.ChangeFacts{Change: "c1", Until: at}
	settled, overdue, asked := eventOf("settled", record.ChangeSettled, facts), eventOf("overdue", record.EndOverdue, facts), eventOf("asked", record.ApprovalAsked, record.ApprovalChanged{Request: "r1"})
	handed, lost := eventOf("handed", record.HandedOver, record.AttackFacts{To: "U2"}), eventOf("lost", record.PermissionLost, record.PermissionChanged{Since: at})
	drilled := eventOf("drilled", record.DrillChanged, record.DrillFacts{Drill: "d1"})
	ch := record.Change{ID: "c1", Account: "acme", State: record.StateDone, At: at, Until: at.Add(-time.Minute)}
	e := entry(at, "deny 203.0.113.7")
	_, changes := l.Save(ctx, record.Saves{Changes: []record.Change{ch}, Events: []record.Event{settled}, Entry: &e})
	_, request := l.Save(ctx, record.Saves{Request: new(requestOf("r1", at)), Events: []record.Event{asked}, Entry: &e})
	return map[string]error{
		"changes": changes, "request": request,
		"decisions":  saved(l.Save(ctx, record.Saves{Due: []record.DueDecision{record.DueDecision{Change: ch, Asks: true, Next: at}}, Events: []record.Event{overdue}})),
		"triage":     saved(l.Save(ctx, record.Saves{Triage: map[string]record.Triage{"a1": {Notes: []record.Note{{ID: "n1", At: at, Text: "ours"}}}}, Events: []record.Event{handed}})),
		"mutes":      saved(l.Save(ctx, record.Saves{Mutes: &[]record.Mute{mute("m1", at)}, Stale: []string{"a1"}})),
		"protected":  saved(l.Save(ctx, record.Saves{Protected: &[]record.Protected{{ID: "p1", Range: netip.MustParsePrefix("203.0.113.0/24")}}, Stale: []string{"a1"}})),
		"locked":     saved(l.Save(ctx, record.Saves{Locked: &at})),
		"permission": saved(l.Save(ctx, record.Saves{Loss: &record.PermissionLoss{Account: "acme", Since: at}, Events: []record.Event{lost}})),
		"drill":      saved(l.Save(ctx, record.Saves{Drill: &record.Drill{ID: "d1", Account: "acme", At: at}, Events: []record.Event{drilled}})),
	}, []record.Event{settled, overdue, asked, handed, lost, drilled}
}

// Every write of a draft is stored only as long as nobody else wrote.
func testDraft(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	basis, mine, err := s.Ledger.Begin(ctx, "acme", "")
	require.NoError(t, err)
	require.Empty(t, basis.Changes)
	s.drafted(t, func(d *store.Draft) {
		require.NoError(t, saved(d.Save(ctx, record.Saves{Mutes: &[]record.Mute{mute("m1", at)}})))
		require.NoError(t, saved(d.Save(ctx, record.Saves{Mutes: &[]record.Mute{mute("m2", at)}})), "its own writes are no others'")
	})
	errs, _ := saves(ctx, mine, at)
	for what, err := range errs {
		require.ErrorIs(t, err, store.ErrChanged, what)
	}
	require.Equal(t, []record.Mute{mute("m2", at)}, must(s.Triage.Mutes(ctx, "acme"))(t))
	require.Empty(t, s.changeIDs(t, "acme"))
	require.Empty(t, must(s.Ledger.DueChanges(ctx, "acme", at.Add(time.Hour)))(t))
	require.Empty(t, s.trail(t, time.Time{}))
	require.EqualValues(t, 1, must(s.Audit.Append(ctx, entry(at, "status")))(t), "nothing was numbered")
	require.Empty(t, must(s.Ledger.Requests(ctx, "acme"))(t))
	require.Empty(t, must(s.Triage.AllTriage(ctx, "acme"))(t))
	require.Equal(t, record.AccountContext{Mutes: []record.Mute{mute("m2", at)}}, must(s.Triage.AccountContext(ctx, "acme"))(t))
	require.Equal(t, record.PermissionLoss{}, must(s.Ledger.PermissionLoss(ctx, "acme"))(t))
	require.Equal(t, record.Drill{}, must(s.Triage.Drill(ctx, "acme"))(t))
	require.Empty(t, s.events(t), "neither the state nor its events")
	s.save(t, record.Change{ID: "c1", Account: "acme", State: record.StateDone, At: at}) // begun anew it is stored
}

// begunChange is one that is claimed.
func begunChange(id, with string) record.Change {
	return record.Change{ID: id, With: with, Account: "acme", State: record.StateBegun, At: now()}
}

// claimed begins changes and claims them.
func (s conforming) claimed(t *testing.T, all ...record.Change) (held context.Context, d *store.Draft, c *store.Claim) {
	t.Helper()
	_, d, err := s.Ledger.Begin(t.Context(), "acme", "")
	require.NoError(t, err)
	held, c, err = d.Claim(t.Context(), all...)
	require.NoError(t, err)
	return held, d, c
}

// A change is carried out by one at a time, until its outcome is stored or it is given up.
func testClaim(t *testing.T, s conforming) {
	ctx, ch := t.Context(), begunChange("c1", "")
	held, d, mine := s.claimed(t, ch)
	require.Equal(t, []string{"c1"}, s.changeIDs(t, "acme"), "it is stored with its claim")
	require.NoError(t, saved(d.Save(ctx, record.Saves{Locked: new(now())})), "the draft's own claim is no other's write")
	_, _, err := s.Ledger.Resume(ctx, ch)
	require.ErrorIs(t, err, store.ErrClaimed)
	_, err = mine.Save(ctx, record.Saves{Changes: []record.Change{ch}})
	require.NoError(t, err, "what others wrote meanwhile is no matter")
	_, _, err = s.Ledger.Resume(ctx, ch)
	require.ErrorIs(t, err, store.ErrClaimed, "its outcome isn't known")
	require.NoError(t, held.Err())
	mine.Release(ctx)
	require.Error(t, held.Err(), "nothing is sent without a claim")

	held, mine, err = s.Ledger.Resume(ctx, ch)
	require.NoError(t, err)
	_, before, err := s.Ledger.Begin(ctx, "acme", "")
	require.NoError(t, err)
	ch.State = record.StateDone
	require.NoError(t, failure(mine.Save(ctx, record.Saves{Changes: []record.Change{ch}})))
	require.ErrorIs(t, saved(before.Save(ctx, record.Saves{Mutes: &[]record.Mute{}})), store.ErrChanged, "an outcome is a write, too")
	require.NoError(t, held.Err(), "a claim that was resumed ends when it is released: others may have been claimed with it")
	mine.Release(ctx)
	require.Error(t, held.Err())
	_, again, err := s.Ledger.Resume(ctx, ch)
	require.NoError(t, err)
	again.Release(ctx)
}

// Changes are claimed all or none, and free when the last of them has an outcome.
func testClaimAll(t *testing.T, s conforming) {
	ctx, one, two := t.Context(), begunChange("c1", ""), begunChange("c2", "c1")
	_, late, err := s.Ledger.Begin(ctx, "acme", "")
	require.NoError(t, err)
	_, _, mine := s.claimed(t, one, two)
	_, _, err = late.Claim(ctx, begunChange("c3", ""), begunChange("c4", "c3"))
	require.ErrorIs(t, err, store.ErrChanged)
	require.ElementsMatch(t, []string{"c1", "c2"}, s.changeIDs(t, "acme"))
	one.State = record.StateFailed
	require.NoError(t, failure(mine.Save(ctx, record.Saves{Changes: []record.Change{one}})))
	for _, ch := range []record.Change{one, two} {
		_, _, err = s.Ledger.Resume(ctx, ch)
		require.ErrorIs(t, err, store.ErrClaimed, ch.ID)
	}
	two.State = record.StateDone
	require.NoError(t, failure(mine.Save(ctx, record.Saves{Changes: []record.Change{two}})))
	mine.Release(ctx)
	_, last, err := s.Ledger.Resume(ctx, two)
	require.NoError(t, err)
	last.Release(ctx)
}

// What is written under a claim is fenced by it.
func testLostClaim(t *testing.T, s conforming) {
	ctx, ch := t.Context(), begunChange("c1", "")
	_, _, mine := s.claimed(t, ch)
	s.loseClaim(t, ch)
	e, done := entry(ch.At, "deny 203.0.113.7"), ch
	done.State = record.StateDone
	_, err := mine.Save(ctx, record.Saves{Changes: []record.Change{done}, Events: []record.Event{eventOf("settled", record.ChangeSettled, record.ChangeFacts{Change: "c1"})}, Entry: &e})
	require.ErrorIs(t, err, store.ErrLost)
	mine.Release(ctx)
	require.Equal(t, []record.Change{ch}, must(s.Ledger.Changes(ctx, "acme"))(t))
	require.Empty(t, s.trail(t, time.Time{}))
	require.EqualValues(t, 1, must(s.Audit.Append(ctx, e))(t), "nothing was numbered")
	require.Empty(t, s.events(t))
}

// Whatever a write changes, its events are stored with it, as they were given.
func testEvents(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	require.Empty(t, s.events(t))
	var want []record.Event
	s.drafted(t, func(l *store.Draft) {
		var errs map[string]error
		errs, want = saves(ctx, l, at)
		for what, err := range errs {
			require.NoError(t, err, what)
		}
	})
	broken := eventOf("broken", record.MitigationNotWorking, record.ChangeFacts{Change: "c1"})
	judged := record.Judgement{Change: record.Change{ID: "c1", Account: "acme"}, Efficacy: record.Efficacy{Finding: record.NotWorking}}
	require.NoError(t, s.Attacks.Save(ctx, "acme", record.PollUpdate{Judged: []record.Judgement{judged}, Events: []record.Event{broken}}))
	require.ElementsMatch(t, append(want, broken), s.events(t))
}

// A reader sees a change with its event, or neither of them: what is stored in two steps is seen between them now and
// then.
func testOneStep(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	const writes = 200
	written := make(chan error, 1)
	_, l, err := s.Ledger.Begin(ctx, "acme", "")
	require.NoError(t, err)
	go func() {
		for i := range writes {
			id := strconv.Itoa(i)
			events := []record.Event{eventOf(id, record.ChangeSettled, record.ChangeFacts{Change: id})}
			if _, err := l.Save(ctx, record.Saves{Changes: []record.Change{record.Change{ID: id, Account: "acme", State: record.StateDone, At: at}}, Events: events}); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	eventIDs := func() (ids []string) {
		for _, e := range s.events(t) {
			ids = append(ids, e.ID)
		}
		return ids
	}
	for changes := []string(nil); len(changes) < writes; {
		select {
		case err := <-written:
			require.NoError(t, err)
		default:
		}
		before := eventIDs()
		changes = s.changeIDs(t, "acme")
		require.Subset(t, changes, before, "no event without its change")
		require.Subset(t, eventIDs(), changes, "no change without its event")
	}
}

func testDue(t *testing.T, s conforming) {
	at := now()
	due := func(account string, now time.Time) []string {
		return must(s.Ledger.DueChanges(t.Context(), account, now))(t)
	}
	rule := []record.Step{{Kind: record.CreateRule, Rule: &apiclient.Rule{}, Sent: true, Done: true, ID: 7}}
	patch := record.Change{ID: "patch", Account: "acme", State: record.StateDone, At: at, Until: at.Add(time.Hour), Steps: rule}
	patch.CheckAt = change.CheckAt(patch)
	s.save(t, patch)
	require.Empty(t, due("acme", change.CheckAt(patch).Add(-time.Second)))
	require.Equal(t, []string{"patch"}, due("acme", change.CheckAt(patch)))
	require.Empty(t, due("other", change.CheckAt(patch)))
	patch.Until = at.Add(3 * time.Hour) // prolonged
	patch.CheckAt = change.CheckAt(patch)
	s.save(t, change.Scheduled(patch, record.Change{ID: "later", Account: "acme", State: record.StateDone, At: at, Until: at.Add(2 * time.Hour), Steps: rule},
		record.Change{ID: "now", Account: "acme", State: record.StateDone, At: at, Until: at.Add(time.Hour), Steps: rule})...)
	require.Equal(t, []string{"now", "later", "patch"}, due("acme", at.Add(3*time.Hour)), "what has waited longest comes first")
	patch.State, patch.EndedAt = record.StateUndone, at
	patch.CheckAt = change.CheckAt(patch)
	s.save(t, patch)
	require.Equal(t, []string{"now", "later"}, due("acme", at.Add(3*time.Hour)))

	var many []record.Change
	for i := range 101 {
		many = append(many, record.Change{ID: string(rune('A' + i)), Account: "acme", State: record.StateDone, At: at, Until: at.Add(4 * time.Hour), Steps: rule})
	}
	s.save(t, change.Scheduled(many...)...)
	require.Len(t, due("acme", at.Add(4*time.Hour)), 100, "the rest comes when these were checked")
}

func testDecisions(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	asked := record.Change{ID: "c1", Account: "acme", State: record.StateDone, At: at, Until: at.Add(time.Hour)}
	quiet := record.Change{ID: "c2", Account: "acme", State: record.StateDone, At: at.Add(-time.Second), Until: at.Add(time.Hour)}
	deleted := record.Change{ID: "c3", Account: "acme", State: record.StateDone, At: at.Add(-2 * time.Second), Steps: []record.Step{
		{Kind: record.DeleteEntry, Entry: &apiclient.IPRule{ID: 7}, Sent: true, SentAt: at, Done: true},
	}}
	switched := record.Change{ID: "c4", Account: "acme", State: record.StateDone, At: at.Add(-3 * time.Second), Until: at.Add(time.Hour), Steps: []record.Step{
		{Kind: record.CreateRule, Rule: &apiclient.Rule{ID: 8, Type: apiclient.RuleMode, Mode: apiclient.ModeBlock}, Sent: true, SentAt: at.Add(time.Second), Done: true, ID: 8},
	}}
	for _, ch := range []*record.Change{&asked, &quiet, &deleted, &switched} {
		ch.CheckAt = change.CheckAt(*ch)
	}
	s.save(t, asked, quiet, deleted, switched)
	require.Contains(t, must(s.Ledger.DueChanges(ctx, "acme", change.CheckAt(switched)))(t), "c4", "which mode it left is looked at soon")
	require.Equal(t, []string{"c3"}, must(s.Ledger.DueChanges(ctx, "acme", change.CheckAt(deleted)))(t), "whether it went is looked at soon")
	deleted.Fault = "still listed"
	notified := asked
	notified.Does = "asked whether it is to hold longer"
	checked := quiet
	checked.Does = "only checked"
	verified := change.ModeVerified(switched, nil)
	require.Equal(t, switched.Until.Add(-15*time.Minute), verified.Next, "then before its end")
	s.drafted(t, func(l *store.Draft) {
		require.NoError(t, saved(l.Save(ctx, record.Saves{Due: []record.DueDecision{verified, record.DueDecision{Change: notified, Asks: true, Next: at.Add(time.Minute)}, record.DueDecision{Change: checked}, record.DueDecision{Change: deleted, Listed: true}}})))
	})
	require.Equal(t, []record.Change{notified, quiet, deleted, verified.Change}, must(s.Ledger.Changes(ctx, "acme"))(t), "only what people are notified of changes the change")
	require.Equal(t, []string{"c1", "c4"}, must(s.Ledger.DueChanges(ctx, "acme", at.Add(2*time.Hour)))(t), "no next time: never")
	require.Empty(t, must(s.Ledger.DueChanges(ctx, "acme", at.Add(59*time.Second)))(t))
}

// requestOf is a request that was asked then.
func requestOf(id string, at time.Time) record.ApprovalRequest {
	return record.ApprovalRequest{
		ID: id, Account: "acme", Line: record.Line{Name: "deny", Words: []string{"country:FR"}}.With("for", "4h"), Does: "Deny country:FR",
		Needs: []record.ApprovalReason{{What: config.ApproveBroad, Why: "it is broad"}}, Role: record.Responder, Asker: ann(), At: at, Until: at.Add(15 * time.Minute),
		OverrideAt: at.Add(5 * time.Minute), Premise: record.Premise{Steps: []string{"add"}, Role: record.Admin}, State: record.RequestWaiting, Revision: 1,
	}
}

func testRequests(t *testing.T, s conforming) {
	at, ctx := now(), t.Context()
	all := func(account string) []record.ApprovalRequest {
		return must(s.Ledger.Requests(ctx, account))(t)
	}
	require.Empty(t, all("acme"))
	s.drafted(t, func(l *store.Draft) {
		e := entry(at, "deny country:FR")
		require.EqualValues(t, 1, must(l.Save(ctx, record.Saves{Request: new(requestOf("r1", at)), Entry: &e}))(t))
		for _, q := range []record.ApprovalRequest{requestOf("r3", at.Add(time.Second)), requestOf("r2", at.Add(time.Second))} {
			require.Zero(t, must(l.Save(ctx, record.Saves{Request: &q}))(t))
		}
	})
	for range 5 { // the same order each time
		require.Equal(t, []record.ApprovalRequest{requestOf("r2", at.Add(time.Second)), requestOf("r3", at.Add(time.Second)), requestOf("r1", at)}, all("acme"))
	}
	require.Empty(t, all("other"))
	require.Len(t, s.trail(t, time.Time{}), 1)
	decided := requestOf("r1", at)
	decided.State, decided.Revision = record.RequestExpired, 2
	s.drafted(t, func(l *store.Draft) {
		require.NoError(t, failure(l.Save(ctx, record.Saves{Request: &decided})))
	})
	require.Equal(t, decided, all("acme")[2], "in the place of what it was")
}
