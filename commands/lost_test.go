package commands_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
)

// A process is paused in the middle of a change, loses its lock, and wakes up when another one has gone on with the same request.
func TestALockLostInTheMiddleOfAChange(t *testing.T) {
	t.Parallel()
	for line, save := range map[string]int{"deny 203.0.113.7": 2, "patch shop.example.com/login type=sqli part=get.q": 2, "mode 4 block": 3, "ack attack=%s": 1} {
		for at := 1; at <= save; at++ {
			t.Run(fmt.Sprint(line, " at ", at), func(t *testing.T) {
				w := newWorld(t)
				if line == "ack attack=%s" {
					line = fmt.Sprintf(line, w.attackOn("/login"))
				}
				inv := w.asks(ann, line)
				inv.Anyway = true
				lost := false
				w.ledger.lose(at, func() {
					lost = true
					_, err := w.do(inv)
					require.NoError(t, err, "the successor")
				})
				res, err := w.do(inv)
				require.NoError(t, err)
				require.True(t, lost)
				require.NotEmpty(t, res.Lines)
				require.LessOrEqual(t, len(w.entries("black"))+len(w.rules("vpatch")), 1)
				require.LessOrEqual(t, len(w.modes()), 1)
				require.LessOrEqual(t, len(w.ledger.all()), 1)
				for _, ch := range w.ledger.all() {
					require.Equal(t, record.StateDone, ch.State)
					w.does(ann, "undo "+ch.ID)
				}
				w.requireAsAtFirst()
			})
		}
	}
}

// The successor looked before the paused one's rule could be seen, and made one of its own.
func TestARuleMadeTwiceIsDeletedOnce(t *testing.T) {
	w := newWorld(t)
	inv := w.asks(ann, "patch shop.example.com/login type=sqli part=get.q")
	w.ledger.lose(2, func() {
		// What the paused one sent is as good as not there when its successor looks, and there again afterwards.
		made := w.rules("vpatch")
		require.Len(t, made, 1)
		w.ledger.set(func(l *ledger) {
			ch := l.only()
			ch.Steps[0].Equal = append(ch.Steps[0].Equal, made[0].ID)
			l.put(ch)
		})
		_, err := w.do(inv)
		require.NoError(t, err)
		require.Len(t, w.rules("vpatch"), 2)
	})
	_, err := w.do(inv)
	require.NoError(t, err)
	require.Len(t, w.rules("vpatch"), 1)
	require.Equal(t, w.ledger.all()[0].Steps[0].ID, w.rules("vpatch")[0].ID, "the one that is written down stays")
	require.Contains(t, w.lastAudit().Why+w.out.String(), "it was made twice")
}

// Redis was emptied while a change was being made: who made it still knows all of it.
func TestAChangeThatRedisLostIsSavedAgain(t *testing.T) {
	for _, line := range []string{"deny 203.0.113.7", "patch shop.example.com/login type=sqli part=get.q", "mode 4 block"} {
		w := newWorld(t)
		inv := w.asks(ann, line)
		inv.Anyway = true
		w.ledger.lose(2, w.ledger.forget)
		res, err := w.do(inv)
		require.NoError(t, err, line)
		require.Equal(t, "done", res.Outcome)
		require.Len(t, w.audit.all(), 1)
		ch := w.ledger.all()[0]
		require.Equal(t, record.StateDone, ch.State)
		w.does(ann, "undo "+ch.ID)
		w.requireAsAtFirst()
	}
}

// It is saved when Redis is read back, and if that takes longer than the call may, the audit log's output has it.
func TestAChangeThatRedisLostWaitsForItsRebuild(t *testing.T) {
	t.Parallel()
	for _, back := range []time.Duration{4 * time.Minute, 6 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			w := newBubble(t)
			w.ledger.lose(2, func() {
				w.ledger.set(func(l *ledger) {
					l.forget()
					l.beginFail = true
				})
			})
			time.AfterFunc(back, func() { w.ledger.set(func(l *ledger) { l.beginFail = false }) })
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			_, err := w.Do(ctx, w.asks(ann, "deny 203.0.113.7"))
			require.Contains(t, w.out.String(), `"outcome":"done"`)
			if back < 5*time.Minute {
				require.NoError(t, err)
				require.Equal(t, record.StateDone, w.ledger.only().State)
				return
			}
			require.ErrorContains(t, err, "isn't written down")
			require.Empty(t, w.ledger.all())
		})
	}
}

