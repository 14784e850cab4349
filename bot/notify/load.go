package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// loader reads facts.
type loader struct{ cfg Config }

// facts are those that are known without reading.
func (l loader) facts(a Account, attack string) facts {
	f := facts{account: a, policy: a.Guards, runbooks: l.cfg.Runbooks, now: l.cfg.Clocks.ServiceNow(a.Name), attack: attack}
	if a.Settings != nil {
		f.settings = a.Settings()
	}
	if a.Health != nil {
		f.health = a.Health()
	}
	return f
}

// load adds what an event's message is made of to its facts.
type load func(ctx context.Context, e record.Event, f *facts) error

// load reads the facts that an event's messages need, in the order in which they are built on each other.
func (l loader) load(ctx context.Context, a Account, e record.Event, needs []load) (facts, error) {
	f := l.facts(a, "")
	if attack := e.Attack().ID; attack != "" {
		f.attack = record.AttackID(a.Name, attack)
	}
	for _, more := range needs {
		if err := more(ctx, e, &f); err != nil {
			return f, err
		}
	}
	return f, nil
}

// loadChange reads the change that an event is about, and the one that it extends.
func (l loader) loadChange(ctx context.Context, e record.Event, f *facts) error {
	about, err := payload[record.ChangeFacts](e)
	if err != nil {
		return err
	}
	if f.change, err = l.cfg.Store.Ledger.Change(ctx, e.Account, about.Change); err != nil {
		return err
	}
	f.attack = f.change.AttackID
	if f.change.Extends != "" {
		f.extended, err = l.cfg.Store.Ledger.Change(ctx, e.Account, f.change.Extends)
	}
	return err
}

// loadRoute reads what is stored of the attack of a change that failed, if that isn't for operators.
func (l loader) loadRoute(ctx context.Context, e record.Event, f *facts) (err error) {
	if f.attack != "" && f.account.OpsMention == "" && len(change.Failure(f.change)) > 0 {
		f.shown, f.known, err = l.cfg.Store.Attacks.AttackState(ctx, e.Account, f.attack)
	}
	return err
}

// loadAttack reads what is stored of an attack. An event may know more.
func (l loader) loadAttack(ctx context.Context, e record.Event, f *facts) (err error) {
	if f.details, err = l.cfg.Store.Cards.Details(ctx, f.account.Name, f.attack); err == nil {
		f.showAttack(e)
		f.shared = l.shared(f.account, cmp.Or(f.card.Channel, f.shown.Channel))
	}
	return err
}

// beginCard is loadAttack for an event that draws a card. With the attack's first it writes down that the card is about
// to be posted: this is the way from an attack to a person.
func (l loader) beginCard(ctx context.Context, e record.Event, f *facts) (err error) {
	if e.ID != record.CardDelivery(e.Account, e.Attack().ID) {
		return l.loadAttack(ctx, e, f)
	}
	var begun record.Attempt
	if f.details, begun, err = l.cfg.Store.Cards.BeginCard(ctx, f.account.Name, f.attack, e.ID, l.cfg.Clocks.Now()); err == nil {
		f.begun = &begun
		f.showAttack(e)
		f.shared = l.shared(f.account, cmp.Or(f.card.Channel, f.shown.Channel))
	}
	return err
}

// shared reports whether another account has cards in the channel, too.
func (l loader) shared(a Account, channel string) bool {
	return slices.ContainsFunc(l.cfg.Accounts, func(other Account) bool { return other.Name != a.Name && slices.Contains(other.Channels(), channel) })
}

func (f *facts) showAttack(e record.Event) {
	f.card, f.shown = f.details.Card, f.details.State
	f.known = f.shown.Attack.ID != ""
	if c, ok := e.Payload.(record.AttackChanged); ok && (!f.known || f.shown.Revision < c.Revision) {
		f.shown = record.AttackState{Attack: c.Attack, Severity: c.Severity, ObservedAt: e.At, Quiet: c.Quiet, Mention: c.Mention, Suppressed: c.Suppressed, Revision: c.Revision}
	}
}

// loadDrawing reads what else a card is made of that is about to be posted: what waits is read only if something newer
// than the event may.
func (l loader) loadDrawing(ctx context.Context, e record.Event, f *facts) error {
	if began := e.ID == record.CardDelivery(e.Account, e.Attack().ID); e.Kind == record.CardLost || began && (f.card.TS != "" || e.Revision() == f.shown.Revision) {
		return nil
	}
	all, err := l.cfg.Store.Outbox.Waiting(ctx, e.Account)
	f.waiting = slices.DeleteFunc(all, func(w record.Event) bool { return w.Attack().ID != e.Attack().ID || w.Changed().Revision == 0 })
	return err
}

func (l loader) loadPlace(ctx context.Context, e record.Event, f *facts) (err error) {
	f.card.Channel, f.card.TS, err = l.cfg.Store.Cards.Card(ctx, e.Account, f.attack)
	return err
}

func (l loader) loadTriage(ctx context.Context, e record.Event, f *facts) (err error) {
	f.triage, err = l.cfg.Store.Triage.AllTriage(ctx, e.Account)
	return err
}

// loadRoles shows users and user groups by name, which mentions no one; by id alone those that Slack doesn't name.
func (l loader) loadRoles(ctx context.Context, _ record.Event, f *facts) error {
	groups := map[string]slackconn.Group{}
	if len(policy.Groups(f.account.Policy)) > 0 {
		if all, err := l.cfg.Slack.UserGroups(ctx); err == nil {
			groups = all
		}
	}
	f.roles = card.Roles(f.account.Policy, func(id string) text.Text {
		if card.IsID(id, "S") {
			if g, known := groups[id]; known {
				return text.New("user group @", text.Field(g.Handle))
			}
			return text.New("user group ", text.Code(id))
		}
		if p, err := l.cfg.Slack.Person(ctx, id); err == nil {
			return text.New(text.Field(p.Name))
		}
		return text.New(text.Code(id))
	})
	return nil
}

