package paging

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/efficacy"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/commands/words"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// How much of what strangers wrote a pager is shown, in characters.
const (
	maxName    = 60
	maxSummary = 500
)

// message is what a pager is sent about a page. Of an attack that is no longer stored only its page is known.
func (c Config) message(page record.Page, s record.AttackState, triage record.Triage) pager.Event {
	attack := s.Attack
	e := pager.Event{
		ID: page.ID, Since: page.Since, Account: c.Account.Name, Attack: page.Attack, Severity: page.Severity,
		Resolve:  page.State == record.PageEnding,
		Incident: attack.Incident(), Source: text.Sanitize(cmp.Or(attack.Domain, c.Account.Name), maxName),
		App:  text.Sanitize(c.Account.AppName(attack.App), maxName),
		Type: text.Sanitize(attack.Type, maxName), Console: c.Account.ConsoleURL,
	}
	what, where := c.what(e, s), placeOf(s)
	state := "Unacknowledged since " + page.Since.UTC().Format("15:04 UTC") + ". "
	if e.Resolve {
		state = ended(page, attack, triage)
	}
	e.Summary = text.Sanitize(what+state+where, maxSummary)
	e.Details = map[string]string{
		"attack": page.Attack, "account": c.Account.Name, "status": words.StatusName(attack), "hits": attack.Hits.String(),
		"where":     where,
		"first_hit": moment(attack.First), "last_hit": moment(attack.Last),
		"to_acknowledge": "click Acknowledge on the card, or type: ack attack=" + page.Attack,
	}
	if page.Test {
		e.Summary = "TEST of wafbot: nothing is attacked. Acknowledge the test card in Slack"
		e.Details = map[string]string{
			"account": c.Account.Name, "to_acknowledge": "click Acknowledge on the test card, or type: drill ack=" + page.Attack,
		}
	}
	if top, ok := call.TopSource(attack); ok {
		e.Details["top_source"] = top.String()
	}
	e.Links = c.links(s)
	return e
}

// what says in short what the page is about. It leaves out where: an attacker wrote that, and it stands last.
func (c Config) what(e pager.Event, s record.AttackState) string {
	attack := s.Attack
	if s.Storm != nil {
		storm := *s.Storm
		h := efficacy.Headline(call.Situation{Attack: attack, Storm: s.Storm, Quiet: s.Quiet})
		return fmt.Sprintf("%s, %s storm on %s: %s, %s hits, %d incidents beside it. ", words.StormState(h.State, storm),
			h.Severity,
			text.Sanitize(words.Applications(storm, c.Account), maxName), words.Counted(storm), attack.Hits, storm.Incidents)
	}
	kind := "Attack"
	if attack.Incident() {
		kind = "INCIDENT"
	}
	return fmt.Sprintf("%s %s: %s on %s, %s hits. ", kind, words.StatusName(attack), words.TypeName(e.Type), e.App,
		attack.Hits)
}

// placeOf is where an attack goes, or what is behind a storm.
func placeOf(s record.AttackState) string {
	if s.Storm != nil {
		return words.Cause(*s.Storm, policy.Policy{}).String()
	}
	return words.Where(s.Attack)
}

// ended is why a page is resolved.
func ended(page record.Page, attack apiclient.Attack, triage record.Triage) string {
	switch {
	case triage.Owner != nil:
		return words.Owner(triage.Owner).String() + ". "
	case triage.Verdict != nil:
		return words.Verdict(*triage.Verdict).String() + ". "
	}
	if attack.Incident() && !page.Incident {
		return "It is an incident now, which has its own pager. "
	}
	return "It needs no page any more. "
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format(time.RFC3339)
}

// links lead to the card's channel, the runbook and the service's console.
func (c Config) links(s record.AttackState) (links []pager.Link) {
	add := func(text, href string) {
		if href != "" {
			links = append(links, pager.Link{Text: text, Href: href})
		}
	}
	if slack, ok := strings.CutSuffix(c.SlackURL, "/api/"); ok && s.Channel != "" {
		add("Slack", slack+"/app_redirect?channel="+s.Channel)
	}
	add("Runbook", cmp.Or(c.Runbooks[s.Attack.Type], c.Runbooks["*"]))
	add("Console", c.Account.ConsoleURL)
	return links
}
