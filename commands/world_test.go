package commands_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/grammar"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/delay"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/proxytest"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/human"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/store"
)

const token = "tok-5eC2eT"

// The people of the workspace.
var (
	ann  = record.Actor{ID: "U1ANN", Team: "T1", Name: "Ann", Via: record.ViaSlash}   // responder
	bob  = record.Actor{ID: "U2BOB", Team: "T1", Name: "Bob", Via: record.ViaSlash}   // responder
	root = record.Actor{ID: "U3ROOT", Team: "T1", Name: "Root", Via: record.ViaSlash} // admin
	eve  = record.Actor{ID: "U4EVE", Team: "T1", Name: "Eve", Via: record.ViaSlash}   // viewer
)

// world is a runner before the emulated service, on a clock that the test moves.
type world struct {
	t        *testing.T
	service  *waf.Service
	redis    *miniredis.Miniredis
	wire     *proxytest.Proxy // to it
	store    *store.Store
	ledger   *ledger // its ledger
	triage   *store.Triage
	asked    *store.Ledger
	audit    *auditLog
	notified *notified
	routing  call.Routing // of every attack
	members  *members
	log      *syncBuffer
	out      *syncBuffer
	cfg      commands.Config
	*commands.Runner

	mu         sync.Mutex
	now        time.Time     // on the service's clock
	shared     time.Duration // how far the clock that replicas share is ahead of it
	silent     bool          // the service has not said the time yet
	ids        int
	attackSeen func() record.AttackState // each attack as the poller last decided about it; nil: as it is stored
	clocks     *clock.Clocks             // that the store goes by

	claiming sync.Mutex // held while something is claimed
}

// beside holds the tests that are parallel already.
var beside sync.Map

// newWorld is a world, and makes its test parallel.
func newWorld(t *testing.T, change ...func(*commands.Config)) *world {
	t.Helper()
	return worldBefore(t, func(service http.Handler) http.Handler { return service }, change...)
}

// worldBefore is a world whose requests pass a handler before the service.
func worldBefore(t *testing.T, meet func(service http.Handler) http.Handler, change ...func(*commands.Config)) *world {
	t.Helper()
	if _, already := beside.LoadOrStore(t, true); !already {
		t.Parallel()
	}
	w := &world{t: t, now: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)}
	w.build(func(h http.Handler) (string, *http.Client) {
		server := httptest.NewServer(meet(h))
		t.Cleanup(server.Close)
		return server.URL, server.Client()
	}, change)
	return w
}

// newBubble is a world inside a synctest bubble: its clock is the bubble's, and requests are served without a network,
// which would keep the bubble's time from passing.
func newBubble(t *testing.T, change ...func(*commands.Config)) *world {
	t.Helper()
	return bubbleBefore(t, func(service http.Handler) http.Handler { return service }, change...)
}

// inBubble runs a test in such a world, beside others.
func inBubble(t *testing.T, play func(t *testing.T, w *world), change ...func(*commands.Config)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { play(t, newBubble(t, change...)) })
}

// bubbleBefore is a bubble whose requests pass a handler before the service.
func bubbleBefore(t *testing.T, meet func(service http.Handler) http.Handler, change ...func(*commands.Config)) *world {
	t.Helper()
	w := &world{t: t}
	w.build(func(h http.Handler) (string, *http.Client) {
		return "http://service", &http.Client{Transport: crowdNet{inProcess{meet(h)}, func() *ledger { return w.ledger }}}
	}, change)
	return w
}

// inProcess serves requests by calling the handler.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (res *http.Response, err error) {
	defer func() {
		if aborted := recover(); aborted != nil {
			err = errors.New("connection reset")
		}
	}()
	if r.Body == nil {
		r.Body = http.NoBody // as a server gives it to its handler
	}
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, r)
	return answer.Result(), nil
}

