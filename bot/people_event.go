package bot

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
)

// peopleTimeout bounds passing on that something about people changed: Slack waits for the acknowledgement.
const peopleTimeout = time.Second

// peopleEvent takes an event about people: what was known about them is over, here and on the other replicas. It reports false for other events.
func (in *ingress) peopleEvent(ctx context.Context, event []byte) bool {
	var kind struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(event, &kind) // one without a type is none of these
	of := ""
	switch kind.Type {
	default:
		return false
	case "user_change":
		var e struct {
			User struct {
				ID string `json:"id"`
			} `json:"user"`
		}
		_ = json.Unmarshal(event, &e)
		of = e.User.ID
	case "subteam_members_changed", "subteam_updated", "subteam_created":
		var e struct {
			ID      string `json:"subteam_id"`
			Subteam struct {
				ID string `json:"id"`
			} `json:"subteam"`
		}
		_ = json.Unmarshal(event, &e)
		if slices.ContainsFunc(in.cfg.Roles.Groups(), func(id string) bool { return id == e.ID || id == e.Subteam.ID }) {
			of = slackconn.AllGroups
		}
	}
	if of == "" {
		return true // nobody's role hangs on it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), peopleTimeout)
	defer cancel()
	if err := in.cfg.Slack.PeopleChanged(ctx, of); err != nil {
		in.cfg.Log.Warn("take news of people: the other replicas find out by themselves", "within", slackconn.PeopleCachedFor, "err", err)
		return true
	}
	in.cfg.Log.Debug("what is known of people is over", "of", of, "event", kind.Type)
	return true
}
