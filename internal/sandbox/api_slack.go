package sandbox

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

type userView struct {
	workspace.User
	// Role is what the bot's configuration lets them do; "" for the bot.
	Role string `json:"role"`
}

type channelView struct {
	workspace.Channel
	// Messages is how many messages the asking user sees there, replies included.
	Messages int `json:"messages"`
	// Hidden is how many of the bot's messages are not shown, because there were too many in a minute.
	Hidden int `json:"hidden"`
}

type sayBody struct {
	User     string `json:"user"`
	Channel  string `json:"channel"` // @wafbot: the direct message with the bot
	ThreadTS string `json:"thread_ts,omitempty"`
	Text     string `json:"text"` // as typed
}

type editBody struct {
	User    string `json:"user"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`
	Text    string `json:"text"` // as typed
}

type deleteBody struct {
	User    string `json:"user"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`
}

type channelBody struct {
	Channel     string `json:"channel"`
	Archived    *bool  `json:"archived,omitempty"`
	BotIsMember *bool  `json:"bot_is_member,omitempty"`
}

// slackAPI is the part of the control API for people, channels and messages.
type slackAPI struct{ *World }

func (w slackAPI) routes() []route {
	no := false
	return []route{
		{Method: "GET", Path: "/sandbox/slack", Does: "team, command, people, their groups and channels; with ?user= the channels as that user sees them", handle: w.getSlack},
		{Method: "GET", Path: "/sandbox/slack/messages", Does: "the messages of ?channel= as ?user= sees them, own ephemeral ones included", handle: w.getMessages},
		{Method: "POST", Path: "/sandbox/slack/say", Does: "a person's message as typed; in a thread with thread_ts; the channel @wafbot is the direct message with the bot", Body: sayBody{"ann", "#waf", "", "@wafbot status"}, handle: w.postSay},
		{Method: "POST", Path: "/sandbox/slack/edit", Does: "change the text of a person's own message", Body: editBody{"ann", "#waf", "1795000000.000100", "@wafbot status"}, handle: w.postEdit},
		{Method: "POST", Path: "/sandbox/slack/delete", Does: "a person deletes any message; replies stay", Body: deleteBody{"ann", "#waf", "1795000000.000100"}, handle: w.postDelete},
		{Method: "GET", Path: "/sandbox/slack/notices", Does: "the phone notifications of ?user= for the last 200 messages, and why it rang", handle: w.getNotices},
		{Method: "POST", Path: "/sandbox/slack/channel", Does: "archive a channel, put the bot in or take it out", Body: channelBody{"#waf", &no, &no}, handle: w.postChannel},
		{Method: "GET", Path: "/sandbox/slack/calls", Does: "the last 2,000 calls the bot made of the Web API", handle: w.getCalls},
	}
}