func (w *world) build(serve func(http.Handler) (string, *http.Client), change []func(*commands.Config)) {
	t := w.t
	w.members, w.log, w.out, w.notified = newMembers(), &syncBuffer{}, &syncBuffer{}, &notified{}
	w.openStore()
	w.service = waf.New(waf.Config{Seed: 1, Now: w.clock, Accounts: []waf.Account{{
		Name: "acme", Token: token, ClientID: 5, Applications: []waf.Application{
			{ID: 4, Name: "Shop", Host: "shop.example.com", Mode: "monitoring"}, {ID: 7, Name: "Legacy", Host: "old.example.com"}, {ID: -1, Name: "Rest", Host: "www.example.com"},
		},
	}}})
	url, client := serve(w.service)
	api, err := apiclient.New(apiclient.Config{BaseURL: url, Token: token, ClientID: 5, HTTP: client, Tries: 2, Pause: time.Microsecond})
	require.NoError(t, err)
	guards := config.Default[config.Policy]()
	guards.Changes, guards.RenewWhileActive, guards.Approval.OverrideAfter = config.ChangesOn, 0, 0
	guards.Viewers, guards.Responders, guards.Admins = []string{eve.ID}, []string{ann.ID, bob.ID}, []string{root.ID, root2.ID}
	guards.Terminal = map[string]config.TerminalUser{"ann": {Role: "responder", Slack: ann.ID}, "root": {Role: "admin"}}
	w.cfg = commands.Config{
		Setup: call.Setup{
			Zone: time.UTC,
			Accounts: []*config.Account{{Name: "acme", Lookback: 24 * time.Hour, OngoingFor: 15 * time.Minute,
				Applications: map[int]config.Application{4: {Name: "Shop"}, 7: {Name: "Legacy", CanBlock: new(bool)}},
				Policy:       guards,
			}},
		},
		Services: map[string]commands.Service{"acme": {Lister: api, Writer: api}},
		Members:  w.members, Store: w.store,
		AuditOut: w.out, Clocks: w,
		Log: slog.New(slog.NewJSONHandler(w.log, nil)), Sleep: w.sleep,
		Notifier: w.notified,
		Routing:  func(context.Context, string, apiclient.Attack) (call.Routing, error) { return w.routing, nil },
		Changes:  metrics.New().Changes, Changed: func(string) {},
		StillTrying: func(string, []netip.Addr) bool { return false },
		GoesOn:      func(string, string) bool { return false },
		Rebuilds:    func(string) bool { return true },
		Health:      func(string) (record.PollHealth, bool) { return record.PollHealth{}, false },
		CardLinks:   func(context.Context, string, []string) map[string]string { return nil },
	}
	for _, f := range change {
		f(&w.cfg)
	}
	w.beginState()
	w.Runner = commands.New(w.cfg)
	t.Cleanup(func() {
		for _, said := range []string{w.log.String(), w.out.String(), fmt.Sprint(w.audit.all(), w.ledger.all())} {
			require.NotContains(t, said, token, "the token in a log or in memory")
		}
		for _, e := range w.audit.all() {
			require.Empty(t, human.Inside(e.Why), "the audit log is read by people: %s", e.Why)
		}
	})
}

// withoutApproval leaves some things to one person alone.
func withoutApproval(what ...string) func(*commands.Config) {
	return func(c *commands.Config) {
		c.Accounts[0].Policy.Approval.RequiredFor = slices.DeleteFunc(slices.Clone(c.Accounts[0].Policy.Approval.RequiredFor), func(s string) bool { return slices.Contains(what, s) })
	}
}

// secondAccount adds an account that is as the first one, at the same service.
func secondAccount(c *commands.Config) {
	globex := *c.Accounts[0]
	globex.Name = "globex"
	c.Accounts, c.Services["globex"] = append(c.Accounts, &globex), c.Services["acme"]
}

func sources(all ...config.Source) func(*commands.Config) {
	return func(c *commands.Config) { c.Sources = func(string) []config.Source { return all } }
}

func source(name, deny string, ranges ...string) config.Source {
	s := config.Source{Name: name, Deny: deny, Cards: true}
	for _, r := range ranges {
		s.Ranges = append(s.Ranges, netip.MustParsePrefix(r))
	}
	return s
}

// requireAsAtFirst holds that the service is as it was before anything was asked.
func (w *world) requireAsAtFirst() {
	w.t.Helper()
	require.Empty(w.t, w.entries("black"))
	require.Empty(w.t, w.rules("vpatch"))
	require.Equal(w.t, []string{"monitoring"}, w.modes())
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now.IsZero() {
		return time.Now()
	}
	return w.now
}

