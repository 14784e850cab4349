package verb

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/wafbot/wafbot/commands/approval"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// whyAlone is the reason of an override, as it is posted.
func whyAlone(c *call.Call) string { return strings.Join(strings.Fields(c.Line.Keys["reason"]), " ") }

func mayOverride(c *call.Call, q record.ApprovalRequest) error {
	if err := approval.MayOverride(c, q); err != nil {
		return err
	}
	if utf8.RuneCountInString(whyAlone(c)) < approval.MinOverrideReason {
		return refusal.About(refusal.Usage("say why it can't wait, in at least %v characters: it is posted and kept",
			approval.MinOverrideReason), "reason", "")
	}
	return nil
}

// overrideForm says what would be done, and for how long.
func overrideForm(c *call.Call, f *call.Form) {
	f.Title, f.Submit = "Override", "Override"
	f.Relabel("reason", "Why it can't wait", "at least 10 characters: it is posted and kept")
	if c.Account == nil || len(c.Line.Words) == 0 {
		return
	}
	q, err := approval.ByLine(c)
	if err != nil {
		return
	}
	f.Drop("request")
	f.Base.Words = []string{q.ID}
	f.Intro = append(f.Intro, words.Approval(q, c.Now),
		text.Newf("Without approval it holds for %v at most. It is recorded as an override, and posted to the channel",
			text.Duration(policy.LongestOverride)))
	if refusal := (*refusal.Refusal)(nil); errors.As(approval.MayOverride(c, q), &refusal) {
		f.Intro.Add(text.Newf("*Not by you, or not now*: %v", refusal.Text))
	}
}
