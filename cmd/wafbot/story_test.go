package main

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// injection is an attack from one strong source, one weak one and twelve more, which nothing blocks.
func injection() waf.AttackSpec {
	return waf.AttackSpec{
		Sources:      []waf.SourceSpec{{IP: attacker, Country: "FR", PerSecond: 4}, {IP: neighbour, Country: "NL", PerSecond: 0.6}},
		OtherSources: 12, Started: waf.Duration(3 * time.Minute),
	}
}

// attack starts an attack and returns its id at the service.
func (w *world) attack(spec waf.AttackSpec) string {
	w.t.Helper()
	a, err := w.WAF.StartAttack(spec)
	require.NoError(w.t, err)
	return a.ID
}

// hits sends hits of an attack at once and returns what became of the given source's.
func (w *world) hits(attack, source string) waf.Totals {
	w.t.Helper()
	before := w.source(attack, source)
	require.NoError(w.t, w.WAF.AddHits(attack, 1000))
	after := w.source(attack, source)
	return waf.Totals{Through: after.Through - before.Through, Blocked: after.Blocked - before.Blocked}
}

func (w *world) source(attack, ip string) waf.Totals {
	w.t.Helper()
	for _, a := range w.state("acme").Attacks {
		i := slices.IndexFunc(a.Sources, func(s waf.SourceState) bool { return s.IP == ip })
		if a.ID == attack && i >= 0 {
			return a.Sources[i].Totals
		}
	}
	w.t.Fatalf("attack %s has no source %s", attack, ip)
	return waf.Totals{}
}

func (w *world) state(account string) waf.State {
	w.t.Helper()
	state, err := w.WAF.State(account)
	require.NoError(w.t, err)
	return state
}

// entries are what is on an account's lists.
func (w *world) entries(account string) []waf.IPRuleState {
	w.t.Helper()
	return slices.DeleteFunc(w.state(account).IPRules, func(e waf.IPRuleState) bool { return !e.Listed })
}

// rules are an account's rules of a type.
func (w *world) rules(account, kind string) []waf.RuleState {
	w.t.Helper()
	return slices.DeleteFunc(w.state(account).Rules, func(r waf.RuleState) bool { return !r.Listed || r.Type != kind })
}

// mode is the mode in force of acme's Shop.
func (w *world) mode() string {
	w.t.Helper()
	apps := w.state("acme").Applications
	return apps[slices.IndexFunc(apps, func(a waf.ApplicationState) bool { return a.Name == "Shop" })].Mode
}

// sent are the requests that change something at the service, of all accounts.
func (w *world) sent() []waf.Request {
	changing := []string{"POST /v4/ip_rules", "DELETE /v4/ip_rules", "POST /v1/objects/hint/create", "POST /v1/objects/hint/delete"}
	return slices.DeleteFunc(w.WAF.Requests(""), func(r waf.Request) bool { return !slices.Contains(changing, r.Method+" "+r.Path) })
}

// polls waits until the bot has looked for attacks so many times more. An attack must be going on.
func (w *world) polls(n int) {
	w.t.Helper()
	count := func() int { return w.state(w.cfg.Accounts[0].Name).Requests["POST /v1/objects/attack"] }
	before := count()
	w.until("polls", func() bool { return count() >= before+n })
}

// called is how often the bot called a method of Slack's.
func (w *world) called(method string) (n int) {
	for _, call := range w.Slack.Calls() {
		if call.Method == method {
			n++
		}
	}
	return n
}

// types has a user type a command in #waf.
func (w *world) types(user, text string) workspace.Delivery {
	w.t.Helper()
	return w.typesIn("#waf", user, text)
}

func (w *world) typesIn(channel, user, text string) workspace.Delivery {
	w.t.Helper()
	d, err := w.Slack.Command(w.t.Context(), workspace.Command{User: user, Channel: channel, Text: text})
	return w.acknowledged(d, err)
}

func (w *world) acknowledged(d workspace.Delivery, err error) workspace.Delivery {
	w.t.Helper()
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, d.Status, "%+v", d)
	require.Empty(w.t, d.Warning)
	return d
}

// click has a user click a button of a message, given by its label or its value.
func (w *world) click(user string, m workspace.Message, button string) workspace.Delivery {
	w.t.Helper()
	d, err := w.Slack.Click(w.t.Context(), workspace.Click{User: user, Channel: m.Channel, TS: m.TS, Button: button})
	return w.acknowledged(d, err)
}

// read are the texts of messages, by what these are made of: whoever waits looks at the same ones again and again.
var read sync.Map

// says reports whether a message holds all the parts, whatever is bold or code in it.
func says(m workspace.Message, parts ...string) bool {
	key := m.Text + string(m.Blocks) + string(m.Attachments)
	text, known := read.Load(key)
	if !known {
		text = bare(m.Text + "\n" + m.Plain())
		read.Store(key, text)
	}
	return hasAll(text.(string), parts)
}

