package card

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// FirstStart is the message after an account's first poll.
func FirstStart(a *config.Account, first record.FirstStartFacts, p policy.Policy, whoMay text.Text) Message {
	lines := text.Lines{
		text.Newf("*wafbot watches %v* from now on. %v, %v%v in the last %v",
			a.Name, goingOn(first), first.Incidents, text.Plural(int64(first.Incidents), " incident"),
			text.Duration(a.Lookback)),
		text.New("It is ", p.Describe()),
		text.New("Who may act: ", whoMay),
	}
	var buttons []call.Suggestion
	if first.Incidents > 0 {
		buttons = append(buttons, call.Suggestion{Label: "List incidents", Line: record.LineOf(a.Name, "incidents")})
	}
	return Message{Text: answerText(lines[:1]), Blocks: renderLines(lines, buttons),
		Metadata: bounded(MetaStart, accountMeta(a.Name))}
}

// goingOn says what was active at the first poll, and whether cards follow.
func goingOn(first record.FirstStartFacts) string {
	follow := "cards follow"
	switch first.Grouped {
	case 0:
	case first.Ongoing:
		follow = "grouped in a storm's card"
	default:
		follow = fmt.Sprintf("%d of them grouped in a storm's card, cards of the others follow", first.Grouped)
	}
	if first.Ongoing == 0 {
		return "Nothing goes on"
	}
	return fmt.Sprintf("%d going on (%s, no one is mentioned)", first.Ongoing, follow)
}

// Unreachable says that the WAF API can't be read, why, and how to fix it.
func Unreachable(a *config.Account, f record.UnreachableFacts) Message {
	lines := text.Lines{
		text.Newf("*WAF API unreachable: wafbot can't see %v* since %v: %v. *Attacks may go on unseen*",
			a.Name, f.From, f.Why),
	}
	if f.Fix != "" {
		lines.Add("To fix it: ", f.Fix)
	}
	again := text.New("It keeps trying, and says here when the API answers again")
	if f.LastGood.IsZero() {
		again.Addf(". It never could so far")
	} else {
		again.Addf(". Last good poll: %v", f.LastGood)
	}
	notice := fmt.Sprintf("WAF API unreachable: wafbot can't see %s since %s, attacks may go on unseen: %s", a.Name,
		clockTime(f.From), f.Why)
	return notified(notice, mentioning(append(lines, again), a.Ops()))
}

// MonitoringGap says from when to when an account was not monitored, why, and what happened meanwhile.
// The attacks that it lists are shown as they are stored, by id.
func MonitoringGap(a *config.Account, f record.GapFacts, shown map[string]record.AttackState, now time.Time) Message {
	what, why, over, long := "wafbot wasn't watching "+a.Name, "", ". It watches again", f.To.Sub(f.From)
	if f.Why != "" {
		what, why, over = "wafbot couldn't see "+a.Name, ": "+f.Why, ". It sees again"
	}
	lines := text.Lines{text.Newf("*%v* from %v to %v (%v)%v%v", what, f.From, f.To, text.Duration(long), why, over)}
	if long > a.Lookback {
		lines.Addf("What was over before %v is not known: wafbot reads the last %v",
			f.To.Add(-a.Lookback), text.Duration(a.Lookback))
	}
	lines = append(lines, gapLines(a, "Began meanwhile, and have cards of their own", f.Began, f.BeganCount, shown)...)
	grouped := ""
	if f.Grouped > 0 {
		grouped = fmt.Sprintf("%d in a storm's card, ", f.Grouped)
		lines.Addf("*Began meanwhile, and grouped in a storm's card*: %v", f.Grouped)
	}
	lines = append(lines, gapLines(a, "Over again, and listed here only", f.Over, f.OverCount, shown)...)
	notice := fmt.Sprintf("%s for %s (%s to %s): %d new with a card, %s%d over again", what, text.Duration(long),
		clockTime(f.From), clockTime(f.To), f.BeganCount, grouped, f.OverCount)
	if f.BeganCount+f.Grouped+f.OverCount == 0 {
		return notified(notice, append(lines, text.New("Nothing that would have got a card began meanwhile")))
	}
	// Attacks are listed by the age of their last hit. An hour is added for a reader who comes later.
	since := fmt.Sprintf("%dh", int(now.Sub(f.From)/time.Hour)+2)
	return notified(notice, lines, call.Suggestion{Label: "List all",
		Line: record.LineOf(a.Name, "attacks").With("since", since)})
}

// gapLines lists the first attacks of so many, and counts the others.
func gapLines(a *config.Account, title string, first []string, count int,
	shown map[string]record.AttackState) text.Lines {
	if count == 0 {
		return nil
	}
	lines, listed := text.Lines{text.Lead(title, ": ", count)}, 0
	for _, attackid := range first {
		id, kind := record.AttackID(a.Name, attackid), ""
		state, stored := shown[id]
		if !stored {
			continue
		}
		listed++
		attack := state.Attack
		if attack.Incident() {
			kind = "INCIDENT "
		}
		lines.Addf("• `%v` %v%v on %v, %v, %v, %v to %v: `%v`",
			id, kind, typeName(attack, maxNoticeName), a.AppName(attack.App),
			words.StatusName(attack), words.Figure(attack.Hits, "hit"), timeOr(attack.First), timeOr(attack.Last),
			words.Where(attack))
	}
	if more := count - listed; more > 0 {
		lines.Addf("… and %v more", more)
	}
	return lines
}

