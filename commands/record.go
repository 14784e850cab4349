package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// record writes an entry to the account's audit log and to its output. It goes on without Redis: the line still comes
// out, numbered 0, as does one that is about no account, which stands in no log.
func (x *executor) record(ctx context.Context, e record.AuditEntry) {
	if e.Account != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		var err error
		if e.N, err = x.Store.Audit.Append(ctx, e); err != nil {
			x.Log.ErrorContext(ctx, "keep audit entry", "account", e.Account, "err", err)
		}
	}
	x.print(e)
}

// print counts an entry and writes it to the log's output.
func (x *executor) print(e record.AuditEntry) {
	x.Changes.WithLabelValues(x.verb(e), e.Outcome).Inc()
	line, _ := json.Marshal(report.Print(e)) // it holds nothing that JSON can't
	// One Write a line: concurrent entries must not mix.
	if _, err := x.AuditOut.Write(append(text.SanitizeJSON(line), '\n')); err != nil {
		x.Log.Error("write audit entry", "account", e.Account, "err", err)
	}
}

// recordRefusal puts what was refused or failed before anything was sent into the audit log, and gives the error back;
// nil: nothing was. What a person is refused too often is only counted, and the error says so once: countRefusals
// records that.
func (c *job) recordRefusal(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	e := c.AuditEntry("failed")
	e.Line, e.Why = text.Cut(c.Invocation.Line.String(), maxRefusal), "fault, see the log"
	if refused, ok := errors.AsType[*refusal.Refusal](err); ok {
		e.Outcome = cmp.Or(map[error]string{
			refusal.ErrAsk: "asked", refusal.ErrNothing: "nothing", refusal.ErrDenied: "refused",
			refusal.ErrGuarded: "refused", refusal.ErrNeedsApproval: "refused", refusal.ErrUsage: "refused",
		}[refused.Kind], e.Outcome)
		said := refused.Text      // not whom to ask
		if refused.Brief != nil { // not how a line is written
			said = refused.Brief
		}
		e.Why = text.Cut(said.String(), maxRefusal)
		if c.Ask && e.Outcome == "asked" && len(refused.Warnings) == 0 {
			return err // a preview
		}
	}
	if errors.Is(err, refusal.ErrRecorded) || c.Ask && ctx.Err() != nil {
		return err // a preview that was cut short is planned again when it is carried out
	}
	if e.Outcome == "refused" {
		if said, counted := c.refusals.count(c.Call, e, err); counted {
			return said
		}
	}
	c.record(ctx, e)
	return err
}

// verb is the verb of an entry, or "other": what people type at will is no label.
func (x *executor) verb(e record.AuditEntry) string {
	name, _, _ := strings.Cut(e.Line, " ")
	cmd, err := call.LookUp(x.Commands, name)
	if err != nil {
		return "other"
	}
	return cmd.Name
}

// Run records each minute how many refusals of an hour that is over were only counted, and at its end how many of the
// others were.
func (r *Runner) Run(ctx context.Context) error {
	every := time.NewTicker(countEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			r.countRefusals(ctx, r.Clocks.Now().Add(refusalsFor))
			return ctx.Err()
		case <-every.C:
			r.countRefusals(ctx, r.Clocks.Now())
		}
	}
}

// countRefusals records the counts that end until then, side by side: Redis may be away.
func (x *executor) countRefusals(ctx context.Context, until time.Time) {
	now, more := x.Clocks.Now(), x.refusals.ended(until)
	sideBySide(slices.Collect(maps.Keys(more)), loadsAtOnce, func(account string) error {
		x.record(ctx, record.AuditEntry{
			Account: account, At: now, Actor: record.Actor{Name: "others", Via: record.ViaClock}, Outcome: "refused",
			Why: text.Newf("and %v more refused until %v", text.Number(more[account]), text.Clock(now)).String(),
		})
		return nil
	})
}

// stepsText is each of a plan's steps in words.
func stepsText(p call.Plan) (steps []string) {
	for _, s := range p.Steps {
		steps = append(steps, words.Step(s))
	}
	return steps
}

// recordPlan audits a plan that sent nothing.
func recordPlan(ctx context.Context, c *job, p call.Plan, outcome, why string) {
	e := c.AuditEntry(outcome)
	e.Why, e.After = why, stepsText(p)
	c.record(ctx, e)
}

// recordLost records what a call sent and could not store: the line on the output is all that is left of it.
func recordLost(ctx context.Context, c *job) {
	for _, ch := range c.lost {
		c.record(ctx, change.AuditEntry(c.Call, ch))
	}
}

