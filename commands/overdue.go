package commands

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// notEnded is what came of trying to end a change that is over. That its end is overdue is told once, and not where the notice of tied hands says it,
// nor of a memory that was away for a moment.
func notEnded(ch record.Change, err error, now time.Time, tied bool) Look {
	l := Look{Change: ch}
	switch {
	case ChangeLookAt(ch).IsZero(): // somebody was faster
	case now.Before(ch.Until): // it was prolonged
		l.Next = ChangeLookAt(ch)
	default:
		l.Next = now.Add(dueAgain)
		if ch.Late == nil && !tied && !tiesHands(err) && !errors.Is(err, refusal.ErrAway) {
			l.Change.Late, l.Late = &record.Late{Due: ch.Until, Why: notBecause(err)}, true
		}
	}
	return l
}

// saidTied reports whether the notice of tied hands names the change among what is due, whatever else goes wrong meanwhile.
func (r *Runner) saidTied(ctx context.Context, ch record.Change) bool {
	t, err := r.cfg.Ties.PermissionLoss(ctx, ch.Account)
	return err == nil && t.GoesOn() && slices.ContainsFunc(powers(ch.Steps), t.LacksPermission)
}

// notRenewed is what came of trying to prolong a change that knocks. What failed is tried again until its end, and people are
// asked meanwhile, unless only the memory was away for a moment; what was refused will be again.
func (r *Runner) notRenewed(ch record.Change, err error, now time.Time) Look {
	ch = r.limited(ch)
	l, _ := r.look(ch, now)
	if l.Ended || ChangeLookAt(ch).IsZero() || now.Before(ChangeLookAt(ch)) {
		return l
	}
	l = Look{Change: ch, Next: ch.Until}
	needsSecond := errors.Is(err, refusal.ErrNeedsApproval)
	if !needsSecond && !errors.Is(err, refusal.ErrGuarded) && !errors.Is(err, refusal.ErrNothing) {
		l.Next = changeAgain(ch, now)
	}
	l.ask(needsSecond || errors.Is(err, refusal.ErrService))
	return l
}

// notBecause is why the service didn't do something, for people, without what it was about.
func notBecause(err error) string {
	if e, ok := asAPI(err); ok {
		err = forPeople(e)
	}
	text, _ := ForPeople(Invocation{}, err)
	return text.String()
}

// OverdueLines say that a change still holds whose end is past, and what to do by hand.
func (a *Account) OverdueLines(ch record.Change, now time.Time) []text.Text {
	lines := []text.Text{
		text.New(text.Bold("OVERDUE on "+a.Name+": "), a.DueLine(ch, now)),
		text.New("Why: ", ch.Late.Why, ". wafbot tries again each minute, and says when it is done"),
	}
	for _, s := range backwards(ch) {
		lines = append(lines, text.New("• by hand, in the service's console: ", a.ByHand(s)))
	}
	return lines
}

// EndedLate says that an end was brought about after all.
func EndedLate(ch record.Change) text.Text {
	return text.New(text.Bold("Done after all"), ", due at ", ch.Late.Due, ": ", ChangeLine(ch, nil))
}
