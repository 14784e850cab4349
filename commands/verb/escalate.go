package verb

import (
	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func escalate() *call.Command {
	return &call.Command{
		Name: "escalate", Role: record.Responder,
		Summary: "call the attack's pager now; whoever is on it no longer is",
		Args:    []call.Arg{argAttack},
		Example: "escalate attack=ak7q2m9xw",
		Write:   onTriage(writeEscalate),
	}
}

func writeEscalate(c *call.Call, t *record.Triage) (call.Result, error) {
	paged, err := whomToPage(c, *t)
	if err != nil {
		return call.Result{}, err
	}
	does := call.Plan{Line: c.Line, Does: "Page now", Warnings: []refusal.Warning{{Text: paged}}}
	if t.Owner != nil {
		does.Warnings = append(does.Warnings, refusal.Warning{Text: text.New(describe.Owner(t.Owner), ", and no longer is then")})
	}
	if err := approval.RequireConfirmation(c, []call.Plan{does}); err != nil {
		return call.Result{}, err
	}
	t.Owner, t.Lapsed, t.UnackedAt, t.EscalatedAt = nil, nil, c.Now, c.Now
	return saved(*t, text.New("Unacknowledged, and paged now: ", paged)), nil
}

// whomToPage says whose phone rings. It refuses where none would.
func whomToPage(c *call.Call, t record.Triage) (text.Text, error) {
	r, err := c.Given().Routing(c.Attack.Attack)
	if err != nil {
		return nil, refusal.Away(err)
	}
	mutes, err := report.ActiveMutes(c)
	if err != nil {
		return nil, err
	}
	mute, muted := policy.Muted(mutes, c.Attack.Attack, c.Now)
	switch {
	case r.PageAfter == 0:
		return nil, refusal.Nothing(text.New("no pager is called for ", text.Code(c.Attack.ID), ": its route has none, or it went on before wafbot began to watch. Mention in its thread who should come"))
	case !c.Ongoing(c.Account, c.Attack.Attack) && !c.Attack.Incident():
		return nil, refusal.Nothing(text.New(text.Code(c.Attack.ID), " is over: no pager is called for an attack without hits, unless it is an incident"))
	case muted:
		return nil, refusal.Nothing(text.New(text.Code(c.Attack.ID), " is muted. First: ", text.Code("unmute "+mute.ID)))
	case t.Verdict != nil && t.Verdict.Is != "real":
		return nil, refusal.Nothing(text.New(describe.Verdict(*t.Verdict), ". First: ", text.Code("verdict real attack="+c.Attack.ID)))
	case r.Calls == "":
		return text.New("the pager of its route"), nil
	}
	return text.New("the pager of its route, for ", text.User(r.Calls)), nil
}
