package workspace

import (
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
)

const (
	maxView  = 250 << 10 // bytes
	maxStack = 3         // modals that a person has open at once, one over the other
)

// trigger allows one view soon after an interaction.
type trigger struct {
	user   string
	view   string // id of the view with the interaction; empty: not in a view
	issued time.Time
	used   bool
}

// newTrigger returns a trigger id for an interaction of a person, in a view unless that is empty.
func (w *viewStore) newTrigger(user, view string) string {
	now := w.cfg.Now()
	for id, t := range w.triggers {
		if now.Sub(t.issued) > time.Hour {
			delete(w.triggers, id)
		}
	}
	id := w.nextID("trigger.") + "." + randomID()
	w.triggers[id] = &trigger{user: user, view: view, issued: now}
	return id
}

// trigger finds a trigger that is still valid.
func (w *viewStore) trigger(id string) (*trigger, error) {
	t := w.triggers[id]
	switch {
	case t == nil:
		return nil, refuse("invalid_trigger_id")
	case t.used:
		return nil, refuse("exchanged_trigger_id")
	case w.cfg.Now().Sub(t.issued) > w.cfg.Patience:
		return nil, refuse("expired_trigger_id")
	}
	return t, nil
}

// viewsOpen starts a stack of modals. A trigger from a modal of the stack opens the new one on top of it.
func viewsOpen(w *webAPI, a args) (answer, error) {
	return w.openModal(a, func(t *trigger) error {
		if w.stacked(t) == nil {
			w.dropViews(w.stack(t.user))
		}
		return nil
	})
}

// viewsPush puts a modal on top of the one that triggered it.
func viewsPush(w *webAPI, a args) (answer, error) {
	return w.openModal(a, func(t *trigger) error {
		if w.stacked(t) == nil {
			return refuse("not_found")
		}
		return nil
	})
}

// openModal puts a modal on a person's stack if the condition must holds.
func (w *webAPI) openModal(a args, must func(*trigger) error) (answer, error) {
	t, err := w.trigger(a["trigger_id"])
	if err != nil {
		return nil, err
	}
	v, err := w.checkedView(a["view"], viewModal)
	if err != nil {
		return nil, err
	}
	if w.externalIDTaken(v.ExternalID, "") {
		return nil, refuse("duplicate_external_id")
	}
	if err := must(t); err != nil {
		return nil, err
	}
	if len(w.stack(t.user)) == maxStack {
		return nil, refuse("push_limit_reached")
	}
	t.used = true
	return answer{"view": w.wireView(w.putOnTop(v, t.user))}, nil
}

// stacked is the open modal of a trigger; nil when the trigger is not from a modal.
func (w *viewStore) stacked(t *trigger) *openView {
	v := w.viewByID(t.view)
	if v == nil || v.Type != viewModal {
		return nil
	}
	return v
}

func viewsUpdate(w *webAPI, a args) (answer, error) {
	i := slices.IndexFunc(w.views, func(v *openView) bool {
		return v.Type == viewModal && (v.ID == a["view_id"] || v.ExternalID != "" && v.ExternalID == a["external_id"])
	})
	if i < 0 {
		return nil, refuse("not_found")
	}
	old := w.views[i]
	if a["hash"] != "" && a["hash"] != old.Hash {
		return nil, refuse("hash_conflict")
	}
	v, err := w.checkedView(a["view"], viewModal)
	if err != nil {
		return nil, err
	}
	if w.externalIDTaken(v.ExternalID, old.ID) {
		return nil, refuse("duplicate_external_id")
	}
	w.replaceView(old, v)
	return answer{"view": w.wireView(old)}, nil
}

func viewsPublish(w *webAPI, a args) (answer, error) {
	u, ok := w.user(a["user_id"])
	switch {
	case !ok || u.ID != a["user_id"]:
		return nil, refuse("user_not_found")
	case w.cfg.NoHome:
		return nil, refuse("not_enabled")
	}
	old := w.home(u.ID)
	if old != nil && a["hash"] != "" && a["hash"] != old.Hash {
		return nil, refuse("hash_conflict")
	}
	v, err := w.checkedView(a["view"], viewHome)
	if err != nil {
		return nil, err
	}
	if old != nil {
		w.replaceView(old, v)
		return answer{"view": w.wireView(old)}, nil
	}
	return answer{"view": w.wireView(w.putOnTop(v, u.ID))}, nil
}

// checkedView reads a view and checks it against the limits of its surface.
func (w *viewStore) checkedView(raw, surface string) (*openView, error) {
	if len(raw) > maxView {
		return nil, refuse("view_too_large")
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	object, ok := doc.(map[string]any)
	if err != nil || !ok {
		return nil, refuse("invalid_arguments")
	}
	check := w.schemas.NewCheck()
	check.View(object, blockkit.Surface(surface))
	if err := refuseBlocks("invalid_arguments", check); err != nil {
		return nil, err
	}
	blocks, _ := object["blocks"].([]any)
	blockkit.NameBlocks(blocks, w.nextID)
	v := &openView{object: object}
	v.Type = surface
	v.CallbackID, _ = object["callback_id"].(string)
	v.ExternalID, _ = object["external_id"].(string)
	v.PrivateMetadata, _ = object["private_metadata"].(string)
	v.Raw = marshal(object)
	return v, nil
}

func (w *viewStore) externalIDTaken(id, except string) bool {
	return id != "" && slices.ContainsFunc(w.views, func(v *openView) bool { return v.ExternalID == id && v.ID != except })
}
