package report

import (
	"slices"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
)

// ActiveMutes are an account's mutes that are not over.
func ActiveMutes(c *call.Call, a *call.Account) ([]record.Mute, error) {
	all, err := c.Facts(a.Name).Mutes()
	if err != nil {
		return nil, refusal.Away(err)
	}
	return slices.DeleteFunc(all, func(m record.Mute) bool { return m.Over(c.Now) }), nil
}
