package commands

import (
	"context"

	"github.com/wafbot/wafbot/internal/record"
)

// clock is the actor of what wafbot does by itself.
var clock = record.Actor{ID: "wafbot", Name: "wafbot", Via: record.ViaClock}

// Members knows the people of the Slack workspace.
type Members interface {
	// Member returns the user's name if he is a full member of the workspace (no guest, no stranger, no bot, not deactivated).
	// An error means that it could not be found out.
	Member(ctx context.Context, team, user string) (name string, full bool, err error)
	// Groups are those of the user groups that the user is in. After an error they are what was last known, which may be over.
	Groups(ctx context.Context, user string, of []string) (in []string, err error)
}
