package notify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// once is a Slack whose first answer to each message that begins so has a fault.
func once(fault, begins string) func(channel, text string) string {
	seen := map[string]bool{}
	return func(_, text string) string {
		text = strings.TrimPrefix(text, "The pager of acme can't be called, no page is sent: ")
		if !strings.HasPrefix(text, begins) || seen[text] {
			return ""
		}
		seen[text] = true
		return fault
	}
}

// Others of the channel go on. Where Slack answered, an empty history counts after its own lag; one reading serves all.
func TestADoubtfulPostStepsAside(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{fails, strange, "internal_error"} {
		owning(t, once(fault, "odd"), func(n *Notifier, s *choosy) {
			for i := range 4 {
				emits(n, "C1", fmt.Sprint("odd ", i))
				emits(n, "C1", fmt.Sprint("even ", i))
			}
			time.Sleep(5 * time.Minute)
			got := s.all()
			slices.Sort(got)
			require.Equal(t, []string{
				"C1 even 0 0s", "C1 even 1 0s", "C1 even 2 0s", "C1 even 3 0s", "C1 odd 0 5s", "C1 odd 1 5s", "C1 odd 2 5s", "C1 odd 3 5s",
			}, got, fault)
			require.Equal(t, 3, s.reads, "after 1 s, 3 s and 5 s")
			require.Equal(t, 12, s.tries)
		})
	}
}

// Without an answer the request may still arrive.
func TestAPostWithoutAnAnswerWaitsUntilItCannotArrive(t *testing.T) {
	t.Parallel()
	owning(t, once(cuts, "odd"), func(n *Notifier, s *choosy) {
		emits(n, "C1", "odd")
		emits(n, "C1", "even")
		time.Sleep(29 * time.Second)
		require.Equal(t, []string{"C1 even 0s"}, s.all())
		time.Sleep(5 * time.Minute)
		require.Equal(t, []string{"C1 even 0s", "C1 odd 30s"}, s.all())
		require.Equal(t, 3, s.reads)
	})
}

// A reading that finds the message adopts it, whenever that is.
func TestAMessageThatIsThereIsAdopted(t *testing.T) {
	t.Parallel()
	owning(t, once(takes, "odd"), func(n *Notifier, s *choosy) {
		emits(n, "C1", "odd")
		time.Sleep(2 * time.Second)
		require.Zero(t, waiting(n), "it is recorded")
		time.Sleep(5 * time.Minute)
		require.Equal(t, []string{"C1 odd 0s"}, s.all())
		require.Equal(t, 1, s.reads)
	})
	owning(t, once(cuts, "odd"), func(n *Notifier, s *choosy) {
		emits(n, "C1", "odd")
		time.Sleep(20 * time.Second) // it arrives late
		s.mu.Lock()
		s.shows = append(s.shows, inHistory{"C1", time.Now(), `{"ts":"1.9","bot_id":"B0OURS","metadata":{"event_type":"wafbot_pager","event_payload":{"delivery":"odd"}}}`})
		s.mu.Unlock()
		time.Sleep(5 * time.Minute)
		require.Empty(t, s.all(), "it isn't posted again")
		require.Zero(t, waiting(n))
	})
}

// What is about the same waits for it, and is posted after it.
func TestWhatIsAboutTheSameWaits(t *testing.T) {
	t.Parallel()
	refuses := once(fails, "")
	owning(t, func(channel, text string) string {
		if strings.Contains(text, "unreachable") {
			return refuses(channel, text)
		}
		return ""
	}, func(n *Notifier, s *choosy) {
		from := time.Now()
		n.Notify("acme", []record.Event{
			{ID: "e1", Account: "acme", Channel: "C1", Kind: record.APIUnreachable, At: from, Detail: record.UnreachableFacts{Outage: record.Outage{From: from, Why: "away"}}},
			{ID: "e2", Account: "acme", Channel: "C1", Kind: record.MonitoringGap, At: from.Add(time.Second), Detail: record.GapFacts{From: from, To: from.Add(time.Second)}},
		})
		emits(n, "C1", "other")
		time.Sleep(time.Minute)
		got := s.all()
		require.Len(t, got, 3)
		require.Contains(t, got[0], "other 0s")
		require.Contains(t, got[1], "unreachable")
		require.Contains(t, got[2], "5s")
	})
}

// A parked event is as urgent as what waits for it: an incident doesn't wait behind others because its card is in
// doubt.
func TestWhatIsParkedIsAsUrgentAsWhatWaitsForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(made(Config{}), Account{Account: &config.Account{Name: "acme"}})
		about := func(id string, kind record.EventKind, attack string) record.Event {
			return record.Event{ID: id, Account: "acme", Channel: "C1", Kind: kind, Subject: attack, At: time.Now()}
		}
		q.add([]record.Event{about("card", record.NewAttack, "x:1")})
		w := picks(q)
		require.NotNil(t, w)
		q.ended(w, time.Now(), &laterError{due: time.Now().Add(5 * time.Second)})
		q.add([]record.Event{about("incident", record.BecameIncident, "x:1"), about("worse", record.Worsened, "x:2"), about("other", record.NewAttack, "x:3")})
		require.Equal(t, "worse", picks(q).ID, "the incident waits for its card")
		after(5 * time.Second)
		q.add([]record.Event{about("worse, too", record.Worsened, "x:4")})
		require.Equal(t, "card", picks(q).ID)
		require.Equal(t, "worse, too", picks(q).ID)
		require.Equal(t, "other", picks(q).ID)
		require.Nil(t, picks(q))
	})
}

// Those that are due at the same time come back by rank, whichever was parked first.
func TestWhatIsParkedComesBackByRank(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(made(Config{}), Account{Account: &config.Account{Name: "acme"}})
		due := &laterError{due: time.Now().Add(5 * time.Second)}
		for _, e := range []record.Event{{ID: "attack", Kind: record.NewAttack}, {ID: "worse", Kind: record.Worsened}, {ID: "incident", Kind: record.NewIncident}} {
			e.Channel = "C1"
			q.add([]record.Event{e})
			q.ended(picks(q), time.Now(), due)
		}
		require.Nil(t, picks(q))
		time.Sleep(5 * time.Second)
		require.Equal(t, "incident", picks(q).ID)
		require.Equal(t, "worse", picks(q).ID)
		require.Equal(t, "attack", picks(q).ID)
	})
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
