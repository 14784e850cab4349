package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/internal/store/address"
)

// writes has a user write a message: in a channel, in a thread of it, or, without a channel, to the bot alone.
func (w *world) writes(user, channel, thread, text string) workspace.Message {
	w.t.Helper()
	m, err := w.Slack.Say(workspace.Saying{User: user, Channel: channel, ThreadTS: thread, Text: text})
	require.NoError(w.t, err)
	return m
}

// known waits until the bot has written down where its card is, which takes it some time after Slack shows the card.
func (c shownCard) known() {
	c.w.t.Helper()
	opened, err := store.Open(store.Config{Address: address.Options{URL: c.w.redis.url}})
	require.NoError(c.w.t, err)
	defer opened.Close()
	require.Eventually(c.w.t, func() bool {
		attack, err := opened.Cards.AttackAt(c.w.t.Context(), "acme", c.now().Channel, c.ts)
		return err == nil && attack != ""
	}, patience, 10*time.Millisecond)
}

// heard waits until the bot has acknowledged all events.
func (w *world) heard() {
	w.t.Helper()
	w.until("events acknowledged", func() bool {
		for _, e := range w.Slack.Events() {
			if !e.Done {
				return false
			}
		}
		return true
	})
}

func TestLinesInMentions(t *testing.T) {
	overLinks(t, asItIs, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)

		w.writes("rob", "#waf", "", "@wafbot deny 198.51.100.99 for=1h")
		w.ephemeral("rob", "Deny 198.51.100.99 everywhere for 1 h: accepted by the service")
		w.message("#waf", "Deny 198.51.100.99 everywhere for 1 h · Rob Diaz")
		require.True(t, w.journal.has(`"via":"mention"`, "deny 198.51.100.99"))

		w.writes("vic", "#waf", "", "@wafbot")
		w.ephemeral("vic", "Status of acme", "Going on: 1 attack")
		w.writes("vic", "", "", "attacks since=2h")
		w.ephemeral("vic", "acme: 1 attack in the last 2 h")
		w.writes("vic", "#waf", "", "@wafbot deny 198.51.100.98")
		w.ephemeral("vic", "deny needs the role responder")
		w.writes("eve", "#waf", "", "@wafbot status")
		w.ephemeral("eve", "You have no role here")
		w.writes("rob", "#waf", "", "@wafbot dney 198.51.100.98")
		w.ephemeral("rob", "Unknown command: dney (did you mean deny?)")

		// Slash commands don't work in threads; there the card's attack need not be written.
		w.writes("rob", "#waf", card.ts, "@wafbot note \"asked the <team>\"")
		card.says("under Details")
		w.writes("rob", "#waf", card.ts, "@wafbot `deny`")
		answer := w.ephemeral("rob", "Deny "+attacker+" everywhere for 4 h: accepted by the service")
		require.Equal(t, card.ts, answer.ThreadTS, "answered where it was asked")
		card.says("Deny "+attacker+" · ", "Rob Diaz")
		w.writes("rob", "#waf", card.ts, "@wafbot status")
		w.until("an answer in the thread", func() bool {
			for _, m := range w.ephemerals("rob", "Status of acme", "Going on: 1 attack") {
				if m.ThreadTS == card.ts {
					return true
				}
			}
			return false
		})
		require.Len(t, w.entries("acme"), 2)
	})
}

func TestAMentionAsksOnce(t *testing.T) {
	everything := func(w *world) { w.Slack.Subscribe("app_mention", "message.channels", "message.im") }
	story(t, everything, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		card.known()
		// It comes as a mention and as a message, and each of them twice.
		w.Slack.SetFault(workspace.Fault{Kind: "duplicate_delivery"})
		w.writes("rob", "#waf", card.ts, "@wafbot note \"seen\"")
		card.says("under Details")
		w.writes("rob", "#waf", "", "@wafbot whoami")
		w.ephemeral("rob", "Rob Diaz: responder")
		w.heard()
		w.Slack.ClearFaults()
		w.writes("rob", "#waf", "", "@wafbot attack "+card.id())
		require.Len(t, w.ephemerals("rob", "Rob Diaz: responder"), 1)
		answer := w.ephemeral("rob", "First hit", "seen")
		require.Equal(t, 1, strings.Count(answer.Plain(), "Note of Rob Diaz"))
	})
}

