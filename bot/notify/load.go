package notify

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// facts are an event, and what else its messages are made of. What was not needed, or is not known, is zero.
type facts struct {
	record.Event
	record.AttackDetails // of the event's attack, or where its card is alone

	account   Account
	runbooks  map[string]string
	settings  record.Settings // lists and rules as last read
	health    record.PollHealth
	now       time.Time
	attack    string // id of the event's attack
	change    record.Change
	extended  record.Change                 // the change that this one extends
	shared    bool                          // other accounts have cards in the channel of the attack's
	begun     *record.Attempt               // of the attempt to post the attack's first card; nil: none was begun
	waiting   []record.Event                // the poller's events of the attack that wait
	listed    map[string]record.AttackState // by id
	posted    time.Time                     // when the attack's card was; zero: it is about to be
	since     time.Time                     // since when that is stale; zero: it isn't known to be
	triage    map[string]record.Triage
	roles     text.Text
	successor text.Text // a line that leads to the card
	request   record.ApprovalRequest
	loss      record.PermissionLoss
	kept      kept
	drill     record.Drill
	summary   call.Result
}

// known reports whether the attack is stored.
func (f facts) known() bool { return f.State.Attack.ID != "" }

// ops is whom the failure of a change mentions: whom the account names for that, else whom the route of its attack
// mentions, but not in quiet hours.
func (f facts) ops() string {
	if f.account.OpsMention != "" || f.attack == "" {
		return f.account.Ops()
	}
	return card.Recipient(nil, f.State.Mention, f.State.Suppressed)
}

// kept is a message that is kept true: posted first, edited later.
type kept struct {
	id       string       // "": the event is about none
	at       record.Place // zero: it isn't known to be anywhere
	shows    int          // the revision that it shows
	revision int          // the newest
}

// facts are those that are known without reading.
func (n wire) facts(a Account, attack string) facts {
	f := facts{account: a, runbooks: n.cfg.Runbooks, now: n.cfg.Clocks.ServiceNow(a.Name), attack: attack}
	if a.Settings != nil {
		f.settings = a.Settings()
	}
	if a.Health != nil {
		f.health = a.Health()
	}
	return f
}

// load adds what an event's messages are made of to its facts.
func (n *Notifier) load(ctx context.Context, f *facts) (err error) {
	s := n.cfg.Store
	switch p := f.Detail.(type) {
	case nil: // it is time to hand the account over, unless that comes too late to be posted
		if f.now.Sub(f.At) <= summaryLate {
			line := record.Line{Name: "summary"}.With("account", f.Account)
			f.summary, err = n.cfg.Runner.Do(ctx, byClock(f.ID, f.At, line))
		}
	case record.AttackFacts:
		switch f.Kind {
		case record.Grew, record.WentQuiet:
			err = n.loadPlace(ctx, f)
		case record.CardLeft:
			f.successor, err = n.successor(ctx, f.account, f.attack, f.former())
		case record.TookOver:
			f.triage, err = s.Triage.AllTriage(ctx, f.Account)
		default:
			err = n.loadAttack(ctx, f)
		}
	case record.GapFacts:
		var ids []string
		for _, attackid := range f.Subjects() {
			ids = append(ids, record.AttackID(f.Account, attackid))
		}
		f.listed, err = s.Attacks.StatesOf(ctx, f.Account, ids)
	case record.FirstStartFacts:
		f.roles = n.roles(ctx, f.account)
	case record.ChangeFacts:
		err = n.loadChange(ctx, p.Change, f)
	case record.ApprovalChanged:
		err = n.loadRequest(ctx, p.Request, f)
	case record.PermissionChanged:
		if f.loss, err = s.Ledger.PermissionLoss(ctx, f.Account); err != nil {
			return err
		}
		if f.Changes, err = s.Ledger.Changes(ctx, f.Account); err == nil {
			err = n.loadKept(ctx, f, kept{id: f.loss.ID(), revision: f.loss.Revision})
		}
	case record.DrillFacts: // the event of its report is handled again until it is over
		f.drill, err = s.Triage.Drill(ctx, f.Account)
		if err == nil && p.Report && p.Drill == f.drill.ID && f.drill.Waits(f.now) {
			err = &laterError{due: time.Now().Add(drillAgain)}
		}
	}
	return err
}

// drillAgain is how often it is looked whether a drill is over.
const drillAgain = 2 * time.Second

// byClock is what the clock asks for.
func byClock(id string, at time.Time, line record.Line) call.Invocation {
	return call.Invocation{ID: id, At: at, Line: line,
		Actor: record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}}
}

// loadChange reads a change, the one that it extends, and what is stored of its attack: of a settled one, which only
// says what came of it, no more than where it is said and who hears it.
func (n *Notifier) loadChange(ctx context.Context, id string, f *facts) (err error) {
	if f.change, err = n.cfg.Store.Ledger.Change(ctx, f.Account, id); err != nil {
		return err
	}
	f.attack = f.change.AttackID
	if f.change.Extends != "" {
		if f.extended, err = n.cfg.Store.Ledger.Change(ctx, f.Account, f.change.Extends); err != nil {
			return err
		}
	}
	if f.Kind != record.ChangeSettled {
		return n.loadAttack(ctx, f)
	}
	return n.awaitCard(ctx, f, f.change.At, f.account.OpsMention == "" && len(change.Failure(f.change)) > 0)
}

