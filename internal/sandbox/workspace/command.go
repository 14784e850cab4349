package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wafbot/wafbot/internal/sandbox/delivery"
)

// Command is a slash command as a person types it. Threads have none.
type Command struct {
	User    string `json:"user"`    // name or id
	Channel string `json:"channel"` // id or #name
	Text    string `json:"text"`    // what follows the command
}

// Command sends a slash command, and shows the content of the bot's acknowledgement as Slack does.
func (w *Workspace) Command(ctx context.Context, c Command) (Delivery, error) {
	d, user, channel, err := w.prepareCommand(c)
	if err != nil {
		return Delivery{}, fmt.Errorf("command %q: %w", c.Text, err)
	}
	d, err = w.deliver(ctx, d, c.Channel)
	if err != nil || d.Warning != "" {
		return d, err
	}
	if err := w.showAck(user, channel, d.Body); err != nil {
		d.Warning = "the app's answer was refused: " + err.Error()
	}
	return d, nil
}

func (w *Workspace) prepareCommand(c Command) (d Delivery, user, channel string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, in, err := w.present(c.User, c.Channel)
	if err != nil {
		return Delivery{}, "", "", err
	}
	response := w.newResponse(u.ID, in.ID, nil)
	name := in.Name
	if in.family() == "im" {
		name = "directmessage"
	}
	payload := map[string]string{
		"token": delivery.VerificationToken, "team_id": w.cfg.TeamID, "team_domain": w.domain(),
		"channel_id": in.ID, "channel_name": name, "user_id": u.ID, "user_name": u.Name,
		"command": w.cfg.Command, "text": w.typed(c.Text, true), "api_app_id": w.cfg.AppID, "is_enterprise_install": "false",
		"response_url": response, "trigger_id": w.newTrigger(u.ID, ""),
	}
	return Delivery{Type: delivery.TypeCommand, Payload: marshal(payload), ResponseURL: response}, u.ID, in.ID, nil
}

// showAck shows the text or message an acknowledgement holds, if any.
func (w *Workspace) showAck(user, channel, body string) error {
	if strings.TrimSpace(body) == "" {
		return nil
	}
	a := args{}
	if !json.Valid([]byte(body)) || a.addJSON([]byte(body)) != nil {
		a = args{"text": body}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.respond(&response{user: user, channel: channel}, a)
}