// Now implements commands.Clocks.
func (w *world) Now() time.Time {
	now := w.clock()
	w.mu.Lock()
	defer w.mu.Unlock()
	return now.Add(w.shared)
}

// ServiceNow implements commands.Clocks.
func (w *world) ServiceNow(string) time.Time { return w.clock() }

// Known implements commands.Clocks.
func (w *world) Known(string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.silent
}

func (w *world) setSilent(silent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = silent
}

// pass lets time pass, on the service's clock and on Redis'.
func (w *world) pass(d time.Duration) {
	w.moves(d)
	w.redis.FastForward(d)
}

// moves moves the clocks. Meanwhile nothing in Redis runs out, as who sleeps renews what it claimed.
func (w *world) moves(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
	for range 2 { // one answer that is far off isn't believed
		for _, account := range []string{"acme", "globex"} {
			w.clocks.Service(account).Note(time.Now(), w.now)
		}
		w.clocks.NoteRedis(time.Now(), w.now.Add(w.shared))
	}
}

// sleep moves the clock, or waits in a bubble, whose clock moves by itself.
func (w *world) sleep(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	bubble := w.now.IsZero()
	w.mu.Unlock()
	if bubble {
		return delay.Sleep(ctx, d)
	}
	w.moves(d)
	return ctx.Err()
}

// changesSent counts the requests that would change the service.
func (w *world) changesSent() int {
	n := 0
	for _, r := range w.service.Requests("") {
		if r.Path == "/v4/ip_rules" && r.Method != http.MethodGet || strings.HasPrefix(r.Path, "/v1/objects/hint/") {
			n++
		}
	}
	return n
}

func (w *world) state() waf.State {
	s, err := w.service.State("acme")
	require.NoError(w.t, err)
	return s
}

// entries are what stands on a list, as "203.0.113.7/32 [0] 4h0m0s".
func (w *world) entries(list string) []string {
	found := []string{}
	for _, e := range w.listed(list) {
		lasts := "forever"
		if e.ExpiredAt != apiclient.Forever.Unix() {
			lasts = time.Unix(e.ExpiredAt, 0).Sub(w.clock()).String()
		}
		found = append(found, fmt.Sprintf("%s%s %v %s", e.Subnet, strings.Join(e.SourceValues, ","), e.Pools, lasts))
	}
	slices.Sort(found)
	return found
}

func (w *world) listed(list string) []waf.IPRule {
	var found []waf.IPRule
	for _, e := range w.state().IPRules {
		if e.Listed && e.List == list && e.ExpiredAt > w.clock().Unix() {
			found = append(found, e.IPRule)
		}
	}
	return found
}

// accountMode is the rule of the account's own mode, as the service says it.
const accountMode = "sets mode monitoring for every request"

// rules are the numbers of the rules of a type, as they stand, without that of the account's own mode.
func (w *world) rules(kind string) []waf.RuleState {
	found := []waf.RuleState{}
	for _, r := range w.state().Rules {
		if r.Listed && r.Type == kind && r.Words != accountMode {
			found = append(found, r)
		}
	}
	return found
}

// modes are all the modes that rules set for applications.
func (w *world) modes() []string {
	found := []string{}
	for _, r := range w.rules("service_mode") {
		found = append(found, r.Mode)
	}
	return found
}

func (w *world) seed(r waf.IPRule) int64 {
	id, err := w.service.SeedIPRule("acme", r)
	require.NoError(w.t, err)
	w.service.CatchUp()
	return id
}

func (w *world) fault(endpoint, kind string, times int) {
	require.NoError(w.t, w.service.SetFault(waf.Fault{Endpoint: endpoint, Kind: kind, Times: times}))
}

// attack starts one and gives its id as people type it.
func (w *world) attack(spec waf.AttackSpec) string {
	if spec.Sources == nil {
		spec.Sources = []waf.SourceSpec{{IP: "198.51.100.4", Country: "NL", PerSecond: 1}, {IP: "203.0.113.7", Country: "FR", PerSecond: 9}}
	}
	spec.Started, spec.Hits = waf.Duration(time.Minute), 100
	a, err := w.service.StartAttack(spec)
	require.NoError(w.t, err)
	return record.AttackID("acme", a.ID)
}

