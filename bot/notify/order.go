package notify

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

// stale is a card to be drawn.
type stale struct {
	attack    string // or the field of another mark: that it is a former card
	mark      record.RedrawMark
	attention attention
	rests     bool // its edit failed a short while ago: others come first
}

// attention says how soon people miss newer figures on a card. The zero value is that of a card that this replica
// hasn't drawn yet.
type attention struct {
	touched  time.Time // when a person last did something about it, or it last rang; on the service's clock
	open     bool      // it is unacknowledged, and gets through
	incident bool
}

const (
	agedPart = 2               // newer figures wait for a half of the time since the card was touched
	openPart = 8               // for an eighth, if it is open
	mostWait = time.Hour       // and no longer than this, if there are edits for them
	rareFrom = 5 * time.Minute // a card that waits so long because nobody acts on it says that
	lead     = 4 * time.Minute // figures of an incident, and of a storm, are due so long before they were stale
	day      = 24 * time.Hour  // more than anything waits
	mostSeen = 10_000          // cards of which a replica knows how much attention they get
)

// attention follows from what an attack's card shows, and from what is stored of it.
func (f facts) attention(shows call.Situation) attention {
	t, h := shows.Triage, efficacy.Headline(shows)
	times := []time.Time{f.posted, f.State.MentionedAt, f.State.ResumedAt, t.UnackedAt}
	if t.Owner != nil {
		times = append(times, t.Owner.Since)
	}
	if t.Verdict != nil {
		times = append(times, t.Verdict.At)
	}
	for _, n := range t.Notes {
		times = append(times, n.At)
	}
	for _, ch := range shows.Changes {
		if ch.Actor.Via != record.ViaClock {
			times = append(times, ch.At)
		}
	}
	return attention{
		touched:  slices.MaxFunc(times, time.Time.Compare),
		incident: h.Incident,
		open:     t.Owner == nil && slices.Contains([]words.State{words.NotBlocked, words.PartlyBlocked, words.Unknown}, h.State),
	}
}

// patience is how long newer figures of a card may wait that became stale then.
func (a attention) patience(since time.Time) time.Duration {
	part := time.Duration(agedPart)
	if a.open {
		part = openPart
	}
	if a.touched.IsZero() {
		return 0
	}
	return min(max(0, since.Sub(a.touched)/part), mostWait)
}

// rare reports whether figures that became stale then waited until now because nobody acts on the card.
func (a attention) rare(since, now time.Time) bool {
	return !since.IsZero() && now.Sub(since) >= rareFrom && a.patience(since) >= rareFrom
}

// due orders stale cards: the earliest is drawn first. What a person did comes before what changes a headline, and that
// before figures. Among figures those of a card that nobody acts on may wait longest; but they don't wait for ever, as
// what is more urgent could take every edit.
func (o stale) due() time.Time {
	due := o.mark.Since
	switch u := o.mark.Urgency; {
	case u == record.UrgentActed:
		due = dueAtOnce(due)
	case u == record.UrgentIncident, u == record.UrgentState && o.attention.incident:
		due = due.Add(-2 * day)
	case u == record.UrgentState:
		due = due.Add(-day)
	case u == record.UrgentStorm, u == record.UrgentGrown:
		due = due.Add(-lead)
	default:
		due = due.Add(o.attention.patience(due))
	}
	if o.rests {
		due = due.Add(7 * day) // others come first
	}
	return due
}

// dueAtOnce is when something is due that people wait for since then: before all else.
func dueAtOnce(since time.Time) time.Time { return since.Add(-3 * day) }

// turn is the card's turn among those of other accounts. An edit that can wait leaves some for those that can't.
func (o stale) turn(account string) record.EditTurn {
	t := record.EditTurn{Of: account, Due: o.due()}
	if o.mark.Urgency != record.UrgentActed {
		t.Keep = editsPerMinute / 10
	}
	return t
}

// turns knows which stale card is drawn next. One goroutine at a time uses it.
type turns struct {
	seen  map[string]attention // of cards that were drawn here, by attack
	drawn map[string]time.Time // storms' cards that were drawn a moment ago, by when that was
	stuck map[string]stuckCard // by attack
	tried map[string]time.Time // cards whose last edit failed, by when that was
}

func newTurns() turns {
	return turns{seen: map[string]attention{}, drawn: map[string]time.Time{}, stuck: map[string]stuckCard{}, tried: map[string]time.Time{}}
}

// saw notes how much attention a card gets that was drawn. Of too many it knows none again, as another replica would.
func (t *turns) saw(attack string, a attention, goesOn bool) {
	if !goesOn {
		delete(t.seen, attack)
		return
	}
	if len(t.seen) >= mostSeen {
		clear(t.seen)
	}
	t.seen[attack] = a
}

// next is the first of the stale cards; with wait > 0 there is none to be drawn now.
func (t *turns) next(marks map[string]record.RedrawMark, now time.Time) (o stale, wait time.Duration) {
	maps.DeleteFunc(t.stuck, func(attack string, s stuckCard) bool { return s.mark != marks[attack].ID || !now.Before(s.again) })
	maps.DeleteFunc(t.tried, func(_ string, at time.Time) bool { return now.Sub(at) >= restsFor })
	maps.DeleteFunc(t.drawn, func(_ string, at time.Time) bool { return now.Sub(at) >= stormEvery })
	wait = whenWoken
	var first time.Time
	for attack, mark := range marks {
		if mark.Urgency == record.UrgentStorm {
			if early := stormEvery - now.Sub(t.drawn[attack]); early > 0 {
				wait = min(wait, early)
				continue
			}
		}
		if s, ok := t.stuck[attack]; ok {
			wait = min(wait, s.again.Sub(now))
			continue
		}
		_, rests := t.tried[attack]
		one := stale{attack: attack, mark: mark, rests: rests, attention: t.seen[attack]}
		due := one.due()
		if o.attack == "" || cmp.Or(due.Compare(first), strings.Compare(attack, o.attack)) < 0 {
			o, first = one, due
		}
	}
	if o.attack != "" {
		wait = 0
	}
	return o, wait
}
