package bot

import (
	"strings"

	"github.com/wafbot/wafbot/internal/record"
)

// whom is who a reply about an attack mentions: only who is on it, if that is somebody in Slack, else whom its route calls; "": no one, as in
// quiet hours, or when a person was mentioned a short while ago.
func whom(owner *record.Owner, route string, suppressed bool) string {
	switch {
	case suppressed:
		return ""
	case owner != nil && inSlack(owner.ID):
		return owner.ID
	}
	return route
}

// inSlack reports whether an actor's id is that of somebody in Slack, and not of somebody at a terminal.
func inSlack(actor string) bool { return actor != "" && !strings.HasPrefix(actor, "cli:") }
