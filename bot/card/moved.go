package card

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// MovedLine says where an attack's card is now.
func MovedLine(a *call.Account, attack string, shown record.AttackState, to record.Place, link string) text.Text {
	kind := "ATTACK"
	switch {
	case shown.Storm != nil:
		kind = "STORM"
	case shown.Attack.Incident():
		kind = "INCIDENT"
	}
	what := text.New(text.Bold(kind), " · ")
	if shown.Storm == nil {
		what = text.New(what, describe.TypeName(shown.Attack.Type), " · ")
	}
	return text.New(what, a.AppName(shown.Attack.App), " ", text.Code(attack), ": its card is in ", text.Channel(to.Channel), " now: ", text.Link{Label: "open it", URL: link})
}

// Moved replaces a card that has a successor.
func Moved(a *call.Account, attack string, line text.Text) Message {
	msg := Lines([]text.Text{line}, nil)
	msg.Metadata = bounded(MetaMessage, map[string]any{"version": metadataVersion, "account": text.Sanitize(a.Name, maxMeta), "attack": text.Sanitize(attack, maxMeta)})
	return msg
}

// Stale is the reply under a card that has a successor and can't be edited.
func Stale(line text.Text) Message {
	note := text.New(text.Bold("This card is out of date"), ", and Slack doesn't let it be edited any more. Its buttons still do what they say")
	return Lines([]text.Text{note, line}, nil)
}