func TestWhatAsksForNothing(t *testing.T) {
	everything := func(w *world) { w.Slack.Subscribe("app_mention", "message.channels", "message.im") }
	story(t, everything, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker) // the bot's own posts come back to it
		w.writes("rob", "#waf", "", "don't @wafbot deny 198.51.100.99 yet")
		w.ephemeral("rob", "Did you want something of me?", "Nothing was done")
		said := w.writes("rob", "#waf", "", "deny 198.51.100.99")
		require.NoError(t, w.Slack.Edit("rob", "#waf", said.TS, "@wafbot deny 198.51.100.99"))
		said = w.writes("rob", "#waf", "", "@wafbot whoami")
		w.ephemeral("rob", "Rob Diaz: responder")
		require.NoError(t, w.Slack.Edit("rob", "#waf", said.TS, "@wafbot deny 198.51.100.99"))
		w.writes("rob", "#waf", card.ts, "deny")
		w.heard()
		w.writes("vic", "", "", "status")
		w.ephemeral("vic", "Status of acme", "Going on: 1 attack")
		require.Empty(t, w.sent())
		require.Len(t, w.ephemerals("rob"), 2)
		require.Len(t, w.Slack.Messages("#waf"), 6, "two of the bot's, four of Rob's")
	})
}

// A replica starts while Slack doesn't say who wafbot is. A mention is acknowledged in time and kept as any line is:
// its event says whom it names.
func TestAMentionWhileAuthTestHangs(t *testing.T) {
	hangs := func(w *world) {
		w.rough = true
		w.Slack.SetFault(workspace.Fault{Method: "auth.test", Kind: "timeout"})
	}
	story(t, hangs, func(t *testing.T, w *world) {
		w.writes("rob", "#waf", "", "@wafbot deny 198.51.100.99")
		w.ephemeral("rob", "Refused: Slack doesn't say who you are just now", "Try again in a moment")
		w.heard()
		for _, e := range w.Slack.Events() {
			for _, attempt := range e.Attempts {
				require.True(t, attempt.Acked, "%+v", attempt)
			}
		}
		w.Slack.ClearFaults()
		w.writes("rob", "#waf", "", "@wafbot deny 198.51.100.99")
		w.ephemeral("rob", "Deny 198.51.100.99 everywhere for 4 h: accepted by the service")
		require.Len(t, w.entries("acme"), 1)
	})
}

const pagerSecret = "pagerduty-signs-with-this"

// pagerDuty is one that takes calls (Events API v2), and sends webhooks of version 3.
type pagerDuty struct {
	*httptest.Server
	w      *world
	called chan string // EVENT_ACTION DEDUP_KEY
}

func newPagerDuty(w *world) *pagerDuty {
	p := &pagerDuty{w: w, called: make(chan string, 100)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var e struct {
			Action string `json:"event_action"`
			Key    string `json:"dedup_key"`
		}
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			w.t.Errorf("read call: %v", err)
		}
		rw.WriteHeader(http.StatusAccepted)
		p.called <- e.Action + " " + e.Key
	}))
	w.t.Cleanup(p.Close)
	page := &config.Page{Name: "oncall", URL: apiclient.Secret(p.URL + "/v2/enqueue?routing_key=R0UT1NG"), Kind: "pagerduty", After: 300 * time.Millisecond, WebhookSecret: pagerSecret}
	w.cfg.Accounts[0].Routes = []config.Route{{Page: page}}
	return p
}

func (p *pagerDuty) next() (action, key string) {
	p.w.t.Helper()
	select {
	case call := <-p.called:
		action, key, _ = strings.Cut(call, " ")
	case <-time.After(patience):
		p.w.t.Fatal("nobody was called")
	}
	return action, key
}

// event is as PagerDuty documents it.
func (p *pagerDuty) event(id, kind, key string) string {
	return fmt.Sprintf(`{"event":{"id":%q,"event_type":%q,"resource_type":"incident","occurred_at":"2026-11-25T18:00:00.000Z",
"agent":{"html_url":"https://acme.pagerduty.com/users/PLH1HKV","id":"PLH1HKV","self":"https://api.pagerduty.com/users/PLH1HKV","summary":"Tenex <@U0ANN0001> Engineer","type":"user_reference"},"client":null,
"data":{"id":"PGR0VU2","type":"incident","number":2,"status":"acknowledged","incident_key":%q,"title":"it burns","service":{"id":"PF9KMXH","type":"service_reference"}}}}`, id, kind, key)
}

