package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// hook is a receiver of plain JSON.
type hook struct {
	*httptest.Server
	t    *testing.T
	got  chan webhookCall
	fail atomic.Int32 // the status to answer with; 0: it takes all
}

type webhookCall struct {
	Event, ID, Account, Attack, Kind, Severity, Text string
	Status                                           string // of Alertmanager's
}

func newHook(t *testing.T) *hook {
	h := &hook{t: t, got: make(chan webhookCall, 100)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := h.fail.Load(); status != 0 {
			w.WriteHeader(int(status))
			return
		}
		var c webhookCall
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s: %v", r.Method, err)
		}
		h.got <- c
	}))
	t.Cleanup(h.Close)
	return h
}

// next waits for what is sent.
func (h *hook) next() webhookCall {
	h.t.Helper()
	select {
	case c := <-h.got:
		return c
	case <-time.After(patience):
		h.t.Fatal("nothing was sent")
		return webhookCall{}
	}
}

// paging gives acme routes with a pager that is called for what is unacknowledged after a time.
func (w *world) paging(address, format string, after time.Duration) {
	page := &config.Page{URL: apiclient.Secret(address), Kind: format, After: after}
	w.cfg.Accounts[0].Routes = []config.Route{{Match: incidents(), Page: page}, {Match: config.Match{MinHits: 30}, Page: page}}
}

// paged gives acme a pager that takes plain JSON.
func paged(after time.Duration) func(w *world) {
	return func(w *world) {
		w.hook = newHook(w.t)
		w.paging(w.hook.URL+"/key", "json", after)
	}
}

// refusedPages answers calls with a status until the story lets them be taken.
func refusedPages(status int32) func(w *world) {
	return func(w *world) {
		paged(300 * time.Millisecond)(w)
		w.hook.fail.Store(status)
	}
}

func TestThePagerIsCalled(t *testing.T) {
	story(t, paged(time.Second), func(t *testing.T, w *world) {
		h := w.hook
		w.attack(injection())
		card := w.card(attacker, "Unacknowledged · page")
		first := h.next()
		require.Equal(t, []string{"trigger", "acme", card.id(), "attack", "high"}, []string{first.Event, first.Account, first.Attack, first.Kind, first.Severity})
		require.Contains(t, first.Text, "Attack not blocked: SQL injection on Shop")
		card.says("Unacknowledged · paged at")

		card.click("rob", "Acknowledge")
		over := h.next()
		require.Equal(t, []string{"resolve", first.ID}, []string{over.Event, over.ID})
		require.Contains(t, over.Text, "Rob Diaz is on it since")
		card.says("<@U0ROB0002> is on it")
		require.NotContains(t, card.now().Plain(), "paged")

		w.types("rob", "unack attack="+card.id())
		card.says("Unacknowledged · page")
		second := h.next()
		require.Equal(t, "trigger", second.Event)
		require.NotEqual(t, first.ID, second.ID, "another call")
		card.says("Unacknowledged · paged at")

		w.stop()
		w.start()
		w.polls(6)
		require.Empty(t, h.got, "no pager is called twice for the same")
		w.types("ann", "verdict false_positive attack="+card.id())
		over = h.next()
		require.Equal(t, []string{"resolve", second.ID}, []string{over.Event, over.ID})
		require.Contains(t, over.Text, "Verdict: false positive, by Anna Weber")

		w.types("ann", "verdict real attack="+card.id())
		third := h.next()
		require.Equal(t, "trigger", third.Event, "it gets through, and no one is on it")
		require.NotEqual(t, second.ID, third.ID, "another call")
		card.says("Unacknowledged · paged at")
	})
}

