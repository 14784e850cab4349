package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/internal/record"
)

func verdict() *call.Command {
	return &call.Command{
		Name: "verdict", Role: record.Responder,
		Summary: "say what an attack was found to be",
		Args: []call.Arg{
			{Name: "verdict", Object: true, Required: true, Help: "real, false_alarm or test", Read: call.OneOf("real", "false_alarm", "test"), Options: form.OptionsOf("real", "false_alarm", "test")}, argCase,
		},
		Write: writeVerdict,
	}
}

func writeVerdict(c *call.Call) (call.Result, error) {
	k, err := opened(c)
	if err != nil {
		return call.Result{}, err
	}
	k.Verdict = &record.Verdict{Is: c.Line.Words[0], By: c.Actor, At: c.Now}
	return keep(c, k, "", describe.VerdictLine(*k.Verdict))
}
