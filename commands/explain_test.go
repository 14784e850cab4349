package commands_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.attackOn("/login")
	tried := []commands.TriedRoute{
		{Match: "kind incident", Not: "kind"}, {Match: "type xss", Not: "type"}, {Match: "application 7", Not: "application"}, {Match: "host x.example", Not: "host"},
		{Match: "status blocked", Not: "status"}, {Match: "min_hits 5000", Not: "min_hits"},
	}
	w.routing = commands.Routing{Tried: tried}
	said := text(w.reads(eve, "explain attack="+id))
	for _, part := range []string{"No route takes it", "route 1 takes kind incident: no, kind is attack", "no, type is sqli", "no, application is Shop", "no, host is shop.example.com",
		"no, status is not_blocked", "no, min_hits is 10", "It has no card yet", "It isn't muted"} {
		require.Contains(t, said, part)
	}
	w.routing = commands.Routing{Tried: append(tried, commands.TriedRoute{Match: "everything"}), Channel: "C1", Mention: "S0ONCALL", Told: true}
	said = text(w.reads(eve, "explain attack="+id))
	for _, part := range []string{"It goes to channel C1 by route 7 and calls @S0ONCALL", "route 7 takes everything: this one", "its card is on its way"} {
		require.Contains(t, said, part)
	}
	w.routing.Card = "C2"
	w.pass(20 * time.Minute)
	require.Contains(t, text(w.reads(eve, "explain attack="+id)), "Its card is in channel C2")
	require.Contains(t, text(w.reads(eve, "explain attack="+id)), "It is quiet: no hit in the last 15 min")
	require.Equal(t, "C2", w.program("explain attack=" + id)["data"].(map[string]any)["card"])
}

func TestExplainWithoutMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *commands.Config) {
		c.Explain = func(context.Context, string, apiclient.Attack) (commands.Routing, error) {
			return commands.Routing{Tried: []commands.TriedRoute{{Match: "everything"}}, Channel: "C1"}, errors.New("away")
		}
	})
	said := text(w.reads(eve, "explain attack="+w.attackOn("/login")))
	require.Contains(t, said, "It goes to channel C1 by route 1 and calls nobody")
	require.Contains(t, said, "is unknown: wafbot's memory (Redis) can't be reached")
}
