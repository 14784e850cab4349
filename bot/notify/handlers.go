package notify

import (
	"context"
	"fmt"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/internal/record"
)

// handler brings one event to Slack and takes it off the outbox.
type handler func(ctx context.Context, a Account, e record.Event) error

// table has one handler for each kind of event.
func (n *Notifier) table() map[record.EventKind]handler {
	return map[record.EventKind]handler{
		record.NewIncident:          n.cards.attackBegan,
		record.NewAttack:            n.cards.attackBegan,
		record.BecameIncident:       n.cards.attackWorse,
		record.Worsened:             n.cards.attackWorse,
		record.Grew:                 n.cards.attackChanged,
		record.WentQuiet:            n.cards.attackChanged,
		record.Resumed:              n.cards.attackChanged,
		record.AttackEnded:          say(n, needAttack|needEvidence, attackEnded),
		record.CardLost:             n.cards.cardLost,
		record.CardLeft:             say(n, needSuccessor, cardLeft),
		record.FirstStart:           say(n, needRoles, firstStart),
		record.StoreRebuilt:         say(n, needNothing, storeRebuilt),
		record.APIUnreachable:       n.redrawing(say(n, needNothing, apiUnreachable)),
		record.MonitoringGap:        n.redrawing(say(n, needNothing, monitoringGap)),
		record.PermissionLost:       on(n.permissionChanged),
		record.ApprovalAsked:        on(n.approvalChanged),
		record.ChangeSettled:        say(n, needChange|needCard, changeSettled),
		record.MitigationEnding:     say(n, needChange|needAttack, mitigationEnding),
		record.EndOverdue:           say(n, needChange|needAttack, endOverdue),
		record.MitigationNotWorking: say(n, needChange|needAttack, efficacyChanged),
		record.DeniedSourceReturned: say(n, needChange|needAttack, efficacyChanged),
		record.HandedOver:           say(n, needAttack, handedOver),
		record.TookOver:             say(n, needTriage, tookOver),
		record.PagerUnreachable:     say(n, needNothing, pagerUnreachable),
		record.DrillChanged:         on(n.drillChanged),
		record.SummaryDue:           n.summaryDue,
	}
}

// handle brings an event to Slack.
func (n *Notifier) handle(ctx context.Context, e record.Event) error {
	a, ok := n.account(e.Account)
	if !ok {
		return fmt.Errorf("notify event of %s: no such account", e.Account)
	}
	handle, ok := n.handlers[e.Kind]
	if !ok {
		return fmt.Errorf("notify event of %s: unknown kind %q", e.Account, e.Kind)
	}
	return handle(ctx, a, e)
}

// redrawing has stale cards redrawn before an event is handled: they say the same.
func (n *Notifier) redrawing(next handler) handler {
	return func(ctx context.Context, a Account, e record.Event) error {
		n.Stale(e.Account)
		return next(ctx, a, e)
	}
}

// payload is the payload of an event, as its kind has it.
func payload[P record.Payload](e record.Event) (P, error) {
	p, ok := e.Payload.(P)
	if !ok {
		return p, fmt.Errorf("notify event %s: %s has the payload %T", e.ID, e.Kind, e.Payload)
	}
	return p, nil
}

// on is a handler that takes the payload of its kind.
func on[P record.Payload](handle func(ctx context.Context, a Account, e record.Event, p P) error) handler {
	return func(ctx context.Context, a Account, e record.Event) error {
		p, err := payload[P](e)
		if err != nil {
			return err
		}
		return handle(ctx, a, e, p)
	}
}

// emit stores an event that the Notifier found out, and queues it.
func (n *Notifier) emit(ctx context.Context, e record.Event) error {
	if err := n.cfg.Stores.Outbox.Announce(ctx, e); err != nil {
		return err
	}
	n.Notify(e.Account, []record.Event{e})
	return nil
}

// say is the handler of a kind that has one message: compose makes it of the event and the facts that it needs, and of nothing else.
func say[P record.Payload](n *Notifier, needs need, compose func(e record.Event, p P, f facts) reply) handler {
	return func(ctx context.Context, a Account, e record.Event) error {
		p, err := payload[P](e)
		if err != nil {
			return err
		}
		f, err := n.load(ctx, a, e, needs)
		if err != nil {
			return err
		}
		return n.say(ctx, a, e, compose(e, p, f))
	}
}

// firstStart is the one message of an account's first poll.
func firstStart(e record.Event, first record.FirstStartFacts, f facts) reply {
	return message(e, card.FirstStart(f.account.Account, first, f.policy, f.roles))
}

// storeRebuilt says in a channel what was rebuilt from it.
func storeRebuilt(e record.Event, rebuilt record.RebuildFacts, _ facts) reply {
	return message(e, card.StoreRebuilt(e.Account, rebuilt))
}

// apiUnreachable says that an account can't be watched, unless it is watched again by now: then the monitoring gap says both.
func apiUnreachable(e record.Event, unreachable record.UnreachableFacts, f facts) reply {
	if f.account.Health != nil && f.account.Health().LastGood.After(e.At) {
		return reply{}
	}
	return message(e, card.Unreachable(f.account.Account, unreachable))
}

// monitoringGap says from when to when an account was not watched, and what happened meanwhile.
func monitoringGap(e record.Event, gap record.GapFacts, f facts) reply {
	return message(e, card.MonitoringGap(f.account.Account, gap, f.now))
}

// pagerUnreachable says that a pager can't be called.
func pagerUnreachable(e record.Event, fault record.PagerFault, _ facts) reply {
	return message(e, card.PagerUnreachable(e.Account, fault))
}
