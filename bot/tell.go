package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// tell puts one piece of news before people, and takes it off the outbox.
func (b *Bot) tell(ctx context.Context, n record.Event) error {
	a, ok := b.account(n.Account)
	if !ok {
		return fmt.Errorf("tell news of %s: no such account", n.Account)
	}
	switch n.Reason {
	case record.FirstStart:
		return b.tellMessage(ctx, n, FirstStart(a.Account, n, b.cfg.Policy, Roles(b.cfg.Roles, b.byName(ctx))))
	case record.StoreRebuilt:
		return b.tellMessage(ctx, n, StoreRebuilt(n))
	case record.APIUnreachable:
		return b.tellBlind(ctx, a, n)
	case record.MonitoringGap:
		return b.tellGap(ctx, a, n)
	case record.PermissionLost:
		return b.tellTied(ctx, a, n)
	case record.ApprovalAsked:
		return b.tellRequest(ctx, a, n)
	case record.MitigationEnding:
		return b.tellEnds(ctx, n)
	case record.EndOverdue:
		return b.tellOverdue(ctx, a, n)
	case record.MitigationNotWorking, record.DeniedSourceReturned:
		return b.tellEffect(ctx, a, n)
	case record.PagerUnreachable:
		return b.tellMessage(ctx, n, PagerUnreachable(n))
	case record.CardLost:
		_, err := b.anew(ctx, a, n)
		return err
	case leftBehind:
		return b.tellLeft(ctx, a, n)
	case record.AttackEnded:
		return b.tellCourse(ctx, a, n)
	case record.ChangeSettled:
		return b.tellChange(ctx, a, n)
	case drilled:
		return b.tellDrill(ctx, a, n)
	case handedOver:
		return b.tellHandover(ctx, a, n)
	case tookOver:
		return b.tellTakeOver(ctx, n)
	case summaryDue:
		return b.tellSummary(ctx, a, n)
	}
	return b.tellAttack(ctx, a, n)
}

// catchUp has a card redrawn when something was done or became known while it was on its way: it can be clicked before it is known where it is.
// One that was found, because somebody had posted it before, may have been drawn at any time.
func (b *Bot) catchUp(ctx context.Context, n record.Event, drawn facts, found bool) {
	id := record.AttackID(n.Account, n.Attack.ID)
	now, err := b.cfg.Memory.File(ctx, n.Account, id)
	shown, _, shownErr := b.cfg.Memory.Shown(ctx, n.Account, id)
	if err = errors.Join(err, shownErr); err == nil && (found || doneSince(now, drawn.file) || shown.Revision > drawn.shown.Revision) {
		err = b.outdate(ctx, n.Account, id)
	}
	if err != nil {
		b.cfg.Log.Error("look what was done since a card was drawn", "account", n.Account, "err", err)
	}
}

// recordAgain is how long to wait before what was told is recorded once more.
const recordAgain = time.Second

// place is where a message is.
type place struct {
	channel, ts string
	card        bool // it is its attack's card
}

// record takes news off that was told, however long the memory is away: told anew it could come twice, for nobody knows
// whether a recording whose answer was lost took place. Who finds that another replica has told it too takes back what he posted.
func (b *Bot) record(ctx context.Context, n record.Event, at place) error {
	for {
		double, err := b.cfg.Memory.Told(context.WithoutCancel(ctx), n, at.channel, at.ts, at.card) // a stop must not undo what was told
		if double {
			b.takeBack(ctx, at)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		b.cfg.Log.Error("record what was told", "account", n.Account, "reason", n.Reason, "err", err)
		if err := delay.Sleep(ctx, recordAgain); err != nil {
			return err
		}
	}
}

// tellMessage posts news that is no card.
func (b *Bot) tellMessage(ctx context.Context, n record.Event, msg Message) error {
	return b.tellCall(ctx, n, newsCall(n, msg, ""))
}

// tellCall posts news that is no card.
func (b *Bot) tellCall(ctx context.Context, n record.Event, c postCall) error {
	t, err := b.try(ctx, c.Account, c.Delivery)
	if err != nil {
		return err
	}
	if t.told {
		return b.record(ctx, n, place{}) // it was announced again
	}
	channel, ts, err := b.postTried(ctx, c, t)
	if err != nil {
		return err
	}
	return b.record(ctx, n, place{channel: channel, ts: ts})
}

// newsCall is the message that tells a piece of news; with thread it is a reply that the channel sees too.
func newsCall(n record.Event, msg Message, thread string) postCall {
	return postCall{Account: n.Account, Channel: n.Channel, Thread: thread, Broadcast: thread != "", Urgent: urgent(n), Delivery: n.ID, Message: msg}
}

// firstStart is the one message of an account's first poll.
func FirstStart(a *commands.Account, n record.Event, p commands.Policy, whoMay text.Text) Message {
	first := record.FirstStartFacts{}
	if n.First != nil {
		first = *n.First
	}
	lines := []text.Text{
		text.New(text.Bold("wafbot watches "+a.Name), " from now on. ", goingOn(first), ", ", first.Incidents, text.Plural(int64(first.Incidents), " incident"), " in the last ", text.HumanDuration(a.Lookback)),
		text.New("It is ", p.Describe()),
		text.New("Who may act: ", whoMay),
	}
	var buttons []commands.Suggestion
	if first.Incidents > 0 {
		buttons = append(buttons, commands.Suggestion{Label: "List incidents", Line: record.Line{Name: "incidents"}.With("account", a.Name)})
	}
	return Message{
		Text: answerText(lines[:1]), Blocks: renderLines(lines, buttons),
		Metadata: slack.SlackMetadata{EventType: MetaStart, EventPayload: map[string]any{"version": "1", "account": text.Sanitize(a.Name, maxMeta)}},
	}
}

// goingOn says what went on before the first start, and how it is told.
func goingOn(first record.FirstStartFacts) string {
	follow := "cards follow"
	switch first.Gathered {
	case 0:
	case first.Ongoing:
		follow = "gathered in a storm's card"
	default:
		follow = fmt.Sprintf("%d of them gathered in a storm's card, cards of the others follow", first.Gathered)
	}
	if first.Ongoing == 0 {
		return "Nothing goes on"
	}
	return fmt.Sprintf("%d going on (%s, nobody is called)", first.Ongoing, follow)
}

// worse is the reply under a card whose attack became worse. It calls whom the route names.
func Worse(a *commands.Account, n record.Event) Message {
	what := text.New(text.Bold("It got worse: "), commands.StatusName(n.Attack), ", ", n.Attack.Hits, " hits")
	if n.Reason == record.BecameIncident {
		what = text.New(text.Bold("It worked: this attack is an INCIDENT now"), ", vulnerability ", text.Code(text.Sanitize(n.Attack.VulnID, 60)), ". Assume data was read")
	}
	id := record.AttackID(a.Name, n.Attack.ID)
	lines := []text.Text{what, commands.AttackLine(a, n.Attack, n.At)}
	if s := n.Storm; s != nil {
		what = text.New(text.Bold("The storm got worse: "), s.Gathered, " attacks, ", commands.StormBlocking(*s), ", ", n.Attack.Hits, " hits")
		lines = []text.Text{what, commands.StormLine(a, commands.StormRow{ID: id, Attack: n.Attack, Storm: *s}, n.At)}
	}
	if n.Mention != "" {
		lines[0] = text.New(text.User(n.Mention), " ", what)
	}
	return Message{
		Text: worseNotice(a, n), Blocks: renderLines(lines, nil),
		Metadata: bounded(MetaWorse, attackMeta(a.Name, id, n.Attack)),
	}
}
