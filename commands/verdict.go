package commands

import (
	"github.com/wafbot/wafbot/internal/record"
)

func verdict() *Command {
	return &Command{
		Name: "verdict", Role: record.Responder,
		Summary: "say what an attack was found to be",
		Args: []Arg{
			{Name: "verdict", Object: true, Required: true, Help: "real, false_alarm or test", Read: oneOf("real", "false_alarm", "test"), Options: optionsOf("real", "false_alarm", "test")}, argCase,
		},
		Write: writeVerdict,
	}
}

func writeVerdict(c *Call) (Result, error) {
	k, err := c.opened()
	if err != nil {
		return Result{}, err
	}
	k.Verdict = &record.Verdict{Is: c.Line.Words[0], By: c.Actor, At: c.Now}
	return c.keep(k, "", VerdictLine(*k.Verdict))
}
