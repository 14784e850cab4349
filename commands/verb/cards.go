package verb

import (
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func cards() *call.Command {
	return &call.Command{
		Name: "cards", Role: record.Responder,
		Summary: "give what a storm groups cards of its own: what gets through, or all, 20 at a time; or one attack",
		Args: []call.Arg{
			{Name: "which", Object: true, Help: "all: not only what gets through; the worst first", Label: "Which (left empty: what gets through)", Read: call.OneOf("word", "all"), Options: form.OptionsOf("all")},
			{Name: "attack", Label: "Storm", Required: true, Help: "the storm's id, as on its card, or that of an attack that it groups; in its thread it need not be written", Options: form.StormsGrouped},
		},
		Example: "cards all attack=s9fk2tqm1",
		Write:   writeCards,
	}
}

func writeCards(c *call.Call) (call.Result, error) {
	storm, isOne, err := report.Storm(c)
	if err != nil {
		return call.Result{}, err
	}
	if !isOne {
		return writeCard(c)
	}
	grouped, err := report.Grouped(c, storm.ID)
	if err != nil {
		return call.Result{}, err
	}
	all := len(c.Line.Words) > 0
	wanted := slices.DeleteFunc(grouped, func(g record.GroupedAttack) bool {
		through := slices.ContainsFunc(storm.Storm.Unblocked, func(a apiclient.Attack) bool { return record.AttackID(c.Account.Name, a.ID) == g.ID })
		return g.Own || !all && !through
	})
	if len(wanted) == 0 {
		which := text.New("Nothing gets through in ", text.Code(storm.ID), " that has no card of its own. For the others: ", text.Code(record.Line{Name: "cards", Words: []string{"all"}}.With("attack", storm.ID).String()))
		if all {
			which = text.New("All that ", text.Code(storm.ID), " grouped has cards of its own")
		}
		return unchanged([]string{}, text.New(which)), nil
	}
	of := len(wanted)
	if !all {
		of += storm.Storm.UnblockedCount - len(storm.Storm.Unblocked)
	}
	return wantCards(c, wanted, of, storm.ID)
}

// writeCard gives one attack that a storm groups a card.
func writeCard(c *call.Call) (call.Result, error) {
	storm, attack, ok, err := report.StormOf(c)
	switch {
	case err != nil:
		return call.Result{}, err
	case !ok:
		return call.Result{}, refusal.Nothing(text.New(text.Code(c.Attack.ID), " was grouped in no storm that is still stored. ", text.Code("explain attack="+c.Attack.ID), " says whether it has a card"))
	case attack.Own:
		return unchanged([]string{}, text.New(text.Code(attack.ID), " has a card of its own already")), nil
	}
	return wantCards(c, []record.GroupedAttack{attack}, 1, storm.ID)
}

// wantCards asks for the cards of the worst of some attacks that a storm groups; of is how many such there are.
func wantCards(c *call.Call, wanted []record.GroupedAttack, of int, storm string) (call.Result, error) {
	slices.SortStableFunc(wanted, func(x, y record.GroupedAttack) int { return describe.WorstFirst(x.Attack, y.Attack) })
	now := wanted[:min(describe.MostCards, len(wanted))]
	var ids []string
	for _, g := range now {
		ids = append(ids, g.ID)
	}
	answer := text.New(text.Count(len(now), "attack"), " of storm ", text.Code(storm), " get cards of their own, about one each second")
	if len(now) == 1 {
		answer = text.New(text.Code(ids[0]), " of storm ", text.Code(storm), " gets a card of its own in a moment")
	}
	if of > len(now) {
		answer = text.New(answer, ": the worst of ", text.Number(of), ". ", text.Code(c.Line.String()), " again gives the next")
	}
	res := saved(ids, answer)
	res.Saves.OwnCards = ids
	return res, nil
}
