package commands_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/change"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// runDue runs RunDue for a while of the bubble's time, over a service that is reached without a network. It looks 120
// times, but not more than once a second, and each second at the end.
func runDue(t *testing.T, w *world, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	due, end := make(chan struct{}), time.Now().Add(d)
	go func() {
		for ctx.Err() == nil {
			select {
			case due <- struct{}{}:
			case <-ctx.Done():
			}
			select {
			case <-time.After(max(time.Second, min(d/120, time.Until(end)/2))):
			case <-ctx.Done():
			}
		}
	}()
	w.RunDue(ctx, "acme", due)
}

func TestWhatIsTimedEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.anyway(ann, "mode 4 block for=10m")
		w.does(ann, "patch shop.example.com/login type=sqli part=get.q for=20m")
		runDue(t, w, 10*time.Minute-time.Second)
		require.Equal(t, []string{"block"}, w.modes())
		runDue(t, w, 3*time.Second)
		require.Equal(t, []string{"monitoring"}, w.modes())
		require.Len(t, w.rules("vpatch"), 1)
		runDue(t, w, 10*time.Minute)
		require.Empty(t, w.rules("vpatch"))
		for _, ch := range w.ledger.all() {
			if ch.Undoes == "" {
				require.Equal(t, record.StateUndone, ch.State)
				require.Equal(t, "wafbot", ch.EndedBy.Name)
			} else {
				require.Equal(t, record.ViaClock, ch.Actor.Via)
			}
		}
		sent := w.changesSent()
		runDue(t, w, 10*time.Minute)
		require.Equal(t, sent, w.changesSent())
	})
}

// As long as the service has not said the time, nothing is removed; what is due meanwhile is removed when it has.
func TestWhatIsTimedWaitsUntilTheTimeIsKnown(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.anyway(ann, "mode 4 block for=10m")
		w.setSilent(true)
		time.AfterFunc(time.Hour, func() {
			require.Equal(t, []string{"block"}, w.modes())
			w.setSilent(false)
		})
		runDue(t, w, time.Hour+3*time.Second)
		require.Equal(t, []string{"monitoring"}, w.modes())
	})
}

func TestEndingIsTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.anyway(ann, "mode 4 block for=10m")
		w.fault("POST /v1/objects/hint/create", "status:403", 0)
		runDue(t, w, 10*time.Minute+150*time.Second)
		require.Equal(t, []string{"block"}, w.modes())
		require.Equal(t, 3, w.audit.failed(), "once a minute")
		w.service.ClearFaults()
		runDue(t, w, 2*time.Minute)
		require.Equal(t, []string{"monitoring"}, w.modes())
	})
}

func TestTheDueListIsAway(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.anyway(ann, "mode 4 block for=10m")
		w.ledger.set(func(l *ledger) { l.beginFail = true })
		runDue(t, w, 20*time.Minute)
		require.Equal(t, []string{"block"}, w.modes())
		w.ledger.set(func(l *ledger) { l.beginFail = false })
		runDue(t, w, 2*time.Minute)
		require.Equal(t, []string{"monitoring"}, w.modes())
	})
}

// An overlapping switch ends without bringing back what was only set for a time.
func TestOverlappingModesEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ block, safe, between string }{
		"the first ends first":  {"10m", "30m", "safe_blocking"},
		"the second ends first": {"30m", "10m", "block"}, // as before, for the rest of its time
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newBubble(t)
				w.anyway(ann, "mode 4 block for="+c.block)
				w.anyway(root, "mode 4 safe_blocking for="+c.safe)
				runDue(t, w, 20*time.Minute)
				require.Equal(t, []string{c.between}, w.modes())
				runDue(t, w, 20*time.Minute)
				require.Equal(t, []string{"monitoring"}, w.modes())
			})
		})
	}
}

func TestNothingEndsWhereChangesAreNotOn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.anyway(ann, "mode 4 block for=10m")
		w.cfg.Accounts[0].Policy.Changes = config.ChangesDryRun
		w.Runner = commands.New(w.cfg)
		n := len(w.audit.all())
		runDue(t, w, time.Hour)
		require.Equal(t, []string{"block"}, w.modes())
		require.Len(t, w.audit.all(), n)
		require.Equal(t, 1, strings.Count(w.log.String(), "is not ended"))
	})
}

