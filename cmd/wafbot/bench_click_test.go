package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/blockkit"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// clickTimes are how long after a signed click it was acknowledged, its call arrived at the service, and its card was redrawn.
type clickTimes struct{ acknowledged, called, drawn durations }

// BenchmarkClick is a signed click on Deny, each on another source: until it is acknowledged, by which it is written down in Redis; until its call
// arrives at the service; until the redrawn card arrives at Slack. Beside it in the same run a careless bot, which has all of that go wrong where
// anything does.
func BenchmarkClick(b *testing.B) {
	s := newStage(b, unlimited())
	bot := s.run(b, theBot)
	clicks := s.newClicks(b)
	var times, carelessTimes clickTimes
	for range enough {
		sent := clicks.timed(b, bot, &times)
		s.seen.await(b, "replied", sent.source) // the last that it does for a click: the next one finds it idle
	}
	bot.stop()
	careless := s.run(b, carelessClicker)
	for range enough {
		clicks.timed(b, careless, &carelessTimes)
	}
	for b.Loop() { // the stage has its own clock
	}
	for _, m := range []struct {
		what          string
		bot, careless durations
	}{{"ack", times.acknowledged, carelessTimes.acknowledged}, {"call", times.called, carelessTimes.called}, {"card", times.drawn, carelessTimes.drawn}} {
		reportBeside(b, m.what+"-", m.bot, m.careless)
	}
}

// clicks makes clicks on Deny as Slack sends them, each signed and of another source, whose answers come to the stage.
type clicks struct {
	s       *stage
	payload map[string]any
	n       int
}

// newClicks takes the first click off a card of wafbot's, and waits until it is carried out.
func (s *stage) newClicks(b *testing.B) *clicks {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patienceOfBench)
	defer cancel()
	card := s.card(b, "/clicked")
	i := slices.IndexFunc(card.Buttons(), func(button blockkit.Button) bool { return strings.HasPrefix(button.Value, "deny ") })
	require.GreaterOrEqual(b, i, 0, "%+v", card.Buttons())
	first, err := s.slack.Click(ctx, workspace.Click{User: "rob", Channel: "waf", TS: card.TS, Button: card.Buttons()[i].Value})
	require.NoError(b, err)
	_, err = s.slack.WaitEphemeral(ctx, "rob", func(m workspace.Message) bool { return says(m, "accepted by the service") })
	require.NoError(b, err)
	values, err := url.ParseQuery(first.EnvelopeBody)
	require.NoError(b, err)
	c := &clicks{s: s}
	require.NoError(b, json.Unmarshal([]byte(values.Get("payload")), &c.payload))
	c.payload["response_url"] = s.url + "/answer"
	return c
}

// card starts an attack and waits for its card.
func (s *stage) card(b *testing.B, path string) workspace.Message {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patienceOfBench)
	defer cancel()
	_, err := s.waf.StartAttack(waf.AttackSpec{Path: path, Hits: 100, Started: waf.Duration(time.Minute)})
	require.NoError(b, err)
	card, err := s.slack.WaitMessage(ctx, "#waf", func(m workspace.Message) bool { return says(m, path) })
	require.NoError(b, err)
	return card
}

// clicked is a click that was acknowledged.
type clicked struct {
	source       string // to be denied
	at           time.Time
	acknowledged time.Duration // after that
}

// click sends the next click.
func (c *clicks) click(b *testing.B, to *program) clicked {
	b.Helper()
	c.n++
	sent := clicked{source: fmt.Sprintf("45.0.%d.%d", c.n/250, 1+c.n%250)}
	action := c.payload["actions"].([]any)[0].(map[string]any)
	line := strings.Fields(action["value"].(string))
	line[1] = sent.source
	c.payload["trigger_id"], action["value"] = strconv.Itoa(c.n), strings.Join(line, " ")
	text, err := json.Marshal(c.payload)
	require.NoError(b, err)
	body := url.Values{"payload": {string(text)}}.Encode()
	req := signedRequest(b, to.address+"/slack/interactions", form, body, benchSecret, time.Now())
	sent.at = time.Now()
	res, err := http.DefaultClient.Do(req)
	require.NoError(b, err)
	_, err = io.Copy(io.Discard, res.Body)
	sent.acknowledged = time.Since(sent.at)
	require.NoError(b, err)
	res.Body.Close()
	require.Equal(b, http.StatusOK, res.StatusCode)
	return sent
}

// timed clicks, waits until the click is answered, and adds how long each part of it took.
func (c *clicks) timed(b *testing.B, to *program, times *clickTimes) clicked {
	b.Helper()
	sent := c.click(b, to)
	times.acknowledged.add(sent.acknowledged)
	called := c.s.seen.await(b, "called", sent.source)
	times.called.add(called.Sub(sent.at))
	times.drawn.add(c.s.seen.awaitAfter(b, "drawn", "", called).Sub(sent.at)) // one card shows all the clicks' changes, the last by name
	c.s.seen.await(b, "answered", sent.source)
	return sent
}

// atOnce clicks so many times without waiting, and returns how long each took until it was answered.
func (c *clicks) atOnce(b *testing.B, to *program, n int) (took durations) {
	b.Helper()
	var all []clicked
	for range n {
		all = append(all, c.click(b, to))
	}
	for _, one := range all {
		took.add(c.s.seen.await(b, "answered", one.source).Sub(one.at))
	}
	return took
}
