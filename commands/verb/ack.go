package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func writeAck(c *call.Call, t *record.Triage) (call.Result, error) {
	switch {
	case t.Owner == nil:
		t.Owner = owner(c, c.Actor)
		return saved(*t, words.Owner(t.Owner)), nil
	case t.Owner.Is(c.Actor):
		return unchanged(*t, text.New(words.Owner(t.Owner), " already")), nil
	}
	return call.Result{}, refusal.Nothing("%v. %v", words.Owner(t.Owner), takeOver(c))
}

func writeUnack(c *call.Call, t *record.Triage) (call.Result, error) {
	was := t.Owner
	switch {
	case was == nil, c.Actor.Via == record.ViaClock && was.Since.After(c.Asked): // it was acknowledged again since that was checked
		return unchanged(*t, text.New("Unacknowledged")), nil
	case !was.Is(c.Actor) && c.Role < record.Admin:
		return call.Result{}, &refusal.Refusal{Kind: refusal.ErrDenied,
			Text: text.Newf("%v: only %v or an admin can unacknowledge it. %v",
				words.Owner(was), text.Field(was.Name), takeOver(c))}
	}
	t.Owner, t.UnackedAt, t.Lapsed = nil, c.Now, nil
	if c.Actor.Via == record.ViaClock {
		t.Lapsed = was
		res := saved(*t, words.Unacknowledged(*t, true))
		res.Saves.Events = []record.Event{handoverEvent(c, "", record.AckLapsed, c.Attack.Attack.ID, was.ID)}
		return res, nil
	}
	return saved(*t, text.Newf("Unacknowledged now; %v was, since %v", text.Field(was.Name), was.Since)), nil
}
