package verb

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// offerProtect offers to protect what a change denied, to who may and to who can ask for it.
func offerProtect(c *call.Call, ch record.Change) text.Lines {
	if ch.Line.Name != change.Denying.Name {
		return nil
	}
	line := record.Line{Name: "protect"}
	if len(c.Accounts) > 1 {
		line = line.With("account", ch.Account)
	}
	for _, word := range ch.Line.Words {
		if t, err := grammar.ParseRange(word); err == nil && c.Policy.Protectable(t) {
			line.Words = append(line.Words, t.String())
		}
	}
	switch {
	case len(line.Words) == 0:
		return nil
	case c.Role >= record.Admin:
		return text.Lines{text.Newf("Never deny it again? `%v`", line.String())}
	}
	return text.Lines{text.Newf("If it must never be denied again, an admin can say so: `%v`", line.String())}
}

// undoTyped reads the word all as --all. It refuses that unless the line says whose changes, or for which attack:
// nobody wants to undo everything at once.
func undoTyped(l record.Line) (record.Line, error) {
	i := slices.IndexFunc(l.Words, func(word string) bool { return strings.EqualFold(word, change.FlagAll) })
	if i >= 0 {
		l.Words = slices.Delete(slices.Clone(l.Words), i, i+1)
		l.Flags = slices.Sorted(slices.Values(append(slices.Clone(l.Flags), change.FlagAll)))
	}
	if l.Has(change.FlagAll) && l.Keys["attack"] == "" && l.Keys["by"] == "" {
		return l, refusal.Usage("Missing: `attack=` or `by=`. Example: `undo all by=@me`")
	}
	return l, nil
}

func undoNeeds(c *call.Call) call.Needs {
	if change.UndoesMany(c) {
		return call.Needs{Efficacy: true}
	}
	ch, _ := change.ByLine(c)
	n := change.UndoNeeds(ch)
	n.Triage = ch.AttackID
	return n
}

func planUndo(c *call.Call) ([]call.Plan, error) {
	if change.UndoesMany(c) {
		return change.PlanUndoMany(c)
	}
	ch, err := change.ByLine(c)
	if err != nil {
		return nil, err
	}
	p, err := change.PlanUndo(c, ch)
	if len(p.Steps) == 0 || c.Actor.Via == record.ViaClock {
		return []call.Plan{p}, err
	}
	if isOver(c, ch.AttackID) {
		p.Notes = append(p.Notes, offerProtect(c, ch)...)
	}
	return []call.Plan{p}, err
}

// isOver reports whether an attack is known to be over, or to be a false positive. Nobody should protect the source of
// an ongoing attack.
func isOver(c *call.Call, attack string) bool {
	if attack == "" {
		return true
	}
	known, err := c.Facts.Known.Get()
	said, noTriage := c.Facts.Triage.Get()
	over := !known.Ok || !c.Ongoing(known.Value) || known.Value.FalsePositive() || said.Found("false_positive")
	return over && err == nil && noTriage == nil
}
