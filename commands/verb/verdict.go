package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

func verdict() *call.Command {
	return command(`verdict: responder
say what an attack was found to be
VERDICT: real, false_positive or test
attack=
Example: verdict false_positive attack=ak7q2m9xw`, call.Command{
		Needs: call.Rounds{triageNeeds},
		Write: onTriage(writeVerdict),
	})
}

func writeVerdict(c *call.Call, t *record.Triage) (call.Result, error) {
	t.Verdict = &record.Verdict{Is: c.Line.Words[0], By: c.Actor, At: c.Now}
	return saved(*t, words.Verdict(*t.Verdict)).And(whatStands(c, *t.Verdict)...), nil
}
