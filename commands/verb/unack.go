package verb

import (
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

func unack() *call.Command {
	return &call.Command{
		Name: "unack", Aliases: []string{"release"}, Role: record.Responder,
		Summary: "acknowledge it no longer; an admin may do so for others",
		Args:    []call.Arg{argAttack},
		Write:   writeUnack,
	}
}

func writeUnack(c *call.Call) (call.Result, error) {
	k, err := triageOf(c)
	if err != nil {
		return call.Result{}, err
	}
	switch {
	case k.Owner == nil:
		return unchanged(k, text.New("Unacknowledged. Nothing was changed")), nil
	case k.Owner.ID != c.Actor.ID && c.Role < record.Admin:
		return call.Result{}, &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New(describe.Owner(k.Owner), ": only ", text.Sanitize(k.Owner.Name, text.MaxField), " or an admin can unacknowledge it. Nothing was changed. ", takeOver(c))}
	}
	was := k.Owner
	k.Owner, k.UnackedAt = nil, c.Now
	return saveTriage(c, k, "", text.New("Unacknowledged now; ", text.Sanitize(was.Name, text.MaxField), " was, since ", was.Since))
}
