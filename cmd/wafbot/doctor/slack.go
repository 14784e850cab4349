package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
)

// client asks Slack with the configured tokens. A call ends after patience.
func (c checkup) client() *slackconn.Client {
	s := c.cfg.Slack
	return slackconn.Connect(slackconn.Config{
		Token: s.BotToken, AppToken: s.AppToken, APIURL: s.APIURL, HTTP: &http.Client{Timeout: c.patience},
	})
}

// slack checks the bot token and, with it, everything in the workspace that the configuration names.
func (c checkup) slack(ctx context.Context) []Finding {
	const key = "slack.bot_token"
	token := c.cfg.Slack.BotToken
	if token == "" {
		return nil // config reports it
	}
	const fix = "write the app's Bot User OAuth Token (xoxb-…), from OAuth & Permissions on its page at https://api.slack.com/apps"
	if found := wrongKind(key, token, slackconn.TokenBot, fix); found != nil {
		return append(found, c.notLookedUp())
	}
	api := c.client()
	begun := time.Now()
	self, err := api.Self(ctx)
	if err != nil {
		return []Finding{c.slackTrouble(err).of("slack", key), c.notLookedUp()}
	}
	found := []Finding{{"slack", key, OK, fmt.Sprintf("is of %s (%s) in the workspace %s (%s)", self.UserName, self.User, self.TeamName, self.Team), ""}}
	if slackconn.TokenKind(token) == slackconn.TokenExpires {
		found[0].State, found[0].Text, found[0].Fix = Warn, found[0].Text+", and expires within 12 h: wafbot doesn't renew it", "make a new app from what wafbot manifest prints: its tokens don't expire"
	}
	found = append(found, tookLong("slack", hostOf(c.cfg.Slack.APIURL), time.Since(begun))...)
	found = append(found, scopes(self)...)
	found = append(found, together(
		func() []Finding { return c.channels(ctx, api, self) },
		func() []Finding { return c.people(ctx, api) },
		func() []Finding { return c.groups(ctx, api) },
	)...)
	if c.post {
		found = append(found, c.testCards(ctx, api)...)
	}
	return found
}

// wrongKind reports a token that stands where another kind belongs. It sends the token nowhere.
func wrongKind(key string, token apiclient.Secret, wanted, fix string) []Finding {
	is := slackconn.TokenKind(token)
	if is == wanted || is == "" || is == slackconn.TokenExpires {
		return nil
	}
	return []Finding{{"slack", key, Wrong, "is of the wrong kind: " + is + " instead of " + wanted, fix}}
}

func (c checkup) notLookedUp() Finding {
	text := "scopes, channels, people and user groups were not looked up: that takes the bot token"
	if c.post {
		text += "; no test card was posted"
	}
	return Finding{"slack", "", Note, text, ""}
}

// tookLong warns of a slow answer.
func tookLong(check, subject string, took time.Duration) []Finding {
	if took < slowAfter {
		return nil
	}
	return []Finding{{check, subject, Warn, fmt.Sprintf("slow: an answer took %s", took.Round(100*time.Millisecond)), "try again; if it stays slow, check the network and the other side's status page"}}
}

// scopes compares the token's scopes with those that wafbot uses.
func scopes(self slackconn.Identity) []Finding {
	if self.Scopes == nil {
		return []Finding{{"scope", "", Note, "unknown: Slack didn't say which scopes the token has", ""}}
	}
	var found []Finding
	for _, s := range self.Missing() {
		found = append(found, Finding{"scope", s.Name, Wrong, fmt.Sprintf("missing; it is for %s. Without it: %s", s.For, s.Without), slackconn.FixScope(s.Name)})
	}
	if len(found) == 0 {
		found = append(found, Finding{"scope", "", OK, "the token has every scope that wafbot uses", ""})
	}
	if surplus := self.Surplus(); len(surplus) > 0 {
		found = append(found, Finding{"scope", strings.Join(surplus, ", "), Note, "not needed", "remove it under OAuth & Permissions, if nothing else uses this app"})
	}
	return found
}

