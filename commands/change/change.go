// Package change plans changes of the service, their undo, extension and end, and says what became of them: pure functions of facts.
package change

import (
	"errors"
	"fmt"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// ErrOutcomeUnknown marks a failure after which it isn't known whether the step was done.
var ErrOutcomeUnknown = errors.New("outcome unknown")

// Unsaved is the answer for a change that was sent and could not be stored: the same delivery, or the same line, finds it begun.
func Unsaved(ch record.Change, err error) error {
	return &refusal.Refusal{Kind: refusal.ErrAway, Cause: fmt.Errorf("%w: %w", refusal.ErrRecorded, err), Text: text.New(text.Bold(ch.Does),
		": sent to the service, but wafbot's store (Redis) can't be reached, so what came of it isn't written down. Ask the same again: wafbot looks before it sends")}
}

// NotDone is the answer for a change that failed, was done in part only, or whose outcome is unknown.
func NotDone(ch record.Change, fault error) error {
	if errors.Is(fault, refusal.ErrRecorded) {
		return fault
	}
	cause := fmt.Errorf("%w: %w", refusal.ErrRecorded, refusal.ErrReported)
	if fault != nil {
		cause = fmt.Errorf("%w: %w", cause, fault)
	}
	return &refusal.Refusal{Kind: refusal.ErrService, Cause: cause, Text: Failure(ch)}
}

// Failure says that the change failed, was done in part only, or that its outcome is unknown, and why; nothing of one that did not fail, or is resumed.
func Failure(c record.Change) text.Text {
	switch {
	case c.Fault == "":
		return nil
	case c.State == record.StateHalf && c.Parent() == "":
		return text.New(text.Bold("Only partly done: "+c.Does), ": ", c.Fault, ". ", text.Code("undo "+c.ID), " takes back what was done")
	case c.State == record.StateHalf:
		return text.New(text.Bold("Only partly done: "+c.Does), ": ", c.Fault, ". Ask the same again: what is done already is left as it is")
	case c.State == record.StateBegun:
		return text.New(text.Bold("Perhaps done: "+c.Does), ": ", c.Fault, ". Ask the same again: wafbot looks before it sends")
	}
	return text.New(text.Bold("NOT done: "+c.Does), ": ", c.Fault)
}

// Affected are the changes that ch undoes or prolongs, as they are afterwards. With one that is undone go those that prolonged it:
// one that is found begun later must not bring it back.
func Affected(c *call.Call, ch record.Change) []record.Change {
	var all []record.Change
	for _, old := range c.Changes {
		switch {
		case ch.Undoes != "" && (old.ID == ch.Undoes || old.Extends == ch.Undoes) && old.State != record.StateFailed:
			old.State, old.EndedBy, old.EndedAt = record.StateUndone, &ch.Actor, ch.At
		case ch.Extends != "" && old.ID == ch.Extends:
			old.Prolong(ch.Until)
		default:
			continue
		}
		all = append(all, old)
	}
	return all
}

// IgnoreNotFound takes "not found" as deleted: another was faster.
func IgnoreNotFound(err error) error {
	if apiclient.KindOf(err) == apiclient.NotFound {
		return nil
	}
	return err
}

// AsAPIError is the service's error in err.
func AsAPIError(err error) (*apiclient.Error, bool) {
	var e *apiclient.Error
	ok := errors.As(err, &e)
	return e, ok
}
