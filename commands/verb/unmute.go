package verb

import (
	"slices"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func unmute() *call.Command {
	return command(`unmute: responder
end a mute
[MUTE]: the mute's id; or what is muted, as it was written
Example: unmute type=scanner`+mutable, call.Command{
		Needs: call.Rounds{call.Needs{Mutes: true}.Of, func(c *call.Call) call.Needs {
			all, i, err := muteNamed(c)
			return call.Needs{Stored: err == nil && all[i].Attack == ""}
		}},
		Write: writeUnmute,
	})
}

func writeUnmute(c *call.Call) (call.Result, error) {
	all, i, err := muteNamed(c)
	if err != nil {
		return call.Result{}, err
	}
	ended := all[i]
	return saveMutes(c, slices.Delete(all, i, i+1), ended, text.Newf("No longer muted: `%v`",
		words.MuteScope(ended))), nil
}

// muteNamed is which of the mutes the line names.
func muteNamed(c *call.Call) (all []record.Mute, i int, err error) {
	if all, err = report.ActiveMutes(c); err != nil {
		return nil, 0, err
	}
	id := ""
	if len(c.Line.Words) > 0 {
		if c.Implied {
			c.DropAttack()
		}
		id = c.Line.Words[0]
	} else {
		typed, err := muteTyped(c)
		if err != nil {
			return nil, 0, err
		}
		id = typed.ID
	}
	named := func(m record.Mute) bool { return record.MatchID(m.ID, id) }
	i = slices.IndexFunc(all, named)
	if i < 0 || slices.ContainsFunc(all[i+1:], named) {
		return nil, 0, refusal.Nothing("no mute on ", c.Account.Name, " is that one: ", text.Code("status"), " lists them")
	}
	return all, i, nil
}
