package verb

import (
	"slices"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/form"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func mute() *call.Command {
	return command(`mute: responder
suppress the notifications of an attack, a source or a type for a while; incidents are posted all the same, and what
  still goes on at its end is posted then
Example: mute type=scanner for=1h`+mutable+`
[for=]`, call.Command{
		Missing: func(l record.Line) bool {
			return l.Keys["attack"] == "" && l.Keys["source"] == "" && l.Keys["type"] == ""
		},
		Form: form.MuteForm,
		Needs: call.Rounds{func(c *call.Call) call.Needs {
			return call.Needs{Mutes: true, Stored: c.Line.Keys["source"] != "" || c.Line.Keys["type"] != ""}
		}},
		Write: writeMute,
	})
}

// maxMutes is how many mutes of an account are in force at the same time: each poll goes through them.
const maxMutes = 200

func writeMute(c *call.Call) (res call.Result, err error) {
	m, err := muteTyped(c)
	if err != nil {
		return res, err
	}
	if m.Attack != "" && c.Attack.Incident() {
		return res, refusal.Nothing(text.Code(m.Attack), " is an incident, and incidents are always posted")
	}
	all, err := report.ActiveMutes(c)
	if err != nil {
		return res, err
	}
	if m.Until, err = muteEnd(c); err != nil {
		return res, err
	}
	same := func(have record.Mute) bool { return have.ID == m.ID }
	if i := slices.IndexFunc(all, same); i >= 0 && !all[i].Until.Before(m.Until) {
		return unchanged(all[i], text.New("Muted already: ", words.Mute(all[i]))), nil
	}
	if all = slices.DeleteFunc(all, same); len(all) >= maxMutes {
		return res, refusal.Guarded(maxMutes, " mutes are in force already, and no more are kept. ", text.Code("unmute"), " ends one")
	}
	return saveMutes(c, append(all, m), m, text.New("Muted: ", words.Mute(m)), text.Newf("Incidents are posted all the same. What still goes on then is posted then. `unmute %v` ends it", m.ID)), nil
}

func muteEnd(c *call.Call) (time.Time, error) {
	if c.Line.Keys["for"] == grammar.DurationText(grammar.Never) {
		return time.Time{}, refusal.Usage("Invalid duration: forever. A mute ends. Example: ", text.Code("for=1h"))
	}
	length, err := change.Length(c, c.Line.Keys["for"], c.Policy.MuteFor())
	return c.Now.Add(length), err
}
