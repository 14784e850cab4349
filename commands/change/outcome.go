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

// errUnknown marks a failure after which nobody knows whether the step took place.
var ErrOutcomeUnknown = errors.New("outcome unknown")

// unsaved is the answer for a change that was sent and could not be written down: the same delivery, or the same line, finds it begun.
func Unsaved(ch record.Change, err error) error {
	return &refusal.Refusal{Kind: refusal.ErrAway, Cause: fmt.Errorf("%w: %w", refusal.ErrRecorded, err), Text: text.New(text.Bold(ch.Does),
		": sent to the service, but wafbot's store (Redis) can't be reached, so what came of it isn't written down. Ask the same again: wafbot looks before it sends")}
}

// notDone is the answer for a change that failed, was done in part only, or of which nobody knows.
func NotDone(ch record.Change, fault error) error {
	if errors.Is(fault, refusal.ErrRecorded) {
		return fault
	}
	cause := fmt.Errorf("%w: %w", refusal.ErrRecorded, refusal.ErrTold)
	if fault != nil {
		cause = fmt.Errorf("%w: %w", cause, fault)
	}
	return &refusal.Refusal{Kind: refusal.ErrService, Cause: cause, Text: Failure(ch)}
}

// Failure says that the change failed, was done in part only, or that nobody knows, and why; nothing of one that did not fail, or is gone on with.
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

// amended are the changes that ch takes back or prolongs, as they are afterwards. With one that is taken back go those that prolonged it:
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

// gone takes "not found" as deleted: somebody was faster.
func IgnoreNotFound(err error) error {
	if apiclient.KindOf(err) == apiclient.NotFound {
		return nil
	}
	return err
}

// asAPI is the service's error in err.
func AsAPIError(err error) (*apiclient.Error, bool) {
	var e *apiclient.Error
	ok := errors.As(err, &e)
	return e, ok
}
