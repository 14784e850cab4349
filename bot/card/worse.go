package card

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Worse is the reply under a card when its attack got worse. It mentions whom the route names.
func Worse(a *call.Account, n record.Event) Message {
	c := n.Changed()
	what := text.New(text.Bold("It got worse: "), describe.StatusName(c.Attack), ", ", c.Attack.Hits, " hits")
	if n.Kind == record.BecameIncident {
		what = text.New(text.Bold("It worked: this attack is an INCIDENT now"), ", vulnerability ", text.Code(text.Sanitize(c.Attack.VulnID, 60)), ". Assume data was read")
	}
	id := record.AttackID(a.Name, c.Attack.ID)
	lines := []text.Text{what, describe.Attack(a, c.Attack, n.At)}
	if s := c.Storm; s != nil {
		what = text.New(text.Bold("The storm got worse: "), s.Grouped, " attacks, ", describe.StormBlocking(*s), ", ", c.Attack.Hits, " hits")
		lines = []text.Text{what, describe.Storm(a, call.StormRow{ID: id, Attack: c.Attack, Storm: *s}, n.At)}
	}
	if c.Mention != "" {
		lines[0] = text.New(text.User(c.Mention), " ", what)
	}
	return Message{
		Text: worseNotice(a, n), Blocks: renderLines(lines, nil),
		Metadata: bounded(MetaWorse, attackMeta(a.Name, id, c.Attack)),
	}
}
