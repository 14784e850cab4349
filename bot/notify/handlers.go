package notify

import (
	"context"
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/record"
)

// handler is how the events of a kind come to Slack: which facts are read, what is made of them, and what is recorded
// then.
type handler struct {
	needs need
	plan  func(e record.Event, f facts) (plan, error) // pure
	shown shown                                       // nil: only where the event's own message is
}

// plan is what is made of an event and its facts. The zero plan says nothing: the event is taken off the outbox.
type plan struct {
	stale  bool           // the card of the event's attack is
	redraw bool           // cards may be stale that say the same
	emits  []record.Event // are stored before the event is taken off
	posts  []Post         // one after another
	page   *record.Page   // has the pager of a test card called, or the call resolved, first; nil: not
}

// shown records where the first message of a plan is, for later events to edit it.
type shown func(ctx context.Context, e record.Event, f facts, first delivered) error

// table has one handler for each kind of event.
func (n *Notifier) table() map[record.EventKind]handler {
	request, loss := savePlace(n.cfg.Stores.Approvals), savePlace(n.cfg.Stores.Permissions)
	return map[record.EventKind]handler{
		record.NewIncident:          row(needDrawing, attackNotified),
		record.NewAttack:            row(needDrawing, attackNotified),
		record.BecameIncident:       row(needDrawing, attackNotified),
		record.Worsened:             row(needDrawing, attackNotified),
		record.Grew:                 row(needPlace, attackChanged),
		record.WentQuiet:            row(needPlace, attackChanged),
		record.Resumed:              row(needDrawing, attackNotified),
		record.AttackEnded:          row(needAttack, attackEnded),
		record.CardLost:             row(needDrawing, cardLost),
		record.CardLeft:             row(needSuccessor, cardLeft),
		record.FirstStart:           row(needRoles, firstStart),
		record.StoreRebuilt:         row(needNothing, storeRebuilt),
		record.APIUnreachable:       row(needNothing, apiUnreachable),
		record.MonitoringGap:        row(needNothing, monitoringGap),
		record.PermissionLost:       row(needLoss, permissionChanged).recorded(loss),
		record.ApprovalAsked:        row(needRequest, approvalChanged).recorded(request),
		record.ChangeSettled:        row(needChange|needRoute|needCard, changeSettled),
		record.MitigationEnding:     row(needChange|needAttack, mitigationEnding),
		record.EndOverdue:           row(needChange|needAttack, endOverdue),
		record.MitigationNotWorking: row(needChange|needAttack, efficacyChanged),
		record.DeniedSourceReturned: row(needChange|needAttack, efficacyChanged),
		record.HandedOver:           row(needAttack, handedOver),
		record.TookOver:             row(needTriage, tookOver),
		record.AckLapsed:            row(needAttack, ackLapsed),
		record.PagerUnreachable:     row(needNothing, pagerUnreachable),
		record.ForeignRecords:       row(needNothing, foreignRecords),
		record.DrillChanged:         row(needDrill, drillChanged),
		record.SummaryDue:           {needs: needSummary, plan: summaryDue},
	}
}

// row is the handler of a kind with a payload.
func row[P record.Payload](needs need, pure func(e record.Event, p P, f facts) plan) handler {
	return handler{needs: needs, plan: func(e record.Event, f facts) (plan, error) {
		p, err := payload[P](e)
		if err != nil {
			return plan{}, err
		}
		return pure(e, p, f), nil
	}}
}

func (h handler) recorded(by shown) handler {
	h.shown = by
	return h
}

// payload is the payload of an event, as its kind has it.
func payload[P record.Payload](e record.Event) (P, error) {
	p, ok := e.Payload.(P)
	if !ok {
		return p, fmt.Errorf("notify event %s: %s has the payload %T", e.ID, e.Kind, e.Payload)
	}
	return p, nil
}

// savePlace records the place and the revision of a message that is kept true.
func savePlace(s Messages) shown {
	return func(ctx context.Context, e record.Event, f facts, first delivered) error {
		return s.SaveMessageAt(ctx, e.Account, f.kept.id, first.at.Channel, first.at.TS, f.kept.revision)
	}
}

// handle brings an event to Slack, and takes it off the outbox.
func (n *Notifier) handle(ctx context.Context, e record.Event) error {
	a, ok := n.account(e.Account)
	if !ok {
		return fmt.Errorf("notify event of %s: no such account", e.Account)
	}
	if urgent(e) {
		ctx = slackconn.Urgent(ctx)
	}
	h, ok := n.handlers[e.Kind]
	if !ok {
		return fmt.Errorf("notify event of %s: unknown kind %q", e.Account, e.Kind)
	}
	f, err := n.read.load(ctx, a, e, h.needs)
	if f.begun != nil { // noted also when loading failed after it: else the next attempt would take this one for another replica's
		n.deliver.trials(e.Account).of(e.ID, *f.begun)
	}
	if err != nil {
		return err
	}
	if q := n.queue(e.Account); q != nil {
		q.print(append(slices.Clip(f.waiting), e)...) // what is said here takes off what it supersedes
		if !q.covers(e.ID, f.attack) {
			return &orderError{f.attack} // facts may be older than the event that is before it
		}
	}
	p, err := h.plan(e, f)
	if err != nil {
		return err
	}
	return n.carryOut(ctx, e, h.shown, f, p)
}
