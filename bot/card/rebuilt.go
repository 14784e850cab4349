package card

import (
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// StoreRebuilt says in a channel what was rebuilt of an account after Redis was emptied, and what was lost.
func StoreRebuilt(account string, facts record.RebuildFacts) Message {
	var lines []text.Text
	if facts.Blind {
		lines = []text.Text{
			text.New(text.Bold(account+": wafbot can't rebuild its state"), ": it may not read this channel's history. Either it isn't in the channel, or its token lacks the scope ", text.Code("channels:history"),
				" (in a private channel ", text.Code("groups:history"), ")"),
			text.New("If its store (Redis) was emptied, cards come again, and what it changed before can't be undone from here. ", text.Code("wafbot doctor"), " says how to fix it"),
		}
		return Lines(lines, nil)
	}
	lines = []text.Text{
		text.New(text.Bold(account+": wafbot's store (Redis) was emptied"), ". Read back from this channel: ", counted(facts.Cards, "card"), ", ",
			counted(facts.InForce, "mitigation"), " in force with their ends and undo"),
	}
	if facts.Listed > 0 {
		lines = append(lines, text.New("Found on the service's lists, though no message names them: ", counted(facts.Listed, "mitigation"), ". Undo takes them off; what stood there before is not known"))
	}
	if facts.NoLists {
		lines = append(lines, text.New("The service's lists could not be read: entries that no message names are not known here"))
	}
	if len(facts.Unknown) > 0 {
		lines = append(lines, text.New("It isn't known what these did, so they can't be undone from here: ", text.Code(strings.Join(facts.Unknown, " ")), ". Look with ", text.Code("lists"), " and ", text.Code("rules")))
	}
	if len(facts.Unread) > 0 {
		line := text.New("Could not be read, so what was posted there comes again:")
		for _, channel := range facts.Unread {
			line = text.New(line, " ", text.Channel(channel))
		}
		lines = append(lines, line)
	}
	lines = append(lines, text.New(text.Bold("Lost"), ": clicks that were not yet carried out (click again), requests that waited for approval (ask again), who was on what, notes, verdicts, mutes, calls of a pager (end them there), what an admin protected from being denied (", text.Code("protect"), " it again), and the audit log but for its copy on standard output"))
	return Lines(lines, nil)
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	return apiclient.Known(int64(n)).String() + " " + text.Plural(int64(n), noun)
}