// A person acknowledges and falls asleep. As long as the attack gets through, that silences the pager for a time and
// not for good.
func TestAnAcknowledgementLapses(t *testing.T) {
	called := func(w *world) {
		paged(time.Second)(w)
		w.cfg.Accounts[0].Routes[1].Mention, w.cfg.Accounts[0].Routes[1].AckTimeout = "U0ANN0001", time.Second
	}
	story(t, called, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		first := w.hook.next()
		card.click("rob", "Acknowledge")
		require.Equal(t, []string{"resolve", first.ID}, []string{w.hook.next().Event, first.ID})
		card.says("Rob Diaz's acknowledgement lapsed after", "pages at")
		again := w.hook.next()
		require.Equal(t, "trigger", again.Event)
		require.NotEqual(t, first.ID, again.ID)
		w.until("reply", func() bool {
			return len(card.replies("<@U0ROB0002> <@U0ANN0001> Rob Diaz's acknowledgement lapsed")) == 1
		})
		card.click("ann", "Acknowledge")
		require.Equal(t, "resolve", w.hook.next().Event)
		require.True(t, w.journal.has(`"via":"clock"`, `"line":"unack attack=`+card.id(), "Rob Diaz's acknowledgement lapsed"))
	})
}

// The page of an attack is unanswered, perhaps because its pager only files a ticket: the incident's pager is called,
// even if the other one is down.
func TestAnIncidentCallsItsOwnPager(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]bool{"there": false, "away": true} {
		t.Run(name, func(t *testing.T) {
			tickets, phone := newHook(t), newHook(t)
			page := func(h *hook) *config.Page {
				return &config.Page{URL: apiclient.Secret(h.URL), Kind: "json", After: time.Second}
			}
			two := func(w *world) {
				w.cfg.Accounts[0].Routes = []config.Route{{Match: incidents(), Page: page(phone)}, {Page: page(tickets)}}
			}
			story(t, two, func(t *testing.T, w *world) {
				attack := w.attack(injection())
				card := w.card(attacker)
				first := tickets.next()
				card.says("paged at")
				if away {
					tickets.fail.Store(http.StatusServiceUnavailable)
				}
				require.NoError(t, w.WAF.MakeIncident(attack, *sqlHole()))
				second := phone.next()
				require.Equal(t, []string{"trigger", "incident", "critical"}, []string{second.Event, second.Kind, second.Severity})
				if !away {
					over := tickets.next()
					require.Equal(t, []string{"resolve", first.ID}, []string{over.Event, over.ID})
					require.Contains(t, over.Text, "It is an incident now, which has its own pager")
				}
				card.says("critical incident", "paged at")
				card.click("rob", "Acknowledge")
				require.Equal(t, "resolve", phone.next().Event)
				w.stop()
				require.Empty(t, tickets.got)
				require.Empty(t, phone.got)
				require.Equal(t, away, w.journal.has("resolve it there by hand"))
			})
		})
	}
}

func TestNoPageForAnAcknowledgedAttack(t *testing.T) {
	slow := func(w *world) {
		paged(20 * time.Second)(w) // a busy machine has that long to acknowledge and to mute
		w.attack(injection())      // before the first start
	}
	story(t, slow, func(t *testing.T, w *world) {
		h := w.hook
		w.card(attacker)
		at := func(path string) waf.AttackSpec {
			spec := injection()
			spec.Path = path
			return spec
		}
		w.attack(at("/claimed"))
		w.card("/claimed", "pages at").click("rob", "Acknowledge")
		w.attack(at("/muted"))
		muted := w.card("/muted")
		w.types("rob", "mute attack="+muted.id())
		w.attack(at("/left"))
		left := w.card("/left")
		require.Equal(t, left.id(), h.next().Attack)
		w.polls(6)
		require.Empty(t, h.got)
		w.types("rob", "contain attack="+left.id()) // acting claims
		require.Equal(t, "resolve", h.next().Event)
	})
}

func TestAPagerThatIsAway(t *testing.T) {
	story(t, refusedPages(http.StatusServiceUnavailable), func(t *testing.T, w *world) {
		h := w.hook
		w.attack(injection())
		other := injection()
		other.Path = "/other"
		w.attack(other)
		w.card("/other")
		w.message("#waf", "The pager of acme can't be called: no page is sent", "it answers with status 503 (route min_hits 30)")
		w.card(attacker, "not paged: it answers with status 503")
		h.fail.Store(0)
		require.NotEqual(t, h.next().Attack, h.next().Attack)
		w.card("/other").says("paged at")
		require.Len(t, w.Slack.Messages("#waf"), 4, "a start, two cards, and one word of the pager")
		require.Equal(t, 1, strings.Count(w.journal.String(), "the pager can't be called"))
		require.True(t, w.journal.has("the pager can be called again"))
		_, metrics := w.get("/metrics")
		require.Contains(t, metrics, `wafbot_pager_calls_total{account="acme",outcome="taken"} 2`)
		require.Contains(t, metrics, `wafbot_pager_calls_total{account="acme",outcome="failed"}`)
	})
}

