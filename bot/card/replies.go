package card

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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
	line := text.Lead("Quiet", " since ", attack.Last)
	if long := attack.Last.Sub(attack.First); !attack.First.IsZero() && long > 0 {
		line = text.New(line, ", after ", text.Duration(long))
	}
	line = text.New(line, ": ", words.Figure(attack.Hits, "hit"), " from ", words.Figure(attack.SourceCount, "source"), ", ", words.StatusName(attack))
	if known, ok := newTimeline(course, attack.Last); ok {
		peak, at := known.peak() // as on the card
		line = text.New(line, "; peak about ", about(peak), " a minute at ", at)
	}
	return Lines(append([]text.Text{line}, whatWasDone(s)...), nil)
}

// Worse is the reply under a card when its attack got worse or resumed. It mentions whom the route names.
func Worse(a *config.Account, n record.Event) Message {
	c := n.Changed()
	id, hits := record.AttackID(a.Name, c.Attack.ID), c.Attack.Hits.String()+" hits"
	lead, what, about := "WORSE, ", text.Lead("It got worse: ", words.StatusName(c.Attack), ", ", hits), words.Attack(a, c.Attack, n.At)
	turn := "got worse"
	switch n.Kind {
	case record.Resumed:
		turn = "resumed"
		lead, what = "RESUMED, ", text.Lead("It resumed", " ", c.Attack.Last, ": ", words.StatusName(c.Attack), ", ", hits, ". An acknowledgement from before counts no longer")
	case record.BecameIncident:
		lead = "INCIDENT now, "
		what = text.Lead("It worked: this attack is an INCIDENT now", ", vulnerability ", text.Code(text.Sanitize(c.Attack.VulnID, 60)), ". Assume data was read")
	}
	notice := fmt.Sprintf("%s%s: %s on %s, %s, %s. %s", lead, words.StatusName(c.Attack), typeName(c.Attack, 20), text.Sanitize(a.AppName(c.Attack.App), 20),
		hits, words.Figure(c.Attack.SourceCount, "source"), words.Where(c.Attack)) // hostile text stands last
	if s := c.Storm; s != nil {
		situation := call.Situation{Account: a, ID: id, Attack: c.Attack, Storm: s, Now: n.At}
		h := efficacy.Headline(situation)
		state := words.StormState(h.State, *s)
		what, about = text.Lead("The storm "+turn+": ", state, ", ", hits), words.Line(situation, h)
		notice = fmt.Sprintf("Storm %s: %s on %s, %s", turn, state, text.Sanitize(words.Applications(*s, a), 40), hits)
	}
	msg := notified(notice, mentioning([]text.Text{what, about}, c.Mention))
	msg.Metadata = bounded(MetaWorse, attackMeta(a.Name, id, c.Attack))
	return msg
}

// MovedLine says where an attack's card is now.
func MovedLine(a *config.Account, attack string, shown record.AttackState, to record.Place, link string) text.Text {
	what := text.Lead("Storm")
	if shown.Storm == nil {
		what = text.Lead(words.KindName(shown.Attack), " · ", words.TypeName(shown.Attack.Type))
	}
	return text.New(what, " · ", a.AppName(shown.Attack.App), " ", text.Code(attack), ": its card is in ", text.Channel(to.Channel), " now: ", text.Link{Label: "open it", URL: link})
}

// Moved replaces a card that has a successor.
func Moved(a *config.Account, attack string, line text.Text) Message {
	msg := Lines([]text.Text{line}, nil)
	payload := accountMeta(a.Name)
	payload["attack"] = text.Sanitize(attack, maxMeta)
	msg.Metadata = bounded(MetaMessage, payload)
	return msg
}

// Stale is the reply under a card that has a successor and can't be edited.
func Stale(line text.Text) Message {
	note := text.Lead("This card is out of date", ", and Slack doesn't let it be edited any more. Its buttons still do what they say")
	return Lines([]text.Text{note, line}, nil)
}

// HandoverLines says who owns an attack now, with the note of the hand-over.
func HandoverLines(said record.Triage) []text.Text {
	o := said.Owner
	line := text.New(text.User(o.ID), ": ", text.Field(o.By.Name), " hands this attack over to you")
	if o.Is(o.By) {
		line = text.Lead(text.Field(o.Name), " takes this attack over")
		if o.From != "" {
			line = text.New(line, " from ", text.User(o.From))
		}
	}
	lines := []text.Text{line}
	if i := slices.IndexFunc(said.Notes, func(n record.Note) bool { return n.ID == o.Note }); i >= 0 {
		lines = append(lines, words.Note(said.Notes[i]))
	}
	return lines
}

// LapseLines say that an acknowledgement lapsed, and mention the former owner and whom the attack's route mentions.
func LapseLines(said record.Triage, shown record.AttackState) []text.Text {
	owner := said.Lapsed.ID
	if !InSlack(owner) {
		owner = ""
	}
	return mentioning([]text.Text{words.Unacknowledged(said, !shown.Quiet)}, owner, Recipient(nil, shown.Mention, shown.Suppressed))
}

// maxTakenIDs is how many attacks a takeover names for each former owner.
const maxTakenIDs = 5

// TakeoverLines says who owns the account's attacks now, and mentions the former owners.
func TakeoverLines(n record.Event, cases map[string]record.Triage) (lines []text.Text) {
	from := map[string][]string{} // attacks by former owner
	var now record.Owner
	taken := 0
	for _, id := range slices.Sorted(maps.Keys(cases)) {
		owner := cases[id].Owner
		if owner == nil || owner.ID != n.Payload.(record.Assignment).To || owner.Since.Before(n.At) {
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
	what := text.New(taken, text.Plural(int64(taken), " attack"), " of ", text.Bold(n.Account))
	line := text.New(text.User(now.ID), ": ", text.Sanitize(cmp.Or(now.By.Name, now.By.ID), maxNoticeName), " hands ", what, " over to you")
	if now.Is(now.By) {
		line = text.Lead(text.Sanitize(now.Name, maxNoticeName), " takes over ", what)
	}
	lines = append(lines, line)
	for _, who := range slices.Sorted(maps.Keys(from)) {
		lines = append(lines, text.New(text.User(who), ": no longer yours: ", text.Enumerate(from[who], maxTakenIDs, text.AsCode)))
	}
	return lines
}