// ingress checks how Slack's clicks and commands get here.
func (c checkup) ingress(ctx context.Context) []Finding {
	found := []Finding{{"host", "", Note, "must be reachable: " + strings.Join(c.hosts(), ", ") + "; with Socket Mode also those that Slack names", ""}}
	if at := slackconn.Responses(c.cfg.Slack.APIURL); hostOf(at) != c.apiHost() { // else it is asked already
		found = append(found, c.reach(ctx, "answers to clicks and commands", at)...)
	}
	if c.cfg.Slack.AppToken != "" {
		found = append(found, c.socket(ctx)...)
	}
	if c.cfg.Slack.SigningSecret != "" {
		found = append(found,
			Finding{"slack", "slack.signing_secret", Note, "whether it is the app's shows only when Slack's first request arrives: /metrics counts refused ones as wafbot_forged_requests_total", ""},
			Finding{"slack", "listen", Note, "whether Slack reaches " + c.cfg.Listen + " can't be seen from here: the app's request URLs must lead there " +
				"(/slack/commands, /slack/interactions, /slack/events)",
				"type " + c.cfg.Slack.Command + " status in Slack while wafbot serve runs"})
	}
	return found
}

func (c checkup) socket(ctx context.Context) []Finding {
	const key = "slack.app_token"
	const fix = "write an App-Level Token (xapp-…) with connections:write, from Basic Information on the app's page at https://api.slack.com/apps"
	if found := wrongKind(key, c.cfg.Slack.AppToken, slackconn.TokenApp, fix); found != nil {
		return found
	}
	address, err := c.client().TrySocket(ctx)
	if err != nil {
		f := c.slackTrouble(err)
		if t, ok := slackconn.ExplainAppToken(err); ok {
			f.Fix = t.Fix
		}
		return []Finding{f.of("slack", key)}
	}
	return append([]Finding{{"slack", key, OK, "opens Socket Mode (no link was taken)", ""}}, c.reach(ctx, "Socket Mode's links", address)...)
}

// reach connects to a host of Slack's that isn't asked anything, and names all hosts that must be reachable where it
// isn't.
func (c checkup) reach(ctx context.Context, what, address string) []Finding {
	to := hostOf(address)
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	if err := slackconn.Reach(ctx, address); err != nil {
		f := networkTrouble(err, to, "slack.api_url")
		f.Text, f.Fix = what+": "+f.Text, "let this machine, and its proxy (HTTPS_PROXY), reach every host: "+strings.Join(c.hosts(to), ", ")
		return []Finding{f.of("host", to)}
	}
	return []Finding{{"host", to, OK, what + " can be reached", ""}}
}

func (c checkup) apiHost() string { return hostOf(c.cfg.Slack.APIURL) }

