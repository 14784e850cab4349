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

// minAlone is how many characters a reason for acting alone has at least: somebody will read it in the morning.
const MinOverrideReason = 10

// mayAlone refuses to do alone what is somebody else's, can't be done alone, or can't yet.
func MayOverride(c *call.Call, q record.ApprovalRequest) error {
	if err := requireUndecided(c, q); err != nil {
		return err
	}
	never := describe.ApprovalRequestNeverAlone(q)
	if never == "" && (q.OverrideAt.IsZero() || c.Policy.Override.After == 0) {
		never = "nothing is overridden here (policy.approval.override.after in the configuration)"
	}
	switch {
	case c.Actor.ID != q.Asker.ID:
		return &refusal.Refusal{Kind: refusal.ErrDenied, Text: text.New("only ", text.Sanitize(q.Asker.Name, text.MaxField), ", who asked, may override. ", describe.ApprovalRequestWhoDecides(q, ""), ". Nothing was done")}
	case never != "":
		return refusal.Guarded(text.New(never, ". ", describe.ApprovalRequestWhoDecides(q, ""), ". Nothing was done"))
	case c.Now.Before(q.OverrideAt):
		return refusal.Guarded(text.New("not before ", q.OverrideAt, ": somebody may answer yet. ", describe.ApprovalRequestWhoDecides(q, ""), ". Nothing was done"))
	}
	return nil
}

// shortened is the line with every duration cut to the longest.
func Shorten(l record.Line, longest time.Duration) record.Line {
	for _, key := range []string{"for", "patch"} {
		if d, err := grammar.ParseDuration(l.Keys[key]); err == nil && d > longest {
			l = l.With(key, grammar.DurationText(longest))
		}
	}
	return l
}
