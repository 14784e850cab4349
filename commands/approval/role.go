package approval

import (
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// RequireRole refuses who has less than that role, and says who has it.
func RequireRole(c *call.Call, least record.Role) error {
	if c.Role >= least {
		return nil
	}
	if c.Could >= least {
		return &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New(text.Code(c.Cmd.Name), " needs the role ", text.Bold(least.String()), ", and whether you have it by a user group Slack doesn't tell wafbot just now. ",
			"Nothing was done: try again in a moment. Whoever runs wafbot finds the reason in its log")}
	}
	who := text.New("Nobody is one yet: see ", text.Code("policy"), " in the configuration")
	if c.Actor.Via == record.ViaCLI {
		who = text.New("At the terminal ", text.Code("policy.terminal"), " in the configuration file gives roles, as ", text.Code("terminal: {"+strings.TrimPrefix(c.Actor.ID, "cli:")+": "+least.String()+"}"))
	} else if ids := c.Roles.List(least); len(ids) > 0 {
		ids = ids[:min(3, len(ids))]
		who = text.New("Ask ", text.Enumerate(ids, len(ids), func(id string) text.Text { return text.New(text.User(id)) }))
	}
	return &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New(text.Code(c.Cmd.Name), " needs the role ", text.Bold(least.String()), "; yours is ", c.Role.String(), ". ", who, ". Nothing was done")}
}

// ByGroup says which user group gives a role; nothing where none does.
func ByGroup(id string) text.Text {
	if id == "" {
		return nil
	}
	return text.New(" by ", text.User(id))
}
