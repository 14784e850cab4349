package card

import (
	"slices"
	"strings"

	"github.com/wafbot/wafbot/internal/record"
)

// Recipient is whom a reply about an attack mentions: its owner if that is a Slack user, else whom its route mentions. It is "" in quiet hours, and
// if the route mentioned someone a short while ago.
func Recipient(owner *record.Owner, route string, suppressed bool) string {
	switch {
	case suppressed:
		return ""
	case owner != nil && InSlack(owner.ID):
		return owner.ID
	}
	return route
}

// InSlack reports whether an actor's id is a Slack user's, not a terminal user's.
func InSlack(actor string) bool { return actor != "" && !strings.HasPrefix(actor, "cli:") }

// Recipients are the authors of a change, and whom a reply about its attack mentions.
func Recipients(ch record.Change, said record.Triage, shown record.AttackState) (users []string) {
	users = authors(ch)
	if user := Recipient(said.Owner, shown.Mention, shown.Suppressed); user != "" && !slices.Contains(users, user) {
		users = append(users, user)
	}
	return users
}
