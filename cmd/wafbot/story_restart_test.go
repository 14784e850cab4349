package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// other is another replica, which takes work and never finishes any.
type other struct {
	inbox *store.Inbox
	took  chan string
	die   func()
}

// another starts another replica on the same Redis.
func (w *world) another() other {
	w.t.Helper()
	s, err := store.Open(store.Config{Address: address.Options{URL: w.redis.url}})
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	o := other{inbox: s.Inbox, took: make(chan string, 100)}
	var both sync.WaitGroup
	both.Go(func() { _ = s.Replicas.Beat(ctx) })
	both.Go(func() {
		_ = s.Inbox.Work(ctx, func(p *store.Piece) {
			o.took <- string(p.Work())
			logAs(w.journal, config.Log{}).Info("another replica takes work") // which wakes the story that waits for it
		})
	})
	o.die = sync.OnceFunc(func() {
		cancel()
		both.Wait()
		require.NoError(w.t, s.Close())
	})
	w.t.Cleanup(o.die)
	return o
}

// typed is a line of Rob's that Slack delivers to that replica, and not to the story's.
func (o other) typed(w *world, verb, object string) {
	w.t.Helper()
	rob := record.Actor{ID: "U0ROB0002", Team: "T0SANDBOX", Name: "rob", Via: record.ViaSlash}
	work, err := json.Marshal(map[string]any{
		"version": 1, "channel": w.cfg.Accounts[0].Channel,
		"invocation": call.Invocation{Line: record.Line{Name: verb, Words: []string{object}}, Actor: rob, ID: object, At: time.Now()},
	})
	require.NoError(w.t, err)
	fresh, waiting, err := o.inbox.Accept(w.t.Context(), work, record.Lane{Team: rob.Team, User: rob.ID}, object)
	require.NoError(w.t, err)
	require.True(w.t, fresh)
	require.Zero(w.t, waiting)
}

func TestARestart(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.click("rob", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.types("rob", "mode Shop block for=1h")
		w.confirms("rob", "Before you do")
		mode := w.message("#waf", "Switch Shop to block for 1 h · Rob Diaz")
		posted := len(w.shown("#waf"))

		w.stop()
		w.start()
		w.polls(4)
		require.Len(t, w.shown("#waf"), posted, "nothing is posted twice")
		card.undo("ann", "Deny "+attacker)
		card.undone("Anna Weber")
		require.Empty(t, w.entries("acme"))
		w.click("ann", mode, "Undo")
		w.message("#waf", "Undo of: Switch Shop to block for 1 h", "Anna Weber")
		require.Equal(t, []string{"monitoring"}, w.modeRules())
	})
}

func TestWhatADeadReplicaHadInHand(t *testing.T) {
	story(t, asItIs, func(t *testing.T, w *world) {
		o := w.another()
		asked := 0
		for ; len(o.took) == 0; asked++ { // until it works, the story's replica takes what it accepts
			address := fmt.Sprintf("198.51.100.%d", asked+1)
			o.typed(w, "deny", address)
			w.until("a replica takes it", func() bool {
				return len(o.took) > 0 || len(w.ephemerals("rob", address, "accepted by the service")) > 0
			})
		}
		require.Len(t, w.entries("acme"), asked-1)
		o.die()
		w.ephemeral("rob", fmt.Sprintf("198.51.100.%d", asked), "accepted by the service")
		require.Len(t, w.entries("acme"), asked)
		require.Len(t, w.sent(), asked, "each once")
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
		card.click("rob", "Deny "+attacker)
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		require.Len(t, w.cards("#waf"), 1)
	})
}

// An older version's state is left as it is: this one says how to proceed and what is in force at the service, and
// ends.
func TestTheStateOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, aRedis(t), workspace.IngressHTTP)
	w.start()
	w.attack(injection())
	card := w.card(attacker)
	card.click("rob", "Deny "+attacker)
	card.says("Deny "+attacker+" · ", "Rob Diaz")
	w.stop()
	w.redis.does(t, "SET", "{work}:version", "1")
	w.start()
	err := <-w.ended
	require.ErrorContains(t, err, "redis holds the state of an older wafbot")
	require.ErrorContains(t, err, "FLUSHDB")
	require.True(t, w.journal.has("in force at the service", "account=acme", attacker))
	w.requireClean()
}

// A later version has been started: this one says so in one line and ends, whether it runs already or begins.
func TestTheStateOfANewerVersion(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		w := newWorld(t, aRedis(t), workspace.IngressHTTP)
		if running {
			w.start()
			w.message("#waf", "wafbot watches acme")
		}
		w.redis.does(t, "SET", "{work}:version", "99")
		if !running {
			w.start()
		}
		require.ErrorContains(t, <-w.ended, "redis holds the state of a newer wafbot: update this one, or take it out of service")
		w.attack(injection())
		require.LessOrEqual(t, len(w.Slack.Messages("#waf")), 1)
		w.requireClean()
	}
}