// sends sends what is signed with the secrets to a path of the bot, and returns the status.
func (p *pagerDuty) sends(path, body string, secrets ...string) int {
	p.w.t.Helper()
	req, err := http.NewRequestWithContext(p.w.t.Context(), http.MethodPost, p.w.address+path, strings.NewReader(body))
	require.NoError(p.w.t, err)
	var signatures []string
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		signatures = append(signatures, "v1="+hex.EncodeToString(mac.Sum(nil)))
	}
	req.Header.Set("X-PagerDuty-Signature", strings.Join(signatures, ","))
	status, _ := p.w.do(req)
	return status
}

// An incident that is acknowledged at PagerDuty is acknowledged on the card, in the name of the person there, once.
func TestAnAcknowledgementComesBackFromPagerDuty(t *testing.T) {
	var p *pagerDuty
	story(t, func(w *world) { p = newPagerDuty(w) }, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		action, key := p.next()
		require.Equal(t, "trigger", action)
		card.says("paged at")

		acknowledged := p.event("01BTA", "incident.acknowledged", key)
		for name, status := range map[string]int{
			"no signature":       p.sends("/pager/oncall", acknowledged),
			"another's":          p.sends("/pager/oncall", acknowledged, "guessed"),
			"of another body":    p.sends("/pager/oncall", acknowledged+" ", "guessed"),
			"of an empty secret": p.sends("/pager/oncall", acknowledged, ""),
		} {
			require.Equal(t, http.StatusUnauthorized, status, name)
		}
		require.Equal(t, http.StatusNotFound, p.sends("/pager/other", acknowledged, pagerSecret))
		status, _ := w.get("/pager/oncall")
		require.Equal(t, http.StatusMethodNotAllowed, status)
		require.Equal(t, http.StatusBadRequest, p.sends("/pager/oncall", "hello", pagerSecret))
		require.Equal(t, http.StatusRequestEntityTooLarge, p.sends("/pager/oncall", strings.Repeat(" ", 1<<20+1), pagerSecret))
		for _, kind := range []string{"pagey.ping", "incident.triggered", "incident.unacknowledged", "incident.reassigned", "incident.resolved"} {
			require.Equal(t, http.StatusOK, p.sends("/pager/oncall", p.event("01B", kind, key), pagerSecret), kind)
		}
		for range 3 {
			require.Equal(t, http.StatusOK, p.sends("/pager/oncall", p.event("01C", "incident.acknowledged", "of-another-integration"), pagerSecret))
		}
		require.True(t, w.journal.has("a pager acknowledged a call that isn't wafbot's"))
		card.says("Unacknowledged")

		require.Equal(t, http.StatusOK, p.sends("/pager/oncall", acknowledged, "the next one", pagerSecret), "while one secret replaces another")
		require.Equal(t, http.StatusOK, p.sends("/pager/oncall", acknowledged, pagerSecret))
		card.says("PagerDuty: Tenex", "is on it")
		action, ended := p.next()
		require.Equal(t, []string{"resolve", key}, []string{action, ended}, "as with each acknowledgement")
		w.until("audited", func() bool {
			return w.journal.has(`"actor":{"id":"pagerduty:PLH1HKV","name":"PagerDuty: Tenex`, `"via":"pager"`, `"line":"ack attack=`+card.id(), `"outcome":"done"`)
		})

		w.types("ann", "unack attack="+card.id())
		action, again := p.next()
		require.Equal(t, "trigger", action)
		require.NotEqual(t, key, again)
		card.says("paged at")
		require.Equal(t, http.StatusOK, p.sends("/pager/oncall", acknowledged, pagerSecret), "a replay")
		require.Equal(t, http.StatusOK, p.sends("/pager/oncall", p.event("01D", "incident.acknowledged", key), pagerSecret), "of a call that is over")
		w.polls(6)
		card.says("Unacknowledged · paged at")
		require.Equal(t, 1, strings.Count(w.journal.String(), `"via":"pager"`))
		_, metrics := w.get("/metrics")
		require.Contains(t, metrics, `wafbot_forged_requests_total 4`)

		w.redis.away()
		require.Equal(t, http.StatusServiceUnavailable, p.sends("/pager/oncall", p.event("01E", "incident.acknowledged", again), pagerSecret), "PagerDuty sends it again")
		w.redis.back()
		require.Equal(t, http.StatusOK, p.sends("/pager/oncall", p.event("01E", "incident.acknowledged", again), pagerSecret))
		card.says("PagerDuty: Tenex", "is on it")
	})
}
