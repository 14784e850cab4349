package sandbox

import (
	"net/http"
	"slices"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

type submitBody struct {
	User   string         `json:"user"`
	View   string         `json:"view,omitempty"`   // id; "": the modal on top
	Values map[string]any `json:"values,omitempty"` // by label, block id or action id
}

type closeBody struct {
	User string `json:"user"`
	All  bool   `json:"all,omitempty"` // the cross, not the button
}

type userBody struct {
	User string `json:"user"`
}

type groupBody struct {
	Group string   `json:"group"` // id, handle or @handle
	Users []string `json:"users"` // names or ids: all its members from now on
}

// submittedView is the result of a submission, and the modal on top after it.
type submittedView struct {
	deliveryView
	Outcome workspace.Outcome `json:"outcome"`
	Errors  map[string]string `json:"errors"` // by label
	View    *workspace.View   `json:"view"`   // nil: no modal is open
}

func (w *deliveryAPI) viewRoutes() []route {
	off := false
	return []route{
		{Method: "GET", Path: "/sandbox/slack/views", Does: "the modal that ?user= sees, what is published on their Home tab, and whether the app has one", handle: w.getViews},
		{Method: "POST", Path: "/sandbox/slack/submit", Does: "fill in the modal that a person sees, and send it off", Body: submitBody{"ann", "", map[string]any{"Reason": "a scanner"}}, handle: w.postSubmit},
		{Method: "POST", Path: "/sandbox/slack/close", Does: "close the modal that a person sees, or all with the cross", Body: closeBody{User: "ann"}, handle: w.postClose},
		{Method: "POST", Path: "/sandbox/slack/home/open", Does: "a person opens the Home tab; the bot gets an event if it subscribes", Body: userBody{"ann"}, handle: w.postOpenHome},
		{Method: "POST", Path: "/sandbox/slack/home", Does: "give the app a Home tab, or take it away: then publishing fails with not_enabled", Body: switchBody{&off}, handle: w.postHome},
		{Method: "POST", Path: "/sandbox/slack/group", Does: "the members of a user group from now on; the bot gets events if it subscribes", Body: groupBody{groupHandle, []string{"rob", "vic"}}, handle: w.postGroup},
	}
}

func (w *deliveryAPI) getViews(req *http.Request) (any, error) {
	user, err := w.user(req.URL.Query().Get("user"))
	if err != nil {
		return nil, err
	}
	return map[string]any{"modal": w.Slack.OpenView(user.ID), "home": w.Slack.Home(user.ID), "has_home": w.Slack.HasHome()}, nil
}

// userWithBot is the acting user. Without a connected bot the error says what to do.
func (w *deliveryAPI) userWithBot(name string) (workspace.User, error) {
	user, err := w.user(name)
	if err == nil {
		err = w.needBot()
	}
	return user, err
}

func (w *deliveryAPI) postSubmit(req *http.Request) (any, error) {
	body, err := read[submitBody](req)
	if err != nil {
		return nil, err
	}
	user, err := w.userWithBot(body.User)
	if err != nil {
		return nil, err
	}
	s, err := w.Slack.Submit(req.Context(), workspace.Submission{User: user.ID, View: body.View, Values: body.Values})
	if err != nil {
		return nil, err
	}
	return submittedView{w.keptIfSent(s.Delivery), s.Outcome, s.Errors, s.View}, nil
}

func (w *deliveryAPI) postClose(req *http.Request) (any, error) {
	body, err := read[closeBody](req)
	if err != nil {
		return nil, err
	}
	user, err := w.user(body.User)
	if err != nil {
		return nil, err
	}
	sent, err := w.Slack.CloseView(req.Context(), workspace.Closing{User: user.ID, All: body.All})
	if err != nil {
		return nil, err
	}
	answered := []deliveryView{}
	for _, d := range sent {
		answered = append(answered, w.keptIfSent(d))
	}
	return map[string]any{"deliveries": answered}, nil
}

func (w *deliveryAPI) postOpenHome(req *http.Request) (any, error) {
	body, err := read[userBody](req)
	if err != nil {
		return nil, err
	}
	user, err := w.user(body.User)
	if err != nil {
		return nil, err
	}
	home, err := w.Slack.OpenHome(user.ID)
	if err != nil {
		return nil, err
	}
	return map[string]any{"home": home}, nil
}

func (w *deliveryAPI) postHome(req *http.Request) (any, error) {
	body, err := read[switchBody](req)
	if err != nil {
		return nil, err
	}
	if body.On == nil {
		return nil, refuse(http.StatusBadRequest, "give on as true or false")
	}
	w.Slack.SetHome(*body.On)
	return struct{}{}, nil
}

func (w *deliveryAPI) postGroup(req *http.Request) (any, error) {
	body, err := read[groupBody](req)
	if err != nil {
		return nil, err
	}
	groups := w.Slack.UserGroups()
	i := slices.IndexFunc(groups, func(g workspace.UserGroup) bool {
		return g.ID == body.Group || g.Handle == body.Group || "@"+g.Handle == body.Group
	})
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "no user group %q: GET /sandbox/slack lists them", body.Group)
	}
	group := groups[i]
	group.Users = nil
	for _, name := range body.Users {
		user, err := w.user(name)
		if err != nil {
			return nil, err
		}
		group.Users = append(group.Users, user.ID)
	}
	w.Slack.SetUserGroup(group)
	return struct{}{}, nil
}
