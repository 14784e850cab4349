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
	s := c.Slack
	return slackconn.Connect(slackconn.Config{
		Token: s.BotToken, AppToken: s.AppToken, APIURL: s.APIURL, HTTP: &http.Client{Timeout: c.patience},
	})
}

// workspace is the checkup of what the configuration names in a workspace.
type workspace struct {
	checkup
	api  *slackconn.Client
	self slackconn.Identity
}

// slack checks the bot token and, with it, everything in the workspace that the configuration names.
func (c checkup) slack(ctx context.Context) (found findings) {
	const key = "slack.bot_token"
	token := c.Slack.BotToken
	if token == "" {
		return nil // config reports it
	}
	w, begun := workspace{checkup: c, api: c.client()}, time.Now()
	found = wrongKind(key, token, slackconn.TokenBot,
		"write the app's Bot User OAuth Token (xoxb-…), from OAuth & Permissions on its page at https://api.slack.com/apps")
	var err error
	if found == nil {
		w.self, err = w.api.Self(ctx)
	}
	if err != nil {
		found = findings{c.slackTrouble(err).of("slack", key)}
	}
	if found != nil {
		text := "scopes, channels, people and user groups were not looked up: that takes the bot token"
		if c.post {
			text += "; no test card was posted"
		}
		found.add("slack", "", Note, text, "")
		return found
	}
	found.add("slack", key, OK, fmt.Sprintf("is of %s (%s) in the workspace %s (%s)", w.self.UserName, w.self.User,
		w.self.TeamName, w.self.Team), "")
	if slackconn.TokenKind(token) == slackconn.TokenExpires {
		found[0].State, found[0].Fix = Warn, "make a new app from what wafbot manifest prints: its tokens don't expire"
		found[0].Text += ", and expires within 12 h: wafbot doesn't renew it"
	}
	found.tookLong("slack", hostOf(c.Slack.APIURL), begun)
	found = slices.Concat(found, scopes(w.self), together(ctx, w.channels, w.people, w.groups))
	if c.post {
		found = append(found, w.testCards(ctx)...)
	}
	return found
}

// wrongKind reports a token that stands where another kind belongs. It sends the token nowhere.
func wrongKind(key string, token apiclient.Secret, wanted, fix string) findings {
	switch is := slackconn.TokenKind(token); is {
	case wanted, "", slackconn.TokenExpires:
		return nil
	default:
		return findings{{"slack", key, Wrong, "is of the wrong kind: " + is + " instead of " + wanted, fix}}
	}
}

// tookLong warns of a slow answer to what was asked then.
func (f *findings) tookLong(check, subject string, begun time.Time) {
	if took := time.Since(begun); took >= slowAfter {
		f.add(check, subject, Warn, fmt.Sprintf("slow: an answer took %s", took.Round(100*time.Millisecond)),
			"try again; if it stays slow, check the network and the other side's status page")
	}
}

// scopes compares the token's scopes with those that wafbot uses.
func scopes(self slackconn.Identity) (found findings) {
	if self.Scopes == nil {
		return findings{{"scope", "", Note, "unknown: Slack didn't say which scopes the token has", ""}}
	}
	for _, s := range self.Missing() {
		found.add("scope", s.Name, Wrong, fmt.Sprintf("missing; it is for %s. Without it: %s", s.For, s.Without),
			slackconn.FixScope(s.Name))
	}
	if found == nil {
		found.add("scope", "", OK, "the token has every scope that wafbot uses", "")
	}
	if surplus := self.Surplus(); len(surplus) > 0 {
		found.add("scope", strings.Join(surplus, ", "), Note, "not needed",
			"remove it under OAuth & Permissions, if nothing else uses this app")
	}
	return found
}

