package workspace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// User is a person or a bot as users.info has them.
type User struct {
	ID              string `json:"id"`
	Name            string `json:"name"`
	RealName        string `json:"real_name"`           // zero: Name
	TeamID          string `json:"team_id"`             // zero: this workspace
	Restricted      bool   `json:"is_restricted"`       // a guest of several channels
	UltraRestricted bool   `json:"is_ultra_restricted"` // a guest of one channel
	Stranger        bool   `json:"is_stranger"`         // of another workspace, seen in a shared channel
	Bot             bool   `json:"is_bot"`
	Deleted         bool   `json:"deleted"`
}

// Channel is a conversation. A direct message's id begins with D.
type Channel struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"` // without #
	Private     bool     `json:"is_private"`
	Archived    bool     `json:"is_archived"`
	BotIsMember bool     `json:"is_member"`
	Members     []string `json:"members,omitempty"` // user ids; empty: all users
}

// UserGroup is a group of users that can be mentioned.
type UserGroup struct {
	ID       string   `json:"id"`
	Handle   string   `json:"handle"` // without @
	Name     string   `json:"name"`
	Users    []string `json:"users"` // user ids
	Disabled bool     `json:"disabled"`
}

// Users lists all users, the bot included.
func (w *people) Users() []User {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.users)
}

// UserByName finds a user by name or id.
func (w *people) UserByName(name string) (User, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.user(name)
}

// Channels lists all channels, private, archived and direct ones included.
func (w *people) Channels() []Channel {
	w.mu.Lock()
	defer w.mu.Unlock()
	channels := slices.Clone(w.channels)
	for i := range channels {
		channels[i].Members = slices.Clone(channels[i].Members)
	}
	return channels
}

// SetArchived archives a channel (id or #name) or opens it again.
func (w *people) SetArchived(channel string, archived bool) error {
	return w.changeChannel(channel, func(c *Channel) { c.Archived = archived })
}

// AddBot invites the bot to a channel (id or #name).
func (w *people) AddBot(channel string) error {
	return w.changeChannel(channel, func(c *Channel) { c.BotIsMember = true })
}

// RemoveBot takes the bot out of a channel (id or #name).
func (w *people) RemoveBot(channel string) error {
	return w.changeChannel(channel, func(c *Channel) { c.BotIsMember = false })
}

func (w *people) changeChannel(name string, change func(*Channel)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channel(name)
	if c == nil {
		return fmt.Errorf("change channel %q: no such channel", name)
	}
	change(c)
	w.notify()
	return nil
}

func (w *people) addUsers(users []User) error {
	bot := User{ID: w.cfg.BotUserID, Name: "wafbot", Bot: true}
	for _, u := range append([]User{bot}, users...) {
		if err := w.addUser(u); err != nil {
			return err
		}
	}
	return nil
}

func (w *people) addUser(u User) error {
	u.TeamID = cmp.Or(u.TeamID, w.cfg.TeamID)
	u.RealName = cmp.Or(u.RealName, u.Name)
	if u.ID == "" || u.Name == "" {
		return fmt.Errorf("add user %q: id and name are required", u.ID+u.Name)
	}
	if _, taken := w.user(u.ID); taken {
		return fmt.Errorf("add user %q: id is taken", u.ID)
	}
	w.users = append(w.users, u)
	return nil
}

func (w *people) addChannels(channels []Channel) error {
	for _, c := range channels {
		c.Name = strings.TrimPrefix(c.Name, "#")
		if c.ID == "" || c.Name == "" {
			return fmt.Errorf("add channel %q: id and name are required", c.ID+c.Name)
		}
		if w.channel(c.ID) != nil || w.channel(c.Name) != nil {
			return fmt.Errorf("add channel %q: id or name is taken", c.ID)
		}
		w.channels = append(w.channels, c)
	}
	return nil
}

// typedNames resolves names that a person types into a field. The lock is held.
type typedNames struct{ w *people }

// UserID implements blockkit.Directory.
func (n typedNames) UserID(name string) (id string, ok bool) {
	u, ok := n.w.user(name)
	return u.ID, ok && !u.Deleted
}

// ChannelID implements blockkit.Directory.
func (n typedNames) ChannelID(name string) (id string, ok bool) {
	c := n.w.channel(name)
	if c == nil {
		return "", false
	}
	return c.ID, true
}

func (w *people) user(name string) (User, bool) {
	name = strings.TrimPrefix(name, "@")
	i := slices.IndexFunc(w.users, func(u User) bool { return u.ID == name })
	if i < 0 {
		i = slices.IndexFunc(w.users, func(u User) bool { return u.Name == name })
	}
	if i < 0 {
		return User{}, false
	}
	return w.users[i], true
}

// channel finds a channel by id, name or #name; nil when there is none.
func (w *people) channel(name string) *Channel {
	bare := strings.TrimPrefix(name, "#")
	for i := range w.channels {
		if c := &w.channels[i]; c.ID == name || c.Name == bare {
			return c
		}
	}
	return nil
}

// direct finds or opens the bot's direct message with a user.
func (w *people) direct(user string) *Channel {
	id := "D" + strings.TrimLeft(user, "UW")
	if c := w.channel(id); c != nil {
		return c
	}
	defer w.notify()
	w.channels = append(w.channels, Channel{ID: id, Name: "directmessage-" + user, Private: true, BotIsMember: true, Members: []string{user}})
	return &w.channels[len(w.channels)-1]
}

func (c *Channel) has(user string) bool {
	return len(c.Members) == 0 || slices.Contains(c.Members, user)
}

// SetUser adds a user, or replaces the one with its id: made a guest, deactivated, and so on. The bot gets events in the
// background.
func (w *eventLog) SetUser(u User) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.user(u.ID)
	kept := slices.Clone(w.users)
	w.users = slices.DeleteFunc(w.users, func(old User) bool { return old.ID == u.ID })
	if err := w.addUser(u); err != nil {
		w.users = kept
		return err
	}
	now, _ := w.user(u.ID)
	if known && now != before && w.subscribed("user_change", "users:read") {
		ts := w.nextTS()
		w.emit("", now, ts, answer{"type": "user_change", "user": wireUser(now), "cache_ts": w.cfg.Now().Unix()})
	}
	w.notify()
	return nil
}
