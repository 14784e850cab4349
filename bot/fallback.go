package bot

import (
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/commands"
)

// How much of a notification a name may take.
const maxNoticeName = 30

// notice is a card's notification: on a locked phone it is all there is. What the attacker wrote freely stands last, so that cutting harms nothing.
func (c Card) notice(advice commands.Advice) string {
	a := c.Situation.Attack
	status := commands.Visible(commands.StatusName(a), maxNoticeName)
	lead := strings.ToUpper(status)
	if a.Incident() {
		lead = "INCIDENT " + status
	}
	state := "Unclaimed."
	if c.Case.Owner != nil {
		state = commands.Visible(c.Case.Owner.Name, maxNoticeName) + " is on it."
	}
	if c.Quiet {
		state = "Quiet. " + state
	}
	path := a.Path
	if path == "[multiple]" {
		path = "several paths"
	}
	text := fmt.Sprintf("%s: %s on %s. %s %s %s %s", lead, typeName(a, maxNoticeName), c.appName(maxNoticeName), c.noticeSources(advice), state,
		commands.Visible(a.Method, 10), commands.Visible(path, maxNotice))
	return mrkdwn(commands.Say(commands.Visible(strings.Join(strings.Fields(text), " "), maxNotice)))
}

func (c Card) noticeSources(advice commands.Advice) string {
	a := c.Situation.Attack
	top, ok := commands.TopSource(a)
	percent, known := c.topShare()
	switch {
	case known && len(advice.Suggestions) > 0 && c.tooThin(advice):
		return fmt.Sprintf("%s sources, top one %s: one deny won't stop it.", a.SourceCount, commands.Percent(percent))
	case !ok || !top.IP.IsValid():
		return fmt.Sprintf("Hits %s, sources %s.", a.Hits, a.SourceCount)
	}
	from := commands.Visible(top.IP.String(), maxAddress)
	if own, ok := c.Situation.Policy.SourceOf(top.IP); ok {
		from += " = " + commands.Visible(own.Name, maxNoticeName)
	} else if c.Situation.Scene.Seen[top.IP].Shared() {
		from += " (CDN, proxy?)"
	} else if top.Country != "" {
		from += " (" + commands.Visible(top.Country, 3) + ")"
	}
	if !known {
		return fmt.Sprintf("Top source %s, hits %s, sources %s.", from, a.Hits, a.SourceCount)
	}
	return fmt.Sprintf("%s %s of %s hits, %s sources.", from, commands.Percent(percent), a.Hits, a.SourceCount)
}