// ingress checks how Slack's clicks and commands get here.
func (c checkup) ingress(ctx context.Context) (found findings) {
	api, answers := c.Slack.APIURL, slackconn.Responses(c.Slack.APIURL)
	hosts := []string{hostOf(api), hostOf(answers)}
	for _, a := range c.Accounts {
		hosts = append(hosts, hostOf(a.APIURL))
	}
	found.add("host", "", Note, "must be reachable: "+list(hosts)+"; with Socket Mode also those that Slack names", "")
	if hosts[0] != hosts[1] { // else it is asked already
		found = append(found, c.reach(ctx, "answers to clicks and commands", answers, hosts))
	}
	if c.Slack.AppToken != "" {
		found = append(found, c.socket(ctx, hosts)...)
	}
	if c.Slack.SigningSecret != "" {
		found.add("slack", "slack.signing_secret", Note,
			"whether it is the app's shows only when Slack's first request arrives: /metrics counts refused ones as wafbot_forged_requests_total", "")
		found.add("slack", "listen", Note, "whether Slack reaches "+c.Listen+" can't be seen from here: the app's request URLs must lead there "+
			"(/slack/commands, /slack/interactions, /slack/events)",
			"type "+c.Slack.Command+" status in Slack while wafbot serve runs")
		found.add("slack", "events", Note, "Slack sends mentions, messages, the Home tab and role changes only to an "+
			"address that it has verified, which needs a running wafbot",
			"once wafbot serve runs, open Event Subscriptions on the app's page at https://api.slack.com/apps and press "+
				"Retry until it says Verified")
	}
	return found
}

// list is a list of hosts, each once.
func list(hosts []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(hosts))), ", ")
}

func (c checkup) socket(ctx context.Context, hosts []string) findings {
	const key = "slack.app_token"
	const fix = "write an App-Level Token (xapp-…) with connections:write, from Basic Information on the app's page at https://api.slack.com/apps"
	if found := wrongKind(key, c.Slack.AppToken, slackconn.TokenApp, fix); found != nil {
		return found
	}
	address, err := c.client().TrySocket(ctx)
	if err != nil {
		f := c.slackTrouble(err)
		if t, ok := slackconn.ExplainAppToken(err); ok {
			f.Fix = t.Fix
		}
		return findings{f.of("slack", key)}
	}
	return findings{{"slack", key, OK, "opens Socket Mode (no link was taken)", ""},
		c.reach(ctx, "Socket Mode's links", address, hosts)}
}

// reach connects to a host of Slack's that isn't asked anything, and names all hosts that must be reachable where it
// isn't.
func (c checkup) reach(ctx context.Context, what, address string, hosts []string) Finding {
	to := hostOf(address)
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	if err := slackconn.Reach(ctx, address); err != nil {
		said := what + ": " + networkTrouble(err, to, "slack.api_url").Text
		return Finding{"host", to, Wrong, said, "let this machine, and its proxy (HTTPS_PROXY), reach every host: " + list(append(hosts, to))}
	}
	return Finding{"host", to, OK, what + " can be reached", ""}
}

// use is an id of Slack's that the configuration names, with the keys that name it.
type use struct {
	id   string
	keys []string
	role bool // one of the keys gives a role
}

type uses []use

// add adds a key to the uses of ids.
func (u *uses) add(key string, role bool, ids ...string) {
	for _, id := range ids {
		if id == "" || id == "*" {
			continue
		}
		i := slices.IndexFunc(*u, func(u use) bool { return u.id == id })
		if i < 0 {
			i = len(*u)
			*u = append(*u, use{id: id})
		}
		named := &(*u)[i]
		named.keys, named.role = append(named.keys, key), named.role || role
	}
}

// found is a finding about it, with the keys that name it.
func (u use) found(check, name string, f Finding) findings {
	f.Text = strings.TrimPrefix(f.Text+", for "+strings.Join(u.keys, ", "), ", ")
	return findings{f.of(check, strings.TrimSpace(u.id+" "+name))}
}

// channels checks every channel that cards and notices go to.
func (w workspace) channels(ctx context.Context) findings {
	var all uses
	for key, a := range w.ByKey() {
		all.add(key+".channel", false, a.Channel)
	}
	for route, r := range w.Routes() {
		all.add(route+".channel", false, r.Channel)
	}
	return sideBySide(all, func(u use) findings {
		ch, err := w.api.Conversation(ctx, u.id)
		const invite = "type /invite @wafbot in that channel"
		name, is := "#"+ch.Name, wrong("wafbot isn't in it: nothing can be posted there", invite)
		switch {
		case err != nil:
			name, is = "", w.slackTrouble(err)
		case ch.Archived:
			is = wrong("archived: nothing can be posted there", "unarchive it in Slack, or write another channel")
		case ch.Member:
			is = say(OK, "wafbot is in it", "")
		case !ch.Private && w.self.Has("chat:write.public"):
			is = say(Warn, "wafbot isn't in it: it can post there, but not check whether a card is there already", invite)
		}
		return u.found("channel", name, is)
	})
}

