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
)

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