// A patch whose process died before it could be written down ends like any other.
func TestWhatWasNeverWrittenDownEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.ledger.set(func(l *ledger) { l.saveFail = func(n int) bool { return n >= 2 } })
		_, err := w.try(ann, "patch shop.example.com/login type=sqli part=get.q for=10m")
		require.ErrorIs(t, err, refusal.ErrAway)
		w.ledger.set(func(l *ledger) { l.saveFail = nil })
		require.Len(t, w.rules("vpatch"), 1)
		runDue(t, w, 10*time.Minute+2*time.Second)
		require.Empty(t, w.rules("vpatch"))
	})
}

// slowRules is a bubble whose service answers about rules no more, once that is set: each attempt takes 70 seconds and
// fails.
func slowRules(t *testing.T, slow *atomic.Bool) *world {
	t.Helper()
	return bubbleBefore(t, func(service http.Handler) http.Handler {
		return http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
			if slow.Load() && strings.HasPrefix(r.URL.Path, "/v1/objects/hint") {
				select {
				case <-time.After(35 * time.Second):
				case <-r.Context().Done():
				}
				panic(http.ErrAbortHandler)
			}
			service.ServeHTTP(answer, r)
		})
	}, renewing(&going{trying: []string{"203.0.113.7"}}, 24*time.Hour), func(c *commands.Config) { c.Accounts[0].Policy.Approval.Timeout = 4 * time.Minute })
}

// More patches are over than are ended at a time, and the service answers about lists alone: a short denial is renewed
// in time, and a request expires.
func TestADueChangeWaitsForNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		w := slowRules(t, &slow)
		for i := range 9 {
			w.does(ann, fmt.Sprintf("patch shop.example.com/login%d type=sqli part=get.q for=10m", i))
		}
		runDue(t, w, 7*time.Minute)
		denied := w.does(ann, "deny 203.0.113.7 for=5m")
		w.waits(ann, "deny country:FR")
		slow.Store(true)
		runDue(t, w, 4*time.Minute+5*time.Second)
		require.Len(t, w.rules("vpatch"), 9)
		require.Equal(t, denied.Until.Add(5*time.Minute), w.ledger.change(denied.ID).Until)
		require.Equal(t, record.RequestExpired, w.request().State)
		slow.Store(false)
		runDue(t, w, 3*time.Second)
		require.Empty(t, w.rules("vpatch"))
	})
}

// An end that fails is tried again a minute after its attempt ended, however long that took.
func TestASlowEndIsNotTriedAgainAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		w := slowRules(t, &slow)
		w.does(ann, "patch shop.example.com/login type=sqli part=get.q for=10m")
		slow.Store(true)
		runDue(t, w, 14*time.Minute)
		require.Equal(t, 2, w.audit.failed())
	})
}

func TestAnEndThatIsOverdue(t *testing.T) {
	t.Parallel()
	for fault, why := range map[string]string{"status:423": "the service has locked its rules just now", "status:500": "error of its own", "status:404": "doesn't find it"} {
		synctest.Test(t, func(t *testing.T) {
			w := newBubble(t)
			ch := w.anyway(ann, "mode 4 block for=10m")
			w.fault("POST /v1/objects/hint/create", fault, 0)
			runDue(t, w, 12*time.Minute) // some errors are looked into first
			late := w.ledger.takeDue(isLate)
			require.Len(t, late, 1, fault)
			lines := change.OverdueLines(w.cfg.Accounts[0], late[0].Change, w.clock())
			require.Contains(t, lines[0].String(), "OVERDUE on acme: Shop should return to monitoring at ")
			require.Contains(t, lines[0].String(), ": NOT done")
			require.Contains(t, lines[1].String(), why)
			require.Contains(t, joinedText(lines[2:]), "by hand, in the service's console: set the mode of Shop to monitoring")
			runDue(t, w, 4*time.Minute)
			require.Empty(t, w.ledger.takeDue(isLate), "once, however often it is tried")
			require.Equal(t, []string{"block"}, w.modes())
			w.service.ClearFaults()
			runDue(t, w, 2*time.Minute)
			require.Equal(t, []string{"monitoring"}, w.modes())
			require.Equal(t, record.StateUndone, w.ledger.change(ch.ID).State)
			over := w.ledger.all()[0]
			require.Equal(t, ch.ID, over.Undoes)
			require.Contains(t, change.EndedLateLine(over).String(), "Done after all, due at "+ch.Until.Format("2006-01-02 15:04")+" UTC: Undo of: Switch Shop to block for 10 min · wafbot")
		})
	}
}