// mentioned are the users, or the user groups, that the configuration names.
func (c checkup) mentioned(groups bool) []use {
	var all uses
	policy := func(key string, p config.Policy) {
		all.add(key+".admins", true, p.Admins...)
		all.add(key+".responders", true, p.Responders...)
		all.add(key+".viewers", true, p.Viewers...)
		all.add(key+".approval.approvers", false, p.Approval.Approvers)
		for _, user := range slices.Sorted(maps.Keys(p.Terminal)) {
			all.add(key+".terminal."+user+".slack", false, p.Terminal[user].Slack)
		}
	}
	policy("policy", c.Policy)
	for key, a := range c.ByKey() {
		policy(key+".policy", a.Policy)
	}
	for route, r := range c.Routes() {
		all.add(route+".mention", false, r.Mention)
	}
	return slices.DeleteFunc(all, func(u use) bool { return strings.HasPrefix(u.id, "S") != groups })
}

// people looks up every user that has a role or is mentioned.
func (w workspace) people(ctx context.Context) findings {
	return sideBySide(w.mentioned(false), func(u use) findings {
		p, err := w.api.Person(ctx, u.id)
		is := say(OK, "", "")
		switch {
		case err != nil:
			is = w.slackTrouble(err)
		case p.Deactivated:
			is = wrong("deactivated", "write another user")
		case u.role && p.Outside != "":
			is = say(Warn, "a "+p.Outside+": only full members of the workspace may act", "write a full member")
		}
		return u.found("people", p.Name, is)
	})
}

// groups looks up every user group that has a role or is mentioned, with one call for all.
func (w workspace) groups(ctx context.Context) (found findings) {
	all := w.mentioned(true)
	if len(all) == 0 {
		return nil
	}
	groups, err := w.api.UserGroups(ctx)
	if err != nil {
		f := w.slackTrouble(err).of("people", "user groups")
		if slices.ContainsFunc(all, func(u use) bool { return u.role }) {
			f.Text += "; users who have a role only through a group can change nothing"
		}
		return findings{f}
	}
	for _, u := range all {
		g, known := groups[u.id]
		name, is := "@"+g.Handle, say(OK, "", "")
		switch {
		case !known:
			name, is = "", wrong("no user group with this id", "check the id: the group's menu in Slack copies it")
		case g.Disabled:
			is = wrong("disabled: it mentions no one and gives no role", "enable it in Slack, or write another group")
		case u.role && len(g.Members) == 0:
			is = say(Warn, "it has no members", "add people to it in Slack, or write another group")
		}
		found = append(found, u.found("people", name, is)...)
	}
	return found
}

// testCards posts one test card for each route, in their order. Slack takes one message a second per channel, after a
// few at once.
func (w workspace) testCards(ctx context.Context) (found findings) {
	pace := map[string]*rate.Limiter{}
	post := func(key, channel, of string) {
		if pace[channel] == nil {
			pace[channel] = rate.NewLimiter(rate.Every(time.Second), 3)
		}
		f := say(OK, "a test card was posted: check that it is there", "")
		if pace[channel].Wait(ctx) != nil {
			f = say(Note, "no test card was posted: there are more routes than doctor has time for", "")
		} else if _, _, err := w.api.Post(ctx, channel, card.DoctorTest(of).Options()...); err != nil {
			f = w.slackTrouble(err)
		}
		found = append(found, f.of("post", key+" → "+channel))
	}
	for key, a := range w.ByKey() {
		if a.Routes == nil {
			post(key, a.Channel, "what "+a.Name+" posts")
		}
		for route, r := range config.Keyed(key+".routes", a.Routes) {
			post(route, cmp.Or(r.Channel, a.Channel), "what "+route+" of "+a.Name+" takes")
		}
	}
	return found
}