func (w slackAPI) getSlack(req *http.Request) (any, error) {
	asking := req.URL.Query().Get("user")
	if asking != "" {
		user, err := w.user(asking)
		if err != nil {
			return nil, err
		}
		asking = user.ID
	}
	users, groups := []userView{}, w.Slack.UserGroups()
	for _, u := range w.Slack.Users() {
		users = append(users, userView{u, roleOf(u.ID, groups)})
	}
	channels := []channelView{}
	for _, c := range w.Slack.Channels() {
		if asking == "" || sees(c, asking) {
			channels = append(channels, channelView{c, len(w.messagesFor(c.ID, asking)), w.Slack.Hidden(c.ID)})
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return map[string]any{
		"team":    map[string]string{"id": teamID, "name": teamName},
		"command": slashCommand, "users": users, "channels": channels, "user_groups": w.Slack.UserGroups(), "deliver": w.deliver, "events": w.Slack.Verified(), "links": len(w.Slack.Links()), "speed": w.cfg.Speed,
	}, nil
}

// sees reports whether a user is in a channel. A channel without a list of members has all users.
func sees(c workspace.Channel, user string) bool {
	return len(c.Members) == 0 || slices.Contains(c.Members, user)
}

func (w slackAPI) user(name string) (workspace.User, error) {
	user, ok := w.Slack.UserByName(name)
	if !ok {
		return user, refuse(http.StatusNotFound, "no user %q: GET /sandbox/slack lists them", name)
	}
	return user, nil
}

// withBot is the channel of the direct message with the bot.
const withBot = "@wafbot"

// place is a user and a channel that they see, both by name or id.
func (w slackAPI) place(user, channel string) (workspace.User, workspace.Channel, error) {
	u, err := w.user(user)
	if err != nil {
		return u, workspace.Channel{}, err
	}
	if channel == withBot {
		c, err := w.Slack.Direct(u.ID)
		return u, c, err
	}
	for _, c := range w.Slack.Channels() {
		if (c.ID == channel || "#"+c.Name == channel || c.Name == channel) && sees(c, u.ID) {
			return u, c, nil
		}
	}
	return u, workspace.Channel{}, refuse(http.StatusNotFound, "no channel %q that %s sees: GET /sandbox/slack lists them", channel, u.Name)
}

func (w slackAPI) getMessages(req *http.Request) (any, error) {
	query := req.URL.Query()
	user, channel, err := w.place(query.Get("user"), query.Get("channel"))
	if err != nil {
		return nil, err
	}
	return map[string]any{"messages": w.messagesFor(channel.ID, user.ID)}, nil
}

// messagesFor lists the messages of a channel with the user's own ephemeral ones, in the order of posting.
func (w slackAPI) messagesFor(channel, user string) []workspace.Message {
	messages := append([]workspace.Message{}, w.Slack.Messages(channel)...)
	for _, m := range w.Slack.Ephemerals(user) {
		if m.Channel == channel && !m.Gone {
			messages = append(messages, m)
		}
	}
	slices.SortStableFunc(messages, func(a, b workspace.Message) int { return cmp.Compare(a.TS, b.TS) })
	return messages
}

func (w slackAPI) postSay(req *http.Request) (any, error) {
	body, err := read[sayBody](req)
	if err != nil {
		return nil, err
	}
	user, channel, err := w.place(body.User, body.Channel)
	if err != nil {
		return nil, err
	}
	said, err := w.Slack.Say(workspace.Saying{User: user.ID, Channel: channel.ID, ThreadTS: body.ThreadTS, Text: body.Text})
	return map[string]string{"channel": said.Channel, "ts": said.TS}, err
}

func (w slackAPI) postEdit(req *http.Request) (any, error) {
	body, err := read[editBody](req)
	if err != nil {
		return nil, err
	}
	user, channel, err := w.place(body.User, body.Channel)
	if err != nil {
		return nil, err
	}
	return struct{}{}, w.Slack.Edit(user.ID, channel.ID, body.TS, body.Text)
}

func (w slackAPI) postDelete(req *http.Request) (any, error) {
	body, err := read[deleteBody](req)
	if err != nil {
		return nil, err
	}
	user, channel, err := w.place(body.User, body.Channel)
	if err != nil {
		return nil, err
	}
	return struct{}{}, w.Slack.Delete(user.ID, channel.ID, body.TS)
}

// noticesKept is how many messages a phone's list has.
const noticesKept = 200

func (w slackAPI) getNotices(req *http.Request) (any, error) {
	user, err := w.user(req.URL.Query().Get("user"))
	if err != nil {
		return nil, err
	}
	notices := append([]workspace.Notice{}, w.Slack.Notices(user.ID)...)
	return map[string]any{"notices": notices[max(0, len(notices)-noticesKept):]}, nil
}

func (w slackAPI) postChannel(req *http.Request) (any, error) {
	body, err := read[channelBody](req)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(w.Slack.Channels(), func(c workspace.Channel) bool {
		return c.ID == body.Channel || "#"+c.Name == body.Channel || c.Name == body.Channel
	}) {
		return nil, refuse(http.StatusNotFound, "no channel %q: GET /sandbox/slack lists them", body.Channel)
	}
	if body.Archived != nil {
		err = w.Slack.SetArchived(body.Channel, *body.Archived)
	}
	if err == nil && body.BotIsMember != nil {
		change := w.Slack.RemoveBot
		if *body.BotIsMember {
			change = w.Slack.AddBot
		}
		err = change(body.Channel)
	}
	return struct{}{}, err
}

func (w slackAPI) getCalls(*http.Request) (any, error) {
	return map[string]any{"calls": append([]workspace.Call{}, w.Slack.Calls()...)}, nil
}
