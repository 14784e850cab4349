package workspace

import (
	"errors"
	"fmt"
)

// OpenHome opens the Home tab of a person (name or id) and returns what is published there, nil when nothing is. The bot gets an event
// in the background; Home and WaitHome return what it publishes then.
func (w *viewStore) OpenHome(user string) (*View, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, direct, err := w.speaker(user, "")
	if err != nil {
		return nil, fmt.Errorf("open home: %w", err)
	}
	if w.cfg.NoHome {
		return nil, errors.New("open home: the app has no Home tab")
	}
	v := w.home(u.ID)
	if w.subscribed("app_home_opened", "") {
		event := answer{"type": "app_home_opened", "user": u.ID, "channel": direct.ID, "tab": "home"}
		if v != nil {
			event["view"] = w.wireView(v)
		}
		w.emit(direct.ID, u, w.nextTS(), event)
	}
	return w.shownOrNil(v), nil
}

// HasHome reports whether the app has a Home tab.
func (w *viewStore) HasHome() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.cfg.NoHome
}

// SetHome switches the app's Home tab on or off. Off, nothing can be published.
func (w *viewStore) SetHome(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cfg.NoHome = !on
	w.notify()
}