func timeOr(t time.Time) any {
	if t.IsZero() {
		return "unknown"
	}
	return t
}

// PagerUnreachable says that a pager can't be called, so that its reader pages by other means.
func PagerUnreachable(a *config.Account, fault record.PagerFault) Message {
	why := fmt.Sprintf("%s (route %s)", fault.Why, fault.Route)
	lines := text.Lines{
		text.Newf("*The pager of %v can't be called: no page is sent*. Why: %v",
			a.Name, text.Sanitize(why, 2*text.MaxPath)),
		text.Newf("Unacknowledged attacks wait for it. wafbot tries again by itself, unless the call was refused; their cards say when it was called. If you read this: acknowledge what waits, or page by other means"),
	}
	return notified("The pager of "+a.Name+" can't be called, no page is sent: "+why, mentioning(lines, a.Ops()),
		call.Suggestion{Label: "Show status", Line: record.LineOf(a.Name, "status")})
}

// ForeignRecords says that the service answers with records of other clients, and what wafbot makes of them.
func ForeignRecords(a *config.Account, came record.ForeignFacts) Message {
	what := "The WAF API answers for " + a.Name + " with records of other clients"
	lines := text.Lines{
		text.Newf("*%v*: %v so far. They are left out, nothing is changed because of them, and no attack counts as over by a poll that held some. The account's own attacks are still watched",
			what, came.Records),

		text.New("Tell the service's support: others may see this account's records, too. wafbot says this once a day at most"),
	}
	return notified(what, mentioning(lines, a.Ops()))
}

// StoreRebuilt says in a channel what was rebuilt of an account after Redis was emptied, and what was lost.
func StoreRebuilt(a *config.Account, facts record.RebuildFacts) Message {
	account := a.Name
	if facts.Unreadable {
		return Lines(text.Lines{
			text.Newf("*%v: wafbot can't rebuild its state*: it may not read this channel's history. Either it isn't in the channel, or its token lacks the scope `channels:history` (in a private channel `groups:history`)", account),

			text.Newf("If its store (Redis) was emptied, cards come again, and what it changed before can't be undone from here. `wafbot doctor` says how to fix it"),
		})
	}
	lines := text.Lines{
		text.Newf("*%v: wafbot's store (Redis) was emptied*. Read back from this channel: %v, %v in force with their ends and undo",
			account, text.Count(facts.Cards, "card"), text.Count(facts.InForce, "mitigation")),
	}
	if facts.Listed > 0 {
		lines.Addf("Found on the service's lists, though no message names them: %v. Undo takes them off; what stood there before is not known",
			text.Count(facts.Listed, "mitigation"))
	}
	if facts.NoLists {
		lines.Addf("The service's lists could not be read: entries that no message names are not known here")
	}
	if len(facts.Unknown) > 0 {
		lines.Addf("It isn't known what these did, so they can't be undone from here: `%v`. Look with `lists` and `rules`",
			strings.Join(facts.Unknown, " "))
	}
	if len(facts.Unread) > 0 {
		line := text.New("Could not be read, so what was posted there comes again:")
		for _, channel := range facts.Unread {
			line.Addf(" %v", text.Channel(channel))
		}
		lines = append(lines, line)
	}
	lines.Addf("*Lost*: clicks that were not yet carried out (click again), requests that waited for approval (ask again), who was on what, notes, verdicts, mutes, calls of a pager (end them there), what an admin protected from being denied (`protect` it again), and the audit log but for its copy on standard output")
	return Lines(lines)
}

// TestCard is a card of a drill. It can't be mistaken for an attack's card.
func TestCard(a *config.Account, d record.Drill, card int) Message {
	c, asker := d.Cards[card], text.Field(d.By.Name)
	notice := "Test card: nothing happened. " + asker + " tests whether a card is acknowledged"
	state := text.Newf("Press *Acknowledge*, as you would if this were an attack")
	ack := record.LineOf(a.Name, "drill").With("ack", d.CardID(card))
	buttons := []call.Suggestion{{Label: "Acknowledge", Line: ack}}
	if c.By != nil {
		who, after := text.Field(c.By.Name), text.Duration(c.After)
		notice = "Test card: acknowledged by " + who + " after " + after
		state, buttons = text.Newf("Acknowledged by *%v* after %v", who, after), nil
	}
	return notified(notice, mentioning(text.Lines{
		text.Newf("🔔 *Test card: nothing happened* · %v", a.Name),
		text.New(asker, " tests whether cards are seen here. Nothing is attacked, and nothing is changed"), state,
	}, c.Mention), buttons...)
}

// DrillReport says who acknowledged which test card of a drill. It mentions who asked for the drill.
func DrillReport(d record.Drill, now time.Time) Message {
	lines := words.Drill(d, now)
	if InSlack(d.By.ID) {
		lines = mentioning(lines, d.By.ID)
	}
	return Lines(lines)
}

