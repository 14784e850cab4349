package commands_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// lapsing is a bubble in which acknowledgements of such attacks lapse.
func lapsing(t *testing.T, alter func(s *record.AttackState)) *world {
	t.Helper()
	w := newBubble(t)
	w.attackSeen = func() record.AttackState { // it is hit all the time
		s := record.AttackState{Attack: apiclient.Attack{ID: "x:1", Type: "sqli", BlockStatus: "monitored", Last: w.clock()}, Notified: true, AckTimeout: 2 * time.Hour}
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
		w := lapsing(t, nil)
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
		w := lapsing(t, func(s *record.AttackState) {
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
		synctest.Test(t, func(t *testing.T) {
			w := lapsing(t, alter)
			id := w.attackOn("/login")
			w.writes(ann, "ack attack="+id)
			time.Sleep(5 * time.Hour)
			require.NotNil(t, w.said(id).Owner, name)
		})
	}
	for _, line := range []string{"verdict test attack=%s", "mute type=sqli for=9h"} {
		synctest.Test(t, func(t *testing.T) {
			w := lapsing(t, nil)
			id := w.attackOn("/login")
			w.writes(ann, "ack attack="+id)
			w.writes(ann, strings.Replace(line, "%s", id, 1))
			time.Sleep(5 * time.Hour)
			require.NotNil(t, w.said(id).Owner, line)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := lapsing(t, func(s *record.AttackState) {
			s.Storm = &record.Storm{Through: map[apiclient.Status]int{apiclient.StatusNotBlocked: 1}}
		})
		id := w.attackOn("/login")
		w.writes(ann, "ack attack="+id)
		time.Sleep(5 * time.Hour)
		require.Nil(t, w.said(id).Owner, "a storm that gets through")
	})
}

// Owners are dated by the service's clock, requests by the one that replicas share.
func TestAnAcknowledgementLapsesWhereClocksDiffer(t *testing.T) {
	t.Parallel()
	for _, shared := range []time.Duration{-6 * time.Hour, 6 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := lapsing(t, nil)
			w.shared = shared
			id := w.attackOn("/login")
			w.writes(ann, "ack attack="+id)
			time.Sleep(2*time.Hour - time.Second)
			require.NotNil(t, w.said(id).Owner)
			time.Sleep(20 * time.Second)
			require.Nil(t, w.said(id).Owner, shared)
		})
	}
}
