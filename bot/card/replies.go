package card

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Course is the reply when an attack went quiet, with its figures and what was done.
func Course(s call.Situation, course []record.HitPoint) Message {
	attack := s.Attack
	line := text.Newf("*Quiet* since %v", attack.Last)
	if long := attack.Last.Sub(attack.First); !attack.First.IsZero() && long > 0 {
		line.Addf(", after %v", text.Duration(long))
	}
	line.Addf(": %v from %v, %v",
		words.Figure(attack.Hits, "hit"), words.Figure(attack.SourceCount, "source"), words.StatusName(attack))
	if _, ok := courseEnd(course, attack.Last); ok {
		peak, at := peak(course) // as on the card
		line.Addf("; peak about %v a minute at %v", about(peak), at)
	}
	return Lines(append(text.Lines{line}, whatWasDone(s)...))
}

// Worse is the reply under a card when its attack got worse or resumed. It mentions a user or user group; "": none.
func Worse(a *config.Account, n record.Event, mention string) Message {
	c := n.Attack
	id, hits := record.AttackID(a.Name, c.Attack.ID), c.Attack.Hits.String()+" hits"
	lead, what, about := "WORSE, ", text.Newf("*It got worse: *%v, %v",
		words.StatusName(c.Attack), hits), words.Attack(a, c.Attack, n.At)
	turn := "got worse"
	switch n.Kind {
	case record.Resumed:
		turn = "resumed"
		lead, what = "RESUMED, ", text.Newf("*It resumed* %v: %v, %v. An acknowledgement from before counts no longer",
			c.Attack.Last, words.StatusName(c.Attack), hits)
	case record.BecameIncident:
		lead = "INCIDENT now, "
		what = text.Newf("*It worked: this attack is an INCIDENT now*, vulnerability `%v`. Assume data was read",
			text.Sanitize(c.Attack.VulnID, 60))
	}
	notice := fmt.Sprintf("%s%s: %s on %s, %s, %s. %s", lead, words.StatusName(c.Attack), typeName(c.Attack, 20),
		text.Sanitize(a.AppName(c.Attack.App), 20),
		hits, words.Figure(c.Attack.SourceCount, "source"), words.Where(c.Attack)) // hostile text stands last
	if s := c.Storm; s != nil {
		situation := call.Situation{Account: a, ID: id, Attack: c.Attack, Storm: s, Now: n.At}
		h := efficacy.Headline(situation)
		state := words.StormState(h.State, *s)
		what, about = text.Newf("*The storm %v: *%v, %v", turn, state, hits), words.Line(situation, h)
		notice = fmt.Sprintf("Storm %s: %s on %s, %s", turn, state, text.Sanitize(words.Applications(*s, a), 40), hits)
	}
	msg := notified(notice, mentioning(text.Lines{what, about}, mention))
	msg.Metadata = bounded(MetaWorse, attackMeta(a.Name, id, c.Attack))
	return msg
}

// MovedLine says where an attack's card is now.
func MovedLine(a *config.Account, attack string, shown record.AttackState, to record.Place, link string) text.Text {
	what := text.Lead("Storm")
	if shown.Storm == nil {
		what = text.Lead(words.KindName(shown.Attack), " · ", words.TypeName(shown.Attack.Type))
	}
	return text.Newf("%v · %v `%v`: its card is in %v now: %v",
		what, a.AppName(shown.Attack.App), attack, text.Channel(to.Channel), text.Link{Label: "open it", URL: link})
}

// Moved replaces a card that has a successor.
func Moved(a *config.Account, attack string, line text.Text) Message {
	msg := Lines(text.Lines{line})
	payload := accountMeta(a.Name)
	payload["attack"] = text.Sanitize(attack, maxMeta)
	msg.Metadata = bounded(MetaMessage, payload)
	return msg
}

// Stale is the reply under a card that has a successor and can't be edited.
func Stale(line text.Text) Message {
	note := text.Newf("*This card is out of date*, and Slack doesn't let it be edited any more. Its buttons still do what they say")
	return Lines(text.Lines{note, line})
}

// HandoverLines says who owns an attack now, with the note of the hand-over.
func HandoverLines(said record.Triage) text.Lines {
	o := said.Owner
	line := text.Newf("%v: %v hands this attack over to you", text.User(o.ID), text.Field(o.By.Name))
	if o.Is(o.By) {
		line = text.Lead(text.Field(o.Name), " takes this attack over")
		if o.From != "" {
			line.Addf(" from %v", text.User(o.From))
		}
	}
	lines := text.Lines{line}
	if i := slices.IndexFunc(said.Notes, func(n record.Note) bool { return n.ID == o.Note }); i >= 0 {
		lines = append(lines, words.Note(said.Notes[i]))
	}
	return lines
}

