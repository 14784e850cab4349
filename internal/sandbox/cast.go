package sandbox

import (
	"slices"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// The workspace and its secrets, which are valid in this world only.
const (
	teamName      = "Acme"
	teamID        = "T0SANDBOX"
	strangersTeam = "T0OTHER"
	botToken      = "xoxb-sandbox-acme"
	appToken      = "xapp-sandbox-acme"
	signingSecret = "sandbox-signing-secret"
	slashCommand  = "/waf"

	botUserID = "U0WAFBOT"
	userAnn   = "U0ANN0001"
	userRob   = "U0ROB0002"
	userVic   = "U0VIC0003"
	userGuest = "U0GUEST04"
	userEve   = "U0EVE0005"

	groupHandle = "waf-responders"
	groupID     = "S0WAFRESP"

	channelAcme   = "C0WAF0001"
	channelGlobex = "C0WAF0002"

	// ChannelLegacy is the channel of the team of Acme's application Legacy. The bot is in it.
	ChannelLegacy = "C0LEGACY6"
)

// ownCDN is Acme's own content delivery network: denying it denies the customers behind it.
const ownCDN = "192.0.2.0/24"

// person is one of the cast, with what the bot's configuration lets them do.
type person struct {
	user workspace.User
	role string // admin, responder, viewer, guest or stranger
}

func cast() []person {
	return []person{
		{workspace.User{ID: userAnn, Name: "ann", RealName: "Anna Weber", TeamID: teamID}, "admin"},
		{workspace.User{ID: userRob, Name: "rob", RealName: "Rob Diaz", TeamID: teamID}, "responder"},
		{workspace.User{ID: userVic, Name: "vic", RealName: "Vic Lee", TeamID: teamID}, "viewer"},
		{workspace.User{ID: userGuest, Name: "guest", RealName: "Gail Guest", TeamID: teamID, Restricted: true}, "guest"},
		{workspace.User{ID: userEve, Name: "eve", RealName: "Eve Stone", TeamID: strangersTeam, Stranger: true}, "stranger"},
	}
}

func castUsers() []workspace.User {
	var users []workspace.User
	for _, p := range cast() {
		users = append(users, p.user)
	}
	return users
}

// roleOf is the role of a user id, a viewer's with the user group that makes a responder; "" for the bot.
func roleOf(user string, groups []workspace.UserGroup) string {
	people := cast()
	i := slices.IndexFunc(people, func(p person) bool { return p.user.ID == user })
	if i < 0 {
		return ""
	}
	responds := slices.ContainsFunc(groups, func(g workspace.UserGroup) bool {
		return g.ID == groupID && !g.Disabled && slices.Contains(g.Users, user)
	})
	if people[i].role == "viewer" && responds {
		return "responder"
	}
	return people[i].role
}

func castGroups() []workspace.UserGroup {
	return []workspace.UserGroup{{ID: groupID, Handle: groupHandle, Name: "WAF responders", Users: []string{userRob}}}
}

func castChannels() []workspace.Channel {
	return []workspace.Channel{
		{ID: channelAcme, Name: "waf", BotIsMember: true},
		{ID: channelGlobex, Name: "waf-globex", BotIsMember: true},
		{ID: ChannelLegacy, Name: "legacy", BotIsMember: true},
		{ID: "C0RANDOM3", Name: "random", BotIsMember: true},
		{ID: "C0BOARD04", Name: "board", Private: true, Members: []string{userAnn}},
		{ID: "C0OLD0005", Name: "waf-old", Archived: true, BotIsMember: true},
	}
}

func castAccounts(apiURL string) []Account {
	return []Account{
		{Name: "acme", APIURL: apiURL, Token: "sandbox-token-acme", ClientID: 5, Channel: channelAcme},
		{Name: "globex", APIURL: apiURL, Token: "sandbox-token-globex", ClientID: 9, Channel: channelGlobex},
	}
}

// serviceAccounts is what the service knows of the accounts. Acme's default application
// blocks, so that the opening scenario has an attack that is blocked already.
func serviceAccounts(accounts []Account) []waf.Account {
	applications := map[string][]waf.Application{
		"acme": {
			{ID: 4, Name: "Shop", Host: "shop.example.com", Mode: "monitoring"},
			{ID: 7, Name: "Legacy", Host: "legacy.example.com", Mode: "monitoring"},
			{ID: -1, Name: "default", Host: "www.example.com", Mode: "block"},
		},
		"globex": {{ID: 2, Name: "Portal", Host: "portal.example.net", Mode: "block"}},
	}
	names := map[string]string{"acme": "Acme", "globex": "Globex"}
	var found []waf.Account
	for _, a := range accounts {
		found = append(found, waf.Account{
			Name: a.Name, Token: a.Token, ClientID: a.ClientID,
			ClientName: names[a.Name], Applications: applications[a.Name],
		})
	}
	return found
}
