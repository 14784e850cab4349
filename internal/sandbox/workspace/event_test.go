package workspace_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// inner is an event without its outer envelope.
func inner(t *testing.T, e workspace.Event) map[string]any {
	t.Helper()
	var outer struct{ Event map[string]any }
	require.NoError(t, json.Unmarshal(e.Payload, &outer))
	return outer.Event
}

// settledEvents lists the events so far, when nothing happens any more.
func (b *bubble) settledEvents() (events []map[string]any) {
	b.t.Helper()
	synctest.Wait()
	for _, e := range b.Events() {
		events = append(events, inner(b.t, e))
	}
	return events
}

func subscribed(events ...string) func(*workspace.Config) {
	return func(cfg *workspace.Config) { cfg.Events = events }
}

func TestAMentionIsAnEvent(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		said := b.say("eve", "#waf", "@wafbot status")
		got := s.next()
		require.Equal(b.t, "events_api", got.Type)
		require.False(b.t, got.AcceptsResponsePayload)
		require.Zero(b.t, *got.RetryAttempt)
		s.ack(got)
		synctest.Wait()

		e := b.Events()[0]
		require.Equal(b.t, []any{"app_mention", "C1WAF", true}, []any{e.Type, e.Channel, e.Done})
		require.Len(b.t, e.Attempts, 1)
		require.True(b.t, e.Attempts[0].Acked)
		parsed, err := slackevents.ParseEvent(e.Payload, slackevents.OptionNoVerifyToken())
		require.NoError(b.t, err)
		mention := parsed.InnerEvent.Data.(*slackevents.AppMentionEvent)
		require.Equal(b.t, []string{"U3EVE", "<@U0WAFBOT> status", said.TS, "C1WAF", said.TS, "T9OTHER"},
			[]string{mention.User, mention.Text, mention.TimeStamp, mention.Channel, mention.EventTimeStamp, mention.UserTeam})
		outer := parsed.Data.(*slackevents.EventsAPICallbackEvent)
		require.Equal(b.t, []any{e.ID, "A0WAFBOT", "T0SANDBOX", int(b.start.Unix()), true},
			[]any{outer.EventID, outer.APIAppID, outer.TeamID, outer.EventTime, outer.IsExtSharedChannel})
		require.Equal(b.t, []slack.EventAuthorization{{TeamID: "T0SANDBOX", UserID: "U0WAFBOT", IsBot: true}}, outer.Authorizations)
		for _, field := range []string{"token", "context_team_id", "event_context", "event_callback"} {
			require.Contains(b.t, string(e.Payload), field)
		}
		require.Equal(b.t, said.ClientMsgID, inner(b.t, e)["client_msg_id"])
	})
}

func TestWhichEventsTheBotGets(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.say("ann", "#waf", "no user is meant")
		b.say("ann", "#waf", "wafbot without the sign")
		b.say("ann", "#nobot", "@wafbot where it is not")
		require.Empty(b.t, b.settledEvents())
		first := b.say("ann", "#waf", "@wafbot status")
		_, err := b.Say(workspace.Saying{User: "ann", Channel: "#waf", ThreadTS: first.TS, Text: "and @wafbot in the thread"})
		require.NoError(b.t, err)
		alone := b.say("ann", "", "@wafbot alone")
		events := b.settledEvents()
		require.Len(b.t, events, 3)
		require.Equal(b.t, first.TS, events[1]["thread_ts"])
		require.NotContains(b.t, events[0], "thread_ts")
		require.Equal(b.t, []any{"message", "im", alone.Channel, "U1ANN"},
			[]any{events[2]["type"], events[2]["channel_type"], events[2]["channel"], events[2]["user"]}, "no app_mention there")

		b.call("chat.postMessage", token, `{"channel":"U1ANN","text":"the bot's own"}`)
		own := b.settledEvents()[3]
		require.Equal(b.t, []any{"message", "B0WAFBOT", "U0WAFBOT"}, []any{own["type"], own["bot_id"], own["user"]})
		b.call("chat.postMessage", token, `{"channel":"C1WAF","text":"in a channel"}`)
		b.call("chat.postEphemeral", token, `{"channel":"C1WAF","user":"U1ANN","text":"for one"}`)
		require.Len(b.t, b.settledEvents(), 4, "channels aren't subscribed to")
	})
}

