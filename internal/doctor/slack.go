package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
)

// examiner asks Slack with the configured tokens. A call ends after patience.
func (c checkup) examiner() *slackconn.Examiner {
	s := c.cfg.Slack
	return slackconn.NewExaminer(slackconn.Config{Token: s.BotToken, AppToken: s.AppToken, APIURL: s.APIURL, HTTP: &http.Client{Timeout: c.patience}})
}

// slack checks the bot token and, with it, everything in the workspace that the configuration names.
func (c checkup) slack(ctx context.Context) []Finding {
	token := c.cfg.Slack.BotToken
	if token == "" {
		return nil // config reports it
	}
	if found, bad := wrongKind("slack.bot_token", slackconn.TokenKind(token), slackconn.TokenBot); bad {
		return append(found, c.notLookedUp())
	}
	e := c.examiner()
	begun := time.Now()
	in, err := e.Installation(ctx)
	if err != nil {
		return []Finding{c.slackTrouble(err).finding("slack", "slack.bot_token"), c.notLookedUp()}
	}
	found := []Finding{{"slack", "slack.bot_token", OK, fmt.Sprintf("is of %s (%s) in the workspace %s (%s)", in.User, in.UserID, in.Team, in.TeamID), ""}}
	if slackconn.TokenKind(token) == slackconn.TokenExpires {
		found[0].State, found[0].Text, found[0].Fix = Warn, found[0].Text+", and expires within 12 h: wafbot doesn't renew it", "make a new app from what wafbot manifest prints: its tokens don't expire"
	}
	found = append(found, tookLong("slack", hostOf(c.cfg.Slack.APIURL), time.Since(begun))...)
	found = append(found, scopes(in)...)
	found = append(found, sideBySide([]func() []Finding{
		func() []Finding { return c.channels(ctx, e, in) },
		func() []Finding { return c.people(ctx, e) },
		func() []Finding { return c.groups(ctx, e) },
	}, func(check func() []Finding) []Finding { return check() })...)
	if c.post {
		found = append(found, c.testCards(ctx, e)...)
	}
	return found
}