// hasAll reports whether a text holds all the parts.
func hasAll(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// message waits for a message that everybody in the channel sees.
func (w *world) message(channel string, parts ...string) (found workspace.Message) {
	w.t.Helper()
	w.until("in "+channel+": "+strings.Join(parts, ", "), func() bool {
		all := w.Slack.Messages(channel)
		i := slices.IndexFunc(all, func(m workspace.Message) bool { return says(m, parts...) })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// ephemerals are the messages that only that person was shown and can still see, with all the parts.
func (w *world) ephemerals(user string, parts ...string) []workspace.Message {
	return slices.DeleteFunc(w.Slack.Ephemerals(user), func(m workspace.Message) bool { return m.Gone || !says(m, parts...) })
}

// ephemeral waits for an ephemeral message to a user.
func (w *world) ephemeral(user string, parts ...string) workspace.Message {
	w.t.Helper()
	w.until("to "+user+": "+strings.Join(parts, ", "), func() bool { return len(w.ephemerals(user, parts...)) > 0 })
	return w.ephemerals(user, parts...)[0]
}

// answer has a user type a line in #waf, and returns what that user alone is told next.
func (w *world) answer(user, line string) string {
	w.t.Helper()
	before := len(w.ephemerals(user))
	w.types(user, line)
	w.until("answer to "+line, func() bool { return len(w.ephemerals(user)) > before })
	return plain(w.ephemerals(user)[before])
}

// shownCard is an attack's message, which changes.
type shownCard struct {
	w       *world
	channel string
	ts      string
}

// facts are what a card's message carries for programs.
type facts struct {
	Type    string `json:"event_type"`
	Payload struct {
		Attack   string `json:"attack"`
		Kind     string `json:"kind"`
		Delivery string `json:"delivery"`
	} `json:"event_payload"`
}

func factsOf(m workspace.Message) (f facts) {
	_ = json.Unmarshal(m.Metadata, &f) // a message without any has none
	return f
}

// shown are a channel's messages without those that only a thread shows.
func (w *world) shown(channel string) []workspace.Message {
	return slices.DeleteFunc(w.Slack.Messages(channel), func(m workspace.Message) bool { return m.ThreadTS != "" && !m.Broadcast })
}

// cards are the cards in a channel that say all the parts.
func (w *world) cards(channel string, parts ...string) []workspace.Message {
	return slices.DeleteFunc(w.Slack.Messages(channel), func(m workspace.Message) bool {
		return factsOf(m).Type != "wafbot_card" || !says(m, parts...)
	})
}

// card waits for a card in #waf.
func (w *world) card(parts ...string) shownCard {
	w.t.Helper()
	return w.cardIn("#waf", parts...)
}

func (w *world) cardIn(channel string, parts ...string) shownCard {
	w.t.Helper()
	w.until("card: "+strings.Join(parts, ", "), func() bool { return len(w.cards(channel, parts...)) > 0 })
	return shownCard{w, channel, w.cards(channel, parts...)[0].TS}
}

// now is the card as it is.
func (c shownCard) now() workspace.Message {
	c.w.t.Helper()
	all := c.w.Slack.Messages(c.channel)
	i := slices.IndexFunc(all, func(m workspace.Message) bool { return m.TS == c.ts })
	require.GreaterOrEqual(c.w.t, i, 0)
	return all[i]
}

// says waits until the card says all the parts, also that a change is being verified: until it was, a card may say of it what it says when it is done.
func (c shownCard) says(parts ...string) {
	c.w.t.Helper()
	const unsettled = "being verified"
	meant := slices.Contains(parts, unsettled)
	c.w.until("on the card: "+strings.Join(parts, ", "), func() bool {
		now := c.now()
		return says(now, parts...) && (meant || !says(now, unsettled))
	})
}

// shows waits until a moment stands on the card, to the second: a client without dates shows the minute.
func (c shownCard) shows(at time.Time) {
	c.w.t.Helper()
	c.w.until("on the card: "+at.String(), func() bool {
		return strings.Contains(string(c.now().Blocks), "!date^"+strconv.FormatInt(at.Unix(), 10)+"^")
	})
}

// id is the attack's, as people type it.
func (c shownCard) id() string { return factsOf(c.now()).Payload.Attack }

func (c shownCard) click(user, button string) workspace.Delivery {
	c.w.t.Helper()
	return c.w.click(user, c.now(), button)
}

// labels are those of the card's buttons.
func (c shownCard) labels() (labels []string) {
	for _, b := range c.now().Buttons() {
		labels = append(labels, b.Label)
	}
	return labels
}

// undo waits for the form that takes changes back to offer one, and submits it with that alone.
func (c shownCard) undo(user, does string) {
	c.w.t.Helper()
	c.w.until("undo of "+does, func() bool { return slices.Contains(c.labels(), "Undo…") })
	c.opens(user, "Undo…", does)
	before, _, _ := strings.Cut(c.w.Slack.OpenView(user).Plain(), does)
	ids := changeID.FindAllString(before, -1)
	require.NotEmpty(c.w.t, ids, before)
	c.w.submits(user, map[string]any{"change": []string{ids[len(ids)-1]}})
}

// undone waits for the reply under the card that someone took a change back.
func (c shownCard) undone(by string) {
	c.w.t.Helper()
	c.w.until("undone by "+by, func() bool { return len(c.replies("Undo of: ", by)) > 0 })
}

var changeID = regexp.MustCompile(`\bc[0-9a-z]{8}\b`)

// replies are the messages in the card's thread.
func (c shownCard) replies(parts ...string) []workspace.Message {
	return slices.DeleteFunc(c.w.Slack.Messages(c.channel), func(m workspace.Message) bool { return m.ThreadTS != c.ts || !says(m, parts...) })
}
