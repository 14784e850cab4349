package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/delay"
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

// lane is what waits for its turn in a channel.
type lane struct {
	waits   []*queued // the most urgent first
	running int       // how many are being notified, or whether the right to post is asked for
	slot    bool      // there is that right: whatever is posted next uses it up
	asks    time.Time // when it is asked for again
	urgent  bool      // it was asked for something urgent
	failed  int       // how often in a row it failed
	since   time.Time // when it last did: what was begun before says nothing more
	paused  time.Time // until when nothing more is begun
}

const (
	atOnce     = 8           // in a channel without a pace
	mostPause  = time.Minute // of a lane
	doubtsFree = 3           // in a row, before the lane pauses: others may go through
)

// insert puts an event behind those that are as urgent.
func (l *lane) insert(w *queued) {
	i, _ := slices.BinarySearchFunc(l.waits, w, func(other, w *queued) int { return cmp.Or(order(other, w), -1) })
	l.waits = slices.Insert(l.waits, i, w)
}

// fail pauses a lane in which an attempt failed, unless what fails was begun before another did: free is how often in a
// row it doesn't.
func (l *lane) fail(begun time.Time, free int) {
	if begun.Before(l.since) {
		return
	}
	l.since = time.Now()
	if l.failed++; l.failed > free {
		l.paused = l.since.Add(delay.Backoff(l.failed-free-1, time.Second, mostPause))
	}
}

// succeed ends a lane's pause: Slack is there, and each that failed often is tried once more in its turn.
func (l *lane) succeed() {
	l.failed, l.paused = 0, time.Time{}
	if n := len(l.waits); n > 0 && l.waits[n-1].stuck() {
		for _, w := range l.waits {
			w.failed = min(w.failed, stuckAfter-1)
		}
		slices.SortStableFunc(l.waits, order)
	}
}

// queued is an event that waits for its turn, or has it.
type queued struct {
	record.Event
	since    time.Time // when this replica came to know of it
	failed   int       // how often it could not be notified
	said     bool      // another message says it
	subjects []string  // what it is about: of events that share one, one at a time is notified
	parked   bool      // its message is in doubt, or waits for a card: what is about the same waits for it
	due      time.Time // until when it is put aside then
	rank     int       // its own, or that of the most urgent event that waits for it
}

// stuckAfter is how often an event fails before others go first: Slack may be away, which says nothing about this one,
// or refuse it for ever.
const stuckAfter = 3

func (w *queued) stuck() bool { return w.failed >= stuckAfter }

// stormPatience is how long the first card of a storm waits behind incidents. Each of those takes a second, and the
// card must be there within five. A little less than two seconds: it takes the place that comes free then.
const stormPatience = 1900 * time.Millisecond

func (w *queued) stormCard() bool { return w.Kind == record.NewAttack && record.IsStorm(w.Subject) }

// ownRank is its rank by now where nothing waits for it.
func (w *queued) ownRank() int {
	if w.stormCard() && time.Since(w.since) >= stormPatience {
		return 0
	}
	return w.Rank()
}

// laneOf is where an event waits for its turn.
func laneOf(e record.Event) string {
	if e.Kind == record.Grew || e.Kind == record.WentQuiet {
		return ""
	}
	return e.Channel
}

// subject is what an event is about, as far as it says: of a change or a request it is known later which attack it is
// about.
func subject(e record.Event) string {
	switch p := e.Detail.(type) {
	case record.ChangeFacts:
		return "change " + p.Change
	case record.ApprovalChanged:
		return "request " + p.Request
	case record.PermissionChanged:
		return "permission"
	case record.DrillFacts:
		if !p.Report { // which waits for all cards
			return fmt.Sprintf("drill %s %d", p.Drill, p.Card)
		}
	case record.UnreachableFacts, record.GapFacts:
		return "monitoring"
	}
	if e.Subject != "" {
		return record.AttackID(e.Account, e.Subject)
	}
	return e.ID
}

// urgentRank is the rank of what takes the room that others leave, and of what is more urgent.
const urgentRank = 2

func urgent(e record.Event) bool { return e.Rank() <= urgentRank }

// order orders events of one lane.
func order(a, b *queued) int {
	turn := func(w *queued) int { return min(w.failed, stuckAfter) / stuckAfter } // those that failed often are last
	return cmp.Or(turn(a)-turn(b), a.rank-b.rank, a.At.Compare(b.At), a.Order-b.Order)
}