// hosts are all hosts that must be reachable, also the ones that Slack named.
func (c checkup) hosts(named ...string) []string {
	all := append(named, c.apiHost(), hostOf(slackconn.Responses(c.cfg.Slack.APIURL)))
	for _, a := range c.cfg.Accounts {
		all = append(all, hostOf(a.APIURL))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// use is an id of Slack's that the configuration names, with the keys that name it.
type use struct {
	id   string
	keys []string
	role bool // one of the keys gives a role
}

// named adds a key to the uses of an id.
func named(uses []use, id, key string) []use {
	if id == "" || id == "*" {
		return uses
	}
	i := slices.IndexFunc(uses, func(u use) bool { return u.id == id })
	if i < 0 {
		uses, i = append(uses, use{id: id}), len(uses)
	}
	uses[i].keys = append(uses[i].keys, key)
	return uses
}

func (u use) isGroup() bool { return strings.HasPrefix(u.id, "S") }

// found is a finding about it, with the keys that name it.
func (u use) found(check, name string, state State, said, fix string) []Finding {
	said = strings.TrimPrefix(said+", for "+strings.Join(u.keys, ", "), ", ")
	return []Finding{{check, strings.TrimSpace(u.id + " " + name), state, said, fix}}
}

// channels checks every channel that cards and notices go to.
func (c checkup) channels(ctx context.Context, api *slackconn.Client, self slackconn.Identity) []Finding {
	var uses []use
	for i, a := range c.cfg.Accounts {
		key := config.Element("accounts", i)
		uses = named(uses, a.Channel, key+".channel")
		for j, r := range a.Routes {
			uses = named(uses, r.Channel, config.Element(key+".routes", j)+".channel")
		}
	}
	return sideBySide(uses, func(u use) []Finding {
		ch, err := api.Conversation(ctx, u.id)
		const check, invite = "channel", "type /invite @wafbot in that channel"
		switch name := "#" + ch.Name; {
		case err != nil:
			f := c.slackTrouble(err)
			return u.found(check, "", f.State, f.Text, f.Fix)
		case ch.Archived:
			return u.found(check, name, Wrong, "archived: nothing can be posted there", "unarchive it in Slack, or write another channel")
		case ch.Member:
			return u.found(check, name, OK, "wafbot is in it", "")
		case !ch.Private && self.Has("chat:write.public"):
			return u.found(check, name, Warn, "wafbot isn't in it: it can post there, but not check whether a card is there already", invite)
		default:
			return u.found(check, name, Wrong, "wafbot isn't in it: nothing can be posted there", invite)
		}
	})
}

// mentioned are the users, or the user groups, that the configuration names.
func (c checkup) mentioned(groups bool) []use {
	var uses []use
	policies, keys := []config.Policy{c.cfg.Policy}, []string{"policy"}
	for i, a := range c.cfg.Accounts {
		policies, keys = append(policies, a.Policy), append(keys, config.Element("accounts", i)+".policy")
	}
	for i, p := range policies {
		for _, list := range []struct {
			key string
			ids []string
		}{{".admins", p.Admins}, {".responders", p.Responders}, {".viewers", p.Viewers}} {
			for _, id := range list.ids {
				uses = named(uses, id, keys[i]+list.key)
			}
		}
	}
	for i := range uses {
		uses[i].role = true
	}
	for i, a := range c.cfg.Accounts {
		for j, r := range a.Routes {
			uses = named(uses, r.Mention, config.Element(config.Element("accounts", i)+".routes", j)+".mention")
		}
	}
	for i, p := range policies {
		uses = named(uses, p.Approval.Approvers, keys[i]+".approval.approvers")
		for _, user := range slices.Sorted(maps.Keys(p.Terminal)) {
			uses = named(uses, p.Terminal[user].Slack, keys[i]+".terminal."+user+".slack")
		}
	}
	return slices.DeleteFunc(uses, func(u use) bool { return u.isGroup() != groups })
}

// people looks up every user that has a role or is mentioned.
func (c checkup) people(ctx context.Context, api *slackconn.Client) []Finding {
	return sideBySide(c.mentioned(false), func(u use) []Finding {
		p, err := api.Person(ctx, u.id)
		switch {
		case err != nil:
			f := c.slackTrouble(err)
			return u.found("people", "", f.State, f.Text, f.Fix)
		case p.Deactivated:
			return u.found("people", p.Name, Wrong, "deactivated", "write another user")
		case u.role && p.Outside != "":
			return u.found("people", p.Name, Warn, "a "+p.Outside+": only full members of the workspace may act", "write a full member")
		}
		return u.found("people", p.Name, OK, "", "")
	})
}

// groups looks up every user group that has a role or is mentioned, with one call for all.
func (c checkup) groups(ctx context.Context, api *slackconn.Client) []Finding {
	uses := c.mentioned(true)
	if len(uses) == 0 {
		return nil
	}
	groups, err := api.UserGroups(ctx)
	if err != nil {
		f := c.slackTrouble(err).of("people", "user groups")
		if slices.ContainsFunc(uses, func(u use) bool { return u.role }) {
			f.Text += "; users who have a role only through a group can change nothing"
		}
		return []Finding{f}
	}
	return sideBySide(uses, func(u use) []Finding {
		g, known := groups[u.id]
		switch name := "@" + g.Handle; {
		case !known:
			return u.found("people", "", Wrong, "no user group with this id", "check the id: the group's menu in Slack copies it")
		case g.Disabled:
			return u.found("people", name, Wrong, "disabled: it mentions no one and gives no role", "enable it in Slack, or write another group")
		case u.role && len(g.Members) == 0:
			return u.found("people", name, Warn, "it has no members", "add people to it in Slack, or write another group")
		default:
			return u.found("people", name, OK, "", "")
		}
	})
}

// testCards posts one test card for each route, in their order. Slack takes one message a second per channel, after a
// few at once.
func (c checkup) testCards(ctx context.Context, api *slackconn.Client) (found []Finding) {
	pace := map[string]*rate.Limiter{}
	post := func(key, channel, of string) {
		if pace[channel] == nil {
			pace[channel] = rate.NewLimiter(rate.Every(time.Second), 3)
		}
		f := Finding{State: OK, Text: "a test card was posted: check that it is there"}
		if pace[channel].Wait(ctx) != nil {
			f.State, f.Text = Note, "no test card was posted: there are more routes than doctor has time for"
		} else if _, _, err := api.Post(ctx, channel, card.DoctorTest(of).Options()...); err != nil {
			f = c.slackTrouble(err)
		}
		found = append(found, f.of("post", key+" → "+channel))
	}
	for i, a := range c.cfg.Accounts {
		key := config.Element("accounts", i)
		if a.Routes == nil {
			post(key, a.Channel, "what "+a.Name+" posts")
		}
		for j, r := range a.Routes {
			route := config.Element(key+".routes", j)
			post(route, cmp.Or(r.Channel, a.Channel), "what "+route+" of "+a.Name+" takes")
		}
	}
	return found
}
