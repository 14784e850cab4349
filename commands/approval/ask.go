package approval

import (
	"strings"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// ask refuses a plan with warnings that the person has not seen, so that he is asked.
func RequireConfirmation(c *call.Call, plans []call.Plan) error {
	if c.Anyway || c.Actor.Via == record.ViaClock {
		return nil
	}
	var warned call.Plan
	for _, p := range plans {
		if len(p.Nothing) > 0 {
			continue
		}
		warned.Notes = append(warned.Notes, p.Notes...)
		for _, w := range p.Warnings {
			if !w.Known && (!w.InDialog || !c.Warned) {
				warned.Warnings = append(warned.Warnings, w)
			}
		}
		warned.Does = strings.Trim(warned.Does+"; "+p.Does, "; ")
	}
	if len(c.Needs) > 0 && warned.Does != "" {
		warned.Notes = append(warned.Notes, Note(c))
	}
	// In a rehearsal there is nothing to confirm: the answer is what would be sent.
	confirm := c.Ask && warned.Does != "" && c.Policy.Changes == policy.ChangesOn
	if len(warned.Warnings) == 0 && !confirm {
		return nil
	}
	words := text.New(text.Bold(warned.Does), "?")
	if len(warned.Warnings) > 0 {
		words = text.New(words, " Before you do:")
	}
	for _, w := range warned.Warnings {
		words = text.New(words, "\n• ", w.Text)
	}
	for _, n := range warned.Notes {
		words = text.New(words, "\n", n)
	}
	return &refusal.Refusal{Kind: refusal.ErrAsk, Text: words, Warnings: warned.Warnings, Line: c.Line.With("account", c.Account.Name)}
}
