// Package routing explains where an attack's card goes, and whom its events mention.
package routing

import (
	"cmp"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller"
)

// Rules are what an account's configuration says about routing.
type Rules struct {
	Routes []poller.Route
	Quiet  poller.QuietHours
	Hours  string // of Quiet, as the configuration says them; "": there are none
}

// State is what is stored of an attack's routing. The zero value is that of an attack without card.
type State struct {
	Attack record.AttackState
	Page   record.Page
	Card   string // the channel that its card is in; "": in none
}

// Explain holds an account's routes against an attack, and compares them with what was chosen at its first card, which is kept.
func Explain(rules Rules, attack apiclient.Attack, s State, now time.Time) call.Routing {
	r := call.Routing{
		Quiet: rules.Hours, QuietNow: rules.Quiet.Suppresses(attack, now), MentionedAt: s.Attack.MentionedAt, Suppressed: s.Attack.Suppressed,
		PagedAt: s.Page.TakenAt, Card: s.Card,
	}
	for _, t := range poller.Explain(rules.Routes, attack) {
		r.Tried = append(r.Tried, call.TriedRoute{Match: t.Route.Match.String(), Not: t.Mismatch})
		if t.Mismatch == "" {
			r.Channel, r.Mention, r.Calls = t.Route.Channel, t.Route.Mention, t.Route.Mention
		}
	}
	if r.Quiet != "" {
		r.Zone = rules.Quiet.Zone.String()
	}
	if r.Notified = s.Attack.Notified && (s.Attack.StormID == "" || s.Attack.OwnCard); r.Notified {
		r.Calls = cmp.Or(s.Attack.Mention, s.Attack.SuppressedMention)
		r.Kept = r.Channel != s.Attack.Channel || r.Mention != r.Calls
	}
	if s.Attack.Pager != nil {
		r.PageAfter = s.Attack.Pager.After
	}
	return r
}
