package card

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Worse is the reply under a card when its attack got worse. It mentions whom the route names.
func Worse(a *call.Account, n record.Event) Message {
	what := text.New(text.Bold("It got worse: "), describe.StatusName(n.Attack), ", ", n.Attack.Hits, " hits")
	if n.Reason == record.BecameIncident {
		what = text.New(text.Bold("It worked: this attack is an INCIDENT now"), ", vulnerability ", text.Code(text.Sanitize(n.Attack.VulnID, 60)), ". Assume data was read")
	}
	id := record.AttackID(a.Name, n.Attack.ID)
	lines := []text.Text{what, describe.AttackLine(a, n.Attack, n.At)}
	if s := n.Storm; s != nil {
		what = text.New(text.Bold("The storm got worse: "), s.Grouped, " attacks, ", describe.StormBlocking(*s), ", ", n.Attack.Hits, " hits")
		lines = []text.Text{what, describe.StormLine(a, call.StormRow{ID: id, Attack: n.Attack, Storm: *s}, n.At)}
	}
	if n.Mention != "" {
		lines[0] = text.New(text.User(n.Mention), " ", what)
	}
	return Message{
		Text: worseNotice(a, n), Blocks: renderLines(lines, nil),
		Metadata: bounded(MetaWorse, attackMeta(a.Name, id, n.Attack)),
	}
}
