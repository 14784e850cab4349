package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/describe"
	"github.com/wafbot/wafbot/commands/policy"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// pagerCalls counts what became of calls of pagers.
func pagerCalls() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "wafbot", Name: "pager_calls_total", Help: "Calls of pagers, and ends of calls, by what came of them: taken, failed (and tried again), refused.",
	}, []string{"account", "outcome"})
}

// How much of what strangers wrote a pager is shown, in characters.
const (
	pagedName  = 60
	pagedTotal = 500
)

// severity is how bad an attack is, for pagers.
func severity(s record.AttackState) string {
	switch {
	case s.Attack.Incident():
		return pager.Critical
	case describe.StatusName(s.Attack) == "not blocked":
		return pager.Error
	}
	return pager.Warning
}

// pageEvent is what a pager is told. Of an attack that is forgotten only its page is known.
func (a *app) pageEvent(account config.Account, page record.Page, s record.AttackState, said record.Triage) pager.Event {
	attack := s.Attack
	e := pager.Event{
		ID: page.ID, Since: page.Since, Account: account.Name, Attack: page.Attack, Severity: page.Severity, Resolve: page.State == record.PageEnding,
		Incident: attack.Incident(), Source: text.Sanitize(cmp.Or(attack.Domain, account.Name), pagedName), App: text.Sanitize(a.tenants[account.Name].AppName(attack.App), pagedName),
		Type: text.Sanitize(attack.Type, pagedName), Console: account.ConsoleURL,
	}
	what, where := a.paged(account, e, s), placeOf(s)
	state := "Nobody on it since " + page.Since.UTC().Format("15:04 UTC") + ". "
	if e.Resolve {
		state = ended(page, attack, said)
	}
	e.Summary = text.Sanitize(what+state+where, pagedTotal)
	e.Details = map[string]string{
		"attack": page.Attack, "account": account.Name, "status": describe.StatusName(attack), "hits": attack.Hits.String(), "where": where,
		"first_hit": moment(attack.First), "last_hit": moment(attack.Last), "to_acknowledge": "click Acknowledge on the card, or type: ack attack=" + page.Attack,
	}
	if top, ok := call.TopSource(attack); ok {
		e.Details["top_source"] = top.IP.String()
	}
	e.Links = a.pageLinks(account, s)
	return e
}

// paged says in short what a pager is called for, but where it is: that its attacker wrote.
func (a *app) paged(account config.Account, e pager.Event, s record.AttackState) string {
	attack := s.Attack
	if s.Storm != nil {
		storm := record.Storm(*s.Storm)
		return fmt.Sprintf("STORM: %d attacks on %s, %s, %s hits, %d incidents beside it. ", storm.Grouped,
			text.Sanitize(describe.StormOn(storm, a.tenants[account.Name]), pagedName), describe.StormBlocking(storm), attack.Hits, storm.Incidents)
	}
	kind := "Attack"
	if attack.Incident() {
		kind = "INCIDENT"
	}
	return fmt.Sprintf("%s %s: %s on %s, %s hits. ", kind, describe.StatusName(attack), describe.TypeName(e.Type), e.App, attack.Hits)
}

// placeOf is where an attack goes, or what is behind a storm.
func placeOf(s record.AttackState) string {
	if s.Storm != nil {
		return describe.StormCause(record.Storm(*s.Storm), policy.Policy{}).String()
	}
	return describe.Where(s.Attack)
}

// ended is why nobody need be called any more.
func ended(page record.Page, attack apiclient.Attack, said record.Triage) string {
	switch {
	case said.Owner != nil:
		return describe.OwnerLine(said.Owner).String() + ". "
	case said.Verdict != nil:
		return describe.VerdictLine(*said.Verdict).String() + ". "
	}
	if attack.Incident() && !page.Incident {
		return "It is an incident now, which has its own pager. "
	}
	return "Nobody need be called any more. "
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format(time.RFC3339)
}

// pageLinks lead to the card's channel, the runbook and the service's console.
func (a *app) pageLinks(account config.Account, s record.AttackState) (links []pager.Link) {
	add := func(text, href string) {
		if href != "" {
			links = append(links, pager.Link{Text: text, Href: href})
		}
	}
	if slack, ok := strings.CutSuffix(a.cfg.Slack.APIURL, "/api/"); ok && s.Channel != "" {
		add("Slack", slack+"/app_redirect?channel="+s.Channel)
	}
	add("Runbook", cmp.Or(a.cfg.Runbooks[s.Attack.Type], a.cfg.Runbooks["*"]))
	add("Console", account.ConsoleURL)
	return links
}