// Limits of the notice: due changes listed, steps of one change, characters of one refused change (a record keeps
// five), characters below them.
const (
	maxDue         = 5
	maxByHand      = 6
	maxRefusedText = 1_300
	maxRest        = 1_800
)

// PermissionLost is the notice that the service refuses changes: what was not done and how to do it by hand, who can
// fix it, what is due meanwhile.
func PermissionLost(a *config.Account, t record.PermissionLoss, changes []record.Change, now time.Time) Message {
	head := mentioning(text.Lines{text.Newf("*WAF permission lost: wafbot can't %v on %v* since %v (%v)",
		t.Cannot(), a.Name, t.Since, t.Status)}, a.Ops())
	if !t.GoesOn() {
		head = text.Lines{text.Newf("Over since %v: wafbot had lost its WAF permission on *%v* from %v (%v). It can make changes again",
			t.Until, a.Name, t.Since, t.Status)}
	}
	var rest text.Lines
	if t.More > 0 {
		rest.Addf("… and %v more: `audit` lists them", t.More)
	}
	if t.GoesOn() {
		rest = append(rest, change.PermissionFix(t))
		rest = append(rest, dueLines(a, t, changes, now)...)
		rest.Addf("What is due is tried each minute, and the next such change that the service takes ends this")
	}
	var maker buttonMaker
	blocks := sections(head, maxTogether)
	for _, r := range t.Refused {
		lines, retry := refusedLines(a, r, changes, now), advice.Retry(t, r)
		button := maker.suggestion(retry)
		if button == nil {
			lines = append(lines, toType(retry))
		}
		blocks = append(blocks, section(strings.Join(firstLines(flat(lines), maxRefusedText, maxRefusedText), "\n"), button))
	}
	if len(rest) > 0 {
		blocks = append(blocks, sections(rest, maxRest)...)
	}
	if console := maker.link(text.Link{Label: "Open console", URL: a.ConsoleURL}); console != nil {
		blocks = append(blocks, actions(console)...)
	}
	return Message{Text: permissionNotice(a, t), Blocks: blocks}
}

// permissionNotice is the notification. What was not done stands last, because the end is cut.
func permissionNotice(a *config.Account, t record.PermissionLoss) string {
	what := t.Cannot() + " on " + a.Name
	if len(t.Lacks) > 1 {
		what = "change " + a.Name // the message lists what
	}
	text := fmt.Sprintf("WAF permission lost: can't %s since %s (%d).", what, clockTime(t.Since), t.Status)
	if !t.GoesOn() {
		text = fmt.Sprintf("wafbot can change %s again. Its WAF permission was lost since %s.", a.Name, clockTime(t.Since))
	}
	if n := len(t.Refused); n > 0 {
		first := slices.IndexFunc(t.Refused, func(r record.RefusedChange) bool { return t.Refused[n-1].At.Sub(r.At) < time.Minute }) // the first of those asked for together
		text += " NOT done: " + t.Refused[first].Does
	}
	return notification(text)
}

// refusedLines say what was not done, and the steps to do by hand.
func refusedLines(a *config.Account, r record.RefusedChange, changes []record.Change, now time.Time) text.Lines {
	what := "NOT done: "
	if r.Half {
		what = "Only partly done: "
	}
	head := text.Newf("*%v*, asked by %v %v", what+r.Does, text.Sanitize(r.By.Name, maxNoticeName), r.At)
	if i := slices.IndexFunc(changes, func(ch record.Change) bool { return ch.ID == r.Ends }); i >= 0 &&
		r.By.Via == record.ViaClock {
		head = change.DueLine(a, changes[i], now)
	}
	lines := text.Lines{head}
	for _, s := range r.Steps[:min(maxByHand, len(r.Steps))] {
		lines.Add("• by hand, in the service's console: ", words.ByHand(a, s))
	}
	if more := len(r.Steps) - maxByHand; more > 0 {
		lines.Addf("• … and %v more", more)
	}
	return lines
}

// dueLines list what wafbot would have to end meanwhile.
func dueLines(a *config.Account, t record.PermissionLoss, changes []record.Change, now time.Time) (lines text.Lines) {
	due := change.DueMeanwhile(t, changes, now)
	for _, ch := range due[:min(maxDue, len(due))] {
		lines = append(lines, change.DueLine(a, ch, now))
	}
	if more := len(due) - maxDue; more > 0 {
		lines.Addf("… and %v more are due: `status` lists what is in force", more)
	}
	return lines
}

// PermissionBack says that the service takes changes again.
func PermissionBack(a *config.Account, t record.PermissionLoss) Message {
	lines := text.Lines{text.Newf("*wafbot can change %v again* since %v", a.Name, t.Until)}
	for _, r := range t.Refused {
		next := "Ask again if it is still wanted"
		if r.By.Via == record.ViaClock {
			next = "wafbot does it within a minute"
		}
		lines.Addf("Still NOT done: *%v*. %v", r.Does, next)
	}
	return notified(fmt.Sprintf("wafbot can change %s again since %s", a.Name, clockTime(t.Until)), lines)
}
