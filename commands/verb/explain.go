package verb

import (
	"cmp"
	"strings"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// explanation is where an attack goes for programs.
type explanation struct {
	call.Routing
	Muted *record.Mute `json:"muted,omitempty"`
}

func explainNeeds(c *call.Call) call.Needs {
	n := report.FreshNeeds(c)
	n.Storms, n.Mutes = true, true
	return n
}

// routingNeeds are where the attack goes as it is now.
func routingNeeds(c *call.Call) call.Needs {
	n := report.GroupedNeeds(c)
	k, _ := report.Fresh(c)
	if storm, isOne, err := report.Storm(c); isOne {
		if err != nil {
			return call.Needs{}
		}
		k.Attack = storm.Attack
	}
	n.Routing = &k.Attack
	return n
}

func readExplain(c *call.Call) (call.Result, error) {
	k, old := report.Fresh(c)
	a := c.Account
	if record.IsStorm(k.Attack.ID) {
		return explainStorm(c)
	}
	r, away := c.Facts.Routing.Get()
	r.Tried = append([]call.TriedRoute{}, r.Tried...)
	m, muteLine := muteOf(c, k.Attack)
	res := call.Result{AttackID: k.ID, Account: a.Name, Data: explanation{r, m},
		Lines: append(text.Lines{words.Attack(a, k.Attack, c.Now)}, old...)}
	res.Lines.Add(destination(k.Attack, r))
	for i, t := range r.Tried {
		line := text.Newf("• route %v takes %v: ", i+1, t.Match)
		if t.Not == "" {
			line.Add(text.Bold("this one"))
		} else {
			line.Addf("no, %v is %v", t.Not, valueOf(a, t.Not, k.Attack))
		}
		res.Lines.Add(line)
	}
	if away != nil {
		return res.And(text.New("Whether it has a card, or is muted, is unknown: ", refusal.Store(away))), nil
	}
	grouped, _ := report.StormOfLine(c) // after an error the lines above say that Redis is away
	if grouped != nil {
		res.Lines.Add(grouped)
	}
	if grouped == nil || r.Card != "" {
		res.Lines.Add(cardLine(k.Attack, r))
	}
	res.Lines = append(append(res.Lines, mentionLines(r)...), pagerLines(r)...)
	if !c.Ongoing(k.Attack) {
		res.Lines.Add("It is quiet: no hit in the last ", text.Duration(a.OngoingFor))
	}
	if c.Policy.Cardless(k.Attack) {
		res = res.And(text.Newf("It comes only from sources that shall give no cards (`sources: cards: false`): it gets one only if it becomes an incident"))
	}
	return res.And(muteLine), nil
}

// explainStorm says why a storm's attacks have no cards of their own, and where its card is.
func explainStorm(c *call.Call) (res call.Result, err error) {
	storm, _, err := report.Storm(c)
	if err != nil {
		return res, err
	}
	r, err := c.Facts.Routing.Get()
	if err != nil {
		return res, refusal.Away(err)
	}
	r.Tried, r.Channel, r.Mention = []call.TriedRoute{}, "", "" // the routes take attacks: what it groups went to its channel by theirs
	m, muteLine := muteOf(c, storm.Attack)
	res = call.Result{AttackID: storm.ID, Account: c.Account.Name, Data: explanation{r, m}}
	res.Lines = text.Lines{
		words.StormLine(c.Account, c.StormRow(storm, record.Triage{}), c.Now),
		text.New("Why one card: ", words.NoOwnCards(storm.Storm)), cardLine(storm.Attack, r),
		text.Newf("It groups the new attacks that a route sends there, incidents excepted; `%v` lists them",
			report.StormListLine(storm).String()),
	}
	return res.And(pagerLines(r)...).And(muteLine), nil
}

// destination says where the attack goes, or why it goes nowhere.
func destination(a apiclient.Attack, r call.Routing) text.Text {
	switch {
	case a.FalsePositive() && r.Notified:
		return text.New("It is marked at the service as a false positive: its card says so, and mentions no user")
	case a.FalsePositive():
		return text.New("It is marked at the service as a false positive: it gets no card, whatever the routes say")
	case a.Result():
		return text.Newf("It is no attack of its own but a mitigation at work (%v): it gets no card, whatever the routes say",
			words.TypeName(a.Type))
	case r.Channel == "" && r.Kept:
		return text.New("No route takes it as it is now. ", kept)
	case r.Channel == "":
		return text.Newf("*No route takes it*: it gets no card. `status` and `attacks` list it")
	}
	whom := text.New("no user")
	if r.Mention != "" {
		whom = text.New(text.User(r.Mention))
	}
	if r.Kept {
		return text.Newf("As it is now it would go to channel %v by route %v and mention %v. %v",
			text.Channel(r.Channel), len(r.Tried), whom, kept)
	}
	return text.Newf("It goes to channel %v by route %v and mentions %v", text.Channel(r.Channel), len(r.Tried), whom)
}

// kept says why what the routes say now isn't what happens.
const kept = "What was chosen when it was first posted is kept"

func cardLine(a apiclient.Attack, r call.Routing) text.Text {
	switch {
	case r.Card != "" && (a.Incident() || record.IsStorm(a.ID)):
		return text.Newf("Its card is in channel %v, where it stays", text.Channel(r.Card))
	case r.Card != "":
		return text.Newf("Its card is in channel %v, where it stays unless it becomes an incident that a route wants elsewhere",
			text.Channel(r.Card))
	case r.Notified:
		return text.New("It was announced; its card is on its way")
	}
	return text.New("It has no card yet")
}

// mentionLines say whom a notification of the attack mentions, and when no user is.
func mentionLines(r call.Routing) (lines text.Lines) {
	if r.Calls != "" {
		line := text.Newf("Who acknowledges it is mentioned in place of %v when it gets worse, at most once in %v but for its becoming an incident",
			text.User(r.Calls), text.Duration(record.MentionEvery))
		if !r.MentionedAt.IsZero() {
			line.Add("; last ", r.MentionedAt)
		}
		lines.Add(line)
	}
	if r.Quiet != "" {
		line := text.Newf("Quiet hours are %v (%v): ", r.Quiet, r.Zone)
		if r.QuietNow {
			line.Add(text.Bold("now, and it mentions no user in them"))
		} else {
			line.Add("not now, or it mentions people in them all the same")
		}
		if r.Suppressed {
			line.Add(". No user has been mentioned about it because of them")
			if !r.MentionedAt.IsZero() {
				line.Add(" since it got worse")
			}
		}
		lines.Add(line)
	}
	return lines
}

func pagerLines(r call.Routing) text.Lines {
	if r.PageAfter == 0 {
		return nil
	}
	called := text.New("was not called so far")
	if !r.PagedAt.IsZero() {
		called = text.New("was last called at ", r.PagedAt)
	}
	return text.Lines{text.Newf("Its pager is called when unacknowledged for %v; it %v",
		text.Duration(r.PageAfter), called)}
}

// muteOf is the mute that suppresses an attack, nil if none is known, and a line about it.
func muteOf(c *call.Call, attack apiclient.Attack) (*record.Mute, text.Text) {
	all, err := c.Facts.Mutes.Get()
	if err != nil {
		return nil, text.New("Whether it is muted is unknown: ", refusal.Store(err))
	}
	m, muted := policy.Muted(all, attack, c.Now)
	if !muted {
		return nil, text.New("It isn't muted")
	}
	return &m, text.Newf("*Muted*: %v", words.Mute(m))
}

// valueOf is what an attack has where a route has the key.
func valueOf(a *config.Account, key string, attack apiclient.Attack) text.Text {
	is, ok := map[string]any{
		"kind":        strings.ToLower(words.KindName(attack)),
		"type":        text.Code(text.Field(cmp.Or(attack.Type, "unknown"))),
		"application": a.AppName(attack.App),
		"host":        text.Code(text.Sanitize(cmp.Or(attack.Domain, "unknown"), text.MaxHost)),
		"status":      attack.Status(),
		"severity":    record.SeverityOf(attack),
	}[key]
	if !ok {
		is = attack.Hits
	}
	return text.New(is)
}