// The claim is lost after the first half of a change; what the second half would do, another user does meanwhile.
func TestAClaimLostBetweenTwoHalves(t *testing.T) {
	for at := 1; at <= 5; at++ {
		w := newWorld(t)
		id := w.attackOn("/login")
		w.ledger.lose(at, func() { _, _ = w.try(bob, "patch attack="+id) })
		if _, err := w.do(w.asks(ann, "contain attack="+id)); err != nil { // Bob's patch stands, and hers was cut short
			require.ErrorContains(t, err, "Failed: Patch", "at save %d", at)
		}
		require.Len(t, w.rules("vpatch"), 1, "at save %d", at)
		require.Len(t, w.entries("black"), 1, "at save %d", at)
	}
}

// Whatever becomes of the answer, one line makes one entry or rule, and one undo takes it back.
func TestTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"500_applied", "reset_applied", "cut", "status:500", "reset", "html"} {
		for _, times := range []int{1, 2} {
			t.Run(kind, func(t *testing.T) {
				w := newWorld(t)
				w.fault("POST /v4/ip_rules", kind, times)
				denied := w.does(ann, "deny 203.0.113.7")
				require.Equal(t, []string{"203.0.113.7"}, w.denied())
				require.Equal(t, denied.Until.Unix(), w.listed("black")[0].ExpiredAt)
				require.Equal(t, w.listed("black")[0].ID, denied.Steps[0].ID)

				w.fault("POST /v1/objects/hint/create", kind, 1)
				patched := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
				require.Len(t, w.rules("vpatch"), 1)
				require.Equal(t, w.rules("vpatch")[0].ID, patched.Steps[0].ID)

				w.fault("POST /v1/objects/hint/create", kind, 1)
				require.Equal(t, w.does(ann, "indicator User-Agent evil host=shop.example.com").Steps[0].ID, w.theRule("regex").ID)

				w.fault("POST /v4/ip_rules", kind, times)
				w.does(ann, "extend "+denied.ID+" for=4h")
				require.Equal(t, []string{"203.0.113.7"}, w.denied())
				require.Equal(t, denied.Until.Add(4*time.Hour).Unix(), w.listed("black")[0].ExpiredAt)

				w.fault("POST /v1/objects/hint/delete", kind, times)
				gone := w.does(root, "delete-rule "+itoa(patched.Steps[0].ID))
				require.Empty(t, w.rules("vpatch"))
				w.fault("POST /v1/objects/hint/create", kind, 1)
				w.does(root, "undo "+gone.ID)
				require.Len(t, w.rules("vpatch"), 1)
				w.fault("POST /v1/objects/hint/delete", kind, times)
				w.does(ann, "undo "+patched.ID)
				require.Empty(t, w.rules("vpatch"))
				w.fault("DELETE /v4/ip_rules", kind, times)
				w.does(ann, "undo "+denied.ID)
				require.Empty(t, w.entries("black"))
			})
		}
	}
}

func TestTheAnswerToAModeIsLost(t *testing.T) {
	w := newWorld(t)
	w.fault("POST /v1/objects/hint/create", "reset_applied", 1)
	w.fault("POST /v1/objects/hint/delete", "500_applied", 2)
	ch := w.anyway(ann, "mode 4 block")
	require.Equal(t, []string{"block"}, w.modes())
	w.fault("POST /v1/objects/hint/create", "500_applied", 1)
	w.fault("POST /v1/objects/hint/delete", "reset_applied", 1)
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"monitoring"}, w.modes())
}

func TestAPutBackWhoseAnswerIsLost(t *testing.T) {
	w := newWorld(t)
	w.seed(waf.IPRule{Subnet: "203.0.113.7", Reason: "by hand", ExpiredAt: w.clock().Add(time.Hour).Unix()})
	ch := w.does(ann, "deny 203.0.113.7")
	w.fault("POST /v4/ip_rules", "500_applied", 1)
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"203.0.113.7/32 [0] 59m56.25s"}, w.entries("black"), "it took a while to be listed")
}

