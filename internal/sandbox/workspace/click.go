package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Click is a person's click on a button, or choice from an overflow menu.
type Click struct {
	User    string `json:"user"`    // name or id
	Channel string `json:"channel"` // id or #name
	TS      string `json:"ts"`      // of the message, which may be an ephemeral one
	Button  string `json:"button"`  // its label, action id or value, or the only label that begins so
	Cancel  bool   `json:"cancel"`  // answer the confirm dialog with no: nothing is sent
}

// Click sends the block_actions payload of a click and returns the bot's acknowledgement.
func (w *Workspace) Click(ctx context.Context, c Click) (Delivery, error) {
	d, err := w.prepareClick(c)
	if err != nil {
		return Delivery{}, fmt.Errorf("click %q: %w", c.Button, err)
	}
	if c.Cancel {
		return Delivery{}, nil
	}
	return w.deliver(ctx, d, c.Channel)
}

func (w *Workspace) prepareClick(c Click) (Delivery, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, channel, err := w.present(c.User, c.Channel)
	if err != nil {
		return Delivery{}, err
	}
	m := w.find(channel.ID, c.TS)
	if m == nil || m.Ephemeral && m.EphemeralFor != u.ID {
		return Delivery{}, fmt.Errorf("%s sees no message %s in #%s", u.Name, c.TS, channel.Name)
	}
	p, err := m.choose(c.Button)
	if err != nil {
		return Delivery{}, err
	}
	if c.Cancel {
		if p.element["confirm"] == nil {
			return Delivery{}, fmt.Errorf("nothing to cancel: no confirm dialog asks")
		}
		return Delivery{}, nil
	}
	response := w.newResponse(u.ID, channel.ID, m)
	payload := w.clickPayload(u, channel, m)
	payload["response_url"] = response
	payload["actions"] = []answer{p.action(w.nextTS())}
	return Delivery{Type: typeInteractive, Payload: marshal(payload), ResponseURL: response}, nil
}

// present finds a person who can act in a channel.
func (w *Workspace) present(user, channel string) (User, *Channel, error) {
	u, ok := w.user(user)
	if !ok || u.Deleted {
		return User{}, nil, fmt.Errorf("no such user: %q", user)
	}
	c := w.channel(channel)
	if c == nil || !c.has(u.ID) {
		return User{}, nil, fmt.Errorf("no such channel for %s: %q", u.Name, channel)
	}
	return u, c, nil
}

// choose finds what a person means by a label, action id, value, or beginning of a label.
func (m Message) choose(name string) (part, error) {
	parts := m.parts()
	ways := []func(Button) bool{
		func(b Button) bool { return b.Label == name },
		func(b Button) bool { return b.ActionID == name },
		func(b Button) bool { return b.Value == name },
		func(b Button) bool { return strings.HasPrefix(b.Label, name) },
	}
	var labels []string
	for _, p := range parts {
		labels = append(labels, p.button.Label)
	}
	for _, fits := range ways {
		found := slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return name == "" || !fits(p.button) })
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return part{}, fmt.Errorf("several fit, of %q", labels)
		}
	}
	return part{}, fmt.Errorf("none fits, of %q", labels)
}

func (w *Workspace) clickPayload(u User, c *Channel, m *stored) answer {
	container := answer{"type": "message", "message_ts": m.TS, "channel_id": c.ID, "is_ephemeral": m.Ephemeral}
	if m.ThreadTS != "" {
		container["thread_ts"] = m.ThreadTS
	}
	payload := answer{
		"type":                  "block_actions",
		"user":                  answer{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": u.TeamID},
		"api_app_id":            w.cfg.AppID,
		"token":                 verificationToken,
		"container":             container,
		"trigger_id":            w.newTrigger(u.ID),
		"team":                  answer{"id": w.cfg.TeamID, "domain": w.domain()},
		"enterprise":            nil,
		"is_enterprise_install": false,
		"channel":               answer{"id": c.ID, "name": c.Name},
		"state":                 answer{"values": answer{}},
	}
	if !m.Ephemeral { // the content of an ephemeral message isn't kept, so Slack can't send it
		message := w.wire(m, false)
		delete(message, "metadata")
		payload["message"] = message
	}
	return payload
}

// action is what a payload says of the thing that was clicked.
func (p part) action(ts string) answer {
	out := answer{"type": p.element["type"], "action_id": p.button.ActionID, "block_id": p.blockID, "action_ts": ts}
	copied := []string{"text", "value", "style", "url", "confirm"}
	if p.option != nil {
		out["selected_option"] = p.option
		copied = []string{"confirm"}
	}
	for _, key := range copied {
		if v, ok := p.element[key]; ok {
			out[key] = v
		}
	}
	return out
}
