package commands_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	tried := []call.TriedRoute{
		{Match: "kind incident", Not: "kind"}, {Match: "type xss", Not: "type"}, {Match: "application 7", Not: "application"}, {Match: "host x.example", Not: "host"},
		{Match: "status blocked", Not: "status"}, {Match: "min_hits 5000", Not: "min_hits"},
	}
	w.routing = call.Routing{Tried: tried}
	said := textOf(w.reads(eve, "explain attack="+id))
	for _, part := range []string{"No route takes it", "route 1 takes kind incident: no, kind is attack", "no, type is sqli", "no, application is Shop", "no, host is shop.example.com",
		"no, status is not_blocked", "no, min_hits is 10", "It has no card yet", "It isn't muted"} {
		require.Contains(t, said, part)
	}
	w.routing = call.Routing{Tried: append(tried, call.TriedRoute{Match: "everything"}), Channel: "C1", Mention: "S0ONCALL", Calls: "S0ONCALL", Notified: true}
	said = textOf(w.reads(eve, "explain attack="+id))
	for _, part := range []string{"It goes to channel C1 by route 7 and mentions @S0ONCALL", "route 7 takes everything: this one", "its card is on its way"} {
		require.Contains(t, said, part)
	}
	require.NotContains(t, said, "pager")
	require.NotContains(t, said, "Quiet hours")
	w.routing.Quiet, w.routing.Zone, w.routing.QuietNow = "22:00-07:00", "Europe/Berlin", true
	said = textOf(w.reads(eve, "explain attack="+id))
	require.Contains(t, said, "Who acknowledges it is mentioned in place of @S0ONCALL when it gets worse, at most once in 10 min but for its becoming an incident")
	require.Contains(t, said, "Quiet hours are 22:00-07:00 (Europe/Berlin): now, and it mentions no user in them")
	w.routing.QuietNow, w.routing.Suppressed, w.routing.MentionedAt = false, true, w.clock()
	said = textOf(w.reads(eve, "explain attack="+id))
	require.Contains(t, said, "becoming an incident; last 2026-11-20 03:00 UTC")
	require.Contains(t, said, "not now, or it mentions people in them all the same. No user has been mentioned about it because of them since it got worse")
	w.routing.Card, w.routing.PageAfter = "C2", 5*time.Minute
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "Its pager is called when unacknowledged for 5 min; it was not called so far")
	w.routing.PagedAt = w.clock()
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "it was last called at 2026-11-20 03:00 UTC")
	w.pass(20 * time.Minute)
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "Its card is in channel C2, where it stays unless it becomes an incident that a route wants elsewhere")
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "It is quiet: no hit in the last 15 min")
	w.routing.Kept, w.routing.Mention = true, ""
	said = textOf(w.reads(eve, "explain attack="+id))
	require.Contains(t, said, "As it is now it would go to channel C1 by route 7 and mention no user. What was chosen")
	require.Contains(t, said, "is mentioned in place of @S0ONCALL when it gets worse")
	w.routing.Channel, w.routing.Tried = "", tried
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "No route takes it as it is now. What was chosen")
	require.Equal(t, "C2", w.program("explain attack=" + id)["data"].(map[string]any)["card"])
}

func TestExplainWithoutTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) {
		c.Routing = func(context.Context, string, apiclient.Attack) (call.Routing, error) {
			return call.Routing{Tried: []call.TriedRoute{{Match: "everything"}}, Channel: "C1"}, errors.New("away")
		}
	})
	said := textOf(w.reads(eve, "explain attack="+w.attackOn("/login")))
	require.Contains(t, said, "It goes to channel C1 by route 1 and mentions no user")
	require.Contains(t, said, "is unknown: wafbot's store (Redis) can't be reached")
}

// What is stored of an attack without a card is up to an hour old: why it has none is explained by what goes on now.
func TestExplainReadsTheServiceFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	w.pass(time.Minute)
	all, err := w.service.State("acme")
	require.NoError(t, err)
	old := apiclient.Attack{ID: all.Attacks[0].ID, Type: "sqli", Hits: apiclient.Known(5), Last: w.clock().Add(-50 * time.Minute)}
	w.knows(old)
	var asked apiclient.Attack
	w.cfg.Routing = func(_ context.Context, _ string, a apiclient.Attack) (call.Routing, error) {
		asked = a
		return call.Routing{}, nil
	}
	w.Runner = commands.New(w.cfg)
	w.writes(ann, "mute source=203.0.113.0/24")
	w.writes(ann, "mute type=sqli app=Shop")
	said := textOf(w.reads(eve, "explain attack="+id))
	require.Greater(t, asked.Hits.N, int64(5))
	require.NotContains(t, said, "It is quiet")
	require.Contains(t, said, "Muted: type=sqli app=4 until")
	data := w.program("explain attack=" + id)["data"].(map[string]any)
	require.Equal(t, "sqli", data["muted"].(map[string]any)["type"])
	require.Equal(t, []any{}, data["tried"])

	w.fault("POST /v1/objects/attack", "status:500", 2)
	require.Contains(t, textOf(w.reads(eve, "explain attack="+id)), "The service doesn't answer: these figures are the last that wafbot saw")
	require.Equal(t, old, asked)
}
