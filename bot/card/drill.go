package card

import (
	"fmt"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Drill is the card of a drill. It can't be mistaken for an attack's card.
func Drill(a *call.Account, d record.Drill) Message {
	asker := text.Sanitize(d.By.Name, MaxName)
	lines := []text.Text{
		text.New("🔔 ", text.Bold("DRILL · nothing is attacked · "+a.Name), " ", text.Code(d.ID)),
		text.New(asker, " tests whether a responder answers. It changes nothing, and mentions no one"),
	}
	words := fmt.Sprintf("DRILL on %s: nothing is attacked. %s tests whether a responder answers", a.Name, asker)
	var buttons []call.Suggestion
	switch {
	case d.Answer != nil:
		who := text.Sanitize(d.Answer.By.Name, MaxName)
		lines = append(lines, text.New(text.Bold(who), " answered at ", d.Answer.Taken, ". The steps are in the thread"))
		words = fmt.Sprintf("DRILL on %s: %s answered", a.Name, who)
	case d.Over.Before(d.Until) && !d.Over.IsZero():
		lines = append(lines, text.New(text.Bold("Called off"), " at ", d.Over, ", no answer by then. The steps are in the thread"))
		words = fmt.Sprintf("DRILL on %s: called off", a.Name)
	case !d.Over.IsZero():
		lines = append(lines, text.New(text.Bold("No answer"), " until ", d.Over, ". The steps are in the thread"))
		words = fmt.Sprintf("DRILL on %s: no answer", a.Name)
	default:
		lines = append(lines, text.New("If you would take an attack now: click before ", d.Until))
		buttons = append(buttons, call.Suggestion{
			Label: "Acknowledge", Line: record.Line{Name: "drill"}.With("ack", d.ID).With("account", a.Name),
		})
	}
	return Message{Text: notification(words), Blocks: renderLines(lines, buttons)}
}
