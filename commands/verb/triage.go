package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// owner is that user as the owner from now on, set by the one who asks.
func owner(c *call.Call, who record.Actor) *record.Owner {
	return &record.Owner{ID: who.ID, Name: who.Name, Since: c.Now, By: c.Actor}
}

// takeOver says how to take over an attack that another user is on.
func takeOver(c *call.Call) text.Text {
	line := record.Line{Name: "handover"}.With("attack", c.Attack.ID).With("to", "@me")
	return text.New("To take it over: ", text.Code(line.String()))
}

// argAttack is the attack of a command that needs one.
var argAttack = call.Arg{Name: "attack", Required: true, Help: "the attack's id, as on its card; in a card's thread it need not be written", Options: form.OngoingAttacks}

// triageOf is the triage of the call's attack.
func triageOf(c *call.Call) (record.Triage, error) {
	k, err := c.Facts(c.Account.Name).Triage(c.Attack.ID)
	if err != nil {
		return record.Triage{}, refusal.Away(err)
	}
	return k, nil
}

// saveTriage is the answer of a command that changed the triage of the call's attack, with what the Runner saves.
func saveTriage(c *call.Call, k record.Triage, handedTo string, answer text.Text) (call.Result, error) {
	res := saved(k, answer)
	res.Saves.Triage = map[string]record.Triage{c.Attack.ID: k}
	if handedTo != "" {
		res.Saves.Events = []record.Event{handoverEvent(c, handedTo)}
	}
	return res, nil
}

// saved is the answer where something is saved.
func saved(data any, lines ...text.Text) call.Result {
	return call.Result{Outcome: "done", Lines: lines, Data: data}
}

// unchanged is the answer where what was asked for holds already.
func unchanged(data any, line text.Text) call.Result {
	return call.Result{Outcome: "nothing", Lines: []text.Text{line}, Data: data}
}