// An equal rule that was there before is never taken for the one that was lost.
func TestAnEqualRuleOfAnotherAuthor(t *testing.T) {
	w := newWorld(t)
	id := w.attackOn("/login")
	w.ledger.set(func(l *ledger) {
		l.saveFail = func(n int) bool {
			if n == 3 { // both are begun, and the denial is done
				w.pass(2 * time.Second)
				w.byHand("POST", "/v1/objects/hint/create", `{"clientid":5,"type":"vpatch","attack_type":"sqli","point":[["post"],["form_urlencoded","login"]],"validated":false,"action":[`+
					`{"type":"equal","value":"4","point":["instance"]},{"type":"equal","value":"shop.example.com","point":["header","HOST"]},{"type":"equal","value":"POST","point":["method"]},`+
					`{"type":"absent","value":null,"point":["path",0]},{"type":"equal","value":"login","point":["action_name"]},{"type":"absent","value":null,"point":["action_ext"]}]}`)
				w.fault("POST /v1/objects/hint/create", "status:500", 1)
			}
			return false
		}
	})
	res := w.reads(ann, "contain attack="+id)
	rules := w.rules("vpatch")
	require.Len(t, rules, 2)
	require.Equal(t, rules[1].ID, res.Changes[1].Steps[0].ID)
	w.does(ann, "undo "+res.Changes[1].ID)
	require.Equal(t, rules[:1], w.rules("vpatch"))
}

// Another user takes over an entry while its deletion is under way: what that user made of it stays.
func TestADeletionThatAnotherUserOvertakes(t *testing.T) {
	w := newWorld(t)
	ch := w.does(ann, "deny 203.0.113.7")
	w.fault("DELETE /v4/ip_rules", "status:500", 2)
	w.ledger.set(func(l *ledger) {
		l.saveFail = func(n int) bool {
			if n == 1 {
				w.overwrite(w.listed("black")[0], "kept for the police", 24*time.Hour)
			}
			return false
		}
	})
	w.does(ann, "undo "+ch.ID)
	require.Equal(t, []string{"203.0.113.7/32 [0] 24h0m0s"}, w.entries("black"))
}

func TestPerhapsDone(t *testing.T) {
	w := newWorld(t)
	w.fault("POST /v1/objects/hint/create", "status:500", 0)
	inv := w.asks(ann, "patch shop.example.com/login type=sqli part=get.q")
	_, err := w.do(inv)
	require.ErrorContains(t, err, "Failed, or perhaps done: Patch exactly")
	require.Equal(t, "unknown", w.lastAudit().Outcome)
	require.Empty(t, w.rules("vpatch"))
	w.service.ClearFaults()
	res, err := w.do(inv)
	require.NoError(t, err)
	require.Equal(t, "done", res.Outcome)
	require.Len(t, w.rules("vpatch"), 1)
	require.Empty(t, res.Changes[0].Fault)
}

// The service can't be read back: the outcome stays unknown, and the next request finds out.
func TestTheOutcomeStaysUnknown(t *testing.T) {
	w := newWorld(t)
	w.fault("POST /v4/ip_rules", "reset_applied", 2)
	require.NoError(t, w.service.SetFault(waf.Fault{Endpoint: "POST /v4/ip_rules", Kind: "status:500"}))
	read := 0
	w.ledger.set(func(l *ledger) {
		l.saveFail = func(int) bool { // the lists can't be read any more once the step is written down
			if read++; read == 1 {
				_ = w.service.SetFault(waf.Fault{Endpoint: "GET /v4/ip_rules", Kind: "status:500"})
			}
			return false
		}
	})
	_, err := w.try(ann, "deny 203.0.113.7")
	require.ErrorIs(t, err, refusal.ErrService)
	require.ErrorContains(t, err, "Failed, or perhaps done: Deny 203.0.113.7")
	require.ErrorContains(t, err, "Ask the same again")
	require.Equal(t, record.StateBegun, w.ledger.all()[0].State)
	require.Contains(t, textOf(w.reads(eve, "status")), "Being carried out: 1\n")
	require.Contains(t, textOf(w.reads(eve, "status")), "Deny 203.0.113.7 everywhere for 4 h · Ann 2026-11-20 03:00 UTC → 2026-11-20 07:00 UTC · outcome unknown since")
	w.service.ClearFaults()
	w.nothing(bob, "deny 203.0.113.7", "by Ann")
	require.Len(t, w.entries("black"), 1)
	require.Len(t, w.ledger.all(), 1)
	require.Equal(t, record.StateDone, w.ledger.all()[0].State)
}