// loadRequest reads an approval request; it is zero after Redis was emptied.
func (n *Notifier) loadRequest(ctx context.Context, id string, f *facts) error {
	all, err := n.cfg.Store.Ledger.Requests(ctx, f.Account)
	i := slices.IndexFunc(all, func(q record.ApprovalRequest) bool { return q.ID == id })
	if err != nil || i < 0 {
		return err
	}
	q := all[i]
	f.request, f.attack = q, q.AttackID
	if err := n.loadKept(ctx, f, kept{id: q.ID, revision: q.Revision}); err != nil {
		return err
	}
	return n.awaitCard(ctx, f, q.At, false)
}

func (n wire) loadKept(ctx context.Context, f *facts, k kept) (err error) {
	k.at, k.shows, err = n.cfg.Store.Ledger.MessageAt(ctx, f.account.Name, k.id)
	f.kept = k
	return err
}

func (n wire) loadPlace(ctx context.Context, f *facts) (err error) {
	f.Card, err = n.cfg.Store.Cards.Card(ctx, f.account.Name, f.attack)
	return err
}

// How long a message waits for the card that it belongs under, which may be clicked before it is known where it is.
const (
	cardPatience = 10 * time.Second
	cardAgain    = 500 * time.Millisecond
)

// awaitCard reads where the card of an attack is, and how it is routed if that is needed. For a card that is on its way
// in another channel the event is handled again, for a little while since the change or request was made; in the
// event's own channel none is, while the event is handled.
func (n *Notifier) awaitCard(ctx context.Context, f *facts, since time.Time, routed bool) error {
	if f.attack == "" {
		return nil
	}
	err := n.loadPlace(ctx, f)
	if err != nil || f.Card.TS != "" && !routed {
		return err
	}
	f.State, _, err = n.cfg.Store.Attacks.AttackState(ctx, f.Account, f.attack)
	onItsWay := f.Card.TS == "" && f.State.Notified && f.State.Channel != f.Channel
	if err == nil && onItsWay && f.now.Sub(since) <= cardPatience {
		err = &laterError{due: time.Now().Add(cardAgain)}
	}
	return err
}

// unknownAgain is how long after it was found that an attack isn't stored it is looked for again, and unknownFor for
// how long after its event: where what is stored of it was damaged, the next poll that lists it stores it again.
const (
	unknownAgain = 5 * time.Second
	unknownFor   = time.Hour
)

var errUnknown = errors.New("its attack isn't stored")

// loadAttack reads what is stored of an attack, as far as it isn't at hand. With the event that the attack began it is
// written down that its card is about to be posted: this is the way from an attack to a person.
func (n *Notifier) loadAttack(ctx context.Context, f *facts) (err error) {
	if f.Subject != "" && f.ID == record.CardDelivery(f.Account, f.Subject) {
		var begun record.Attempt
		f.AttackDetails, begun, err = n.cfg.Store.Cards.BeginCard(ctx, f.Event, n.cfg.Clocks.Now())
		if err == nil {
			f.begun = &begun
			n.trial(f.Account, f.ID, begun) // also if this fails later: else the next attempt would take this one for another replica's
		}
	} else {
		f.AttackDetails, err = n.cfg.Store.Cards.Details(ctx, f.account.Name, f.attack, f.Event.Attack)
	}
	if err != nil {
		return err
	}
	if f.Order > 0 && !f.known() && f.now.Sub(f.At) < unknownFor {
		return &laterError{due: time.Now().Add(unknownAgain), cause: errUnknown}
	}
	channel := cmp.Or(f.Card.Channel, f.State.Channel)
	f.shared = slices.ContainsFunc(n.cfg.Accounts, func(other Account) bool {
		return other.Name != f.account.Name && slices.Contains(other.Channels(), channel)
	})
	return nil
}

// roles shows users and user groups by name, which mentions no one; by id alone those that Slack doesn't name.
func (n wire) roles(ctx context.Context, a Account) text.Text {
	var groups map[string]slackconn.Group
	return card.Roles(a.Policy, func(id string) text.Text {
		if card.IsID(id, "S") {
			if groups == nil {
				groups, _ = n.cfg.Slack.UserGroups(ctx)
			}
			if g, known := groups[id]; known {
				return text.New("user group @", text.Field(g.Handle))
			}
			return text.Newf("user group `%v`", id)
		}
		if p, err := n.cfg.Slack.Person(ctx, id); err == nil {
			return text.New(text.Field(p.Name))
		}
		return text.Newf("`%v`", id)
	})
}

// successor is the line that leads from a former card of an attack to its card; empty if it has none elsewhere.
func (n wire) successor(ctx context.Context, a Account, attack string, former record.Place) (line text.Text,
	err error) {
	f := facts{account: a, attack: attack}
	if err := n.loadPlace(ctx, &f); err != nil || f.Card.TS == "" || f.Card.Message() == former.Message() {
		return nil, err
	}
	state, known, err := n.cfg.Store.Attacks.AttackState(ctx, a.Name, attack)
	if err != nil || !known {
		return nil, err
	}
	link, err := n.cfg.Slack.Permalink(ctx, f.Card.Channel, f.Card.TS)
	if err != nil {
		return nil, err
	}
	return card.MovedLine(a.Account, attack, state, f.Card, link), nil
}

// lostEvent is the event that an attack's card at a place is gone, or stands and can't be edited; known is false if the
// attack isn't.
func (n wire) lostEvent(ctx context.Context, account, attack string, at record.Place, stands bool) (e record.Event,
	known bool, err error) {
	state, known, err := n.cfg.Store.Attacks.AttackState(ctx, account, attack)
	return record.NewCardLost(account, state, at, stands, n.cfg.Clocks.ServiceNow(account)), known, err
}
