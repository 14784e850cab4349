package bot

import (
	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// How many notes a card shows.
const maxNotes = 2

// people say who is on it, who muted it, what they found and what they noted, and call whom the route names.
func (c Card) people() []commands.Text {
	who := commands.Say(commands.OwnerLine(c.Case.Owner), c.Page.text())
	for _, link := range []commands.Link{{Label: "runbook", URL: c.Runbook}, {Label: "console", URL: c.ConsoleURL}} {
		if address, ok := inLine(link.URL); ok {
			who = commands.Say(who, " · ", commands.Link{Label: link.Label, URL: address})
		}
	}
	switch n := (poller.News{Mention: c.Mention, Hushed: c.Hushed || c.Anew}); {
	case whom(c.Case.Owner, n) != "":
		who = commands.Say(who, " · ", commands.User(whom(c.Case.Owner, n)))
	case c.Hushed && c.Case.Owner == nil:
		who = commands.Say(who, " · quiet hours: nobody was pinged (at others ", commands.Code(c.Spared), " is)")
	}
	lines := []commands.Text{who}
	if c.Anew {
		lines = append(lines, commands.Say("Posted anew: the former card is gone"))
	}
	if m, muted := c.muted(); muted {
		lines = append(lines, commands.Say(commands.Bold("Muted"), ": ", commands.MuteLine(m)))
	}
	if c.Case.Verdict != nil {
		lines = append(lines, commands.VerdictLine(*c.Case.Verdict))
	}
	notes := c.Case.Notes
	if older := len(notes) - maxNotes; older > 0 {
		notes = notes[older:]
		line := commands.Line{Name: "attack", Words: []string{c.Situation.ID}}.With("account", c.Situation.Account.Name)
		lines = append(lines, commands.Say(apiclient.Known(int64(older)), commands.Plural(int64(older), " more note"), ": type ", commands.Code(line.String())))
	}
	for _, n := range notes {
		lines = append(lines, commands.NoteLine(n))
	}
	return lines
}
