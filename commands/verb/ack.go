package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func ack() *call.Command {
	return &call.Command{
		Name: "ack", Aliases: []string{"claim"}, Role: record.Responder,
		Summary: "acknowledge an attack: you are on it",
		Args:    []call.Arg{argAttack},
		Write:   writeAck,
	}
}

func writeAck(c *call.Call) (call.Result, error) {
	k, err := triageOf(c)
	if err != nil {
		return call.Result{}, err
	}
	switch {
	case k.Owner == nil:
		k.Owner = owner(c, c.Actor)
		return saveTriage(c, k, "", describe.Owner(k.Owner))
	case k.Owner.ID == c.Actor.ID:
		return unchanged(k, text.New(describe.Owner(k.Owner), " already. Nothing was changed")), nil
	}
	return call.Result{}, refusal.Nothing(text.New(describe.Owner(k.Owner), ". Nothing was changed. ", takeOver(c)))
}
