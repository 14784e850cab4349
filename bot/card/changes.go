package card

import (
	"cmp"
	"slices"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/advice"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How many changes a card shows.
const maxChanges = 10

// changes are what was done for the attack, the newest last, each with its own undo, and what that leaves. Where there is no room for all, those in force go first.
func (m *buttonMaker) changes(s call.Situation, quiet bool, room int) []slack.Block {
	all := slices.DeleteFunc(slices.Clone(s.Changes), func(ch record.Change) bool { return ch.Undoes != "" || triedAgain(ch, s.Changes) })
	slices.SortStableFunc(all, func(x, y record.Change) int {
		return cmp.Or(compareBool(y.InForce(s.Now), x.InForce(s.Now)), y.At.Compare(x.At))
	})
	more := fit(moreChanges(s, len(all)), maxCardLine)
	still := ""
	if line := efficacy.StillThrough(s, quiet); len(line) > 0 {
		still = fit(line, maxCardLine)
	}
	room -= length(more) + length(still)
	type drawn struct {
		change record.Change
		block  slack.Block
	}
	var shown []drawn
	for _, ch := range all[:min(maxChanges, len(all))] {
		line := fitChange(ch, s)
		undo := m.undo(ch, s)
		room -= length(line)
		if undo != nil {
			room -= weight(undo)
		}
		if room < 0 {
			break
		}
		shown = append(shown, drawn{ch, section(line, undo)})
	}
	slices.SortStableFunc(shown, func(x, y drawn) int { return x.change.At.Compare(y.change.At) })
	var blocks []slack.Block
	if left := len(all) - len(shown); left > 0 {
		blocks = append(blocks, section(fit(moreChanges(s, left), maxCardLine), nil))
	}
	for _, d := range shown {
		blocks = append(blocks, d.block)
	}
	if len(still) > 0 {
		blocks = append(blocks, section(still, nil))
	}
	return blocks
}

// triedAgain reports whether a change failed and was asked for again since. The card shows the later one; the thread reports the failure.
func triedAgain(ch record.Change, all []record.Change) bool {
	return ch.State == record.StateFailed && slices.ContainsFunc(all, func(later record.Change) bool { return later.Effect == ch.Effect && later.At.After(ch.At) })
}

func (m *buttonMaker) undo(ch record.Change, s call.Situation) *slack.ButtonBlockElement {
	for _, suggestion := range advice.Undo(ch, s.Now) {
		if b, ok := m.suggestion(suggestion); ok {
			return b
		}
	}
	return nil
}

// fitChange is a change's line in Slack's markup. If it is too long, the description is cut first, because a patch's description holds a hostile
// path. Its efficacy stays.
func fitChange(ch record.Change, s call.Situation) string {
	const shortest = 40
	for {
		line, does := changeLine(ch, s), length(ch.Does)
		if does <= shortest || length(markup(line, 2*maxChangeLine)) <= maxChangeLine {
			return fit(line, maxChangeLine)
		}
		ch.Does = text.Sanitize(ch.Does, max(shortest, does*3/4))
	}
}

// changeLine is a change in one line, also of one whose time is over.
func changeLine(ch record.Change, s call.Situation) text.Text {
	if ch.State == record.StateUndone && ch.EndedBy == nil {
		ch.EndedBy = &record.Actor{Name: "another user"}
	}
	return describe.Change(ch, efficacy.Line(s, ch))
}

func moreChanges(s call.Situation, n int) text.Text {
	line := record.Line{Name: "attack", Words: []string{s.ID}}.With("account", s.Account.Name)
	return text.New(apiclient.Known(int64(n)), text.Plural(int64(n), " more change"), ": type ", text.Code(line.String()))
}

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}