// wrongKind reports a token that stands where another kind belongs. It sends the token nowhere.
func wrongKind(key, is, wanted string) ([]Finding, bool) {
	known := []string{slackconn.TokenBot, slackconn.TokenApp, slackconn.TokenUser}
	if is == wanted || !slices.Contains(known, is) {
		return nil, false
	}
	fix := map[string]string{
		slackconn.TokenBot: "write the app's Bot User OAuth Token (xoxb-…), from OAuth & Permissions on its page at https://api.slack.com/apps",
		slackconn.TokenApp: "write an App-Level Token (xapp-…) with connections:write, from Basic Information on the app's page at https://api.slack.com/apps",
	}[wanted]
	return []Finding{{"slack", key, Wrong, "is of the wrong kind: " + is + " instead of " + wanted, fix}}, true
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
func scopes(in slackconn.Installation) []Finding {
	if in.Scopes == nil {
		return []Finding{{"scope", "", Note, "unknown: Slack didn't say which scopes the token has", ""}}
	}
	var found []Finding
	for _, s := range in.Missing() {
		found = append(found, Finding{"scope", s.Name, Wrong, fmt.Sprintf("missing; it is for %s. Without it: %s", s.For, s.Without), slackconn.FixScope(s.Name)})
	}
	if len(found) == 0 {
		found = append(found, Finding{"scope", "", OK, "the token has every scope that wafbot uses", ""})
	}
	if surplus := in.Surplus(); len(surplus) > 0 {
		found = append(found, Finding{"scope", strings.Join(surplus, ", "), Note, "not needed", "remove it under OAuth & Permissions, if nothing else uses this app"})
	}
	return found
}

// ingress checks how Slack's clicks and commands get here.
func (c checkup) ingress(ctx context.Context) []Finding {
	var found []Finding
	if c.cfg.Slack.AppToken != "" {
		found = c.socket(ctx)
	}
	if c.cfg.Slack.SigningSecret != "" {
		found = append(found,
			Finding{"slack", "slack.signing_secret", Note, "whether it is the app's shows only when Slack's first request arrives: /metrics counts refused ones as wafbot_forged_requests_total", ""},
			Finding{"slack", "listen", Note, "whether Slack reaches " + c.cfg.Listen + " can't be seen from here: the app's request URLs must lead there (/slack/commands, /slack/interactions, /slack/events)",
				"type " + c.cfg.Slack.Command + " status in Slack while wafbot serve runs"})
	}
	return found
}

func (c checkup) socket(ctx context.Context) []Finding {
	const key = "slack.app_token"
	if found, bad := wrongKind(key, slackconn.TokenKind(c.cfg.Slack.AppToken), slackconn.TokenApp); bad {
		return found
	}
	if err := c.examiner().TrySocket(ctx); err != nil {
		f := c.slackTrouble(err).finding("slack", key)
		if t, ok := slackconn.ExplainAppToken(err); ok {
			f.Fix = t.Fix
		}
		return []Finding{f}
	}
	return []Finding{{"slack", key, OK, "opens Socket Mode (no link was taken)", ""}}
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

// subject is the id with its name.
func (u use) subject(name string) string { return strings.TrimSpace(u.id + " " + name) }

func (u use) where() string { return strings.Join(u.keys, ", ") }

// channels checks every channel that cards and notices go to.
func (c checkup) channels(ctx context.Context, e *slackconn.Examiner, in slackconn.Installation) []Finding {
	var uses []use
	for i, a := range c.cfg.Accounts {
		key := config.Element("accounts", i)
		uses = named(uses, a.Channel, key+".channel")
		for j, r := range a.Routes {
			uses = named(uses, r.Channel, config.Element(key+".routes", j)+".channel")
		}
	}
	return sideBySide(uses, func(u use) []Finding {
		ch, err := e.Conversation(ctx, u.id)
		if err != nil {
			t := c.slackTrouble(err)
			t.text += ", for " + u.where()
			return []Finding{t.finding("channel", u.id)}
		}
		f := Finding{"channel", u.subject("#" + ch.Name), OK, "wafbot is in it, for " + u.where(), ""}
		const invite = "type /invite @wafbot in that channel"
		switch {
		case ch.Archived:
			f.State, f.Text, f.Fix = Wrong, "archived: nothing can be posted there, for "+u.where(), "unarchive it in Slack, or write another channel"
		case ch.Member:
		case !ch.Private && in.Has("chat:write.public"):
			f.State, f.Text, f.Fix = Warn, "wafbot isn't in it: it can post there, but not check whether a card is there already, for "+u.where(), invite
		default:
			f.State, f.Text, f.Fix = Wrong, "wafbot isn't in it: nothing can be posted there, for "+u.where(), invite
		}
		return []Finding{f}
	})
}

// testCards posts one test card for each route, in their order. Slack takes one message a second per channel, after a few at once.
func (c checkup) testCards(ctx context.Context, e *slackconn.Examiner) []Finding {
	var found []Finding
	pace := map[string]*rate.Limiter{}
	post := func(key, channel, of string) {
		if pace[channel] == nil {
			pace[channel] = rate.NewLimiter(rate.Every(time.Second), 3)
		}
		if err := pace[channel].Wait(ctx); err != nil {
			found = append(found, Finding{"post", key + " → " + channel, Note, "no test card was posted: there are more routes than doctor has time for", ""})
			return
		}
		if err := e.PostTest(ctx, channel, card.DoctorTest(of).Options()...); err != nil {
			found = append(found, c.slackTrouble(err).finding("post", key+" → "+channel))
			return
		}
		found = append(found, Finding{"post", key + " → " + channel, OK, "a test card was posted: check that it is there", ""})
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
