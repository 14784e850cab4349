package verb

import (
	"slices"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func unmute() *call.Command {
	return &call.Command{
		Name: "unmute", Role: record.Responder,
		Summary: "end a mute",
		Args:    append([]call.Arg{{Name: "mute", Object: true, Help: "the mute's id; or what is muted, as it was written"}}, mutable()...),
		Write:   writeUnmute,
	}
}

func writeUnmute(c *call.Call) (call.Result, error) {
	all, err := report.ActiveMutes(c, c.Account)
	if err != nil {
		return call.Result{}, err
	}
	var found []int
	if len(c.Line.Words) > 0 {
		if c.Implied {
			dropAttack(c)
		}
		for i, m := range all {
			if record.MatchID(m.ID, c.Line.Words[0]) {
				found = append(found, i)
			}
		}
	} else {
		typed, err := muteTyped(c)
		if err != nil {
			return call.Result{}, err
		}
		if i := slices.IndexFunc(all, func(m record.Mute) bool { return m.ID == typed.ID }); i >= 0 {
			found = append(found, i)
		}
	}
	if len(found) != 1 {
		return call.Result{}, refusal.Nothing(text.New("no mute on ", c.Account.Name, " is that one: ", text.Code("status"), " lists them. Nothing was changed"))
	}
	ended := all[found[0]]
	return saveMutes(c, slices.Delete(all, found[0], found[0]+1), ended, text.New("No longer muted: ", text.Code(describe.MuteScope(ended)))), nil
}
