package card

import (
	"cmp"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Course is the reply when an attack went quiet or resumed.
func Course(s call.Situation, course []record.HitPoint, kept record.Evidence, quiet bool) Message {
	if quiet {
		return Lines(wentQuiet(s, course), nil)
	}
	return Lines([]text.Text{resumed(s.Attack, kept)}, nil)
}

// maxDone is how many changes the reply lists.
const maxDone = 5

// wentQuiet sums up an attack that went quiet: its figures, and what was done.
func wentQuiet(s call.Situation, course []record.HitPoint) []text.Text {
	attack := s.Attack
	line := text.New(text.Bold("Quiet"), " since ", attack.Last)
	if long := attack.Last.Sub(attack.First); !attack.First.IsZero() && long > 0 {
		line = text.New(line, ", after ", text.Duration(long))
	}
	line = text.New(line, ": ", attack.Hits, text.Plural(attack.Hits.N, " hit"), " from ", attack.SourceCount, text.Plural(attack.SourceCount.N, " source"), ", ", describe.StatusName(attack))
	if known, ok := newTimeline(course, attack.Last); ok {
		peak, at := known.peak() // as on the card
		line = text.New(line, "; peak about ", about(peak), " a minute at ", at)
	}
	return append([]text.Text{line}, whatWasDone(s)...)
}

// whatWasDone lists the changes against an attack, and whether they still hold.
func whatWasDone(s call.Situation) []text.Text {
	all := slices.DeleteFunc(slices.Clone(s.Changes), func(ch record.Change) bool { return ch.State == record.StateFailed })
	slices.SortStableFunc(all, func(x, y record.Change) int {
		return cmp.Or(compareBool(y.InForce(s.Now), x.InForce(s.Now)), x.At.Compare(y.At))
	})
	if len(all) == 0 {
		return []text.Text{text.New("No mitigation was made for it; one that was typed without attack= isn't counted")}
	}
	var lines []text.Text
	for _, ch := range all[:min(maxDone, len(all))] {
		lines = append(lines, text.New("• ", text.Sanitize(ch.Does, maxChangeLine), " · ", text.Sanitize(ch.Actor.Name, MaxName), " ", ch.At, ": ", outcome(ch, s)))
	}
	if more := len(all) - len(lines); more > 0 {
		lines = append(lines, moreChanges(s, more))
	}
	return lines
}

// outcome is a change's efficacy while it is in force, and how long it holds.
func outcome(ch record.Change, s call.Situation) text.Text {
	if seen := efficacy.Brief(s, ch); len(seen) > 0 && ch.InForce(s.Now) {
		return text.New(seen, "; ", holds(ch, s.Now))
	}
	return holds(ch, s.Now)
}

// holds says how long a change holds.
func holds(ch record.Change, now time.Time) text.Text {
	switch {
	case ch.State == record.StateUndone:
		return text.New("undone")
	case ch.State == record.StateBegun:
		return text.New("perhaps done")
	case ch.State == record.StateHalf:
		return text.New("done in part")
	case !ch.InForce(now):
		return text.New("ended ", ch.Until)
	case ch.Until.IsZero():
		return text.New("stands")
	}
	return text.New("stands until ", ch.Until)
}

// resumed says that an attack that went quiet is active again.
func resumed(attack apiclient.Attack, kept record.Evidence) text.Text {
	line := text.New(text.Bold("It goes on again"))
	for _, turn := range slices.Backward(kept.Milestones) {
		if turn.Kind == record.WentQuiet {
			line = text.New(line, ", called quiet ", turn.At)
			break
		}
	}
	return text.New(line, ": ", attack.Hits, text.Plural(attack.Hits.N, " hit"), " by now, ", describe.StatusName(attack))
}