// recordWrite audits what was written to the store.
func recordWrite(ctx context.Context, c *job, res call.Result) {
	after := []string{res.Lines[0].String()}
	if attacks, ok := res.Data.([]string); ok && len(attacks) > 0 { // the answer names the first of them
		after = append(after, strings.Join(attacks, " "))
	}
	e := c.AuditEntry(res.Outcome)
	e.After = after
	c.record(ctx, e)
}

// event makes an event of the call's account that names the call's request.
func (c *job) event(id string, kind record.EventKind, at time.Time, detail record.Detail) record.Event {
	return record.Event{ID: id, Account: c.Account.Name, Kind: kind, Channel: c.Account.Channel, At: at, Detail: detail,
		Request: c.RequestID()}
}

// changeEvents are the events of a stored change: one when it ends. If it was undone, the undo makes the event, as a
// change of its own, unless nothing was left to undo. An overdue change is tried each minute without an event each
// minute.
func (c *job) changeEvents(ch record.Change) []record.Event {
	unfinished := ch.State == record.StateBegun && ch.Fault == ""
	elsewhere := ch.State == record.StateFailed && ch.Actor.Via == record.ViaClock
	if unfinished || elsewhere || ch.State == record.StateUndone && !ch.Gone {
		return nil
	}
	id := ch.ID + ":" + string(ch.State)
	return []record.Event{c.event(id, record.ChangeSettled, ch.At, record.ChangeFacts{Change: ch.ID})}
}

// dueEvents are the events of a change that was checked: people are asked about its end, which is near, or it is
// overdue, each end once; or what it deleted is still there.
func (c *job) dueEvents(l record.DueDecision) (events []record.Event) {
	ch := l.Change
	add := func(is bool, what string, kind record.EventKind, at time.Time) {
		if is {
			detail := record.ChangeFacts{Change: ch.ID, Until: ch.Until}
			events = append(events, c.event(ch.ID+what, kind, at, detail))
		}
	}
	add(l.Asks, fmt.Sprintf(":ends:%d", ch.Until.Unix()), record.MitigationEnding, ch.Until)
	add(l.Late, fmt.Sprintf(":late:%d", ch.Until.Unix()), record.EndOverdue, ch.Until)
	add(l.Listed, ":listed", record.ChangeSettled, ch.At)
	return events
}

// How many refusals of a person on an account are recorded one by one in an hour. The rest is counted, and what they
// may not do isn't answered any more.
const (
	refusalsEach      = 20 // of one with a role
	refusalsOfOutside = 3  // of one without
	maxOutside        = 50 // people without a role whose refusals are recorded; those of more are counted together
	refusalsFor       = time.Hour
	countEvery        = time.Minute
)

// maxRefusal is how many characters are recorded of a line that was not carried out, and of the reason why.
const maxRefusal = 500

// refusals counts what people are refused in an hour, so that nobody fills the audit log with it.
type refusals struct {
	mu      sync.Mutex
	ends    time.Time
	people  map[[2]string]int // how many are recorded, by account and person; nil: the hour hasn't begun
	outside int               // people in it who have no role
	more    map[string]int    // how many were only counted, by account
}

// count counts a refusal, and returns what to say of it; ok is false where it is to be recorded. What a person may not
// do is answered once more, with that it is only counted, and then no longer. What a person may do is: that it wasn't
// done is never left unsaid.
func (r *refusals) count(c *call.Call, e record.AuditEntry, err error) (said error, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.people == nil {
		r.people, r.more, r.ends = map[[2]string]int{}, map[string]int{}, e.At.Add(refusalsFor)
	}
	who, most := [2]string{e.Account, e.Actor.Team + "/" + e.Actor.ID}, refusalsEach
	if c.None() {
		most = refusalsOfOutside
		if r.people[who] == 0 && r.outside == maxOutside {
			who[1], most = "", 0 // together
		} else if r.people[who] == 0 {
			r.outside++
		}
	}
	n := r.people[who]
	if n < most {
		r.people[who]++
		return nil, false
	}
	r.more[e.Account]++
	refused, _ := errors.AsType[*refusal.Refusal](err)
	switch {
	case !errors.Is(err, refusal.ErrDenied) || c.Unsure || refused == nil: // who may be somebody is always answered
		return err, true
	case n > most:
		return fmt.Errorf("%w: %w", err, refusal.ErrUnanswered), true
	}
	r.people[who]++ // it is said
	last := *refused
	last.Text = text.Newf("%v. Much was refused here within an hour: until %v what you may not do gets no answer",
		refused.All(), text.Clock(r.ends))
	last.Next, last.Cause = nil, err
	return &last, true
}

// ended takes how many were only counted, by account, if their hour ends until then.
func (r *refusals) ended(until time.Time) (more map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if until.Before(r.ends) {
		return nil
	}
	more = r.more
	r.people, r.more, r.outside = nil, nil, 0
	return more
}
