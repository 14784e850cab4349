package bot

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/wafbot/wafbot/bot/slackconn"
)

// peopleTimeout bounds the invalidation: Slack waits for the acknowledgement.
const peopleTimeout = time.Second

// peopleEvent handles an event about users or groups: it invalidates what all replicas have cached about them. It returns false for other events.
func (in *ingress) peopleEvent(ctx context.Context, event []byte) bool {
	var kind struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(event, &kind) // without a type it is another event
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
		return true // no role depends on it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), peopleTimeout)
	defer cancel()
	if err := in.cfg.Slack.PeopleChanged(ctx, of); err != nil {
		in.cfg.Log.Warn("invalidate people: the other replicas keep their cache", "for", slackconn.PeopleCachedFor, "err", err)
		return true
	}
	in.cfg.Log.Debug("people invalidated", "of", of, "event", kind.Type)
	return true
}
