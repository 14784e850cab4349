package workspace

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	triggerLife = 3 * time.Second
	maxView     = 250 << 10 // bytes
)

// View is a modal or Home tab as it was last opened, updated or published.
type View struct {
	ID              string          `json:"id"`
	Type            string          `json:"type"` // modal or home
	User            string          `json:"user"` // id of who sees it
	CallbackID      string          `json:"callback_id"`
	ExternalID      string          `json:"external_id"`
	PrivateMetadata string          `json:"private_metadata"`
	Hash            string          `json:"hash"` // changes with every update
	Raw             json.RawMessage `json:"raw"`  // the whole view, as checked
}

// trigger allows one view within three seconds of a click or command.
type trigger struct {
	user   string
	issued time.Time
	used   bool
}

// Views lists the views that were opened or published, oldest first.
func (w *Workspace) Views() []View {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.views)
}

func (w *Workspace) newTrigger(user string) string {
	now := w.cfg.Now()
	for id, t := range w.triggers {
		if now.Sub(t.issued) > time.Hour {
			delete(w.triggers, id)
		}
	}
	id := w.nextID("trigger.") + "." + randomID()
	w.triggers[id] = &trigger{user: user, issued: now}
	return id
}

func viewsOpen(w *Workspace, a args) (answer, error) {
	t := w.triggers[a["trigger_id"]]
	switch {
	case t == nil:
		return nil, refuse("invalid_trigger_id")
	case t.used:
		return nil, refuse("exchanged_trigger_id")
	case w.cfg.Now().Sub(t.issued) > triggerLife:
		return nil, refuse("expired_trigger_id")
	}
	v, err := w.view(a["view"], "modal")
	if err != nil {
		return nil, err
	}
	if w.externalIDTaken(v.ExternalID, "") {
		return nil, refuse("duplicate_external_id")
	}
	t.used = true
	v.User = t.user
	return w.keepView(v, -1), nil
}

func viewsUpdate(w *Workspace, a args) (answer, error) {
	i := slices.IndexFunc(w.views, func(v View) bool {
		return v.Type == "modal" && (v.ID == a["view_id"] || v.ExternalID != "" && v.ExternalID == a["external_id"])
	})
	if i < 0 {
		return nil, refuse("not_found")
	}
	old := w.views[i]
	if a["hash"] != "" && a["hash"] != old.Hash {
		return nil, refuse("hash_conflict")
	}
	v, err := w.view(a["view"], "modal")
	if err != nil {
		return nil, err
	}
	if w.externalIDTaken(v.ExternalID, old.ID) {
		return nil, refuse("duplicate_external_id")
	}
	v.ID, v.User = old.ID, old.User
	return w.keepView(v, i), nil
}

func viewsPublish(w *Workspace, a args) (answer, error) {
	u, ok := w.user(a["user_id"])
	if !ok || u.ID != a["user_id"] {
		return nil, refuse("user_not_found")
	}
	i := slices.IndexFunc(w.views, func(v View) bool { return v.Type == "home" && v.User == u.ID })
	if i >= 0 && a["hash"] != "" && a["hash"] != w.views[i].Hash {
		return nil, refuse("hash_conflict")
	}
	v, err := w.view(a["view"], "home")
	if err != nil {
		return nil, err
	}
	v.User = u.ID
	if i >= 0 {
		v.ID = w.views[i].ID
	}
	return w.keepView(v, i), nil
}

// view checks a view against the limits of its surface.
func (w *Workspace) view(raw, surface string) (View, error) {
	if len(raw) > maxView {
		return View{}, refuse("view_too_large")
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	object, ok := doc.(map[string]any)
	if err != nil || !ok {
		return View{}, refuse("invalid_arguments")
	}
	check := newBlockCheck()
	schema := w.schemas.modal
	if surface == "home" {
		schema = w.schemas.home
	}
	check.schema(schema, object, "/view")
	check.walk(object["blocks"], "/view/blocks")
	blocks, _ := object["blocks"].([]any)
	if surface == "modal" && object["submit"] == nil && slices.ContainsFunc(blocks, isInput) {
		check.wrong("/view", "submit is required when inputs are present")
	}
	if err := check.refusal("invalid_arguments"); err != nil {
		return View{}, err
	}
	w.nameBlocks(blocks)
	v := View{Type: surface, Hash: w.nextTS() + "." + randomID()}
	v.CallbackID, _ = object["callback_id"].(string)
	v.ExternalID, _ = object["external_id"].(string)
	v.PrivateMetadata, _ = object["private_metadata"].(string)
	v.Raw = marshal(object)
	return v, nil
}

func isInput(block any) bool {
	object, _ := block.(map[string]any)
	return object["type"] == "input"
}

func (w *Workspace) externalIDTaken(id, except string) bool {
	return id != "" && slices.ContainsFunc(w.views, func(v View) bool { return v.ExternalID == id && v.ID != except })
}

// keepView stores a view at an index, at the end when that is negative, and answers with it.
func (w *Workspace) keepView(v View, at int) answer {
	if v.ID == "" {
		v.ID = w.nextID("V")
	}
	if at < 0 {
		w.views = append(w.views, v)
	} else {
		w.views[at] = v
	}
	w.notify()
	var wire answer
	_ = json.Unmarshal(v.Raw, &wire) // it was marshalled from an object
	wire["id"], wire["hash"], wire["team_id"] = v.ID, v.Hash, w.cfg.TeamID
	wire["app_id"], wire["bot_id"], wire["root_view_id"] = w.cfg.AppID, w.cfg.BotID, v.ID
	wire["state"] = answer{"values": answer{}}
	return answer{"view": wire}
}
