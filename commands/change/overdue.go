package change

import (
	"errors"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// NotEnded is what came of trying to end a change that is over. People are notified once that its end is overdue, and not where the notice of lost permission says it,
// nor when the store was away for a moment.
func NotEnded(ch record.Change, err error, now time.Time, tied bool) DueDecision {
	l := DueDecision{Change: ch}
	switch {
	case CheckAt(ch).IsZero(): // another was faster
	case now.Before(ch.Until): // it was prolonged
		l.Next = CheckAt(ch)
	default:
		l.Next = now.Add(RetryEvery)
		if ch.Late == nil && !tied && !PermissionRefused(err) && !errors.Is(err, refusal.ErrAway) {
			l.Change.Late, l.Late = &record.Late{Due: ch.Until, Why: FailureReason(err)}, true
		}
	}
	return l
}

// FailureReason is why the service didn't do something, for people, without what it was about.
func FailureReason(err error) string {
	if e, ok := AsAPIError(err); ok {
		err = refusal.FromService(e)
	}
	text, _ := call.ForPeople(call.Invocation{}, err)
	return text.String()
}

// OverdueLines say that a change still holds whose end is past, and what to do by hand.
func OverdueLines(a *call.Account, ch record.Change, now time.Time) []text.Text {
	lines := []text.Text{
		text.New(text.Bold("OVERDUE on "+a.Name+": "), DueLine(a, ch, now)),
		text.New("Why: ", ch.Late.Why, ". wafbot tries again each minute, and says when it is done"),
	}
	for _, s := range inverse(ch) {
		lines = append(lines, text.New("• by hand, in the service's console: ", describe.ByHand(a, s)))
	}
	return lines
}

// EndedLateLine says that an end was brought about after all.
func EndedLateLine(ch record.Change) text.Text {
	return text.New(text.Bold("Done after all"), ", due at ", ch.Late.Due, ": ", describe.Change(ch, nil))
}

// EndingLines ask about a change that ends while what it was made for goes on, and say why it isn't prolonged by itself. When people can't be asked
// before it has ended, they say that it has.
func EndingLines(ch record.Change, now time.Time) []text.Text {
	if !now.Before(ch.Until) {
		return []text.Text{text.New(text.Bold(ch.Does), " ended at ", ch.Until, " while the attack went on"), text.New("Nobody could be asked before: nothing of it holds any more")}
	}
	why := text.New("Then it is over, unless somebody extends it")
	switch {
	case ch.Renew.IsZero():
	case RenewalLength(ch) == 0:
		why = text.New("It was made at ", ch.At, " and lasts as long as wafbot may extend it by itself")
	default:
		why = text.New("wafbot extends it by itself if it keeps trying, which it didn't lately")
	}
	return []text.Text{text.New(text.Bold(ch.Does), " ends at ", ch.Until, " and the attack goes on"), why}
}
