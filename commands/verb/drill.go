package verb

import (
	"slices"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func writeDrill(c *call.Call) (res call.Result, err error) {
	last, err := c.Facts.Drill.Get()
	if err != nil {
		return res, refusal.Away(err)
	}
	if card := c.Line.Keys["ack"]; card != "" {
		return acknowledgeDrill(c, last, card)
	}
	if last.Waits(c.Now) { // also when this very request comes again
		return unchanged(last, text.New("A drill waits for its acknowledgements")).And(words.Drill(last, c.Now)...), nil
	}
	switch replicas, err := c.Facts.Replicas.Get(); {
	case err != nil:
		return res, refusal.Away(err)
	case replicas == 0:
		return res, refusal.Nothing("No `wafbot serve` is running on this Redis: no replica would post the cards")
	}
	d := record.Drill{
		ID: "d" + record.ShortHash(c.Account.Name, c.ID), Account: c.Account.Name, By: c.Actor, At: c.Asked,
		Page: c.Line.Keys["page"] != "", Cards: c.Account.TestCards(),
	}
	res = saveDrill(d, "Drill begun, with ", text.Count(len(d.Cards), "test card"),
		". Once all are acknowledged, at the latest after ",
		text.Duration(record.DrillFor), ", a reply to the one in ", text.Channel(d.Cards[0].Channel),
		" says who did; until then ", text.Code("drill"), " does")
	for i := range d.Cards {
		res.Saves.Events = append(res.Saves.Events, drillEvent(d, d.CardID(i), i))
	}
	report := drillEvent(d, d.ID, 0)
	report.Detail = record.DrillFacts{Drill: d.ID, Report: true}
	res.Saves.Events = append(res.Saves.Events, report)
	return res, nil
}

func acknowledgeDrill(c *call.Call, d record.Drill, card string) (call.Result, error) {
	for i := range d.Cards {
		switch at := &d.Cards[i]; {
		case d.CardID(i) != card:
		case at.By != nil && at.By.Is(c.Actor):
			return unchanged(d, text.New("You have acknowledged this test card already")), nil
		case at.By != nil:
			who := text.Bold(text.Field(at.By.Name))
			return call.Result{}, refusal.Nothing("%v was faster: the test card is acknowledged", who)
		default:
			d.Cards = slices.Clone(d.Cards)
			d.Cards[i].By, d.Cards[i].After = &c.Actor, max(0, c.Asked.Sub(d.At))
			res := saveDrill(d, "Thank you: acknowledged after ", text.Duration(d.Cards[i].After),
				". It was a test: nothing else is to be done")
			res.Saves.Events = []record.Event{drillEvent(d, card+" acknowledged", i)}
			return res, nil
		}
	}
	return call.Result{}, refusal.Nothing("That drill is over")
}

func saveDrill(d record.Drill, words ...any) call.Result {
	res := saved(d, text.New(words...))
	res.Saves.Drill = &d
	return res
}

// drillEvent is an event of one of the drill's cards.
func drillEvent(d record.Drill, id string, card int) record.Event {
	return record.Event{
		ID: "drill " + id, Account: d.Account, Kind: record.DrillChanged, Channel: d.Cards[card].Channel, At: d.At,
		Detail: record.DrillFacts{Drill: d.ID, Card: card},
	}
}
