package main

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/store"
)

// elsewhere has another replica lead, until the returned function is called.
func (w *world) elsewhere() (end func()) {
	w.t.Helper()
	other, err := store.Open(store.Config{URL: w.redis.url})
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	leads, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- other.Lead(ctx, func(ctx context.Context) error {
			close(leads)
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	<-leads
	return func() {
		cancel()
		require.ErrorIs(w.t, <-ended, context.Canceled)
		require.NoError(w.t, other.Close())
	}
}

func TestARestart(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.click("rob", "Deny only")
		card.says("Deny " + attacker + " everywhere for 4 h · Rob Diaz")
		w.types("rob", "mode Shop block for=1h")
		w.click("rob", w.told("rob", "Before you do"), "Do it anyway")
		mode := w.message("#waf", "Switch Shop to block for 1 h · Rob Diaz")
		told := len(w.shown("#waf"))

		w.stop()
		w.start()
		w.polls(4)
		require.Len(t, w.shown("#waf"), told, "nothing is told twice")
		card.undo("ann", "Deny "+attacker)
		card.says("taken back by Anna Weber")
		require.Empty(t, w.entries("acme"))
		w.click("ann", mode, "Undo")
		w.message("#waf", "Undo of: Switch Shop to block for 1 h", "Anna Weber")
		require.Equal(t, []string{"monitoring"}, w.modeRules())
	})
}

func TestAClickThatNobodyHasCarriedOut(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		message := w.card(attacker).now()
		w.stop()
		end := w.elsewhere()
		w.start()
		w.click("rob", message, "Deny only") // this replica only takes it
		w.types("rob", "whoami")
		w.told("rob", "U0ROB0002")
		require.Empty(t, w.sent())
		w.stop()
		require.Empty(t, w.sent())
		end()

		w.start()
		w.told("rob", "Deny "+attacker, "accepted by the service")
		require.Len(t, w.entries("acme"), 1)
		w.card("Deny " + attacker + " everywhere for 4 h · Rob Diaz")
	})
}

func TestRedisAway(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		status, _ := w.get("/readyz")
		require.Equal(t, http.StatusOK, status)

		w.redis.away()
		card.click("rob", "Deny only")
		w.told("rob", "not done: wafbot's memory (Redis) can't be reached")
		w.types("vic", "status")
		w.told("vic", "acme: 1 going on", "What is in force is unknown", "until it can nothing is changed")
		w.types("vic", "lists")
		w.told("vic", "acme: 0 entr")
		status, _ = w.get("/healthz")
		require.Equal(t, http.StatusOK, status)
		status, body := w.get("/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, body, `"ready":false`)
		w.until("it is logged, asked or not", func() bool { return w.journal.has("redis can't be reached") })
		require.Empty(t, w.sent())

		w.redis.back()
		w.until("it is logged", func() bool { return w.journal.has("redis is back") })
		status, _ = w.get("/readyz")
		require.Equal(t, http.StatusOK, status)
		card.click("ann", "Deny only")
		card.says("Deny " + attacker + " everywhere for 4 h · Anna Weber")
		w.polls(3)
		require.Len(t, w.entries("acme"), 1)
		require.Len(t, w.cards("#waf"), 1)
		require.Len(t, w.shown("#waf"), 2, "and nothing is told twice")
	})
}

func TestACardWhoseRecordingGetsNoAnswer(t *testing.T) {
	lossy := func(w *world) {
		const where = "hset\r\n$14\r\n{a:acme}:cards" // of a card; twice, because the client itself tries again
		w.cfg.Redis.URL = apiclient.Secret(w.redis.losing(w.t, where, 2).url)
	}
	story(t, lossy, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		w.polls(8)
		card.click("rob", "Deny only")
		card.says("Deny " + attacker + " everywhere for 4 h · Rob Diaz")
		require.Len(t, w.cards("#waf"), 1)
	})
}
