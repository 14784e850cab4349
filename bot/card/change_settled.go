package card

import (
	"slices"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// ChangeSettled is the message of a settled change; calls reports whether it mentions its authors. A change that only extends another one carries
// that one in its metadata: the message that carried it before may be too old to be read when state is rebuilt.
func ChangeSettled(all []record.Change, ch record.Change, buttons []call.Suggestion) (msg Message, calls bool) {
	line := describe.Change(ch, nil)
	if ch.Undoes != "" && ch.Late != nil && ch.State == record.StateDone {
		line = change.EndedLateLine(ch)
	}
	called := authors(ch)
	if failure := change.Failure(ch); len(failure) > 0 {
		line = failure
		for _, user := range slices.Backward(called) {
			line = text.New(text.User(user), " ", line)
		}
	} else {
		called = nil
	}
	msg = Lines([]text.Text{line}, buttons)
	if i := slices.IndexFunc(all, func(c record.Change) bool { return c.ID == ch.Extends }); i >= 0 && len(ch.Steps) == 0 {
		ch = all[i]
	}
	msg.Metadata = slack.SlackMetadata{EventType: MetaChange, EventPayload: change.Metadata(ch)}
	return msg, len(called) > 0
}

// authors are who asked for a change and who approved it, as far as Slack knows them.
func authors(ch record.Change) (users []string) {
	for _, who := range []*record.Actor{&ch.Actor, ch.Approved} {
		if who != nil && who.Via != record.ViaClock && InSlack(who.ID) {
			users = append(users, who.ID)
		}
	}
	return users
}
