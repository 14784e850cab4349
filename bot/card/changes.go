package card

import (
	"cmp"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// maxDone is how many changes the reply names when an attack went quiet.
const maxDone = 5

func moreChanges(s call.Situation, n int) text.Text {
	return text.Newf("%v: type `%v`", text.Count(n, "more change"), attackLine(s))
}

// whatWasDone lists the changes against an attack, and whether they still hold.
func whatWasDone(s call.Situation) text.Lines {
	all := slices.DeleteFunc(slices.Clone(s.Changes),
		func(ch record.Change) bool { return ch.State == record.StateFailed })
	over := map[bool]int{true: 0, false: 1}
	slices.SortStableFunc(all, func(x, y record.Change) int {
		return cmp.Or(over[x.InForce(s.Now)]-over[y.InForce(s.Now)], x.At.Compare(y.At))
	})
	if len(all) == 0 {
		return text.Lines{text.New("No mitigation was made for it; one that was typed without attack= isn't counted")}
	}
	var lines text.Lines
	for _, ch := range all[:min(maxDone, len(all))] {
		line := text.Newf("• %v · %v %v: ", text.Sanitize(ch.Does, text.MaxPath), text.Field(ch.Actor.Name), ch.At)
		if seen := efficacy.Brief(s, ch); len(seen) > 0 && ch.InForce(s.Now) {
			line.Addf("%v; ", seen)
		}
		lines.Add(line, holds(ch, s.Now))
	}
	if more := len(all) - len(lines); more > 0 {
		lines = append(lines, moreChanges(s, more))
	}
	return lines
}

// holds says how long a change holds.
func holds(ch record.Change, now time.Time) text.Text {
	switch {
	case ch.State == record.StateUndone:
		return text.New("undone")
	case ch.State == record.StateBegun:
		return words.Begun(ch)
	case ch.State == record.StateHalf:
		return text.New("done in part")
	case !ch.InForce(now):
		return text.New("ended ", ch.Until)
	case ch.Until.IsZero():
		return text.New("stands")
	}
	return text.New("stands until ", ch.Until)
}

// ChangeSettled is the message of a settled change, and the reply under the card of its attack, which has no buttons;
// of a failed one both mention its authors and ops, and calls reports whether they mention anybody. A change that only
// extends another one carries that one in its metadata: the message that carried it before may be too old to be read
// when state is rebuilt. Neither is edited later, so they say only where to see whether it works.
func ChangeSettled(ch, extended record.Change, ops string, buttons []call.Suggestion) (msg, reply Message, calls bool) {
	elsewhere := settledLines(ch, text.Newf("sent; `status` says whether it works"))
	below := settledLines(ch, text.New("sent; the card says whether it works"))
	if failure := change.Failure(ch); len(failure) > 0 {
		users := append(authors(ch), ops)
		elsewhere, calls = mentioning(text.Lines{failure}, users...), len(users) > 1 || ops != ""
		below = elsewhere
	}
	msg, reply = Lines(elsewhere, buttons...), Lines(below)
	msg.Metadata = slack.SlackMetadata{EventType: MetaChange, EventPayload: changeMeta(ch, extended)[0]}
	reply.Metadata = msg.Metadata
	return msg, reply, calls
}

// changeMeta is what the messages about a settled change carry.
func changeMeta(ch, extended record.Change) []map[string]any {
	if extended.ID != "" && len(ch.Steps) == 0 {
		ch = extended
	}
	return change.Metadata(ch)
}

// ChangeRest are the replies that carry what ChangeSettled has no room for: seldom any.
func ChangeRest(ch, extended record.Change) (rest []Message) {
	for _, part := range changeMeta(ch, extended)[1:] {
		m := Lines(text.Lines{text.Newf("For the undo of `%v`: what stood there before", ch.ID)})
		m.Metadata = slack.SlackMetadata{EventType: MetaChange, EventPayload: part}
		rest = append(rest, m)
	}
	return rest
}

// settledLines say what a change did; seen stands where it was sent.
func settledLines(ch record.Change, seen text.Text) text.Lines {
	switch {
	case ch.Undoes != "" && ch.Late != nil && ch.State == record.StateDone:
		return text.Lines{change.EndedLateLine(ch)}
	case ch.Parent() != "" || ch.Unseeable() != "":
		seen = nil
	}
	return text.Lines{words.Change(ch, seen)}
}

// Efficacy mentions users because a change doesn't work, or a denied source returned, and offers undo.
func Efficacy(s call.Situation, ch record.Change, users []string) Message {
	return Lines(mentioning(efficacy.FailureLines(s, ch), users...), advice.Undo(ch, s.Now)...)
}

// MitigationEnding asks whether to extend a change, or says that it has ended. attack is "" where the message is a
// reply under its card.
func MitigationEnding(ch record.Change, who, attack string, now time.Time) Message {
	lines := change.EndingLines(ch, now)
	if attack != "" {
		lines[0].Addf(" `%v`", attack)
	}
	var buttons []call.Suggestion
	if ch.InForce(now) {
		buttons = append(buttons, advice.Extend(ch))
	}
	return Lines(mentioning(lines, who), buttons...)
}

// EndOverdue says that a change still holds although its end has passed.
func EndOverdue(a *config.Account, ch record.Change, who string, now time.Time) Message {
	return Lines(mentioning(change.OverdueLines(a, ch, now), who, a.Ops()))
}

// authors are who asked for a change and who approved it, as far as Slack knows them.
func authors(ch record.Change) (users []string) {
	for _, who := range []*record.Actor{&ch.Actor, ch.Approved} {
		if who != nil && who.Via != record.ViaClock && InSlack(who.ID) {
			users = append(users, who.ID)
		}
	}
	return users
}

// Recipients are the authors of a change, and whom a reply about its attack mentions.
func Recipients(ch record.Change, said record.Triage, shown record.AttackState) []string {
	users := authors(ch)
	if user := Recipient(said.Owner, shown.Mention, shown.Suppressed); user != "" && !slices.Contains(users, user) {
		users = append(users, user)
	}
	return users
}

// Recipient is whom a reply about an attack mentions: its owner if that is a Slack user, else whom its route mentions.
// It is "" in quiet hours, and if the route mentioned a user a short while ago.
func Recipient(owner *record.Owner, route string, suppressed bool) string {
	switch {
	case suppressed:
		return ""
	case owner != nil && InSlack(owner.ID):
		return owner.ID
	}
	return route
}
