package card

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/internal/record"
)

// Recipient is who a reply about an attack mentions: only who is on it, if that is somebody in Slack, else whom its route calls; "": nobody, as in
// quiet hours, or when somebody was called a short while ago.
func Recipient(owner *record.Owner, n record.Event) string {
	switch {
	case n.Hushed:
		return ""
	case owner != nil && InSlack(owner.ID):
		return owner.ID
	}
	return n.Mention
}

// InSlack reports whether an actor's id is that of somebody in Slack, and not of somebody at a terminal.
func InSlack(actor string) bool { return actor != "" && !strings.HasPrefix(actor, "cli:") }

// Recipients are who made the change, and whom a reply about its attack mentions.
func Recipients(ch record.Change, said record.Triage, shown record.AttackState) (users []string) {
	users = authors(ch)
	if user := Recipient(said.Owner, record.Event{Mention: shown.Mention, Hushed: shown.Hushed}); user != "" && !slices.Contains(users, user) {
		users = append(users, user)
	}
	return users
}
