package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
	"github.com/wafbot/wafbot/internal/sandbox/delivery"
)

// Click is a person's click on a button, or choice from an overflow menu: in a message, in a modal or on the Home tab.
type Click struct {
	User    string `json:"user"`    // name or id
	Channel string `json:"channel"` // id or #name; empty: in a view
	TS      string `json:"ts"`      // of the message, which may be an ephemeral one
	Button  string `json:"button"`  // its label, action id or value, or the only label that begins so
	Cancel  bool   `json:"cancel"`  // answer the confirm dialog with no: nothing is sent

	View string `json:"view,omitempty"` // id of the view instead of channel and ts, or modal or home: the one that is seen
	// Values are filled in before, as those of a Submission; a message forgets them afterwards. Button may name one of them whose
	// change sends an action: an input with dispatch_action, or a select outside of inputs.
	Values map[string]any `json:"values,omitempty"`
}

// Click sends the block_actions payload of a click and returns the bot's acknowledgement.
func (w *Workspace) Click(ctx context.Context, c Click) (Delivery, error) {
	prepare := w.prepareClick
	if c.View != "" {
		prepare = w.prepareViewClick
	}
	d, err := prepare(c)
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
	blocks := m.allBlocks()
	fields := blockkit.Fields(blocks)
	state := blockkit.NewState(fields, nil)
	if err := blockkit.Fill(state, fields, c.Values, typedNames{w.people}); err != nil {
		return Delivery{}, err
	}
	element, action, err := w.actionOf(blocks, state, c.Button)
	if err != nil || c.Cancel {
		return Delivery{}, errors.Join(err, cancelled(c, element))
	}
	response := w.newResponse(u.ID, channel.ID, m)
	payload := w.clickPayload(u, channel, m)
	payload["state"] = answer{"values": state}
	payload["response_url"] = response
	payload["actions"] = []answer{action}
	return Delivery{Type: delivery.TypeInteractive, Payload: marshal(payload), ResponseURL: response}, nil
}

// present finds a person who can act in a channel.
func (w *people) present(user, channel string) (User, *Channel, error) {
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

// cancelled refuses to cancel an element without a confirm dialog.
func cancelled(c Click, element map[string]any) error {
	if c.Cancel && element != nil && element["confirm"] == nil {
		return errors.New("nothing to cancel: no confirm dialog asks")
	}
	return nil
}

// prepareViewClick makes the payload of a click in a view, with the view's state.
func (w *Workspace) prepareViewClick(c Click) (Delivery, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, v, err := w.facing(c.User, c.View)
	if err != nil {
		return Delivery{}, err
	}
	if err := blockkit.Fill(v.state, v.fields(), c.Values, typedNames{w.people}); err != nil {
		return Delivery{}, err
	}
	w.notify()
	element, action, err := w.actionOf(v.blocks(), v.state, c.Button)
	if err != nil || c.Cancel {
		return Delivery{}, errors.Join(err, cancelled(c, element))
	}
	payload := w.interaction("block_actions", u)
	payload["container"] = answer{"type": "view", "view_id": v.ID}
	payload["trigger_id"] = w.newTrigger(u.ID, v.ID)
	payload["view"] = w.wireView(v)
	payload["actions"] = []answer{action}
	return Delivery{Type: delivery.TypeInteractive, Payload: marshal(payload)}, nil
}

// actionOf finds what is clicked or changed in blocks, and returns its element and its action for the payload.
func (w *Workspace) actionOf(blocks []map[string]any, state blockkit.State, name string) (element map[string]any, action answer, err error) {
	clickable, err := blockkit.FindPart(blockkit.Parts(blocks), name)
	if err == nil {
		return clickable.Element, clickable.Action(w.nextTS()), nil
	}
	f, fieldErr := blockkit.FindField(blockkit.Fields(blocks), name)
	if fieldErr != nil || !f.Dispatches {
		return nil, nil, err
	}
	action = answer{"block_id": f.BlockID, "action_id": f.ActionID, "action_ts": w.nextTS()}
	maps.Copy(action, state[f.BlockID][f.ActionID])
	return f.Element, action, nil
}

// interaction is the common part of the payloads of interactions with blocks and views.
func (w *Workspace) interaction(kind string, u User) answer {
	return answer{
		"type":                  kind,
		"user":                  answer{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": u.TeamID},
		"api_app_id":            w.cfg.AppID,
		"token":                 delivery.VerificationToken,
		"team":                  answer{"id": w.cfg.TeamID, "domain": w.domain()},
		"enterprise":            nil,
		"is_enterprise_install": false,
	}
}

func (w *Workspace) clickPayload(u User, c *Channel, m *stored) answer {
	container := answer{"type": "message", "message_ts": m.TS, "channel_id": c.ID, "is_ephemeral": m.Ephemeral}
	if m.ThreadTS != "" {
		container["thread_ts"] = m.ThreadTS
	}
	payload := w.interaction("block_actions", u)
	payload["container"] = container
	payload["trigger_id"] = w.newTrigger(u.ID, "")
	payload["channel"] = answer{"id": c.ID, "name": c.Name}
	if !m.Ephemeral { // the content of an ephemeral message isn't kept, so Slack can't send it
		message := w.wire(m, false)
		delete(message, "metadata")
		payload["message"] = message
	}
	return payload
}
