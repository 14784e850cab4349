package workspace

import (
	"context"
	"fmt"
	"slices"

	"github.com/wafbot/wafbot/internal/sandbox/delivery"
)

// Closing is a person's click that closes a modal.
type Closing struct {
	User string `json:"user"`          // name or id
	All  bool   `json:"all,omitempty"` // the cross, which closes all; else the button that closes the one on top
}

// CloseView closes modals and sends a view_closed payload for each with notify_on_close.
func (w *Workspace) CloseView(ctx context.Context, c Closing) ([]Delivery, error) {
	notes, err := w.closeViews(c)
	if err != nil {
		return nil, fmt.Errorf("close modal: %w", err)
	}
	sent := []Delivery{}
	for _, d := range notes {
		if d, err = w.deliver(ctx, d, ""); err != nil {
			return sent, err
		}
		d.Warning = "" // the modal that would show it is closed
		sent = append(sent, d)
	}
	return sent, nil
}

func (w *Workspace) closeViews(c Closing) ([]Delivery, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, top, err := w.facing(c.User, "")
	if err != nil {
		return nil, err
	}
	closed := []*openView{top}
	if c.All {
		closed = w.stack(u.ID)
		slices.Reverse(closed)
	}
	var notes []Delivery
	for _, v := range closed {
		if v.object["notify_on_close"] != true {
			continue
		}
		payload := w.interaction("view_closed", u)
		payload["view"], payload["is_cleared"] = w.wireView(v), c.All
		notes = append(notes, Delivery{Type: delivery.TypeInteractive, Payload: marshal(payload)})
	}
	if top.object["clear_on_close"] == true {
		closed = w.stack(u.ID)
	}
	w.dropViews(closed)
	return notes, nil
}
