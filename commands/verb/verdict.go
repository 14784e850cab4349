package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

func verdict() *call.Command {
	return &call.Command{
		Name: "verdict", Role: record.Responder,
		Summary: "say what an attack was found to be",
		Args: []call.Arg{
			{Name: "verdict", Object: true, Required: true, Help: "real, false_positive or test", Read: call.OneOf("verdict", "real", "false_positive", "test"), Options: form.OptionsOf("real", "false_positive", "test")}, argAttack,
		},
		Example: "verdict false_positive attack=ak7q2m9xw",
		Needs:   call.Rounds{triageNeeds},
		Write:   onTriage(writeVerdict),
	}
}

func writeVerdict(c *call.Call, t *record.Triage) (call.Result, error) {
	t.Verdict = &record.Verdict{Is: c.Line.Words[0], By: c.Actor, At: c.Now}
	return saved(*t, words.Verdict(*t.Verdict)).And(whatStands(c, *t.Verdict)...), nil
}
