package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/redistest"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// hooked is what a webhook was sent.
type hooked struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Subject string `json:"subject"`
	Data    struct {
		Account string `json:"account"`
		Attack  struct {
			ID string `json:"id"`
		} `json:"attack"`
		Change struct {
			ID string `json:"id"`
		} `json:"change"`
		Audit struct {
			N int `json:"n"`
		} `json:"audit"`
	} `json:"data"`
}

// receiver is a program that is sent events. It checks each signature with the library of those who made the rules.
type receiver struct {
	*httptest.Server
	t    *testing.T
	keep *standardwebhooks.Webhook

	mu   sync.Mutex
	got  []hooked
	hold func(hooked) bool // which one isn't answered any more, once; nil: all are
	held chan hooked
}

func newReceiver(t *testing.T) *receiver {
	keep, err := standardwebhooks.NewWebhook(hookSecret)
	require.NoError(t, err)
	r := &receiver{t: t, keep: keep, held: make(chan hooked, 1)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the sender was killed in the middle
		}
		var one hooked
		if err := r.keep.Verify(body, req.Header); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		if err := json.Unmarshal(body, &one); err != nil || one.ID != req.Header.Get("Webhook-Id") {
			t.Errorf("%v: %s", err, body)
		}
		if r.note(one) {
			r.held <- one
			<-req.Context().Done() // it has it, and the sender never learns of that
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// note notes what came, and reports whether it is held.
func (r *receiver) note(one hooked) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, one)
	if r.hold == nil || !r.hold(one) {
		return false
	}
	r.hold = nil
	return true
}

func (r *receiver) holds(which func(hooked) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold = which
}

// all is what came so far.
func (r *receiver) all() []hooked {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// refusing is an address that refuses connections.
func refusing(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return "http://" + l.Addr().String() + "/"
}

// The replica is killed while a webhook is being sent to, again and again: each event and each audit entry is sent at least once, a repeat has the same id, and
// what is about one attack comes in order. A second webhook is dead all the time, which holds up the first by nothing.
func TestKilledWhileWebhooksAreSent(t *testing.T) {
	if testing.Short() {
		t.Skip("starts redis-server, and takes a while")
	}
	besideEachOther(t)
	to, p := newReceiver(t), openHooked(t)
	one := p.serve(build(t), to.URL+"/", refusing(t))
	p.await("it watches", func() bool { return len(p.seen()) > 0 })

	for n := range 2 {
		to.holds(func(h hooked) bool { return h.Type == "wafbot.new_attack" })
		p.startAt(fmt.Sprintf("/hooked%d", n))
		first := <-to.held
		require.Equal(t, p.attack, first.Subject)
		one.kill()
		require.NoError(t, one.start())
		p.await("sent again", func() bool { return to.count(first.ID) > 1 })
		p.await("the card", p.posted)

		to.holds(func(h hooked) bool { return h.Data.Change.ID != "" || h.Data.Audit.N > 0 })
		p.types("deny 198.51.100." + fmt.Sprint(n+1) + " for=1h attack=" + p.attack)
		second := <-to.held
		one.kill()
		require.NoError(t, one.start())
		p.await("sent again", func() bool { return to.count(second.ID) > 1 })
	}
	p.await("nothing waits", func() bool { return p.waiting()[0] == 0 && len(p.left()) == 0 })
	ids := p.holdAll(to)
	require.Equal(t, []int{0, len(ids)}, p.waiting(), "what the dead one never got")
}

func openHooked(t *testing.T) *play {
	return &play{round: &round{t: t, logs: t.TempDir(), single: redistest.StartDurable(t), did: map[string]int{}}}
}

// serve starts the world and a replica with webhooks.
func (p *play) serve(binary string, webhooks ...string) *replica {
	p.t.Helper()
	p.world = openWorld(p.t, binary, p.logs, balance(p.t, func() []*replica { return *p.takes.Load() }))
	config, hooks := filepath.Join(p.logs, "wafbot.yaml"), ""
	for _, address := range webhooks {
		hooks += fmt.Sprintf("  - {url: %q, secret: %s}\n", address, hookSecret)
	}
	text := fmt.Sprintf(`
slack: {bot_token: %s, signing_secret: %s, api_url: "%s/slack/api/"}
redis: {url: "redis://%s/0"}
sources: []
policy: {changes: on, admins: [U0ANN0001]}
accounts:
  - {name: acme, api_url: "%s/service", token: sandbox-token-acme, client_id: 5, channel: C0WAF0001, poll_interval: 500ms, routes: [{match: {min_hits: 1}}]}
webhooks:
%s`, p.world.env["WAFBOT_SLACK_BOT_TOKEN"], p.world.env["WAFBOT_SLACK_SIGNING_SECRET"], p.world.url, p.single.Addr, p.world.url, hooks)
	require.NoError(p.t, os.WriteFile(config, []byte(text), 0o600))
	one := &replica{t: p.t, binary: binary, config: config, logs: p.logs}
	require.NoError(p.t, one.start())
	p.replicas = []*replica{one}
	p.deliverTo(one)
	return one
}

// count is how often one came.
func (r *receiver) count(id string) (n int) {
	for _, h := range r.all() {
		if h.ID == id {
			n++
		}
	}
	return n
}

// waiting is how many events and audit entries wait for each webhook, the fewest first. An entry has five words: its id, and two fields with their values.
func (p *play) waiting() (all []int) {
	keys, err := askRedis(p.single.Addr, "KEYS {a:acme}:webhook:????????")
	require.NoError(p.t, err)
	for _, key := range keys.words {
		entries, err := askRedis(p.single.Addr, "XRANGE "+key+" - +")
		require.NoError(p.t, err)
		all = append(all, len(entries.words)/5)
	}
	slices.Sort(all)
	return all
}

// holdAll holds what came against what is stored, and returns what came by its id.
func (p *play) holdAll(to *receiver) map[string]hooked {
	p.t.Helper()
	ids, audited := map[string]hooked{}, map[string][]int{}
	for _, h := range to.all() {
		if before, again := ids[h.ID]; again {
			require.Equal(p.t, before, h, "a repeat is of the same")
			continue
		}
		if ids[h.ID] = h; h.Data.Audit.N > 0 {
			audited[h.Subject] = append(audited[h.Subject], h.Data.Audit.N)
		}
	}
	once := func(what string, which func(hooked) bool) {
		n := 0
		for _, h := range ids {
			if which(h) {
				n++
			}
		}
		require.Equal(p.t, 1, n, "%s has one id", what)
	}
	for _, attack := range p.all {
		once("attack "+attack, func(h hooked) bool { return h.Type == "wafbot.new_attack" && h.Subject == attack })
		require.True(p.t, slices.IsSorted(audited[attack]), "in order")
	}
	e := evidence{}
	require.NoError(p.t, p.addStored(&e))
	require.GreaterOrEqual(p.t, len(e.Audit), len(p.all))
	for _, one := range e.Audit {
		once(fmt.Sprint("audit entry ", one.N), func(h hooked) bool { return h.Data.Audit.N == int(one.N) })
	}
	changes, err := askRedis(p.single.Addr, "HKEYS {a:acme}:changes")
	require.NoError(p.t, err)
	require.Len(p.t, changes.words, len(p.all))
	for _, id := range changes.words {
		once("change "+id, func(h hooked) bool { return h.Type == "wafbot.change" && h.Data.Change.ID == id })
	}
	return ids
}
