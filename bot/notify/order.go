package notify

import (
	"cmp"
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
	agedPart    = 2               // newer figures wait for a half of the time since the card was touched
	openPart    = 8               // for an eighth, if it is open
	mostWait    = time.Hour       // and no longer than this, if there are edits for them
	rareFrom    = 5 * time.Minute // a card that waits so long because nobody acts on it says that
	lead        = 4 * time.Minute // figures of an incident, and of a storm, are due so long before they were stale
	day         = 24 * time.Hour  // more than anything waits
	atOnceAhead = 3 * day         // so long before it was wanted is due what people wait for: before all else
	mostSeen    = 10_000          // cards whose attention a replica remembers
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
		open: t.Owner == nil && slices.Contains([]words.State{words.NotBlocked, words.PartlyBlocked,
			words.Unknown}, h.State),
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
	ahead := map[record.Urgency]time.Duration{
		record.UrgentActed: atOnceAhead, record.UrgentIncident: 2 * day, record.UrgentState: day,
		record.UrgentStorm: lead, record.UrgentGrown: lead, record.UrgentFigures: -o.attention.patience(o.mark.Since),
	}[o.mark.Urgency]
	if o.mark.Urgency == record.UrgentState && o.attention.incident {
		ahead += day
	}
	if o.rests {
		ahead -= 7 * day // others come first
	}
	return o.mark.Since.Add(-ahead)
}

// turn is the card's turn among those of other accounts. An edit that can wait leaves some for those that can't.
func (o stale) turn(account string) record.EditTurn {
	t := record.EditTurn{Of: account, Due: o.due()}
	if o.mark.Urgency != record.UrgentActed {
		t.Keep = editsPerMinute / 10
	}
	return t
}

// seen is what this replica knows of a card that it drew, or tried to.
type seen struct {
	attention attention
	drawn     time.Time // when it last was
	tried     time.Time // when its edit failed since
	mark      string    // the id of the mark for which it can't be edited yet, or isn't recorded: after another one it may have a successor that can
	again     time.Time // when it is tried again then
}

// turns knows which stale card is drawn next, by what was seen of each attack's. One goroutine at a time uses it.
type turns map[string]*seen

// of is what is known of a card. Of too many none is known again, as to another replica.
func (t turns) of(attack string) *seen {
	if t[attack] == nil {
		if len(t) >= mostSeen {
			clear(t)
		}
		t[attack] = &seen{}
	}
	return t[attack]
}

// saw notes how much attention a card gets that was drawn now.
func (t turns) saw(attack string, a attention, goesOn bool, now time.Time) {
	if *t.of(attack) = (seen{attention: a, drawn: now}); !goesOn {
		delete(t, attack)
	}
}

// next is the first of the stale cards; with wait > 0 there is none to be drawn now.
func (t turns) next(marks map[string]record.RedrawMark, now time.Time) (o stale, wait time.Duration) {
	wait = whenWoken
	for attack, mark := range marks {
		c, early := cmp.Or(t[attack], &seen{}), time.Duration(0)
		if mark.Urgency == record.UrgentStorm {
			early = stormEvery - now.Sub(c.drawn)
		}
		if mark.ID == c.mark {
			early = max(early, c.again.Sub(now))
		}
		if early > 0 {
			wait = min(wait, early)
			continue
		}
		one := stale{attack, mark, c.attention, now.Sub(c.tried) < restsFor}
		if o.attack == "" || cmp.Or(one.due().Compare(o.due()), strings.Compare(attack, o.attack)) < 0 {
			o = one
		}
	}
	if o.attack != "" {
		wait = 0
	}
	return o, wait
}
