package bot

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wafbot/wafbot/bot/card"
	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// message is what is needed of a message that a user wrote. It is not slack-go's type, which refuses the whole event
// for one unknown block.
type message struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype"`
	Channel     string          `json:"channel"`
	ChannelType string          `json:"channel_type"`
	User        string          `json:"user"`
	UserTeam    string          `json:"user_team"` // in shared channels
	Team        string          `json:"team"`      // of the user, too
	BotID       string          `json:"bot_id"`
	Text        string          `json:"text"`
	TS          string          `json:"ts"`
	ThreadTS    string          `json:"thread_ts"`
	ClientMsgID string          `json:"client_msg_id"`
	Edited      json.RawMessage `json:"edited"`
	Tab         string          `json:"tab"` // of a Home tab that was opened: home or messages
}

// event handles an event: a message to the bot runs as a line, an opened Home tab is drawn, a change of users or groups
// invalidates caches. Everything else is only acknowledged.
func (in *ingress) event(ctx context.Context, d delivery, body []byte) {
	var outer struct {
		Type  string          `json:"type"`
		ID    string          `json:"event_id"`
		App   string          `json:"api_app_id"`
		Event json.RawMessage `json:"event"`
		For   []struct {
			User string `json:"user_id"`
			Bot  bool   `json:"is_bot"`
		} `json:"authorizations"`
	}
	if !in.decode(ctx, body, &outer) {
		return
	}
	if outer.Type == "app_rate_limited" {
		in.Log.ErrorContext(ctx, "slack limits events: there were too many in the last hour")
		return
	}
	if in.foreign(ctx, outer.App) || len(outer.Event) == 0 || in.peopleEvent(ctx, outer.Event) {
		return
	}
	var m message
	if !in.decode(ctx, outer.Event, &m) {
		return
	}
	if outer.ID != "" {
		d.names = append(d.names, "event "+outer.ID)
	}
	switch {
	case m.Type == "app_home_opened" && m.Tab == "home" && m.User != "":
		req := d.request("", "", m.author())
		req.Home = true
		in.reply(req, card.Message{})
	case m.written():
		self := ""
		if len(outer.For) > 0 && outer.For[0].Bot {
			self = outer.For[0].User
		}
		in.message(ctx, d, m, self)
	}
}

// message runs a message to the bot as a line. Events say the bot's user id, so that a line can be read and kept while
// Slack's methods fail; "": it has to be asked for.
func (in *ingress) message(ctx context.Context, d delivery, m message, self string) {
	var err error
	if self == "" {
		var of slackconn.Identity
		of, err = in.Slack.Self(ctx)
		self = of.User
	}
	if err != nil {
		in.Log.ErrorContext(ctx, "take message", "channel", m.Channel, "user", m.User, "err", err)
		if m.Type == "app_mention" || m.ChannelType == "im" { // else it was probably not for the bot
			in.reply(in.asked(ctx, d, m), say("Failed, not done: Slack didn't answer wafbot in time, so what you wrote could not be read. Write it again"))
		}
		return
	}
	line, addressed := m.line(self)
	switch {
	case m.User == self:
	case addressed || m.ChannelType == "im":
		in.take(ctx, in.asked(ctx, d, m), line)
	case m.Type == "app_mention":
		// "Don't @wafbot deny that yet" is no command.
		in.reply(in.asked(ctx, d, m), say("Did you want something of me? Then begin the message with my name, as ",
			text.Code("@wafbot status"), ". Nothing was done"))
	}
}

// written reports whether a person wrote it just now. An edit doesn't count: a line must not run again because a word
// was corrected. Bots don't count.
func (m message) written() bool {
	kinds := []string{"", "thread_broadcast", "file_share"}
	return (m.Type == "app_mention" || m.Type == "message") && slices.Contains(kinds, m.Subtype) && len(m.Edited) == 0 &&
		m.BotID == "" && m.User != ""
}

// line is the message's command line; addressed reports whether the message begins with the bot's name.
func (m message) line(self string) (line string, addressed bool) {
	text := strings.TrimSpace(m.Text)
	if name, rest, ok := strings.Cut(text, ">"); ok && (name == "<@"+self || strings.HasPrefix(name, "<@"+self+"|")) {
		text, addressed = strings.TrimSpace(rest), true
	}
	line = typed(text)
	// Cards show lines as code, so a copied line comes in back-quotes.
	if inner := strings.Trim(line, "`"); !strings.Contains(inner, "`") {
		line = inner
	}
	return line, addressed
}

