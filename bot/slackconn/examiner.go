package slackconn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/wafbot/wafbot/apiclient"
)

// Examiner asks Slack for what `wafbot doctor` checks. Only PostTest changes anything.
type Examiner struct{ api *slack.Client }

// NewExaminer makes an Examiner of one workspace. It sends nothing.
func NewExaminer(cfg Config) *Examiner { return &Examiner{Connect(cfg).api} }

// Kinds of Slack tokens.
const (
	TokenBot     = "bot token"
	TokenApp     = "app token"
	TokenUser    = "user token"
	TokenExpires = "token that expires" // token rotation is on
	TokenOther   = "token of another kind"
)

// TokenKind is a token's kind, by its prefix.
func TokenKind(token apiclient.Secret) string {
	for _, known := range []struct{ prefix, kind string }{{"xoxb-", TokenBot}, {"xapp-", TokenApp}, {"xoxp-", TokenUser}, {"xoxe.", TokenExpires}} {
		if strings.HasPrefix(token.Reveal(), known.prefix) {
			return known.kind
		}
	}
	return TokenOther
}

// Installation is the app in its workspace.
type Installation struct {
	Team, TeamID string
	User, UserID string   // the bot user
	Scopes       []string // of the token; nil: Slack didn't say
}

// Installation asks for the bot token's owner and scopes (auth.test).
func (e *Examiner) Installation(ctx context.Context) (Installation, error) {
	res, err := e.api.AuthTestContext(ctx)
	if err != nil {
		return Installation{}, fmt.Errorf("ask slack whose the bot token is: %w", WithoutURL(err))
	}
	in := Installation{Team: res.Team, TeamID: res.TeamID, User: res.User, UserID: res.UserID}
	for scope := range strings.SplitSeq(res.Header.Get("X-OAuth-Scopes"), ",") {
		if scope = strings.TrimSpace(scope); scope != "" {
			in.Scopes = append(in.Scopes, scope)
		}
	}
	return in, nil
}

// Has reports whether the token has a scope.
func (in Installation) Has(scope string) bool { return slices.Contains(in.Scopes, scope) }

// Missing are the scopes that the manifest requests and the token lacks; none if Slack didn't list its scopes.
func (in Installation) Missing() []Scope {
	var missing []Scope
	for _, s := range scopes() {
		if in.Scopes != nil && !s.Optional && !in.Has(s.Name) {
			missing = append(missing, s)
		}
	}
	return missing
}

// Surplus are the token's scopes that wafbot doesn't use.
func (in Installation) Surplus() []string {
	var surplus []string
	for _, name := range in.Scopes {
		if !slices.ContainsFunc(scopes(), func(s Scope) bool { return s.Name == name }) {
			surplus = append(surplus, name)
		}
	}
	return surplus
}

// TrySocket checks the app token: it asks for the address of a Socket Mode link, and doesn't connect, so that none of the app's ten links is
// taken (apps.connections.open).
func (e *Examiner) TrySocket(ctx context.Context) error {
	if _, _, err := e.api.StartSocketModeContext(ctx); err != nil {
		return fmt.Errorf("ask slack for a socket mode link: %w", WithoutURL(err))
	}
	return nil
}

// Conversation is a channel.
type Conversation struct {
	Name     string // "": a direct message
	Private  bool
	Archived bool
	Member   bool // wafbot is a member
}

// Conversation looks up a channel by its id (conversations.info).
func (e *Examiner) Conversation(ctx context.Context, id string) (Conversation, error) {
	c, err := e.api.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: id})
	if err != nil {
		return Conversation{}, fmt.Errorf("look up channel %s: %w", id, WithoutURL(err))
	}
	return Conversation{Name: c.Name, Private: c.IsPrivate, Archived: c.IsArchived, Member: c.IsMember || c.IsIM}, nil
}

// Person is a user of the workspace.
type Person struct {
	Name        string
	Deactivated bool
	Outside     string // "guest", "bot" or "member of another workspace": has no role; "": a full member
}

// Person looks up a user by id (users.info).
func (e *Examiner) Person(ctx context.Context, id string) (Person, error) {
	u, err := e.api.GetUserInfoContext(ctx, id)
	if err != nil {
		return Person{}, fmt.Errorf("look up user %s: %w", id, WithoutURL(err))
	}
	return personOf(u), nil
}

// personOf converts a user.
func personOf(u *slack.User) Person {
	p := Person{Name: cmp.Or(u.RealName, u.Profile.RealName, u.Name), Deactivated: u.Deleted}
	switch {
	case u.IsStranger:
		p.Outside = "member of another workspace"
	case u.IsBot:
		p.Outside = "bot"
	case u.IsRestricted, u.IsUltraRestricted:
		p.Outside = "guest"
	}
	return p
}

// Group is a user group.
type Group struct {
	Handle   string // without @
	Disabled bool
	Members  int
}

// Groups are the workspace's user groups by their ids, disabled ones too (usergroups.list).
func (e *Examiner) Groups(ctx context.Context) (map[string]Group, error) {
	list, err := e.api.GetUserGroupsContext(ctx, slack.GetUserGroupsOptionIncludeDisabled(true), slack.GetUserGroupsOptionIncludeUsers(true))
	if err != nil {
		return nil, fmt.Errorf("list user groups: %w", WithoutURL(err))
	}
	groups := map[string]Group{}
	for _, g := range list {
		groups[g.ID] = Group{Handle: g.Handle, Disabled: g.DateDelete != 0, Members: len(g.Users)}
	}
	return groups, nil
}

// PostTest posts a test card (chat.postMessage).
func (e *Examiner) PostTest(ctx context.Context, channel string, options ...slack.MsgOption) error {
	if _, _, err := e.api.PostMessageContext(ctx, channel, options...); err != nil {
		return fmt.Errorf("post to %s: %w", channel, WithoutURL(err))
	}
	return nil
}