// request is the newest request.
func (w *world) request() record.ApprovalRequest {
	w.t.Helper()
	all, err := w.asked.Requests(w.t.Context(), "acme")
	if err != nil || len(all) == 0 {
		w.t.Fatalf("no request: %v", err)
	}
	return all[0]
}

// lastAudit is the newest entry of the audit log.
func (w *world) lastAudit() (last record.AuditEntry) {
	for _, account := range w.cfg.Accounts {
		all, err := w.redis.Stream("{a:" + account.Name + "}:audit")
		if err != nil || len(all) == 0 {
			continue
		}
		var e record.AuditEntry
		values := all[len(all)-1].Values
		require.NoError(w.t, json.Unmarshal([]byte(values[slices.Index(values, "entry")+1]), &e))
		e.N, err = strconv.ParseInt(values[slices.Index(values, "n")+1], 10, 64)
		require.NoError(w.t, err)
		if !e.At.Before(last.At) {
			last = e
		}
	}
	require.NotZero(w.t, last.At, "nothing is audited")
	return last
}

func textOf(res call.Result) string {
	var lines []string
	for _, l := range res.Lines {
		lines = append(lines, l.String())
	}
	return strings.Join(lines, "\n")
}

// syncBuffer is a buffer for many goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

var errAway = errors.New("store is away")

