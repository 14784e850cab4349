package describe

import (
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/internal/record"
)

// maxReason is how many characters of a reason are sent.
const maxReason = 200

// ReasonPrefix is how the reason of every entry begins that a change makes; undo and reading back know it by that.
func ReasonPrefix(id string) string { return "wafbot " + id + " " }

// EntryReason names the change and the person, because the service itself sees only the owner of the token.
func EntryReason(ch record.Change) string {
	text := fmt.Sprintf("%sby %s (%s)", ReasonPrefix(ch.ID), ch.Actor.Name, ch.Actor.ID)
	if ch.AttackID != "" {
		text += " for " + ch.AttackID
	}
	switch {
	case ch.Approved != nil:
		text += ": approved by " + ch.Approved.Name
	case ch.Overridden:
		text += ": alone"
	}
	if ch.Reason != "" {
		text += ": " + ch.Reason
	}
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	return string(runes[:min(len(runes), maxReason)])
}
