package commands

import (
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
)

// Notifier is told of what was stored, so that the replica that owns the account posts and redraws at once. Another replica's notifier
// finds it in the store within a second.
type Notifier interface {
	// Notify says that events were put into the outbox.
	Notify(account string, events []record.Event)
	// Redraw says that cards are stale because a person acted.
	Redraw(account string)
}

// silent notifies no one.
type silent struct{}

// Notify implements Notifier.
func (silent) Notify(string, []record.Event) {}

// Redraw implements Notifier.
func (silent) Redraw(string) {}

// channel is where notices of an account go.
func (r *Runner) channel(account string) string {
	i := slices.IndexFunc(r.cfg.Accounts, func(a *call.Account) bool { return a.Name == account })
	if i < 0 {
		return ""
	}
	return r.cfg.Accounts[i].Channel
}

// changeEvents are the events of a change that was written down: one when it came to an end. Of a change that was undone the undo makes the
// event, which is a change of its own, unless nothing was left to undo. A change that could not be ended when it was due is tried each minute,
// which is no event each minute.
func changeEvents(ch record.Change, channel string) []record.Event {
	unfinished := ch.State == record.StateBegun && ch.Fault == ""
	elsewhere := ch.State == record.StateFailed && ch.Actor.Via == record.ViaClock
	if unfinished || elsewhere || ch.State == record.StateUndone && !ch.Gone {
		return nil
	}
	return []record.Event{{
		ID: ch.ID + ":" + string(ch.State), Account: ch.Account, Kind: record.ChangeSettled, Channel: channel, At: ch.At, Payload: record.ChangeFacts{Change: ch.ID},
	}}
}

// lookEvents are the events of a change whose end is near or past: people are asked about it, or it is overdue; each end once.
func lookEvents(l change.DueDecision, channel string) (events []record.Event) {
	ch := l.Change
	one := record.Event{Account: ch.Account, Channel: channel, At: ch.Until, Payload: record.ChangeFacts{Change: ch.ID, Until: ch.Until}}
	if l.Asks {
		one.ID, one.Kind = fmt.Sprintf("%s:ends:%d", ch.ID, ch.Until.Unix()), record.MitigationEnding
		events = append(events, one)
	}
	if l.Late {
		one.ID, one.Kind = fmt.Sprintf("%s:late:%d", ch.ID, ch.Until.Unix()), record.EndOverdue
		events = append(events, one)
	}
	return events
}

// permissionEvent is the event that something was written down about a permission loss.
func permissionEvent(t record.PermissionLoss, channel string) record.Event {
	return record.Event{
		ID: fmt.Sprintf("%s-%d", t.ID(), t.Revision), Account: t.Account, Kind: record.PermissionLost, Channel: channel, At: t.Since,
		Payload: record.PermissionChanged{Since: t.Since, Revision: t.Revision},
	}
}

// approvalEvent is the event that something was written down about an approval request.
func approvalEvent(q record.ApprovalRequest, channel string) record.Event {
	return record.Event{
		ID: fmt.Sprintf("%s-%d", q.ID, q.Revision), Account: q.Account, Kind: record.ApprovalAsked, Channel: channel, At: q.At,
		Payload: record.ApprovalChanged{Request: q.ID, Revision: q.Revision},
	}
}