// attackOn starts one that can be patched.
func (w *world) attackOn(path string) string {
	return w.attack(waf.AttackSpec{App: 4, Path: path})
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// overwrite is what another user of the service's console does to an entry.
func (w *world) overwrite(e waf.IPRule, reason string, lasts time.Duration) {
	w.t.Helper()
	body := fmt.Sprintf(`{"clientid":5,"force":true,"ip_rule":{"list":%q,"rule_type":"ip_range","subnet":%q,"pools":[0],"expired_at":%d,"reason":%q}}`,
		e.List, e.Subnet, w.clock().Add(lasts).Unix(), reason)
	w.byHand(http.MethodPost, "/v4/ip_rules", body)
}

// byHand is a request that wafbot did not make, long enough ago to be listed.
func (w *world) byHand(method, path, body string) {
	w.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-ServiceApi-Token", token)
	r.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	w.service.ServeHTTP(answer, r)
	require.Less(w.t, answer.Code, 300, answer.Body.String())
	w.service.CatchUp()
}

// asks is a delivery of its own.
func (w *world) asks(who record.Actor, line string) call.Invocation {
	w.t.Helper()
	l, err := grammar.Parse(line)
	require.NoError(w.t, err)
	at := w.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return call.Invocation{Line: l, Actor: who, ID: fmt.Sprintf("delivery %d", w.ids), At: at}
}

func (w *world) do(inv call.Invocation) (call.Result, error) {
	res, err := w.Do(w.t.Context(), inv)
	if err != nil {
		require.NotContains(w.t, err.Error(), token)
	}
	return res, err
}

// Do is the runner's, and holds that what a person reads of it is for people. What the person typed is no wording of
// wafbot's.
func (w *world) Do(ctx context.Context, inv call.Invocation) (call.Result, error) {
	w.t.Helper()
	res, err := w.Runner.Do(ctx, inv)
	said, _ := call.ForPeople(inv, err)
	for _, words := range []string{said.String(), textOf(res), res.Document} {
		if found := human.Inside(words); !strings.Contains(inv.Line.String(), found) {
			assert.Empty(w.t, found, words)
		}
	}
	return res, err
}

func (w *world) try(who record.Actor, line string) (call.Result, error) {
	w.t.Helper()
	return w.do(w.asks(who, line))
}

// does expects one change, made.
func (w *world) does(who record.Actor, line string) record.Change {
	w.t.Helper()
	res, err := w.try(who, line)
	require.NoError(w.t, err)
	require.Equal(w.t, "done", res.Outcome, textOf(res))
	require.Len(w.t, res.Changes, 1)
	return res.Changes[0]
}

// anyway does it in spite of its warnings, which there must be.
func (w *world) anyway(who record.Actor, line string) record.Change {
	w.t.Helper()
	inv := w.asks(who, line)
	_, err := w.do(inv)
	require.ErrorIs(w.t, err, refusal.ErrAsk)
	inv.Anyway = true
	res, err := w.do(inv)
	require.NoError(w.t, err)
	require.Len(w.t, res.Changes, 1)
	return res.Changes[0]
}

// insists does it whatever warns of it.
func (w *world) insists(who record.Actor, line string) record.Change {
	w.t.Helper()
	res, err := w.all(who, line)
	require.NoError(w.t, err)
	require.Len(w.t, res.Changes, 1)
	return res.Changes[0]
}

// refuses expects a refusal of that kind with those words, and that nothing was sent.
func (w *world) refuses(who record.Actor, line string, kind error, words ...string) {
	w.t.Helper()
	before := w.changesSent()
	_, err := w.try(who, line)
	require.ErrorIs(w.t, err, kind)
	said, fault := call.ForPeople(call.Invocation{}, err)
	require.False(w.t, fault)
	for _, word := range words {
		require.Contains(w.t, said.String(), word)
	}
	require.Equal(w.t, before, w.changesSent(), "nothing may be sent")
}

// asksInSpiteOfYes expects a question although all were answered with yes beforehand, as by -y at a terminal, and that
// nothing was sent.
func (w *world) asksInSpiteOfYes(who record.Actor, line string) {
	w.t.Helper()
	before := w.changesSent()
	inv := w.asks(who, line)
	inv.Yes = true
	_, err := w.do(inv)
	require.ErrorIs(w.t, err, refusal.ErrAsk, line)
	require.Equal(w.t, before, w.changesSent(), "nothing may be sent")
}

// waits expects that it needs a second person, whose request is written down, and that nothing was sent. Warnings were
// seen.
func (w *world) waits(who record.Actor, line string, words ...string) record.ApprovalRequest {
	w.t.Helper()
	before := w.changesSent()
	res, err := w.all(who, line)
	require.NoError(w.t, err, line)
	require.Equal(w.t, "waiting", res.Outcome, textOf(res))
	for _, word := range append(words, "Waiting for approval") {
		require.Contains(w.t, textOf(res), word)
	}
	require.Equal(w.t, before, w.changesSent(), "nothing may be sent")
	return res.Data.(record.ApprovalRequest)
}

// nothing expects that all of it is so already, and that nothing was sent.
func (w *world) nothing(who record.Actor, line string, words ...string) {
	w.t.Helper()
	before := w.changesSent()
	res, err := w.try(who, line)
	said := textOf(res)
	if err != nil {
		require.ErrorIs(w.t, err, refusal.ErrNothing)
		said = err.Error()
	} else {
		require.Equal(w.t, "nothing", res.Outcome, said)
	}
	if who.Via != record.ViaClock { // which reads no answer
		require.Regexp(w.t, "^(Refused: |Done, nothing to change. )", said)
	}
	for _, word := range words {
		require.Contains(w.t, said, word)
	}
	require.Equal(w.t, before, w.changesSent(), "nothing may be sent")
}

// reads expects an answer, whatever the line does.
func (w *world) reads(who record.Actor, line string) call.Result {
	w.t.Helper()
	res, err := w.try(who, line)
	require.NoError(w.t, err)
	return res
}

// notified keeps what a Notifier learns, and how often an account was changed.
type notified struct {
	mu      sync.Mutex
	events  []record.Event
	redrawn int // how often cards became stale
	changed int // how often a change was made
}

// Notify implements commands.Notifier.
func (n *notified) Notify(_ string, events []record.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, events...)
}

// Redraw implements commands.Notifier.
func (n *notified) Redraw(string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.redrawn++
}

// Changed counts.
func (n *notified) Changed(string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed++
}

// of are the events of a kind.
func (n *notified) of(kind record.EventKind) []record.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(n.events), func(e record.Event) bool { return e.Kind != kind })
}

// ids are the events' ids.
func (n *notified) ids() (ids []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		ids = append(ids, e.ID)
	}
	return ids
}
