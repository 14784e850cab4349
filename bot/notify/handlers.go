package notify

import (
	"context"
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/record"
)

// handler is how the events of a kind come to Slack: which facts are read, and what is made of them.
type handler struct {
	needs []load
	plan  func(e record.Event, f facts) (plan, error) // pure
}

// plan is what is made of an event and its facts. The zero plan says nothing: the event is taken off the outbox.
type plan struct {
	stale  bool           // the card of the event's attack is
	redraw bool           // cards may be stale that say the same
	emits  []record.Event // are stored before the event is taken off
	posts  []Post         // one after another
	page   *record.Page   // has the pager of a test card called, or the call resolved, first; nil: not
}

// table has one handler for each kind of event.
func (n *Notifier) table() map[record.EventKind]handler {
	l := n.read
	drawing := []load{l.beginCard, l.loadDrawing}
	ofAttack := []load{l.loadChange, l.loadAttack}
	return map[record.EventKind]handler{
		record.NewIncident:          row(attackNotified, drawing...),
		record.NewAttack:            row(attackNotified, drawing...),
		record.BecameIncident:       row(attackNotified, drawing...),
		record.Worsened:             row(attackNotified, drawing...),
		record.Grew:                 row(attackChanged, l.loadPlace),
		record.WentQuiet:            row(attackChanged, l.loadPlace),
		record.Resumed:              row(attackNotified, drawing...),
		record.AttackEnded:          row(attackEnded, l.loadAttack),
		record.CardLost:             row(cardLost, drawing...),
		record.CardLeft:             row(cardLeft, l.loadSuccessor),
		record.FirstStart:           row(firstStart, l.loadRoles),
		record.StoreRebuilt:         row(storeRebuilt),
		record.APIUnreachable:       row(apiUnreachable),
		record.MonitoringGap:        row(monitoringGap),
		record.PermissionLost:       row(permissionChanged, l.loadLoss),
		record.ApprovalAsked:        row(approvalChanged, l.loadRequest),
		record.ChangeSettled:        row(changeSettled, l.loadChange, l.loadRoute, l.awaitCard),
		record.MitigationEnding:     row(mitigationEnding, ofAttack...),
		record.EndOverdue:           row(endOverdue, ofAttack...),
		record.MitigationNotWorking: row(efficacyChanged, ofAttack...),
		record.DeniedSourceReturned: row(efficacyChanged, ofAttack...),
		record.HandedOver:           row(handedOver, l.loadAttack),
		record.TookOver:             row(tookOver, l.loadTriage),
		record.AckLapsed:            row(ackLapsed, l.loadAttack),
		record.PagerUnreachable:     row(pagerUnreachable),
		record.ForeignRecords:       row(foreignRecords),
		record.DrillChanged:         row(drillChanged, l.loadDrill),
		record.SummaryDue:           {needs: []load{l.loadSummary}, plan: summaryDue},
	}
}

// row is the handler of a kind with a payload.
func row[P record.Payload](pure func(e record.Event, p P, f facts) plan, needs ...load) handler {
	return handler{needs: needs, plan: func(e record.Event, f facts) (plan, error) {
		p, err := payload[P](e)
		if err != nil {
			return plan{}, err
		}
		return pure(e, p, f), nil
	}}
}

// payload is the payload of an event, as its kind has it.
func payload[P record.Payload](e record.Event) (P, error) {
	p, ok := e.Payload.(P)
	if !ok {
		return p, fmt.Errorf("notify event %s: %s has the payload %T", e.ID, e.Kind, e.Payload)
	}
	return p, nil
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
	return n.say(ctx, e, f)
}

// say plans an event's messages by the facts at hand, and carries that out.
func (n *Notifier) say(ctx context.Context, e record.Event, f facts) error {
	p, err := n.handlers[e.Kind].plan(e, f)
	if err != nil {
		return err
	}
	return n.carryOut(ctx, e, f, p)
}
