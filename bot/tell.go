package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// tell puts one piece of news before people, and takes it off the outbox.
func (b *Bot) tell(ctx context.Context, n poller.News) error {
	a, ok := b.account(n.Account)
	if !ok {
		return fmt.Errorf("tell news of %s: no such account", n.Account)
	}
	switch n.Reason {
	case poller.FirstStart:
		return b.tellMessage(ctx, n, b.firstStart(a, n, roleText(b.cfg.Roles, b.byName(ctx))))
	case poller.Emptied:
		return b.tellMessage(ctx, n, emptied(n))
	case poller.Blind:
		return b.tellBlind(ctx, a, n)
	case poller.Gap:
		return b.tellGap(ctx, a, n)
	case poller.HandsTied:
		return b.tellTied(ctx, a, n)
	case poller.Asked:
		return b.tellRequest(ctx, a, n)
	case poller.Ends:
		return b.tellEnds(ctx, n)
	case poller.Overdue:
		return b.tellOverdue(ctx, a, n)
	case poller.NoEffect, poller.CameBack:
		return b.tellEffect(ctx, a, n)
	case poller.PagerAway:
		return b.tellMessage(ctx, n, pagerAway(n))
	case poller.Anew:
		_, err := b.anew(ctx, a, n)
		return err
	case leftBehind:
		return b.tellLeft(ctx, a, n)
	case poller.Course:
		return b.tellCourse(ctx, a, n)
	case poller.Changed:
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
func (b *Bot) catchUp(ctx context.Context, n poller.News, drawn facts, found bool) {
	id := commands.AttackID(n.Account, n.Attack.ID)
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
func (b *Bot) record(ctx context.Context, n poller.News, at place) error {
	for {
		double, err := b.cfg.Memory.Told(context.WithoutCancel(ctx), n, at.channel, at.ts, at.card) // a stop must not undo what was told
		if double {
			b.takeBack(ctx, at)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		b.cfg.Log.Error("record what was told", "account", n.Account, "reason", n.Reason, "err", err)
		if err := sleep(ctx, recordAgain); err != nil {
			return err
		}
	}
}

// tellMessage posts news that is no card.
func (b *Bot) tellMessage(ctx context.Context, n poller.News, msg Message) error {
	return b.tellCall(ctx, n, newsCall(n, msg, ""))
}

// tellCall posts news that is no card.
func (b *Bot) tellCall(ctx context.Context, n poller.News, c postCall) error {
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
func newsCall(n poller.News, msg Message, thread string) postCall {
	return postCall{Account: n.Account, Channel: n.Channel, Thread: thread, Broadcast: thread != "", Urgent: urgent(n), Delivery: n.ID, Message: msg}
}

// firstStart is the one message of an account's first poll.
func (b *Bot) firstStart(a Account, n poller.News, whoMay commands.Text) Message {
	first := poller.FirstStartFacts{}
	if n.First != nil {
		first = *n.First
	}
	lines := []commands.Text{
		commands.Say(commands.Bold("wafbot watches "+a.Name), " from now on. ", goingOn(first), ", ", first.Incidents, commands.Plural(int64(first.Incidents), " incident"), " in the last ", commands.HumanDuration(a.Lookback)),
		commands.Say("It is ", b.cfg.Policy.Describe()),
		commands.Say("Who may act: ", whoMay),
	}
	var buttons []commands.Suggestion
	if first.Incidents > 0 {
		buttons = append(buttons, commands.Suggestion{Label: "List incidents", Line: commands.Line{Name: "incidents"}.With("account", a.Name)})
	}
	return Message{
		Text: answerText(lines[:1]), Blocks: renderLines(lines, buttons),
		Metadata: slack.SlackMetadata{EventType: metaStart, EventPayload: map[string]any{"version": "1", "account": commands.Visible(a.Name, maxMeta)}},
	}
}

// goingOn says what went on before the first start, and how it is told.
func goingOn(first poller.FirstStartFacts) string {
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
func worse(a Account, n poller.News) Message {
	what := commands.Say(commands.Bold("It got worse: "), commands.StatusName(n.Attack), ", ", n.Attack.Hits, " hits")
	if n.Reason == poller.BecameIncident {
		what = commands.Say(commands.Bold("It worked: this attack is an INCIDENT now"), ", vulnerability ", commands.Code(commands.Visible(n.Attack.VulnID, 60)), ". Assume data was read")
	}
	id := commands.AttackID(a.Name, n.Attack.ID)
	lines := []commands.Text{what, commands.AttackLine(a.Account, n.Attack, n.At)}
	if s := storm(n.Storm); s != nil {
		what = commands.Say(commands.Bold("The storm got worse: "), s.Gathered, " attacks, ", s.Blocking(), ", ", n.Attack.Hits, " hits")
		lines = []commands.Text{what, commands.StormLine(a.Account, commands.StormRow{ID: id, Attack: n.Attack, Storm: *s}, n.At)}
	}
	if n.Mention != "" {
		lines[0] = commands.Say(commands.User(n.Mention), " ", what)
	}
	return Message{
		Text: worseNotice(a, n), Blocks: renderLines(lines, nil),
		Metadata: bounded(metaWorse, attackMeta(a.Name, id, n.Attack)),
	}
}