// What fails while wafbot only looks is said to be not done: an error alone leaves its reader wondering.
func TestNothingBegunSaysSo(t *testing.T) {
	w := newWorld(t)
	for _, kind := range []string{"status:500", "status:403", "unauthenticated"} {
		w.fault("GET /v4/ip_rules", kind, 0)
		w.refuses(ann, "deny 203.0.113.7", refusal.ErrService, ". Nothing was done")
		w.service.ClearFaults()
	}
	require.Zero(t, w.changesSent())
	w.fault("GET /v4/ip_rules", "status:500", 0)
	_, err := w.try(eve, "lists")
	require.ErrorIs(t, err, refusal.ErrService)
	require.NotContains(t, err.Error(), "Nothing was done", "of what only reads")
}

// late is a network that loses the answer to the first creation of a rule and brings the request itself to the service long after: when so many
// pages of rules have been asked for since, or right after the second creation.
type late struct {
	service     http.Handler
	lists       int
	afterSecond bool

	mu   sync.Mutex
	held *http.Request
}

// ServeHTTP implements http.Handler.
func (l *late) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case r.URL.Path == "/v1/objects/hint/create" && l.held == nil:
		body, _ := io.ReadAll(r.Body)
		l.held = r.Clone(r.Context())
		l.held.Body = io.NopCloser(bytes.NewReader(body))
		panic(http.ErrAbortHandler)
	case r.URL.Path == "/v1/objects/hint/create" && l.afterSecond:
		defer l.service.ServeHTTP(httptest.NewRecorder(), l.held)
	case r.URL.Path == "/v1/objects/hint" && l.held != nil:
		if l.lists--; l.lists == 0 {
			l.arrive()
		}
	}
	l.service.ServeHTTP(w, r)
}

// arrive has the request be carried out that was held back.
func (l *late) arrive() { l.service.ServeHTTP(httptest.NewRecorder(), l.held) }

// A request that everybody took for lost is carried out after it was sent again: never two rules.
func TestACreationThatArrivesLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		lists    int // at which page the first one appears
		rules    int // afterwards
		takeBack bool
		kept     bool // the service refuses to delete the one that is too many
	}{
		{"before it is sent again", 3, 1, false, false},
		{"after it was sent again", 0, 1, true, false},
		{"after it was sent again, and it can't be deleted", 0, 2, false, true},
		{"later than anybody looks", -1, 2, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			net := &late{lists: c.lists, afterSecond: c.lists == 0}
			w := worldBefore(t, func(service http.Handler) http.Handler {
				net.service = service
				return net
			})
			if c.kept {
				w.fault("POST /v1/objects/hint/delete", "status:403", 0)
			}
			ch := w.does(ann, "patch shop.example.com/login type=sqli part=get.q")
			w.service.ClearFaults()
			if c.lists < 0 {
				require.Len(t, w.rules("vpatch"), 1)
				net.arrive()
				w.service.CatchUp()
			}
			require.Len(t, w.rules("vpatch"), c.rules)
			require.Equal(t, c.takeBack, bytes.Contains([]byte(w.out.String()), []byte("made twice")))
			w.does(ann, "undo "+ch.ID)
			require.Empty(t, w.rules("vpatch"))
		})
	}
}

// slowCreation is a network on which the first creation of a rule takes so long, as where the client pauses and tries again, and loses its answer.
type slowCreation struct {
	service http.Handler
	took    func()
	once    sync.Once
}

// ServeHTTP implements http.Handler.
func (s *slowCreation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/objects/hint/create" {
		s.once.Do(func() {
			s.took()
			s.service.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		})
	}
	s.service.ServeHTTP(w, r)
}

// What was sent again by the client itself is waited for from its last try on: the listing is behind that one, too.
func TestACreationThatTakesLong(t *testing.T) {
	var w *world
	w = worldBefore(t, func(service http.Handler) http.Handler {
		return &slowCreation{service: service, took: func() { w.pass(40 * time.Second) }}
	})
	w.lags()
	require.Equal(t, 1, w.requests("POST /v1/objects/hint/create", func() { w.does(ann, "patch shop.example.com/login type=sqli part=get.q") }))
	require.Len(t, w.rules("vpatch"), 1)
}
