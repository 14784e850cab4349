package main

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// While Redis is away each answer says what wafbot doesn't know and doesn't do, and everything goes on afterwards.
func TestAnswersWhileRedisIsAway(t *testing.T) {
	overLinks(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card("/login")
		id := card.id()
		status, _ := w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		card.click("rob", "Acknowledge")
		card.says("<@U0ROB0002> is on it")

		w.redis.away()
		const away, unknown = "wafbot's store (Redis) can't be reached", "unknown"
		for line, words := range map[string][]string{
			"deny 198.51.100.9":                     {"not done", away, "nothing is changed"},
			"undo":                                  {"not done", away},
			"mode Shop block":                       {"not done", away},
			"unack attack=" + id:                    {"not done", away},
			"note attack=" + id + " \"looks real\"": {"not done", away},
			"mute attack=" + id:                     {"not done", away},
			"status":                                {"Status of acme", "Going on: 1 attack", "What is in force is unknown", away, "nothing can be changed meanwhile"},
			"attack " + id:                          {"SQL injection · Shop", "Who is on it and what was done is unknown", away},
			"explain attack=" + id:                  {"It goes to channel", unknown, away},
			"attacks":                               {"acme: 1 attack"},
			"lists":                                 {"acme: 0 entries"},
			"rules":                                 {"acme: "},
			"audit":                                 {away, "standard output"},
			"whoami":                                {"Rob Diaz: responder"},
			"help":                                  {"status"},
		} {
			before := len(w.ephemerals("rob", words...))
			w.types("rob", line)
			w.until("an answer to "+line, func() bool { return len(w.ephemerals("rob", words...)) > before })
		}
		require.Empty(t, w.sent())
		status, _ = w.get("/healthz")
		require.Equal(t, http.StatusOK, status)
		status, body := w.get("/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, body, `"ready":false`)
		w.until("it is logged, asked or not", func() bool { return w.journal.has("redis can't be reached") })

		w.redis.back()
		w.until("it is logged", func() bool { return w.journal.has("redis is back") })
		status, _ = w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		w.attack(waf.AttackSpec{Path: "/later", Hits: 100, Started: waf.Duration(time.Minute)})
		w.card("/later")
		card.click("rob", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.until("the denial is at the service", func() bool { return len(w.entries("acme")) == 1 }) // the card is drawn while it is under way, too
		w.polls(3)
		require.Len(t, w.cards("#waf"), 2)
		require.Len(t, w.shown("#waf"), 3, "and nothing is posted twice")
	})
}

// asks sends commands to a real Redis as an administrator does.
func (m redisServer) asks(t *testing.T, commands ...string) {
	t.Helper()
	where, err := url.Parse(m.url)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", where.Host)
	require.NoError(t, err)
	defer conn.Close()
	for _, command := range commands {
		_, err = fmt.Fprintf(conn, "%s\r\n", command)
		require.NoError(t, err)
		answer := make([]byte, 64)
		n, err := conn.Read(answer)
		require.NoError(t, err)
		require.Equal(t, "+OK\r\n", string(answer[:n]), command)
	}
}

// A Redis that takes no writes is reported as such: it answers, so that it is clear that nothing was recorded.
func TestRedisTakesNoWrites(t *testing.T) {
	full.Only(t)
	t.Parallel()
	for name, c := range map[string]struct{ on, off string }{
		"full":      {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
		"read-only": {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := realRedis(t)
			playOver(t, redis, workspace.IngressHTTP, asItIs, func(t *testing.T, w *world) {
				w.attack(injection())
				card := w.card("/login")
				redis.asks(t, c.on)
				card.click("rob", "Deny "+attacker)
				w.ephemeral("rob", "not done: wafbot's store (Redis) takes nothing just now")
				w.types("rob", "status")
				w.ephemeral("rob", "Status of acme", "Going on: 1 attack")
				status, body := w.get("/readyz")
				require.Equal(t, 503, status)
				require.Contains(t, body, "can't be written")
				require.Empty(t, w.sent())
				redis.asks(t, c.off)
				w.attack(waf.AttackSpec{Path: "/later", Hits: 100, Started: waf.Duration(time.Minute)})
				w.card("/later")
				card.click("rob", "Deny "+attacker)
				card.says("Deny "+attacker+" · ", "Rob Diaz")
				w.until("denied", func() bool { return len(w.entries("acme")) == 1 })
				require.Equal(t, 2, len(w.cards("#waf")))
			})
		})
	}
}
