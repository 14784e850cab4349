// Package routing explains where an attack's card goes, and whom its events mention.
package routing

import (
	"cmp"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// State is what is stored of an attack's routing. The zero value is that of an attack without card.
type State struct {
	Attack record.AttackState
	Page   record.Page
	Card   string // the channel that its card is in; "": in none
}

// Explain holds an account's routes against an attack, and compares them with what was chosen at its first card, which
// is kept.
func Explain(account *config.Account, zone *time.Location, attack apiclient.Attack, s State,
	now time.Time) call.Routing {
	r := call.Routing{
		Quiet: account.Quiet.Hours, QuietNow: account.Quiet.Suppresses(zone, attack, now), MentionedAt: s.Attack.MentionedAt,
		Suppressed: s.Attack.Suppressed,
		PagedAt:    s.Page.TakenAt, Card: s.Card,
	}
	for _, t := range account.Tried(attack) {
		r.Tried = append(r.Tried, call.TriedRoute{Match: account.MatchText(t.Route.Match), Not: t.Mismatch})
		if t.Mismatch == "" {
			r.Channel, r.Mention, r.Calls = t.Route.Channel, t.Route.Mention, t.Route.Mention
		}
	}
	if r.Quiet != "" {
		r.Zone = zone.String()
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
