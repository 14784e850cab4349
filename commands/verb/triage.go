package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// argCase is the attack of a command that is about one and no other.
var argAttack = call.Arg{Name: "attack", Required: true, Help: "the attack's id, as on its card; in a card's thread it need not be written", Options: form.OngoingAttacks}

// opened is the case of the call's attack.
func triageOf(c *call.Call) (record.Triage, error) {
	k, err := c.Facts(c.Account.Name).Triage(c.Attack.ID)
	if err != nil {
		return record.Triage{}, refusal.Away(err)
	}
	return k, nil
}

// keep writes the case of the call's attack down, and gives the answer for it.
func saveTriage(c *call.Call, k record.Triage, handedTo string, answer text.Text) (call.Result, error) {
	res := saved(k, answer)
	res.Saves.Triage = map[string]record.Triage{c.Attack.ID: k}
	if handedTo != "" {
		res.Saves.Events = []record.Event{handoverEvent(c, handedTo)}
	}
	return res, nil
}

// written is the answer to a request that was written down.
func saved(data any, lines ...text.Text) call.Result {
	return call.Result{Outcome: "done", Lines: lines, Data: data}
}

// unwritten is the answer to a request for what holds already.
func unchanged(data any, line text.Text) call.Result {
	return call.Result{Outcome: "nothing", Lines: []text.Text{line}, Data: data}
}