// The time counts from the finding of an attack, not from Slack's taking its card: otherwise an outage of Slack would
// delay the page. Another replica resolves the page that this one made, because the attack was acknowledged meanwhile.
func TestThePagerIsCalledThoughSlackIsAway(t *testing.T) {
	story(t, refusedPages(0), func(t *testing.T, w *world) {
		h := w.hook
		w.rough = true
		w.Slack.SetFault(workspace.Fault{Kind: "500"})
		w.attack(injection())
		first := h.next()
		require.Equal(t, "trigger", first.Event)
		w.stop()
		w.Slack.ClearFaults()
		claimed := w.atShell("ack", "attack="+first.Attack)
		require.Equal(t, exitDone, claimed.code, claimed.err)
		w.start()
		over := h.next()
		require.Equal(t, []string{"resolve", first.ID}, []string{over.Event, over.ID})
		w.card(attacker, osActor().Name+" is on it")
	})
}

func TestAPagerThatRefuses(t *testing.T) {
	story(t, refusedPages(http.StatusBadRequest), func(t *testing.T, w *world) {
		h := w.hook
		w.attack(injection())
		w.message("#waf", "The pager of acme can't be called", "it refuses the call (400)")
		w.stop()
		h.fail.Store(0) // it was fixed
		w.start()
		require.Equal(t, "trigger", h.next().Event, "a restart tries again")
	})
}

// alertmanager starts a real one, which notifies a hook, and returns its address.
func alertmanager(t *testing.T, receiver *hook) string {
	t.Helper()
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		program, err = exec.LookPath("alertmanager")
	}
	require.NoError(t, err, "there is no alertmanager: run make tools, or go test -short")
	dir := t.TempDir()
	config := filepath.Join(dir, "alertmanager.yml")
	require.NoError(t, os.WriteFile(config, []byte(`
route: {receiver: hook, group_by: [page], group_wait: 10ms, group_interval: 100ms, repeat_interval: 1h}
receivers: [{name: hook, webhook_configs: [{url: "`+receiver.URL+`"}]}]
`), 0o600))
	cmd := exec.Command(program, "--config.file="+config, "--storage.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--cluster.listen-address=")
	address, _ := launch(t, cmd)
	require.Eventually(t, func() bool {
		res, err := http.DefaultClient.Get("http://" + address + "/-/ready")
		return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
	}, patience, 20*time.Millisecond)
	return "http://" + address
}

func TestARealAlertmanager(t *testing.T) {
	full.Only(t)
	h := newHook(t)
	address := alertmanager(t, h)
	real := func(w *world) { w.paging(address+"/api/v2/alerts", "alertmanager", 300*time.Millisecond) }
	story(t, real, func(t *testing.T, w *world) {
		w.attack(injection())
		card := w.card(attacker)
		require.Equal(t, "firing", h.next().Status)
		type alert struct {
			Labels, Annotations map[string]string
			Status              struct{ State string }
			EndsAt              time.Time
		}
		active := func() (all []alert) {
			_, body := fetch(t, address+"/api/v2/alerts")
			require.NoError(t, json.Unmarshal([]byte(body), &all))
			return all
		}
		alerts := active()
		require.Len(t, alerts, 1)
		require.Equal(t, []string{"active", "WafbotUnacknowledged", "acme", card.id(), "high"},
			[]string{alerts[0].Status.State, alerts[0].Labels["alertname"], alerts[0].Labels["account"], alerts[0].Labels["attack"], alerts[0].Labels["severity"]})
		require.Contains(t, alerts[0].Annotations["summary"], "Attack not blocked: SQL injection on Shop")
		require.Greater(t, time.Until(alerts[0].EndsAt), 4*time.Minute, "it ends by itself only if wafbot does")
		card.says("paged at")
		card.click("rob", "Acknowledge")
		require.Equal(t, "resolved", h.next().Status)
		require.Empty(t, active())
	})
}
