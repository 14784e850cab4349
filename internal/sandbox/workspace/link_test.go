package workspace_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

func TestALinkIsGreeted(t *testing.T) {
	inBubble(t, func(b *bubble) {
		hello := b.connect("").next()
		require.Equal(b.t, "hello", hello.Type)
		require.Equal(b.t, 1, hello.NumConnections)
		require.Equal(b.t, "A0WAFBOT", hello.ConnectionInfo.AppID)
		require.NotEmpty(b.t, hello.DebugInfo.Host)
		require.Equal(b.t, 18060, hello.DebugInfo.ApproximateConnectionTime)
		require.Equal(b.t, 2, b.connect("").next().NumConnections)
		links := b.Links()
		require.Len(b.t, links, 2)
		require.Equal(b.t, b.start, links[0].Since)
		require.NotEqual(b.t, links[0].ID, links[1].ID)
	})
}

func TestAnAddressOpensOneLinkWithin30Seconds(t *testing.T) {
	inBubble(t, func(b *bubble) {
		url := b.call("apps.connections.open", appToken, `{}`)["url"].(string)
		late := b.call("apps.connections.open", appToken, `{}`)["url"].(string)
		time.Sleep(30 * time.Second)
		conn, _, err := b.dialLink(url)
		require.NoError(b.t, err)
		defer conn.Close()
		_, response, err := b.dialLink(url)
		require.Error(b.t, err, "it was used")
		require.Equal(b.t, http.StatusNotFound, response.StatusCode)
		time.Sleep(time.Millisecond)
		_, _, err = b.dialLink(late)
		require.Error(b.t, err, "it is too old")
		_, _, err = b.dialLink("ws://slack.test/slack/link/?ticket=guessed")
		require.Error(b.t, err)
	})
}

func TestAnEleventhLinkIsRefused(t *testing.T) {
	inBubble(t, func(b *bubble) {
		var first *socket
		for range 10 {
			first = b.greeted()
		}
		eleventh := b.connect("")
		got := eleventh.next()
		require.Equal(b.t, "disconnect", got.Type, "without a hello")
		require.Equal(b.t, "too_many_websockets", got.Reason)
		eleventh.ends(false)
		require.Len(b.t, b.Links(), 10)
		require.NoError(b.t, first.conn.Close())
		synctest.Wait()
		require.Equal(b.t, 10, b.connect("").next().NumConnections, "there is room again")
	})
}

func TestPingsComeAndPongsMustNotStayAway(t *testing.T) {
	inBubble(t, func(b *bubble) {
		pinged := make(chan time.Duration, 9)
		silent := b.connect("", func(conn *websocket.Conn) {
			conn.SetPingHandler(func(string) error { pinged <- b.passed(); return nil })
		})
		answering := b.greeted()
		require.Equal(b.t, "hello", silent.next().Type)
		silent.ends(true)
		require.Equal(b.t, 15*time.Second, b.passed(), "three pings without a pong")
		require.Equal(b.t, 5*time.Second, <-pinged)
		require.Equal(b.t, 10*time.Second, <-pinged)
		time.Sleep(time.Hour)
		require.Len(b.t, b.Links(), 1, "who answers stays")
		answering.allRead()
	})
}

func TestARefreshWarnsAndEndsInOrder(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		require.NoError(b.t, b.Refresh(0))
		require.True(b.t, b.Links()[0].Warned)
		require.NoError(b.t, b.Refresh(time.Second), "it is being refreshed already")
		warned := s.next()
		require.Equal(b.t, []string{"disconnect", "warning"}, []string{warned.Type, warned.Reason})
		require.NotEmpty(b.t, warned.DebugInfo.Host)

		time.Sleep(10*time.Second - 1)
		came := b.command("status")
		s.ack(s.next())
		require.True(b.t, (<-came).Acked, "a warned link still gets its share")
		came = b.command("status")
		require.Equal(b.t, "slash_commands", s.next().Type)

		end := s.next()
		require.Equal(b.t, []string{"disconnect", "refresh_requested"}, []string{end.Type, end.Reason})
		require.Equal(b.t, 10*time.Second, end.at-warned.at)
		s.ends(false)
		lost := <-came
		require.False(b.t, lost.Acked)
		require.Equal(b.t, "the app did not respond", lost.Warning)
		require.Empty(b.t, b.Links())
	})
}