func TestAMentionIsAMessageToo(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.say("ann", "#waf", "@wafbot status")
		b.say("ann", "#ours", "psst")
		require.Len(b.t, b.settledEvents(), 3)
		events := b.Events()
		mention, message, private := inner(b.t, events[0]), inner(b.t, events[1]), inner(b.t, events[2])
		require.Equal(b.t, []any{"app_mention", "message", "message"}, []any{mention["type"], message["type"], private["type"]})
		require.Equal(b.t, []any{"channel", "group"}, []any{message["channel_type"], private["channel_type"]})
		require.Equal(b.t, mention["ts"], message["ts"])
		require.Equal(b.t, mention["client_msg_id"], message["client_msg_id"])
		require.NotEqual(b.t, events[0].ID, events[1].ID)
		b.call("chat.postMessage", token, `{"channel":"C1WAF","text":"the bot's own"}`)
		require.Equal(b.t, "B0WAFBOT", b.settledEvents()[3]["bot_id"])
	}, subscribed("app_mention", "message.channels", "message.groups"))
}

func TestWithoutItsScopeAnEventIsNotSent(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.say("ann", "#waf", "@wafbot status")
		b.say("ann", "", "status")
		require.Empty(b.t, b.settledEvents())
	}, func(cfg *workspace.Config) { cfg.Scopes = []string{"chat:write"} })
}

func TestAnEditIsAnEventAndMentionsAgain(t *testing.T) {
	inBubble(t, func(b *bubble) {
		said := b.say("ann", "#waf", "@wafbot statsu")
		require.NoError(b.t, b.Edit("ann", "#waf", said.TS, "@wafbot status"))
		events := b.settledEvents()
		require.Len(b.t, events, 4)
		again, changed := events[2], events[3]
		require.Equal(b.t, []any{"app_mention", said.TS, "<@U0WAFBOT> status"}, []any{again["type"], again["ts"], again["text"]})
		require.NotEqual(b.t, said.TS, again["event_ts"])
		require.Equal(b.t, map[string]any{"user": "U1ANN", "ts": again["event_ts"]}, again["edited"])
		require.Equal(b.t, []any{"message_changed", true, again["event_ts"]}, []any{changed["subtype"], changed["hidden"], changed["ts"]})
		require.Equal(b.t, "<@U0WAFBOT> status", changed["message"].(map[string]any)["text"])
		require.Equal(b.t, "<@U0WAFBOT> statsu", changed["previous_message"].(map[string]any)["text"])
	}, subscribed("app_mention", "message.channels"))
}

func TestADeletionIsAnEvent(t *testing.T) {
	inBubble(t, func(b *bubble) {
		parent := b.say("ann", "#waf", "parent")
		reply, err := b.Say(workspace.Saying{User: "ann", Channel: "#waf", ThreadTS: parent.TS, Text: "reply"})
		require.NoError(b.t, err)
		require.NoError(b.t, b.Delete("ann", "#waf", parent.TS))
		require.NoError(b.t, b.Delete("ann", "#waf", reply.TS))
		events := b.settledEvents()
		require.Len(b.t, events, 4)
		buried, deleted := events[2], events[3]
		require.Equal(b.t, []any{"message_changed", true}, []any{buried["subtype"], buried["hidden"]}, "a message with replies leaves a tombstone")
		require.Equal(b.t, "tombstone", buried["message"].(map[string]any)["subtype"])
		require.Equal(b.t, "parent", buried["previous_message"].(map[string]any)["text"])
		require.Equal(b.t, []any{"message_deleted", true, reply.TS}, []any{deleted["subtype"], deleted["hidden"], deleted["deleted_ts"]})
		require.Equal(b.t, "reply", deleted["previous_message"].(map[string]any)["text"])
		require.Equal(b.t, deleted["event_ts"], deleted["ts"])
	}, subscribed("message.channels"))
}

func TestAnEventIsRetriedOnAnotherLink(t *testing.T) {
	inBubble(t, func(b *bubble) {
		first := b.greeted()
		b.say("ann", "#waf", "@wafbot status")
		lost := first.next()
		second := b.greeted()
		require.NoError(b.t, b.CutLinks(b.Links()[0].ID))
		got := second.next()
		require.Zero(b.t, b.passed())
		require.Equal(b.t, []any{1, "timeout"}, []any{*got.RetryAttempt, got.RetryReason})
		require.Equal(b.t, lost.Payload, got.Payload, "the same event_id")
		require.NotEqual(b.t, lost.EnvelopeID, got.EnvelopeID)
		second.ack(got)
		time.Sleep(time.Hour)
		require.Empty(b.t, second.frames)
		require.True(b.t, b.Events()[0].Done)
	})
}

