package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// need says which facts a message is made of, beside the event.
type need int

// The needs.
const (
	needNothing   need = 0
	needChange    need = 1 << iota // the account's changes, the event's among them
	needCard                       // where the card of the event's attack is, which may be on its way
	needAttack                     // what is stored of the event's attack, its card included
	needEvidence                   // what is kept of the event's attack
	needTriage                     // the triage of all of the account's attacks
	needRoles                      // who may act
	needSuccessor                  // where the card is now that took the place of the event's
)

// facts are what a message is made of, beside the event. What was not needed, or is not known, is zero.
type facts struct {
	account   Account
	policy    policy.Policy
	now       time.Time
	changes   []record.Change
	change    record.Change
	attack    string // id of the event's attack
	card      record.Place
	shown     record.AttackState
	known     bool // shown is
	details   record.AttackDetails
	evidence  record.Evidence
	triage    map[string]record.Triage
	roles     text.Text
	successor text.Text // a line that leads to the card
}

// load reads the facts that an event's message needs.
func (n *Notifier) load(ctx context.Context, a Account, e record.Event, needs need) (f facts, err error) {
	f = facts{account: a, policy: n.cfg.Policy, now: n.cfg.Now()}
	if attack := e.Attack().ID; attack != "" {
		f.attack = record.AttackID(a.Name, attack)
	}
	if needs&needChange != 0 {
		if err := n.loadChange(ctx, e, &f); err != nil {
			return f, err
		}
	}
	if needs&needAttack != 0 {
		var shownErr error
		f.details, err = n.cfg.Stores.Cards.Details(ctx, a.Name, f.attack)
		f.shown, f.known, shownErr = n.cfg.Stores.Attacks.AttackState(ctx, a.Name, f.attack)
		if err = errors.Join(err, shownErr); err != nil {
			return f, err
		}
		f.card = f.details.Card
	}
	if needs&needCard != 0 {
		f.card, err = n.awaitCard(ctx, e, f.attack, f.change.At)
	}
	if needs&needEvidence != 0 && err == nil {
		f.evidence, _, err = n.cfg.Stores.Attacks.Evidence(ctx, a.Name, f.attack)
	}
	if needs&needTriage != 0 && err == nil {
		f.triage, err = n.cfg.Stores.Triage.AllTriage(ctx, a.Name)
	}
	if needs&needRoles != 0 && err == nil {
		f.roles = card.Roles(n.cfg.Roles, n.names(ctx))
	}
	if needs&needSuccessor != 0 && err == nil {
		f.successor, _, err = n.successor(ctx, a, f.attack, formerCard(e))
	}
	return f, err
}

// loadChange reads the change that an event is about, with the others of its account.
func (n *Notifier) loadChange(ctx context.Context, e record.Event, f *facts) (err error) {
	about, err := payload[record.ChangeFacts](e)
	if err != nil {
		return err
	}
	if f.changes, err = n.cfg.Stores.Changes.Changes(ctx, e.Account); err != nil {
		return err
	}
	if i := slices.IndexFunc(f.changes, func(ch record.Change) bool { return ch.ID == about.Change }); i >= 0 {
		f.change = f.changes[i]
		f.attack = f.change.AttackID
	}
	return nil
}

// How long a message waits for the card that it belongs under, which may be clicked before it is known where it is.
const (
	cardPatience = 10 * time.Second
	cardAgain    = 500 * time.Millisecond
)

// awaitCard is where the card of an attack is; zero if it has none. One that is on its way in another channel is waited for a little since a
// time; in the event's own channel none is, while the event is handled.
func (n *Notifier) awaitCard(ctx context.Context, e record.Event, attack string, since time.Time) (at record.Place, err error) {
	if attack == "" {
		return at, nil
	}
	for {
		at.Channel, at.TS, err = n.cfg.Stores.Cards.Card(ctx, e.Account, attack)
		if err != nil || at.TS != "" {
			return at, err
		}
		shown, _, err := n.cfg.Stores.Attacks.AttackState(ctx, e.Account, attack)
		if err != nil || !shown.Notified || shown.Channel == e.Channel || n.cfg.Now().Sub(since) > cardPatience {
			return record.Place{}, err
		}
		if err := delay.Sleep(ctx, cardAgain); err != nil {
			return record.Place{}, err
		}
	}
}

// situation is what is decided from about the event's attack.
func (f facts) situation() call.Situation {
	return situation(f.account, f.policy, f.shown, f.details, f.now)
}

// names shows a user by name, and user groups by their ids: neither mentions anyone.
func (n *Notifier) names(ctx context.Context) func(id string) text.Text {
	return func(id string) text.Text {
		if card.IsID(id, "S") {
			return text.New("user group ", text.Code(id))
		}
		if name, err := n.cfg.Slack.UserName(ctx, id); err == nil {
			return text.New(text.Sanitize(name, text.MaxField))
		}
		return text.New(text.Code(id))
	}
}