func TestTCPClosesAfterTheCloseFrame(t *testing.T) {
	inBubble(t, func(b *bubble) {
		conn, _, err := b.dialLink(b.call("apps.connections.open", appToken, `{}`)["url"].(string))
		require.NoError(b.t, err)
		defer conn.Close()
		conn.SetCloseHandler(func(int, string) error { return nil }) // this app never closes its side
		require.NoError(b.t, b.Refresh(time.Minute))
		for err == nil {
			_, _, err = conn.ReadMessage()
		}
		require.True(b.t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "%v", err)
		require.Equal(b.t, time.Minute, b.passed())
		_, err = conn.NetConn().Read(make([]byte, 1))
		require.ErrorIs(b.t, err, io.EOF)
		require.Equal(b.t, time.Minute+time.Second, b.passed())
	})
}

func TestALinkLastsHoursAndADebugLinkSixMinutes(t *testing.T) {
	inBubble(t, func(b *bubble) {
		usual, debug := b.greeted(), b.connect("&debug_reconnects=true")
		require.Equal(b.t, 360, debug.next().DebugInfo.ApproximateConnectionTime)
		for s, life := range map[*socket]time.Duration{debug: 360 * time.Second, usual: 18060 * time.Second} {
			warned := s.next()
			require.Equal(b.t, []string{"warning", (life - 10*time.Second).String()}, []string{warned.Reason, warned.at.String()})
			end := s.next()
			require.Equal(b.t, []string{"refresh_requested", life.String()}, []string{end.Reason, end.at.String()})
			s.ends(false)
		}
	})
}

func TestOneLinkIsRefreshedOrCut(t *testing.T) {
	inBubble(t, func(b *bubble) {
		first, second, third := b.greeted(), b.greeted(), b.greeted()
		ids := b.Links()
		require.NoError(b.t, b.Refresh(time.Second, ids[0].ID))
		require.NoError(b.t, b.CutLinks(ids[1].ID))
		require.Equal(b.t, "warning", first.next().Reason)
		second.ends(true)
		require.Equal(b.t, "refresh_requested", first.next().Reason)
		first.ends(false)
		require.Equal(b.t, ids[2:], b.Links())
		require.ErrorContains(b.t, b.Refresh(0, "L99"), "L99")
		require.ErrorContains(b.t, b.CutLinks(ids[0].ID), "no such link")
		require.NoError(b.t, b.CutLinks())
		third.ends(true)
	})
}

func TestLinksAreRefreshedAgainAndAgain(t *testing.T) {
	inBubble(t, func(b *bubble) {
		ctx, stop := context.WithCancel(b.t.Context())
		ended := make(chan struct{})
		go func() {
			b.RefreshEvery(ctx, time.Minute, time.Second)
			close(ended)
		}()
		old, young := b.greeted(), b.greeted()
		for n, s := range []*socket{old, young, b.greeted()} {
			warned := s.next()
			require.Equal(b.t, []any{"warning", time.Duration(n+1) * time.Minute}, []any{warned.Reason, warned.at}, "one at a time")
			require.Equal(b.t, warned.at+time.Second, s.next().at)
		}
		stop()
		<-ended
		s := b.greeted()
		time.Sleep(time.Hour)
		require.Empty(b.t, s.frames)
	})
}

