package verb

import (
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// drillFor is how long a drill waits for an answer by default, and at most.
const (
	drillFor    = 5 * time.Minute
	drillAtMost = time.Hour
)

func drill() *call.Command {
	return &call.Command{
		Name: "drill", Role: record.Responder,
		Summary: "test the real path: a card marked DRILL, who answers it, and how long each step takes; the service isn't touched",
		Example: "drill for=10m",
		Args: []call.Arg{
			{Name: "stop", Object: true, Help: "stop: call off the one that waits", Read: call.OneOf("word", "stop")},
			{Name: "for", Help: "how long to wait for an answer, an hour at most; 5m where it is left out", Read: call.ReadDuration, Bare: grammar.IsDuration},
			{Name: "ack", Help: "answer the drill with that id, as the card's button does"},
		},
		Write: writeDrill,
	}
}

func writeDrill(c *call.Call) (call.Result, error) {
	last, took, err := c.Given().Drill()
	if err != nil {
		return call.Result{}, refusal.Away(err)
	}
	switch {
	case c.Line.Keys["ack"] != "":
		return answerDrill(c, last)
	case len(c.Line.Words) > 0:
		return stopDrill(c, last)
	}
	id := "d" + record.ShortHash(c.Account.Name, c.ID)
	if last.ID == id {
		return unchanged(last, text.New("That drill was begun already: ", text.Code(id), ". Nothing more was begun")), nil
	}
	if last.Waits() {
		return call.Result{}, refusal.Nothing(text.New("A drill of ", text.Sanitize(last.By.Name, text.MaxField), " waits already, until ", last.Until, ". ", text.Code("drill stop"), " calls it off"))
	}
	return beginDrill(c, record.Drill{ID: id, Redis: took})
}

func beginDrill(c *call.Call, d record.Drill) (call.Result, error) {
	replicas, err := c.Given().Replicas()
	if err != nil {
		return call.Result{}, refusal.Away(err)
	}
	if replicas == 0 {
		return call.Result{}, refusal.Nothing(text.New("No ", text.Code("wafbot serve"), " is running on this Redis: no replica would post the card or take the click"))
	}
	lasts := drillFor
	if typed := c.Line.Keys["for"]; typed != "" {
		if lasts, err = grammar.ParseDuration(typed); err != nil {
			return call.Result{}, err
		}
	}
	if lasts <= 0 || lasts > drillAtMost {
		return call.Result{}, refusal.Usage(text.New("A drill waits for an hour at most: write ", text.Code("for=5m")))
	}
	d.Account, d.By, d.At, d.Until = c.Account.Name, c.Actor, c.Now, c.Now.Add(lasts)
	return keepDrill(c, d, text.New(text.Bold("DRILL "), text.Code(d.ID), ": a card is on its way to the channel of ", c.Account.Name, ". It waits until ", d.Until, " for a click on ",
		text.Bold("Acknowledge"), ", and then says how long each step took. Nothing is attacked, and the service isn't touched"))
}

func answerDrill(c *call.Call, d record.Drill) (call.Result, error) {
	switch {
	case !record.MatchID(d.ID, c.Line.Keys["ack"]):
		return call.Result{}, refusal.Nothing(text.New("That drill is over"))
	case d.Answer != nil && d.Answer.By.Is(c.Actor):
		return unchanged(d, text.New("You have answered this drill already")), nil
	case d.Answer != nil:
		return call.Result{}, refusal.Nothing(text.New(text.Bold(text.Sanitize(d.Answer.By.Name, text.MaxField)), " was faster: the drill is answered"))
	case !d.Waits():
		return call.Result{}, refusal.Nothing(text.New("The drill was over at ", d.Over))
	}
	d.Answer = &record.DrillAnswer{By: c.Actor, Clicked: c.Clicked, Taken: c.Asked, InHand: c.Now}
	return keepDrill(c, d, text.New("The drill has its answer: thank you. Nothing else is to be done"))
}

// stopDrill ends a drill without an answer. The clock does so when its time is over.
func stopDrill(c *call.Call, d record.Drill) (call.Result, error) {
	if !d.Waits() || c.Actor.Via == record.ViaClock && c.Now.Before(d.Until) {
		return call.Result{}, refusal.Nothing(text.New("No drill of ", c.Account.Name, " waits"))
	}
	d.Over = c.Now
	if c.Actor.Via == record.ViaClock {
		return keepDrill(c, d, text.New("No answer to the drill ", text.Code(d.ID)))
	}
	return keepDrill(c, d, text.New("The drill ", text.Code(d.ID), " is called off"))
}

// keepDrill saves a drill that began or is over, and has its card show it.
func keepDrill(c *call.Call, d record.Drill, answer text.Text) (call.Result, error) {
	event := "drill " + d.ID
	if !d.Waits() {
		event += " over"
		d.Audited = drillAudited(c, d)
	}
	res := saved(d, answer)
	res.Saves.Drill = &d
	res.Saves.Events = []record.Event{{ID: event, Account: d.Account, Kind: record.DrillChanged, Channel: c.Account.Channel, At: d.At, Payload: record.DrillFacts{Drill: d.ID}}}
	return res, nil
}

// drillAudited is the number that the drill's begin has in the audit log; 0 if that is not known.
func drillAudited(c *call.Call, d record.Drill) int64 {
	entries, _ := c.Given().Audit(d.At.Add(-time.Minute))
	for _, e := range entries {
		if e.At.Equal(d.At) && e.Actor.Is(d.By) && e.Outcome == "done" {
			return e.N
		}
	}
	return 0
}
