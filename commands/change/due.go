package change

import (
	"errors"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How long wafbot waits after a change that could not be ended; how long before its end it checks one, unless that is
// short; and how often it checks until then, as a part of that time.
const (
	RetryEvery = time.Minute
	leadTime   = 15 * time.Minute
	checks     = 15
)

// leadOf is how long before its end wafbot checks a change: a quarter of its time, where that is less than an hour.
func leadOf(c record.Change) time.Duration { return min(leadTime, c.Until.Sub(c.At)/4) }

// CheckAt is when wafbot has to check the change by itself: to settle one that was begun and cut short, to prolong it,
// to ask about it, to end it, to show that it has ended, or to verify what it deleted or which mode it left; zero for
// never. Which of these it is follows from what is known by then.
func CheckAt(c record.Change) time.Time {
	switch {
	case c.State == record.StateBegun:
		return record.Earlier(c.DueAt(), c.At.Add(approval.MaxAge))
	case deletedAt(c).After(time.Time{}):
		return deletedAt(c).Add(efficacy.ListedWithin)
	case !verifyModeAt(c).IsZero():
		return verifyModeAt(c)
	case c.Parent() != "" || c.Until.IsZero():
		return time.Time{}
	case c.State == record.StateDone || c.State == record.StateHalf:
		return c.Until.Add(-leadOf(c))
	}
	return c.DueAt()
}

// Scheduled are changes with the time at which they are to be looked at next.
func Scheduled(all ...record.Change) []record.Change {
	all = slices.Clone(all)
	for i := range all {
		all[i].CheckAt = CheckAt(all[i])
	}
	return all
}

// deletedAt is when the change took the last of its entries off a list; zero: it took none.
func deletedAt(c record.Change) (last time.Time) {
	for _, s := range c.Did(record.DeleteEntry) {
		last = record.Later(last, s.SentAt)
	}
	return last
}

// VerifiesDeletion reports whether the listings must show by now which entries the change deleted: the service's answer
// does not tell.
func VerifiesDeletion(c record.Change, now time.Time) bool {
	at := deletedAt(c)
	return !at.IsZero() && now.Sub(at) >= efficacy.ListedWithin
}

// VerifyDeletion says whether the entries that the change deleted are gone.
func VerifyDeletion(c record.Change, entries []apiclient.IPRule) record.DueDecision {
	l := record.DueDecision{Change: c}
	for _, s := range c.Did(record.DeleteEntry) {
		if slices.ContainsFunc(entries, func(e apiclient.IPRule) bool { return efficacy.Unchanged(e, *s.Entry) }) {
			l.Listed, l.Change.Fault = true, "the service accepted it and still lists the entry: look with lists"
		}
	}
	return l
}

// CheckAgainAt is when to check a change again that has not ended.
func CheckAgainAt(c record.Change, now time.Time) time.Time {
	return record.Earlier(now.Add(max(leadOf(c)/checks, time.Second)), c.Until)
}

// DueLine says what the end of a change would bring, and whether it is late.
func DueLine(a *config.Account, ch record.Change, now time.Time) text.Text {
	what := text.Newf("The end of *%v* is due", ch.Does)
	if i := slices.IndexFunc(ch.Steps, setsMode); i >= 0 {
		app, _ := words.ModeOf(*ch.Steps[i].Rule)
		to := "the mode that it inherits"
		if old := ch.Did(record.DeleteRule); len(old) > 0 {
			to = text.Field(old[0].Rule.Mode)
		}
		what = text.Lead(words.ModeApp(a, app) + " should return to " + to)
	}
	if now.Before(ch.Until) {
		return text.Newf("%v at %v: it can't as long as this lasts", what, ch.Until)
	}
	return text.Newf("%v at %v: *NOT done*", what, ch.Until)
}

// DueMeanwhile are the changes that wafbot has to end within the next half day and can't, what comes first first. What
// was tried already is among what was refused.
func DueMeanwhile(t record.PermissionLoss, changes []record.Change, now time.Time) []record.Change {
	due := slices.DeleteFunc(slices.Clone(changes), func(ch record.Change) bool {
		tried := slices.ContainsFunc(t.Refused, func(r record.RefusedChange) bool { return r.Ends == ch.ID })
		return tried || ch.DueAt().IsZero() || ch.DueAt().After(now.Add(12*time.Hour)) ||
			!slices.ContainsFunc(NeededPermissions(ch.Steps), t.LacksPermission)
	})
	slices.SortFunc(due, func(x, y record.Change) int { return x.DueAt().Compare(y.DueAt()) })
	return due
}

// PermissionFix says who can give wafbot the permission that it lost, and where.
func PermissionFix(t record.PermissionLoss) text.Text {
	where := map[record.Permission]string{record.PermissionLists: "/v4/ip_rules",
		record.PermissionModes: "/v1/objects/hint", record.PermissionRules: "/v1/objects/hint"}
	if slices.Contains(t.Lacks, record.PermissionAll) {
		return text.Newf("The service doesn't accept wafbot's token: it was revoked or has expired. Who manages the service's tokens makes a new one; written into the account's `token_file` it is read again by itself, anywhere else it needs a restart")
	}
	var may []text.Text
	for _, p := range t.Lacks {
		may = append(may, text.Newf("%v (`%v`)", string(p), where[p]))
	}
	return text.Newf("wafbot's token may not %v: an admin of the service can give its user a role that may. Nothing needs a restart",
		text.Join(may, ", nor "))
}

// NotEnded decides about a change that is over and could not be ended. People are notified once that its end is
// overdue, but not if the notice of lost permission says so already, or if the store was only away for a moment.
func NotEnded(ch record.Change, err error, now time.Time, lost record.PermissionLoss) record.DueDecision {
	l, named := record.DueDecision{Change: ch}, lost.GoesOn() &&
		slices.ContainsFunc(NeededPermissions(ch.Steps), lost.LacksPermission)
	switch {
	case CheckAt(ch).IsZero(): // another was faster
	case now.Before(ch.Until): // it was prolonged
		l.Next = CheckAt(ch)
	default:
		l.Next = now.Add(RetryEvery)
		if ch.Late == nil && !named && !PermissionRefused(err) && !errors.Is(err, refusal.ErrAway) {
			l.Change.Late, l.Late = &record.Late{Due: ch.Until, Why: FailureReason(err)}, true
		}
	}
	return l
}

// FailureReason is why the service didn't do something, for people, without what it was about.
func FailureReason(err error) string {
	if e, ok := errors.AsType[*apiclient.Error](err); ok {
		err = refusal.FromService(e)
	}
	text, _ := call.ForPeople(call.Invocation{}, err)
	return text.String()
}

// OverdueLines say that a change still holds whose end is past, and what to do by hand.
func OverdueLines(a *config.Account, ch record.Change, now time.Time) (lines text.Lines) {
	lines.Addf("*OVERDUE on %v: *%v", a.Name, DueLine(a, ch, now))
	lines.Addf("Why: %v. wafbot tries again each minute, and says when it is done", ch.Late.Why)
	for _, s := range inverse(ch) {
		lines.Addf("• by hand, in the service's console: %v", words.ByHand(a, s))
	}
	return lines
}

// EndedLateLine says that an end was brought about after all.
func EndedLateLine(ch record.Change) text.Text {
	return text.Newf("*Done after all*, due at %v: %v", ch.Late.Due, words.Change(ch, nil))
}

// EndingLines ask about a change that ends while its attack is ongoing, and say why wafbot doesn't prolong it by
// itself. If people can't be asked before it has ended, they say that it has.
func EndingLines(ch record.Change, now time.Time) (lines text.Lines) {
	if !now.Before(ch.Until) {
		lines.Addf("*%v* ended at %v while the attack went on", ch.Does, ch.Until)
		lines.Addf("The question could not be posted before: nothing of it holds any more")
		return lines
	}
	lines.Addf("*%v* ends at %v and the attack goes on", ch.Does, ch.Until)
	switch {
	case ch.Renew.IsZero():
		lines.Addf("Then it is over, unless it is extended")
	case RenewalLength(ch) == 0:
		lines.Addf("It was made at %v and lasts as long as wafbot may extend it by itself", ch.At)
	default:
		lines.Addf("wafbot extends it by itself if it keeps trying, which it didn't lately")
	}
	return lines
}

// RenewalLength is by how much wafbot prolongs the change while its source still tries: by its own length, as far as it
// may; 0: not at all.
func RenewalLength(c record.Change) time.Duration {
	length, err := grammar.ParseDuration(c.Line.Keys["for"])
	if err != nil || length == grammar.Never {
		length = c.Until.Sub(c.At)
	}
	return max(0, min(length, c.Renew.Sub(c.Until))).Truncate(time.Second)
}

// RenewLine is the line that prolongs the change, as a person could type it.
func RenewLine(c record.Change) record.Line {
	return record.LineOf(c.Account, "extend", c.ID).With("for", grammar.DurationText(RenewalLength(c))).
		With("reason", "it is still trying")
}
