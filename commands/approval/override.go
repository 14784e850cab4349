package approval

import (
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// MinOverrideReason is how many characters the reason of an override has at least: it is read in the morning.
const MinOverrideReason = 10

// MayOverride refuses to override a request of another person, one that can't be overridden, or one that can't be yet.
func MayOverride(c *call.Call, q record.ApprovalRequest) error {
	if err := requireUndecided(c, q); err != nil {
		return err
	}
	never := describe.NeverOverridden(q)
	if never == "" && (q.OverrideAt.IsZero() || c.Policy.Override.After == 0) {
		never = "nothing is overridden here (policy.approval.override.after in the configuration)"
	}
	switch {
	case c.Actor.ID != q.Asker.ID:
		return &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New("only ", text.Sanitize(q.Asker.Name, text.MaxField), ", who asked, may override. ", describe.ApprovalDeciders(q, ""), ". Nothing was done")}
	case never != "":
		return refusal.Guarded(text.New(never, ". ", describe.ApprovalDeciders(q, ""), ". Nothing was done"))
	case c.Now.Before(q.OverrideAt):
		return refusal.Guarded(text.New("not before ", q.OverrideAt, ": somebody may answer yet. ", describe.ApprovalDeciders(q, ""), ". Nothing was done"))
	}
	return nil
}

// Shorten is the line with every duration cut to the longest.
func Shorten(l record.Line, longest time.Duration) record.Line {
	for _, key := range []string{"for", "patch"} {
		if d, err := grammar.ParseDuration(l.Keys[key]); err == nil && d > longest {
			l = l.With(key, grammar.DurationText(longest))
		}
	}
	return l
}
