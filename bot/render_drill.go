package bot

import (
	"fmt"

	"github.com/wafbot/wafbot/commands"
)

// drillMessage is the card of a drill. It never looks like an attack's.
func drillMessage(a Account, d commands.Drill) Message {
	asker := commands.Visible(d.By.Name, maxName)
	lines := []commands.Text{
		commands.Say("🔔 ", commands.Bold("DRILL · nothing is attacked · "+a.Name), " ", commands.Code(d.ID)),
		commands.Say(asker, " tries whether somebody answers. It changes nothing, and calls nobody"),
	}
	text := fmt.Sprintf("DRILL on %s: nothing is attacked. %s tries whether somebody answers", a.Name, asker)
	var buttons []commands.Suggestion
	switch {
	case d.Claim != nil:
		who := commands.Visible(d.Claim.By.Name, maxName)
		lines = append(lines, commands.Say(commands.Bold(who), " answered at ", d.Claim.Taken, ". The steps are in the thread"))
		text = fmt.Sprintf("DRILL on %s: %s answered", a.Name, who)
	case d.Over.Before(d.Until) && !d.Over.IsZero():
		lines = append(lines, commands.Say(commands.Bold("Called off"), " at ", d.Over, ", nobody had answered. The steps are in the thread"))
		text = fmt.Sprintf("DRILL on %s: called off", a.Name)
	case !d.Over.IsZero():
		lines = append(lines, commands.Say(commands.Bold("Nobody answered"), " until ", d.Over, ". The steps are in the thread"))
		text = fmt.Sprintf("DRILL on %s: nobody answered", a.Name)
	default:
		lines = append(lines, commands.Say("If you would take an attack now: click before ", d.Until))
		buttons = append(buttons, commands.Suggestion{
			Label: "I'm on it", Line: commands.Line{Name: "drill"}.With("claim", d.ID).With("account", a.Name),
		})
	}
	return Message{Text: notification(text), Blocks: renderLines(lines, buttons)}
}