// asked makes a request of a message. One message can come as two events (a mention that is also a message), each of
// them twice.
func (in *ingress) asked(ctx context.Context, d delivery, m message) request {
	id := "message " + m.Channel + " " + m.TS
	names := append([]string{id}, d.names...)
	if m.ClientMsgID != "" {
		names = append(names, "client "+m.author().Team+"/"+m.User+" "+m.ClientMsgID) // the user is part of it: another client can send the same id
	}
	req := request{
		Channel: m.Channel, Thread: m.ThreadTS, names: names,
		Invocation: call.Invocation{
			ID: id, At: in.writtenAt(m.TS), Account: in.accountIn(m.Channel),
			Actor: m.author(),
		},
	}
	if account, attack := in.cardAt(ctx, m.Channel, m.ThreadTS); attack != "" {
		req.Account, req.Attack = account, attack
	}
	return req
}

// writtenAt is when a message was written, by the clock that replicas share. Slack says it by its own, which Redis' may
// be far from.
func (in *ingress) writtenAt(ts string) time.Time {
	now := in.Clocks.Now()
	return slackconn.WrittenAt(ts, now).Add(in.Clocks.Now().Sub(now).Round(time.Second))
}

// author is who wrote it, or opened the Home tab. Of a user of a connected workspace Slack says the team by one of two
// fields.
func (m message) author() record.Actor {
	return record.Actor{ID: m.User, Team: cmp.Or(m.UserTeam, m.Team), Name: m.User, Via: record.ViaMention}
}

// cardAt is the attack whose card has that thread; "": none.
func (in *ingress) cardAt(ctx context.Context, channel, thread string) (account, attack string) {
	if thread == "" {
		return "", ""
	}
	for _, a := range in.Accounts {
		attack, err := in.AttackAt(ctx, a.Name, channel, thread)
		if err != nil {
			in.log.warn(ctx, "find card of thread", "channel", channel, "err", err)
			return "", ""
		}
		if attack != "" {
			return a.Name, attack
		}
	}
	return "", ""
}

// token matches what Slack makes of names and addresses in typed text: <@U0ANN|ann>, <#C0WAF|waf>,
// <http://host/path|host/path>.
var token = regexp.MustCompile(`<([^<>]*)>`)

// typed restores what a user typed from Slack's text: addresses as written, a user as <@U0ANN>.
func typed(text string) string {
	text = token.ReplaceAllStringFunc(text, func(found string) string {
		what, label, labelled := strings.Cut(strings.Trim(found, "<>"), "|")
		switch {
		case strings.HasPrefix(what, "@"):
			return "<" + what + ">"
		case strings.HasPrefix(what, "#") && label != "":
			return "#" + label
		case strings.HasPrefix(what, "#"), strings.HasPrefix(what, "!"):
			return found
		case labelled:
			return label
		}
		return strings.TrimPrefix(what, "mailto:")
	})
	// Slack escapes these three characters.
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}

// peopleTimeout bounds the invalidation: Slack waits for the acknowledgement.
const peopleTimeout = time.Second

// peopleEvent handles an event about users or groups: it invalidates what all replicas have cached about them. It
// returns false for other events.
func (in *ingress) peopleEvent(ctx context.Context, event []byte) bool {
	var e struct {
		Type    string          `json:"type"`
		User    json.RawMessage `json:"user"`
		Group   string          `json:"subteam_id"`
		Subteam identified      `json:"subteam"`
	}
	_ = json.Unmarshal(event, &e) // without a type it is another event
	of := ""
	switch e.Type {
	default:
		return false
	case "user_change":
		var user identified
		_ = json.Unmarshal(e.User, &user)
		of = user.ID
	case "subteam_members_changed", "subteam_updated", "subteam_created":
		gives := func(a notify.Account) bool {
			return slices.Contains(policy.Groups(a.Policy), cmp.Or(e.Group, e.Subteam.ID))
		}
		if slices.ContainsFunc(in.Accounts, gives) {
			of = slackconn.AllGroups
		}
	}
	if of == "" {
		return true // no role depends on it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), peopleTimeout)
	defer cancel()
	if err := in.Slack.PeopleChanged(ctx, of); err != nil {
		in.log.warn(ctx, "invalidate people: the other replicas keep their cache", "for", slackconn.PeopleCachedFor,
			"err", err)
		return true
	}
	in.Log.DebugContext(ctx, "people invalidated", "of", of, "event", e.Type)
	return true
}