func joinedText(lines []text.Text) string {
	var all []string
	for _, l := range lines {
		all = append(all, l.String())
	}
	return strings.Join(all, "\n")
}

// Where the notice of lost permission says what is due, nothing else does.
func TestWhatLostPermissionSaysIsNotNotifiedTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ch := w.anyway(ann, "mode 4 block for=10m")
		w.fault("POST /v1/objects/hint/create", "status:403", 0)
		runDue(t, w, 12*time.Minute)
		require.Empty(t, w.ledger.takeDue(isLate))
		lost, _ := w.lastLoss()
		require.Equal(t, ch.ID, lost.Refused[0].Ends)
		w.service.ClearFaults()
		w.fault("POST /v1/objects/hint/create", "status:423", 0)
		runDue(t, w, 2*time.Minute)
		require.Empty(t, w.ledger.takeDue(isLate), "nor when something else goes wrong meanwhile")
		w.service.ClearFaults()
		runDue(t, w, 2*time.Minute)
		require.Equal(t, []string{"monitoring"}, w.modes())
		require.Nil(t, w.ledger.all()[0].Late)
	})
}

// A person was faster than the clock.
func TestAnOverdueEndIsUndoneByHand(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ch := w.does(ann, "patch shop.example.com/login type=sqli part=get.q for=10m")
		w.fault("POST /v1/objects/hint/delete", "status:423", 0)
		runDue(t, w, 13*time.Minute)
		require.Len(t, w.ledger.takeDue(isLate), 1)
		w.service.ClearFaults()
		w.does(bob, "undo "+ch.ID)
		n := len(w.audit.all())
		runDue(t, w, 10*time.Minute)
		require.Len(t, w.audit.all(), n)
		require.NotNil(t, w.ledger.all()[0].Late, "it is notified where it was notified that it was late")
	})
}

// lapsing is a bubble in which acknowledgements of an attack lapse after so long; alter changes the attack.
func lapsing(t *testing.T, after time.Duration, alter func(s *record.AttackState)) *world {
	t.Helper()
	w := newBubble(t)
	w.attackSeen = func() record.AttackState { // it is hit all the time
		s := record.AttackState{Attack: apiclient.Attack{ID: "x:1", Type: "sqli", BlockStatus: "monitored", Last: w.clock()}, Notified: true, AckTimeout: after}
		if alter != nil {
			alter(&s)
		}
		return s
	}
	go w.RunLapses(t.Context(), "acme")
	return w
}

func TestAnAcknowledgementLapses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := lapsing(t, 2*time.Hour, nil)
		id := w.attackOn("/login")
		w.writes(ann, "ack attack="+id)
		time.Sleep(2*time.Hour - time.Second)
		require.Equal(t, ann.ID, w.said(id).Owner.ID)
		time.Sleep(20 * time.Second)
		k := w.said(id)
		require.Nil(t, k.Owner)
		require.Equal(t, ann.ID, k.Lapsed.ID)
		require.WithinDuration(t, w.clock(), k.UnackedAt, 20*time.Second, "from then on the pager is due")
		e := w.lastAudit()
		require.Equal(t, []any{"wafbot", record.ViaClock, "done", "unack attack=" + id}, []any{e.Actor.Name, e.Actor.Via, e.Outcome, e.Line})
		require.Equal(t, []string{"Ann's acknowledgement lapsed after 2 h; still getting through"}, e.After)
		events := w.notified.of(record.AckLapsed)
		require.Len(t, events, 1)
		require.Equal(t, record.AttackFacts{To: ann.ID}, events[0].Detail)

		time.Sleep(3 * time.Hour)
		require.Len(t, w.notified.of(record.AckLapsed), 1, "once")
		w.writes(bob, "ack attack="+id)
		w.writes(bob, "unack attack="+id)
		require.Nil(t, w.said(id).Lapsed, "that one left it")
		w.writes(bob, "ack attack="+id)
		time.Sleep(2*time.Hour + 20*time.Second)
		require.Equal(t, bob.ID, w.said(id).Lapsed.ID)
		require.Len(t, w.notified.of(record.AckLapsed), 2)
	})
}

