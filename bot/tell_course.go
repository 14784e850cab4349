package bot

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// tellTurn takes news off that its card tells. That an attack went quiet, or goes on again, is told in the card's thread, too, when all else is told.
func (b *Bot) tellTurn(ctx context.Context, n poller.News) error {
	if turned := n.Reason == poller.Quiet || n.Reason == poller.Resumed; turned && n.Storm == nil {
		course := n
		course.ID, course.Reason, course.Quiet = "course:"+n.ID, poller.Course, n.Reason == poller.Quiet
		if err := b.cfg.Memory.Announce(ctx, course); err != nil {
			return err
		}
		b.Wake(n.Account, []poller.News{course})
	}
	return b.record(ctx, n, place{})
}

// tellCourse says in the thread of a card what became of its attack, unless that is over by now. The channel isn't shown it.
func (b *Bot) tellCourse(ctx context.Context, a Account, n poller.News) error {
	id := commands.AttackID(n.Account, n.Attack.ID)
	shown, ok, err := b.cfg.Memory.Shown(ctx, n.Account, id)
	if err != nil {
		return err
	}
	file, err := b.cfg.Memory.File(ctx, n.Account, id)
	if err != nil {
		return err
	}
	if !ok || shown.Quiet != n.Quiet || file.Card.TS == "" {
		return b.record(ctx, n, place{})
	}
	kept, _, err := b.cfg.Memory.Evidence(ctx, n.Account, id)
	if err != nil {
		return err
	}
	n.Channel = file.Card.Channel
	call := newsCall(n, courseMessage(b.situation(a, shown, file), shown.Course, kept, n.Quiet), file.Card.TS)
	call.Broadcast = false
	if err = b.tellCall(ctx, n, call); gone(err) {
		return b.record(ctx, n, place{}) // with its card, which tells the same, posted anew when it is redrawn
	}
	return err
}

// courseMessage says that an attack went quiet, or goes on again.
func courseMessage(s commands.Situation, course []poller.Point, kept commands.Evidence, quiet bool) Message {
	if quiet {
		return linesMessage(wentQuiet(s, course), nil)
	}
	return linesMessage([]commands.Text{goesOn(s.Attack, kept)}, nil)
}

// maxDone is how many changes the history of an attack names.
const maxDone = 5

// wentQuiet is the history of an attack that went quiet: how it was, and what was done.
func wentQuiet(s commands.Situation, course []poller.Point) []commands.Text {
	attack := s.Attack
	line := commands.Say(commands.Bold("Quiet"), " since ", attack.Last)
	if long := attack.Last.Sub(attack.First); !attack.First.IsZero() && long > 0 {
		line = commands.Say(line, ", after ", commands.HumanDuration(long))
	}
	line = commands.Say(line, ": ", attack.Hits, commands.Plural(attack.Hits.N, " hit"), " from ", attack.SourceCount, commands.Plural(attack.SourceCount.N, " source"), ", ", commands.StatusName(attack))
	if known, ok := newTimeline(course, attack.Last); ok {
		peak, at := known.peak() // as the card has it
		line = commands.Say(line, "; peak about ", about(peak), " a minute at ", at)
	}
	return append([]commands.Text{line}, done(s)...)
}

// done is what was done about an attack, and what of it stands.
func done(s commands.Situation) []commands.Text {
	all := slices.DeleteFunc(slices.Clone(s.Changes), func(ch commands.Change) bool { return ch.State == commands.StateFailed })
	slices.SortStableFunc(all, func(x, y commands.Change) int {
		return cmp.Or(compareBool(y.InForce(s.Now), x.InForce(s.Now)), x.At.Compare(y.At))
	})
	if len(all) == 0 {
		return []commands.Text{commands.Say("No measure was taken for it; one that was typed without attack= isn't counted")}
	}
	var lines []commands.Text
	for _, ch := range all[:min(maxDone, len(all))] {
		lines = append(lines, commands.Say("• ", commands.Visible(ch.Does, maxChangeLine), " · ", commands.Visible(ch.Actor.Name, maxName), " ", ch.At, ": ", outcome(ch, s)))
	}
	if more := len(all) - len(lines); more > 0 {
		lines = append(lines, moreChanges(s, more))
	}
	return lines
}

// outcome says whether a change works, if it is in force, and how long it stands.
func outcome(ch commands.Change, s commands.Situation) commands.Text {
	if seen := s.Brief(ch); len(seen) > 0 && ch.InForce(s.Now) {
		return commands.Say(seen, "; ", stands(ch, s.Now))
	}
	return stands(ch, s.Now)
}

// stands says how long a change still does what it was made for.
func stands(ch commands.Change, now time.Time) commands.Text {
	switch {
	case ch.State == commands.StateUndone:
		return commands.Say("taken back")
	case ch.State == commands.StateBegun:
		return commands.Say("perhaps done")
	case ch.State == commands.StateHalf:
		return commands.Say("done in part")
	case !ch.InForce(now):
		return commands.Say("ended ", ch.Until)
	case ch.Until.IsZero():
		return commands.Say("stands")
	}
	return commands.Say("stands until ", ch.Until)
}

// goesOn says that an attack goes on which had been called quiet.
func goesOn(attack apiclient.Attack, kept commands.Evidence) commands.Text {
	line := commands.Say(commands.Bold("It goes on again"))
	for _, turn := range slices.Backward(kept.Course) {
		if turn.What == string(poller.Quiet) {
			line = commands.Say(line, ", called quiet ", turn.At)
			break
		}
	}
	return commands.Say(line, ": ", attack.Hits, commands.Plural(attack.Hits.N, " hit"), " by now, ", commands.StatusName(attack))
}
