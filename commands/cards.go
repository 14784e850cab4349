package commands

import (
	"cmp"
	"slices"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// mostCards is how many gathered attacks get a card of their own at once: a channel takes about one message a second.
const mostCards = 20

func cards() *Command {
	return &Command{
		Name: "cards", Role: record.Responder,
		Summary: "give what a storm groups cards of its own: of a storm what gets through beside its source, or all, 20 at a time; or one attack",
		Args: []Arg{
			{Name: "which", Object: true, Help: "all: not only what gets through; the worst first", Label: "Which (left empty: what gets through)", Read: oneOf("all"), Options: optionsOf("all")},
			{Name: "attack", Label: "Storm", Required: true, Help: "the storm's id, as on its card, or that of an attack that it groups; in its thread it need not be written", Options: stormsGathered},
		},
		Example: "cards all attack=s9fk2tqm1",
		Write:   writeCards,
	}
}

func writeCards(c *Call) (Result, error) {
	storm, isOne, err := c.storm()
	if err != nil {
		return Result{}, err
	}
	if !isOne {
		return c.writeCard()
	}
	gathered, err := c.gathered(c.Account, storm.ID)
	if err != nil {
		return Result{}, err
	}
	all, odd := len(c.Line.Words) > 0, storm.oddIDs(c.Account.Name)
	wanted := slices.DeleteFunc(gathered, func(g GatheredAttack) bool { return g.Own || !all && !slices.Contains(odd, g.ID) })
	if len(wanted) == 0 {
		which := text.New("Nothing gets through in ", text.Code(storm.ID), " beside its source that has no card of its own. For the others: ", text.Code(record.Line{Name: "cards", Words: []string{"all"}}.With("attack", storm.ID).String()))
		if all {
			which = text.New("All that ", text.Code(storm.ID), " grouped has cards of its own")
		}
		return unwritten([]string{}, text.New(which, ". Nothing was changed")), nil
	}
	of := len(wanted)
	if !all {
		of += storm.Storm.OddCount - len(storm.Storm.Odd)
	}
	return c.wantCards(wanted, of, storm.ID)
}

// oddIDs are the ids of the odd ones out that the storm's card offers cards for.
func (s StormSeen) oddIDs(account string) (ids []string) {
	for _, a := range s.Storm.Odd {
		ids = append(ids, record.AttackID(account, a.ID))
	}
	return ids
}

// writeCard gives one attack that a storm gathered a card.
func (c *Call) writeCard() (Result, error) {
	storm, attack, ok, err := c.gatheredIn()
	switch {
	case err != nil:
		return Result{}, err
	case !ok:
		return Result{}, refusal.Nothing(text.New(text.Code(c.Attack.ID), " was grouped in no storm that is remembered. Nothing was changed. ", text.Code("explain attack="+c.Attack.ID), " says whether it has a card"))
	case attack.Own:
		return unwritten([]string{}, text.New(text.Code(attack.ID), " has a card of its own already. Nothing was changed")), nil
	}
	return c.wantCards([]GatheredAttack{attack}, 1, storm.ID)
}

// wantCards asks for the cards of the worst of some attacks that a storm gathered; of is how many such there are.
func (c *Call) wantCards(wanted []GatheredAttack, of int, storm string) (Result, error) {
	slices.SortStableFunc(wanted, func(x, y GatheredAttack) int { return worstFirst(x.Attack, y.Attack) })
	now := wanted[:min(mostCards, len(wanted))]
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
	res := written(ids, answer)
	res.Saves.OwnCards = ids
	return res, nil
}

// worstFirst orders attacks: incidents, then what gets through, then by hits.
func worstFirst(x, y apiclient.Attack) int {
	return cmp.Or(urgency(y)-urgency(x), cmp.Compare(y.Hits.N, x.Hits.N))
}
