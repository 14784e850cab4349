package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func ack() *call.Command {
	return command(`ack claim: responder
acknowledge an attack: you are on it
attack=
Example: ack attack=ak7q2m9xw`, call.Command{
		Needs: call.Rounds{triageNeeds},
		Write: onTriage(writeAck),
	})
}

func writeAck(c *call.Call, t *record.Triage) (call.Result, error) {
	switch {
	case t.Owner == nil:
		t.Owner = owner(c, c.Actor)
		return saved(*t, words.Owner(t.Owner)), nil
	case t.Owner.Is(c.Actor):
		return unchanged(*t, text.New(words.Owner(t.Owner), " already")), nil
	}
	return call.Result{}, refusal.Nothing(words.Owner(t.Owner), ". ", takeOver(c))
}
