package change

import (
	"errors"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// MaxRefused is how many refused changes a permission loss keeps; the others are counted.
const MaxRefused = 5

// NeededPermissions are what steps need.
func NeededPermissions(steps []record.Step) (all []record.Permission) {
	for _, s := range steps {
		p := record.PermissionRules
		switch {
		case s.Entry != nil:
			p = record.PermissionLists
		case s.Rule.Type == apiclient.RuleMode:
			p = record.PermissionModes
		}
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// OfRules reports whether steps are about rules.
func OfRules(steps []record.Step) bool {
	return slices.ContainsFunc(steps, func(s record.Step) bool { return s.Rule != nil })
}

// PermissionRefused reports whether the service refused because of wafbot's token. Of what was perhaps done nothing is
// known yet.
func PermissionRefused(fault error) bool {
	kind := apiclient.KindOf(fault)
	return (kind == apiclient.Unauthenticated || kind == apiclient.Forbidden) && !errors.Is(fault, ErrOutcomeUnknown)
}

// RefusedUndo is the undo of a change that could not be planned.
func RefusedUndo(c *call.Call, id string) record.RefusedChange {
	what := record.RefusedChange{Line: record.LineOf("", "undo", id), Ends: id, By: c.Actor, At: c.Now}
	if i := record.IndexChange(c.Changes, id); i >= 0 {
		what.Does, what.Steps = undoText(c.Changes[i]), inverse(c.Changes[i])
	}
	return what
}

// inverse are the steps that undo what a change did, as far as is known without reading the service.
func inverse(ch record.Change) (steps []record.Step) {
	opposite := map[record.StepKind]record.StepKind{record.AddEntry: record.DeleteEntry, record.DeleteEntry: record.AddEntry, record.CreateRule: record.DeleteRule, record.DeleteRule: record.CreateRule}
	for _, s := range slices.Backward(ch.Steps) {
		if !s.Done {
			continue
		}
		back := record.Step{Kind: opposite[s.Kind]}
		if s.Entry != nil {
			back.Entry = new(*s.Entry)
			back.Entry.ID = max(s.Entry.ID, s.ID)
		} else {
			back.Rule = new(*s.Rule)
			back.Rule.ID = max(s.Rule.ID, s.ID)
		}
		steps = append(steps, back)
	}
	return steps
}