func TestSocketModeIsSwitchedOffAndOn(t *testing.T) {
	inBubble(t, func(b *bubble) {
		first, second := b.greeted(), b.greeted()
		url := b.call("apps.connections.open", appToken, `{}`)["url"].(string)
		b.SetSocketMode(false)
		require.False(b.t, b.SocketMode())
		for _, s := range []*socket{first, second} {
			end := s.next()
			require.Equal(b.t, []string{"disconnect", "link_disabled"}, []string{end.Type, end.Reason})
			s.ends(false)
		}
		require.Equal(b.t, "socket_mode_not_enabled", b.call("apps.connections.open", appToken, `{}`)["error"])
		conn, _, err := b.dialLink(url)
		require.NoError(b.t, err)
		defer conn.Close()
		_, raw, err := conn.ReadMessage()
		require.NoError(b.t, err)
		require.Contains(b.t, string(raw), "link_disabled", "instead of a hello")
		lost := <-b.command("status")
		require.Equal(b.t, "the app did not respond", lost.Warning)

		b.SetSocketMode(true)
		came := b.command("status")
		require.Equal(b.t, "the app did not respond", (<-came).Warning)
		s := b.greeted()
		came = b.command("status")
		s.ack(s.next())
		require.True(b.t, (<-came).Acked)
	})
}

func TestWatchWakesWhenLinksChange(t *testing.T) {
	inBubble(t, func(b *bubble) {
		changes := func(what string, do func()) {
			synctest.Wait()
			changed := b.Watch()
			do()
			synctest.Wait()
			select {
			case <-changed:
			default:
				require.Fail(b.t, what+" went unnoticed")
			}
		}
		var s *socket
		changes("opening", func() { s = b.greeted() })
		var came <-chan workspace.Delivery
		changes("delivering", func() { came = b.command("status") })
		changes("acknowledging", func() { s.ack(s.next()) })
		require.True(b.t, (<-came).Acked)
		changes("warning", func() { require.NoError(b.t, b.Refresh(time.Hour)) })
		changes("closing", func() { require.NoError(b.t, s.conn.Close()) })
	})
}

func TestCloseLeavesNothing(t *testing.T) {
	inBubble(t, func(b *bubble) {
		s := b.greeted()
		came := b.command("status")
		s.next()
		b.say("ann", "", "hello")
		s.next()
		b.Close()
		s.ends(true)
		require.NotEmpty(b.t, (<-came).Warning)
		require.Empty(b.t, b.Links())
		_, err := b.Say(workspace.Saying{User: "ann", Text: "anybody there?"})
		require.NoError(b.t, err, "the bubble fails when something is left waiting")
	})
}

func TestALinkOverTCPIsReadableToItsEnd(t *testing.T) {
	t.Parallel()
	w := start(t, func(cfg *workspace.Config) { cfg.Ingress = workspace.IngressSocket })
	var opened struct{ URL string }
	require.NoError(t, json.Unmarshal([]byte(w.asked(t, "apps.connections.open", appToken, true)), &opened))
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), opened.URL, nil)
	require.NoError(t, err)
	defer conn.Close()
	var got frame
	require.NoError(t, conn.ReadJSON(&got))
	require.Equal(t, "hello", got.Type)

	came := make(chan workspace.Delivery, 1)
	go func() {
		d, err := w.Command(t.Context(), workspace.Command{User: "ann", Channel: "#waf", Text: "status"})
		if err != nil {
			d.Err = err.Error()
		}
		came <- d
	}()
	for sent := w.Watch(); w.Links()[0].Delivered == 0; sent = w.Watch() {
		<-sent
	}
	require.NoError(t, w.Refresh(time.Nanosecond))
	for closed := w.Watch(); len(w.Links()) > 0; closed = w.Watch() {
		<-closed
	}
	var kinds []string
	for {
		got = frame{}
		if err := conn.ReadJSON(&got); err != nil {
			require.True(t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "%v", err)
			break
		}
		kinds = append(kinds, got.Type+got.Reason)
	}
	require.Equal(t, []string{"slash_commands", "disconnectwarning", "disconnectrefresh_requested"}, kinds, "all that was written before the end")
	require.Equal(t, "the link closed before the acknowledgement", (<-came).Err)
}
