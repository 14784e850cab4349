package advice

import (
	"fmt"
	"time"

	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// Acknowledge makes the clicking person the attack's owner.
func Acknowledge(s call.Situation) call.Suggestion {
	return call.Suggestion{Label: "Acknowledge", Line: lineFor(s, "ack")}
}

// Approval are the buttons that decide a request. The asker has none: it takes another person.
func Approval(q record.ApprovalRequest, who record.Actor, role record.Role) []call.Suggestion {
	if who.Is(q.Asker) || role < max(q.Role, record.Responder) {
		return nil
	}
	return Decide(q)
}

// Extend extends a change by as long as it was to hold at first.
func Extend(ch record.Change) call.Suggestion {
	length, err := grammar.ParseDuration(ch.Line.Keys["for"])
	if err != nil || length == grammar.Never {
		length = ch.Until.Sub(ch.At).Truncate(time.Minute)
	}
	length = max(length, time.Minute)
	confirm := call.Dialog{{Text: fmt.Sprintf("%s: %s longer than now.", ch.Does, text.Duration(length))}}
	if !ch.MustBeEnded() { // of entries
		confirm = append(confirm, sentence(0, words.ShortEntry(length)))
	}
	return call.Suggestion{
		Label: "Extend " + text.Duration(length), Title: "Let it hold longer?", OK: "Extend",
		Line:    record.LineOf(ch.Account, "extend", ch.ID).With("for", grammar.DurationText(length)),
		Confirm: confirm,
	}
}

// Decide are what an approver does about a request.
func Decide(q record.ApprovalRequest) []call.Suggestion {
	return []call.Suggestion{
		{
			Label: "Approve", Title: "Approve it?", Line: record.LineOf(q.Account, "approve", q.ID),
			Confirm: call.Dialog{{Text: q.Does + ". It is done at once, as asked by " + q.Asker.Name + ", and you are named as the approver."}},
		},
		{Label: "Reject", Line: record.LineOf(q.Account, "reject", q.ID)},
	}
}

// TakeOver makes the clicking person the owner of everything that goes on.
func TakeOver(account string, ongoing int) call.Suggestion {
	return call.Suggestion{
		Label: "I take over", Title: "Take over?",
		Line: record.Line{Name: "handover", Flags: []string{"all"}}.With("to", "@me").With("account", account),
		Confirm: call.Dialog{{Text: fmt.Sprintf("You are on everything that goes on on %s from now on: %s when this was written. Their owners until now are notified.",
			account, text.Count(ongoing, "attack"))}},
	}
}

// Retry is the button, beside a refused change, that asks for it again.
func Retry(t record.PermissionLoss, r record.RefusedChange) call.Suggestion {
	return call.Suggestion{
		Label: "Try now", Spoken: "Try now: " + r.Does, Title: "Try it now?", Line: r.Line.With("account", t.Account),
		Confirm: call.Dialog{{Text: r.Does + ". If the service refuses again, nothing changes."}},
	}
}