func TestAnUnacknowledgedEventIsGivenUp(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		b.say("ann", "", "status")
		for attempt, at := range []time.Duration{0, 3 * time.Second, 66 * time.Second, 369 * time.Second} {
			got := s.next()
			require.Equal(b.t, []any{attempt, at}, []any{*got.RetryAttempt, got.at}, "at once, a minute and five minutes after a failure")
		}
		time.Sleep(time.Hour)
		require.Empty(b.t, s.frames)
		require.True(b.t, b.Events()[0].Done)
		require.Len(b.t, b.Events()[0].Attempts, 4)
	})
}

func TestAnEventWaitsForALink(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.say("ann", "", "status")
		time.Sleep(time.Second)
		s := b.greeted()
		got := s.next()
		require.Equal(b.t, []any{2, 6 * time.Second}, []any{*got.RetryAttempt, got.at}, "a minute at ten times the speed")
		s.ack(got)
	}, func(cfg *workspace.Config) { cfg.Speed = 10 })
}

func TestEventsOverHTTPAreRetried(t *testing.T) {
	var came chan *http.Request
	inBubble(t, func(b *bubble) {
		b.say("ann", "", "status")
		for attempt, want := range []struct {
			num, reason string
			at          time.Duration
		}{{"", "", 0}, {"1", "http_error", 0}, {"2", "http_error", time.Minute}, {"3", "http_error", 6 * time.Minute}} {
			r := <-came
			require.Equal(b.t, "/slack/events", r.URL.Path)
			require.Equal(b.t, []string{want.num, want.reason}, []string{r.Header.Get("X-Slack-Retry-Num"), r.Header.Get("X-Slack-Retry-Reason")})
			require.Equal(b.t, want.at, b.passed())
			synctest.Wait()
			sent := b.Events()[0].Attempts[attempt]
			got := received{header: r.Header, body: sent.EnvelopeBody}
			require.Equal(b.t, signature(got), r.Header.Get("X-Slack-Signature"), "signed again")
			require.Equal(b.t, time.Now().Unix(), mustInt(b.t, r.Header.Get("X-Slack-Request-Timestamp")))
		}
		require.True(b.t, b.Events()[0].Done)
		require.True(b.t, b.Events()[0].Attempts[3].Acked, "any 2xx will do")
	}, answering(&came, 500, 404, 302, 204))
}

func TestABotCanRefuseRetries(t *testing.T) {
	var came chan *http.Request
	inBubble(t, func(b *bubble) {
		b.say("ann", "", "status")
		time.Sleep(time.Hour)
		require.Len(b.t, came, 1)
		require.True(b.t, b.Events()[0].Done)
	}, answering(&came, http.StatusGone))
}

func TestEventsThatAreLostDoubledOrGoBothWays(t *testing.T) {
	var came chan *http.Request
	inBubble(t, func(b *bubble) {
		b.SetFault(workspace.Fault{Kind: "lost_click", Times: 1})
		b.say("ann", "", "lost")
		b.SetFault(workspace.Fault{Kind: "duplicate_delivery", Times: 1})
		b.say("ann", "", "doubled")
		synctest.Wait()
		events := b.Events()
		require.Empty(b.t, events[0].Attempts)
		require.True(b.t, events[0].Done)
		require.Equal(b.t, events[1].Attempts[0].Headers, events[1].Attempts[1].Headers, "the same signed bytes")
		require.Len(b.t, came, 2)

		s := b.greeted()
		require.NoError(b.t, b.SetIngress(workspace.IngressBoth))
		b.say("ann", "", "both")
		s.ack(s.next())
		synctest.Wait()
		require.Len(b.t, came, 3)
		both := b.Events()[2]
		require.True(b.t, both.Done)
		require.ElementsMatch(b.t, []workspace.Ingress{"http", "socket"}, []workspace.Ingress{both.Attempts[0].Via, both.Attempts[1].Via})
		require.Equal(b.t, both.Attempts[0].Payload, both.Attempts[1].Payload)
	}, answering(&came, 200))
}
