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
	calls := whom(c.Case.Owner, poller.News{Mention: c.Mention, Hushed: c.Hushed || c.Anew})
	who := commands.OwnerLine(c.Case.Owner)
	if c.Case.Owner != nil && calls == c.Case.Owner.ID {
		who, calls = c.Case.Owner.OnIt(commands.User(calls)), "" // by the name that calls
	}
	who = commands.Say(who, c.Page.text())
	for _, link := range []commands.Link{{Label: "runbook", URL: c.Runbook}, {Label: "console", URL: c.ConsoleURL}} {
		if address, ok := inLine(link.URL); ok {
			who = commands.Say(who, " · ", commands.Link{Label: link.Label, URL: address})
		}
	}
	switch {
	case calls != "":
		who = commands.Say(who, " · ", commands.User(calls))
	case c.Hushed && c.Case.Owner == nil:
		nobody := commands.Say("nobody was pinged")
		if !c.CalledAt.IsZero() {
			nobody = commands.Say("nobody was pinged when it got worse, last at ", c.CalledAt)
		}
		who = commands.Say(who, " · quiet hours: ", nobody, "; outside them ", commands.Code(c.Spared), " is")
	}
	lines := []commands.Text{who}
	switch {
	case c.Stuck:
		lines = append(lines, commands.Say("Posted anew: Slack doesn't let the former card be edited any more"))
	case c.Anew:
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
