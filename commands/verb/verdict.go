package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
)

func writeVerdict(c *call.Call, t *record.Triage) (call.Result, error) {
	t.Verdict = &record.Verdict{Is: c.Line.Words[0], By: c.Actor, At: c.Now}
	return saved(*t, words.Verdict(*t.Verdict)).And(whatStands(c, *t.Verdict)...), nil
}