// One that was acknowledged before it resumed is unacknowledged at once: who was on it may have gone to bed.
func TestAnAcknowledgementLapsesWhenItsAttackResumes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := lapsing(t, 2*time.Hour, func(s *record.AttackState) {
			if s.AckTimeout = 0; time.Since(began) > time.Hour {
				s.ResumedAt = s.Attack.Last.Add(time.Until(began.Add(time.Hour)))
			}
		})
		id := w.attackOn("/login")
		w.writes(ann, "ack attack="+id)
		time.Sleep(time.Hour - time.Second)
		require.NotNil(t, w.said(id).Owner)
		time.Sleep(20 * time.Second)
		require.Equal(t, ann.ID, w.said(id).Lapsed.ID)
		require.Nil(t, w.said(id).Owner)
		w.writes(ann, "ack attack="+id)
		time.Sleep(time.Hour)
		require.NotNil(t, w.said(id).Owner, "who acknowledges it now knows that it resumed")
	})
}

func TestWhatKeepsAnAcknowledgement(t *testing.T) {
	t.Parallel()
	holds := func(name string, alter func(s *record.AttackState), line string, lapses bool) {
		synctest.Test(t, func(t *testing.T) {
			w := lapsing(t, 20*time.Minute, alter)
			id := w.attackOn("/login")
			w.writes(ann, "ack attack="+id)
			if line != "" {
				w.writes(ann, strings.Replace(line, "%s", id, 1))
			}
			time.Sleep(50 * time.Minute)
			require.Equal(t, lapses, w.said(id).Owner == nil, name)
		})
	}
	for name, alter := range map[string]func(s *record.AttackState){
		"never":                   func(s *record.AttackState) { s.AckTimeout = 0 },
		"it is blocked":           func(s *record.AttackState) { s.Attack.BlockStatus = "blocked" },
		"nothing gets through":    func(s *record.AttackState) { s.Paused = true },
		"it is over":              func(s *record.AttackState) { s.Quiet = true },
		"it isn't hit any more":   func(s *record.AttackState) { s.Attack.Last = s.Attack.Last.Add(-20 * time.Minute) },
		"it is a false positive":  func(s *record.AttackState) { s.Attack.State = "falsepositive" },
		"it isn't known yet":      func(s *record.AttackState) { s.Rebuilt = true },
		"a storm that is blocked": func(s *record.AttackState) { s.Storm = &record.Storm{} },
	} {
		holds(name, alter, "", false)
	}
	for _, line := range []string{"verdict test attack=%s", "mute type=sqli for=9h"} {
		holds(line, nil, line, false)
	}
	holds("a storm that gets through", func(s *record.AttackState) {
		s.Storm = &record.Storm{Through: map[apiclient.Status]int{apiclient.StatusNotBlocked: 1}}
	}, "", true)
}

// Owners are dated by the service's clock, requests by the one that replicas share.
func TestAnAcknowledgementLapsesWhereClocksDiffer(t *testing.T) {
	t.Parallel()
	for _, shared := range []time.Duration{-6 * time.Hour, 6 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := lapsing(t, 20*time.Minute, nil)
			w.shared = shared
			id := w.attackOn("/login")
			w.writes(ann, "ack attack="+id)
			time.Sleep(20*time.Minute - time.Second)
			require.NotNil(t, w.said(id).Owner)
			time.Sleep(20 * time.Second)
			require.Nil(t, w.said(id).Owner, shared)
		})
	}
}
