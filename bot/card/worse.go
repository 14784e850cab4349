package card

import (
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Worse is the reply under a card whose attack became worse. It calls whom the route names.
func Worse(a *commands.Account, n record.Event) Message {
	what := text.New(text.Bold("It got worse: "), commands.StatusName(n.Attack), ", ", n.Attack.Hits, " hits")
	if n.Reason == record.BecameIncident {
		what = text.New(text.Bold("It worked: this attack is an INCIDENT now"), ", vulnerability ", text.Code(text.Sanitize(n.Attack.VulnID, 60)), ". Assume data was read")
	}
	id := record.AttackID(a.Name, n.Attack.ID)
	lines := []text.Text{what, commands.AttackLine(a, n.Attack, n.At)}
	if s := n.Storm; s != nil {
		what = text.New(text.Bold("The storm got worse: "), s.Gathered, " attacks, ", commands.StormBlocking(*s), ", ", n.Attack.Hits, " hits")
		lines = []text.Text{what, commands.StormLine(a, commands.StormRow{ID: id, Attack: n.Attack, Storm: *s}, n.At)}
	}
	if n.Mention != "" {
		lines[0] = text.New(text.User(n.Mention), " ", what)
	}
	return Message{
		Text: worseNotice(a, n), Blocks: renderLines(lines, nil),
		Metadata: bounded(MetaWorse, attackMeta(a.Name, id, n.Attack)),
	}
}
