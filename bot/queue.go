package bot

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/text"
)

// queue stores requests that change something. Any replica carries them out.
type queue struct{ cfg *Config }

// add stores a request, once for each delivery.
func (q *queue) add(ctx context.Context, req request) error {
	req.Version = workVersion
	work, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	_, err = q.cfg.Inbox.Accept(ctx, work, req.names...)
	return err
}

// notAdded says that a request was not stored, or perhaps not.
func (q *queue) notAdded(req request, err error) text.Text {
	q.cfg.Log.Error("accept request", "user", req.Invocation.Actor.ID, "line", req.Invocation.Line.String(), "err", err)
	if slackconn.DialFailed(err) || refusal.RefusedByStore(err) {
		return refusal.Away(err).Text
	}
	return perhapsRecorded()
}

func perhapsRecorded() text.Text {
	return text.New("perhaps not recorded: wafbot's store (Redis) did not answer in time. If nothing has changed in 30 s, click or type it again: it is never done twice")
}
