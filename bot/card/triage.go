package card

import (
	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How many notes a card shows.
const maxNotes = 2

// people shows the owner, the pager, the mute, the verdict and the notes, and mentions whom the route names.
func (c Card) people() []text.Text {
	calls := Recipient(c.Triage.Owner, c.Mention, c.QuietHours || c.Reposted)
	who := describe.Owner(c.Triage.Owner)
	if c.Triage.Owner != nil && calls == c.Triage.Owner.ID {
		who, calls = describe.OwnerSince(*c.Triage.Owner, text.User(calls)), "" // by the name that calls
	}
	who = text.New(who, c.Page.text())
	for _, link := range []text.Link{{Label: "runbook", URL: c.Runbook}, {Label: "console", URL: c.ConsoleURL}} {
		if address, ok := inLine(link.URL); ok {
			who = text.New(who, " · ", text.Link{Label: link.Label, URL: address})
		}
	}
	switch {
	case calls != "":
		who = text.New(who, " · ", text.User(calls))
	case c.QuietHours && c.Triage.Owner == nil:
		mentioned := text.New("no one was mentioned")
		if !c.MentionedAt.IsZero() {
			mentioned = text.New("no one was mentioned when it got worse, last at ", c.MentionedAt)
		}
		who = text.New(who, " · quiet hours: ", mentioned, "; outside them ", text.Code(c.Suppressed), " is")
	}
	lines := []text.Text{who}
	switch {
	case c.Uneditable:
		lines = append(lines, text.New("Reposted: Slack doesn't let the former card be edited any more"))
	case c.Reposted:
		lines = append(lines, text.New("Reposted: the former card is gone"))
	}
	if m, muted := c.muted(); muted {
		lines = append(lines, text.New(text.Bold("Muted"), ": ", describe.Mute(m)))
	}
	if c.Triage.Verdict != nil {
		lines = append(lines, describe.Verdict(*c.Triage.Verdict))
	}
	notes := c.Triage.Notes
	if older := len(notes) - maxNotes; older > 0 {
		notes = notes[older:]
		line := record.Line{Name: "attack", Words: []string{c.Situation.ID}}.With("account", c.Situation.Account.Name)
		lines = append(lines, text.New(apiclient.Known(int64(older)), text.Plural(int64(older), " more note"), ": type ", text.Code(line.String())))
	}
	for _, n := range notes {
		lines = append(lines, describe.Note(n))
	}
	return lines
}