func (l loader) loadSuccessor(ctx context.Context, e record.Event, f *facts) (err error) {
	f.successor, err = l.successor(ctx, f.account, f.attack, formerCard(e))
	return err
}

// successor is the line that leads from a former card of an attack to its card; empty if it has none elsewhere.
func (l loader) successor(ctx context.Context, a Account, attack string, former record.Place) (line text.Text, err error) {
	channel, ts, err := l.cfg.Store.Cards.Card(ctx, a.Name, attack)
	if err != nil {
		return nil, err
	}
	state, known, err := l.cfg.Store.Attacks.AttackState(ctx, a.Name, attack)
	if err != nil || !known || ts == "" || ts == former.TS && channel == former.Channel {
		return nil, err
	}
	link, err := l.cfg.Slack.Permalink(ctx, channel, ts)
	if err != nil {
		return nil, err
	}
	return card.MovedLine(a.Account, attack, state, record.Place{Channel: channel, TS: ts}, link), nil
}

// loadRequest reads an approval request; it is zero after Redis was emptied.
func (l loader) loadRequest(ctx context.Context, e record.Event, f *facts) error {
	about, err := payload[record.ApprovalChanged](e)
	if err != nil {
		return err
	}
	all, err := l.cfg.Store.Approvals.Requests(ctx, e.Account)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(q record.ApprovalRequest) bool { return q.ID == about.Request })
	if i < 0 {
		return nil
	}
	f.request, f.attack = all[i], all[i].AttackID
	if err := f.loadKept(ctx, l.cfg.Store.Approvals, f.request.ID, f.request.Revision); err != nil {
		return err
	}
	return l.awaitCard(ctx, e, f)
}

func (l loader) loadLoss(ctx context.Context, e record.Event, f *facts) (err error) {
	if f.loss, err = l.cfg.Store.Permissions.PermissionLoss(ctx, e.Account); err != nil {
		return err
	}
	if f.changes, err = l.cfg.Store.Ledger.Changes(ctx, e.Account); err != nil {
		return err
	}
	return f.loadKept(ctx, l.cfg.Store.Permissions, f.loss.ID(), f.loss.Revision)
}

func (f *facts) loadKept(ctx context.Context, s messages, id string, revision int) (err error) {
	f.kept = kept{in: s, id: id, revision: revision}
	f.kept.at.Channel, f.kept.at.TS, f.kept.shows, err = s.MessageAt(ctx, f.account.Name, id)
	return err
}

// drillAgain is how often it is looked whether a drill is over.
const drillAgain = 2 * time.Second

// loadDrill reads the last drill. The event of its report is handled again until it is over.
func (l loader) loadDrill(ctx context.Context, e record.Event, f *facts) error {
	about, err := payload[record.DrillFacts](e)
	if err == nil {
		f.drill, err = l.cfg.Store.Drills.Drill(ctx, e.Account)
	}
	if err == nil && about.Report && about.Drill == f.drill.ID && f.drill.Waits(f.now) {
		err = &laterError{due: time.Now().Add(drillAgain)}
	}
	return err
}

// loadSummary has the account handed over, unless that comes too late to be posted.
func (l loader) loadSummary(ctx context.Context, e record.Event, f *facts) (err error) {
	if f.now.Sub(e.At) > summaryLate {
		return nil
	}
	line := record.Line{Name: "summary"}.With("account", e.Account)
	if f.summary, err = l.cfg.Runner.Do(ctx, byClock(e.ID, e.At, line)); err != nil {
		return fmt.Errorf("draw summary: %w", err)
	}
	return nil
}

// byClock is what the clock asks for.
func byClock(id string, at time.Time, line record.Line) call.Invocation {
	return call.Invocation{ID: id, At: at, Line: line, Actor: record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}}
}

// How long a message waits for the card that it belongs under, which may be clicked before it is known where it is.
const (
	cardPatience = 10 * time.Second
	cardAgain    = 500 * time.Millisecond
)

// awaitCard reads where the card of an attack is. For one that is on its way in another channel the event is handled
// again, for a little while since the change or request was made; in the event's own channel none is, while the event
// is handled.
func (l loader) awaitCard(ctx context.Context, e record.Event, f *facts) error {
	if f.attack == "" {
		return nil
	}
	since := f.change.At
	if f.request.ID != "" {
		since = f.request.At
	}
	if err := l.loadPlace(ctx, e, f); err != nil || f.card.TS != "" {
		return err
	}
	state, _, err := l.cfg.Store.Attacks.AttackState(ctx, e.Account, f.attack)
	if err == nil && state.Notified && state.Channel != e.Channel && l.cfg.Clocks.ServiceNow(e.Account).Sub(since) <= cardPatience {
		err = &laterError{due: time.Now().Add(cardAgain)}
	}
	return err
}

// lostEvent is the event that an attack's card at a place is gone, or stands and can't be edited; known is false if the
// attack isn't.
func (l loader) lostEvent(ctx context.Context, account, attack string, at record.Place, stands bool) (e record.Event, known bool, err error) {
	state, known, err := l.cfg.Store.Attacks.AttackState(ctx, account, attack)
	return record.NewCardLost(account, state.Attack.Brief(), at, stands, l.cfg.Clocks.ServiceNow(account)), known, err
}