// LapseLines say that an acknowledgement lapsed, and mention the former owner and whom the attack's route mentions.
func LapseLines(said record.Triage, shown record.AttackState) text.Lines {
	owner := said.Lapsed.ID
	if !InSlack(owner) {
		owner = ""
	}
	return mentioning(text.Lines{words.Unacknowledged(said, !shown.Quiet)}, owner,
		Recipient(nil, shown.Mention, shown.Suppressed))
}

// maxTakenIDs is how many attacks a takeover names for each former owner.
const maxTakenIDs = 5

// TakeoverLines says who owns the account's attacks now, and mentions the former owners.
func TakeoverLines(n record.Event, cases map[string]record.Triage) (lines text.Lines) {
	from := map[string][]string{} // attacks by former owner
	var now record.Owner
	taken := 0
	for _, id := range slices.Sorted(maps.Keys(cases)) {
		owner := cases[id].Owner
		if owner == nil || owner.ID != n.Said().To || owner.Since.Before(n.At) {
			continue
		}
		taken++
		now = *owner
		if owner.From != "" && owner.From != owner.ID {
			from[owner.From] = append(from[owner.From], id)
		}
	}
	if taken == 0 {
		return nil
	}
	what := text.Newf("%v%v of *%v*", taken, text.Plural(int64(taken), " attack"), n.Account)
	line := text.Newf("%v: %v hands %v over to you",
		text.User(now.ID), text.Sanitize(cmp.Or(now.By.Name, now.By.ID), maxNoticeName), what)
	if now.Is(now.By) {
		line = text.Lead(text.Sanitize(now.Name, maxNoticeName), " takes over ", what)
	}
	lines = append(lines, line)
	for _, who := range slices.Sorted(maps.Keys(from)) {
		lines.Add(text.User(who), ": no longer yours: ", text.Enumerate(from[who], maxTakenIDs, text.AsCode))
	}
	return lines
}

const (
	leastPoints = 3           // fewer give one rate, which the figures show already
	leastCourse = time.Minute // a shorter course gives one rate, too
	leastSpan   = 10          // seconds over which a rate is computed: the service's times are whole seconds
	mostRate    = 1e12        // hits a minute: the service's figures are not trusted
)

// trend says whether more hits came in the later half of an attack's course than in the earlier; "" if too little is
// known.
func trend(points []record.HitPoint, until time.Time) string {
	end, ok := courseEnd(points, until)
	if !ok {
		return ""
	}
	begin, last := points[0], points[len(points)-1]
	half, middle := begin.At+(end-begin.At)/2, float64(last.Hits)
	i, _ := slices.BinarySearchFunc(points, half, func(p record.HitPoint, at int64) int { return cmp.Compare(p.At, at) })
	if i < len(points) { // interpolated between two points
		from, to := points[i-1], points[i]
		middle = float64(from.Hits) + float64(to.Hits-from.Hits)*float64(half-from.At)/float64(to.At-from.At)
	}
	switch before, after := middle-float64(begin.Hits), float64(last.Hits)-middle; {
	case after > 1.5*before:
		return "rising"
	case 1.5*after < before:
		return "falling"
	}
	return "steady"
}

// about rounds a rate to the precision of sampled figures.
func about(n int64) apiclient.Figure {
	step := int64(1)
	for n/step >= 100 {
		step *= 10
	}
	return apiclient.Known((n + step/2) / step * step)
}

// courseEnd is the end of an attack's course, in Unix seconds; ok is false if too little is known of it.
func courseEnd(points []record.HitPoint, until time.Time) (end int64, ok bool) {
	if len(points) < leastPoints || until.IsZero() {
		return 0, false
	}
	first, last := points[0], points[len(points)-1]
	end = max(until.Unix(), last.At)
	return end, end-first.At >= int64(leastCourse/time.Second) && last.Hits > first.Hits
}

// peak is the fastest rate between two points, in hits a minute, and when it was.
func peak(points []record.HitPoint) (perMinute int64, at time.Time) {
	from := points[0]
	for _, to := range points[1:] {
		span := to.At - from.At
		if span < leastSpan {
			continue
		}
		if rate := int64(min(float64(to.Hits-from.Hits)*60/float64(span), mostRate)); rate > perMinute {
			perMinute, at = rate, time.Unix(to.At, 0)
		}
		from = to
	}
	return perMinute, at
}
