package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// siem is a program that is sent events: it checks each signature, and holds each event against the documented schema.
type siem struct {
	*httptest.Server

	mu    sync.Mutex
	got   []siemEvent
	raw   strings.Builder
	fails int // status to answer with; 0: it takes all
}

type siemEvent struct {
	ID, Type, Subject string
	Data              struct {
		Severity, Verb, Outcome, Summary string
		Actor                            struct{ ID string }
		Attack                           struct{ Type string }
		Change                           struct{ Does string }
		Audit                            struct{ Line string }
	}
}

const siemSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func newSIEM(t *testing.T) *siem {
	t.Helper()
	keep, err := standardwebhooks.NewWebhook(siemSecret)
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	for _, name := range []string{"audit", "webhooks"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", name+".schema.json"))
		require.NoError(t, err)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		require.NoError(t, c.AddResource(doc.(map[string]any)["$id"].(string), doc))
	}
	schema, err := c.Compile("urn:wafbot:webhook:1")
	require.NoError(t, err)
	s := &siem{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var e siemEvent
		doc, bad := jsonschema.UnmarshalJSON(strings.NewReader(string(body)))
		if err != nil || bad != nil || keep.Verify(body, r.Header) != nil || schema.Validate(doc) != nil || json.Unmarshal(body, &e) != nil {
			t.Errorf("%v %v %v: %s", err, keep.Verify(body, r.Header), schema.Validate(doc), body)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.fails != 0 {
			w.WriteHeader(s.fails)
			return
		}
		s.got = append(s.got, e)
		s.raw.Write(body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *siem) answers(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = status
}

// has reports whether it has such an event.
func (s *siem) has(which func(siemEvent) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.got, which)
}

// All that happens to an attack comes to a SIEM, with who did it; a ticket system gets what it asked for alone, and its outage is said.
func TestEventsComeToASIEM(t *testing.T) {
	t.Parallel()
	w, all, tickets := newWorld(t, miniRedis(t), workspace.IngressEither), newSIEM(t), newSIEM(t)
	hook := func(s *siem, events ...string) config.Webhook {
		return config.Webhook{URL: apiclient.Secret(s.URL + "/s3cret"), Secret: siemSecret, Events: events, Accounts: []string{"*"}}
	}
	w.cfg.Webhooks = []config.Webhook{hook(all, "*"), hook(tickets, "new_attack")}
	tickets.answers(http.StatusServiceUnavailable)
	w.start()
	defer func() {
		w.stop()
		w.requireClean()
		for _, secret := range []string{"s3cret", siemSecret, w.cfg.Slack.BotToken.Reveal(), w.cfg.Accounts[0].Token.Reveal()} {
			require.NotContains(t, w.all()+all.raw.String(), secret)
		}
	}()
	w.message("#waf", "wafbot watches acme")
	w.attack(injection())
	card := w.card(attacker)
	card.click("rob", "Acknowledge")
	w.types("vic", "deny "+attacker)
	w.types("rob", "deny "+attacker+" attack="+card.id())
	id := card.id()
	for what, which := range map[string]func(e siemEvent) bool{
		"attack": func(e siemEvent) bool {
			return e.Type == "wafbot.new_attack" && e.Subject == id && e.Data.Severity == "high" && e.Data.Attack.Type == "sqli"
		},
		"ack": func(e siemEvent) bool {
			return e.Type == "wafbot.audit" && e.Subject == id && e.Data.Verb == "ack" && e.Data.Actor.ID == "U0ROB0002"
		},
		"refusal": func(e siemEvent) bool {
			return e.Type == "wafbot.audit" && e.Data.Outcome == "refused" && e.Data.Actor.ID == "U0VIC0003"
		},
		"entry": func(e siemEvent) bool {
			return e.Type == "wafbot.audit" && e.Data.Verb == "deny" && e.Data.Outcome == "done" && strings.Contains(e.Data.Audit.Line, attacker)
		},
		"change": func(e siemEvent) bool {
			return e.Type == "wafbot.change" && e.Subject == id && e.Data.Outcome == "done" && strings.Contains(e.Data.Change.Does, attacker)
		},
		"watching": func(e siemEvent) bool { return e.Type == "wafbot.first_start" },
	} {
		require.Eventually(t, func() bool { return all.has(which) }, patience, 20*time.Millisecond, what)
	}
	w.until("said", func() bool {
		return w.journal.has("the webhook doesn't take events", "webhooks[1]", "it answers with status 503")
	})
	_, ready := w.get("/readyz")
	require.Contains(t, ready, `"webhooks":{"webhooks[1]":"it answers with status 503"}`)
	tickets.answers(0)
	require.Eventually(t, func() bool { return tickets.has(func(e siemEvent) bool { return e.Subject == id }) }, patience, 20*time.Millisecond)
	require.False(t, tickets.has(func(e siemEvent) bool { return e.Type != "wafbot.new_attack" }))
	w.until("said", func() bool { return w.journal.has("the webhook takes events again", "webhooks[1]") })
	_, metrics := w.get("/metrics")
	require.Contains(t, metrics, `wafbot_webhook_events_total{outcome="failed",webhook="webhooks[1]"}`)
	require.Contains(t, metrics, `wafbot_webhook_events_total{outcome="delivered",webhook="webhooks[1]"}`)
}
