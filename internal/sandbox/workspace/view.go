package workspace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
)

// The types of views.
const (
	viewModal = "modal"
	viewHome  = "home"
)

// View is a modal or Home tab as a person sees it: as it was last opened, updated or published, and filled in since.
type View struct {
	ID              string            `json:"id"`
	Type            string            `json:"type"` // modal or home
	User            string            `json:"user"` // id of who sees it
	CallbackID      string            `json:"callback_id"`
	ExternalID      string            `json:"external_id"`
	PrivateMetadata string            `json:"private_metadata"`
	Hash            string            `json:"hash"`             // changes with every update
	Raw             json.RawMessage   `json:"raw"`              // the whole view, as checked
	State           json.RawMessage   `json:"state"`            // what is filled in, as payloads have it
	Errors          map[string]string `json:"errors,omitempty"` // the bot's errors, by block id
	Depth           int               `json:"depth"`            // how many modals are beneath
}

// openView is a visible view with its internal state.
type openView struct {
	View
	object   map[string]any
	state    blockkit.State
	previous string // id of the modal beneath
	root     string // id of the lowest modal of the stack
}

// Views lists the modals that are open and the Home tabs that are published, oldest first.
func (w *viewStore) Views() []View {
	w.mu.Lock()
	defer w.mu.Unlock()
	views := []View{}
	for _, v := range w.views {
		views = append(views, w.shown(v))
	}
	return views
}

// OpenView is the modal that a user (name or id) sees; nil when none is open.
func (w *viewStore) OpenView(user string) *View {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, _ := w.user(user)
	return w.shownOrNil(w.top(u.ID))
}

// Home is what is published on a user's (name or id) Home tab; nil when nothing is, or the tab is switched off.
func (w *viewStore) Home(user string) *View {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, _ := w.user(user)
	return w.shownOrNil(w.home(u.ID))
}

func (w *viewStore) shownOrNil(v *openView) *View {
	if v == nil {
		return nil
	}
	shown := w.shown(v)
	return &shown
}

// shown is a copy of a view for callers.
func (w *viewStore) shown(v *openView) View {
	shown := v.View
	shown.Errors = maps.Clone(v.Errors)
	shown.State = marshal(answer{"values": v.state})
	if v.Type == viewModal {
		shown.Depth = slices.Index(w.stack(v.User), v)
	}
	return shown
}

func (w *viewStore) viewByID(id string) *openView {
	i := slices.IndexFunc(w.views, func(v *openView) bool { return v.ID == id })
	if i < 0 {
		return nil
	}
	return w.views[i]
}

// stack lists the modals that a user has open, the lowest first.
func (w *viewStore) stack(user string) []*openView {
	var open []*openView
	for _, v := range w.views {
		if v.User == user && v.Type == viewModal {
			open = append(open, v)
		}
	}
	return open
}

// top is the modal that a user sees; nil when none is open.
func (w *viewStore) top(user string) *openView {
	open := w.stack(user)
	if len(open) == 0 {
		return nil
	}
	return open[len(open)-1]
}

func (w *viewStore) home(user string) *openView {
	i := slices.IndexFunc(w.views, func(v *openView) bool { return v.User == user && v.Type == viewHome })
	if i < 0 || w.cfg.NoHome {
		return nil
	}
	return w.views[i]
}

// sees finds a visible view by its id, or by modal or home. Of modals only the one on top is visible.
func (w *viewStore) sees(u User, name string) (*openView, error) {
	v, home := w.top(u.ID), w.home(u.ID)
	if home != nil && (name == home.ID || name == viewHome) {
		return home, nil
	}
	if v == nil || name != v.ID && name != viewModal {
		return nil, fmt.Errorf("%s sees no view %q", u.Name, name)
	}
	return v, nil
}

// putOnTop shows a new view to a user.
func (w *viewStore) putOnTop(v *openView, user string) *openView {
	v.ID, v.Hash, v.User = w.nextID("V"), w.newHash(), user
	v.root = v.ID
	if top := w.top(user); top != nil && v.Type == viewModal {
		v.previous, v.root = top.ID, top.root
	}
	v.state = blockkit.NewState(v.fields(), nil)
	w.views = append(w.views, v)
	w.notify()
	return v
}

// replaceView replaces a view. Its state stays where block and action id stay.
func (w *viewStore) replaceView(old, v *openView) {
	v.ID, v.User, v.previous, v.root = old.ID, old.User, old.previous, old.root
	v.Hash = w.newHash()
	v.state = blockkit.NewState(v.fields(), old.state)
	*old = *v
	w.notify()
}

func (w *viewStore) dropViews(gone []*openView) {
	w.views = slices.DeleteFunc(w.views, func(v *openView) bool { return slices.Contains(gone, v) })
	w.notify()
}

func (w *core) newHash() string { return w.nextTS() + "." + randomID() }

// wireView is a view as answers and payloads have it.
func (w *viewStore) wireView(v *openView) answer {
	wire := answer{
		"private_metadata": "", "callback_id": "", "external_id": "", "previous_view_id": nil,
		"id": v.ID, "hash": v.Hash, "team_id": w.cfg.TeamID, "app_installed_team_id": w.cfg.TeamID, "root_view_id": v.root,
		"app_id": w.cfg.AppID, "bot_id": w.cfg.BotID, "state": answer{"values": v.state},
	}
	if v.Type == viewModal {
		wire["close"], wire["submit"], wire["clear_on_close"], wire["notify_on_close"] = nil, nil, false, false
	}
	if v.previous != "" {
		wire["previous_view_id"] = v.previous
	}
	for key, value := range v.object {
		wire[key] = value
	}
	var copied answer
	_ = json.Unmarshal(marshal(wire), &copied) // the state changes later
	return copied
}

// Plain is all text that a person sees in a view, one line per block: title, blocks, buttons. A value is in brackets after the label of its input,
// and its error follows.
func (v View) Plain() string {
	open := v.filled()
	lines := []string{blockkit.Plain(open.object["title"])}
	for _, block := range open.blocks() {
		line := blockkit.Plain(block)
		id, _ := block["block_id"].(string)
		if wrong := v.Errors[id]; wrong != "" {
			line += " (!) " + wrong
		}
		lines = append(lines, line)
	}
	for _, key := range []string{"submit", "close"} {
		if text := blockkit.Plain(open.object[key]); text != "" {
			lines = append(lines, "["+text+"]")
		}
	}
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return line == "" }), "\n")
}

// blocks lists a view's blocks.
func (v *openView) blocks() []map[string]any {
	var blocks []map[string]any
	list, _ := v.object["blocks"].([]any)
	for _, b := range list {
		block, _ := b.(map[string]any)
		blocks = append(blocks, block)
	}
	return blocks
}

func (v *openView) fields() []blockkit.Field { return blockkit.Fields(v.blocks()) }

// Buttons lists what can be clicked in a view, in order; the options of an overflow menu one by one.
func (v View) Buttons() []blockkit.Button {
	open := openView{}
	_ = json.Unmarshal(v.Raw, &open.object) // checked when shown
	return blockkit.Buttons(blockkit.Parts(open.blocks()))
}

// filled is the view with its state in place of the initial values.
func (v View) filled() *openView {
	open := &openView{}
	_ = json.Unmarshal(v.Raw, &open.object) // checked when shown
	var kept struct{ Values blockkit.State }
	_ = json.Unmarshal(v.State, &kept)
	blockkit.ShowState(open.fields(), kept.Values)
	return open
}
