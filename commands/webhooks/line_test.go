package webhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/metrics"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/webhook"
)

// queues are those of one account, by webhook, as the store keeps them.
type queues struct {
	mu      sync.Mutex
	entries map[string][]Entry
	dropped map[string]int
	noted   map[string][]record.Event
	open    map[string]bool // noted since the webhook last took one
	placed  int
	away    error // nil: the store is there
}

func newQueues() *queues {
	return &queues{entries: map[string][]Entry{}, dropped: map[string]int{}, noted: map[string][]record.Event{}, open: map[string]bool{}}
}

// add has an audit entry wait for each of the webhooks.
func (q *queues) add(attack string, ids ...string) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.placed++
	for _, id := range ids {
		e := record.AuditEntry{N: int64(q.placed), At: time.Now(), Account: "acme", Attack: attack, Line: "ack attack=" + attack, Outcome: "done"}
		q.entries[id] = append(q.entries[id], Entry{Place: strconv.Itoa(q.placed), At: time.Now(), Audit: &e})
	}
	return q.placed
}

func (q *queues) Waiting(_ context.Context, _, id string, logged int) (Queue, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away != nil {
		return Queue{}, q.away
	}
	q.dropped[id] -= logged
	q.entries[id] = slices.DeleteFunc(q.entries[id], func(e Entry) bool {
		old := time.Since(e.At) >= WaitsFor
		if old {
			q.dropped[id]++
		}
		return old
	})
	all := q.entries[id]
	return Queue{Entries: slices.Clone(all[:min(len(all), AtOnce)]), Waiting: len(all), Dropped: q.dropped[id], Noted: q.open[id]}, nil
}

func (q *queues) Note(_ context.Context, id string, e record.Event) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.away != nil {
		return q.away
	}
	q.noted[id], q.open[id] = append(q.noted[id], e), true
	return nil
}

func (q *queues) Done(_ context.Context, _, id, place string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open[id] = false
	q.entries[id] = slices.DeleteFunc(q.entries[id], func(e Entry) bool { return e.Place == place })
	return nil
}

func (q *queues) lose(away error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.away = away
}

// program is what a webhook leads to.
type program struct {
	mu    sync.Mutex
	hangs bool                    // it takes calls, and never answers
	fail  func(body string) error // nil: it takes everything
	tries []time.Time
	got   []string // the numbers of audit entries that it took
}

func (p *program) Send(ctx context.Context, m webhook.Message) error {
	if p.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries = append(p.tries, time.Now())
	if p.fail != nil {
		if err := p.fail(string(m.Body)); err != nil {
			return err
		}
	}
	_, after, _ := strings.Cut(string(m.Body), `"audit":{"n":`)
	n, _, _ := strings.Cut(after, ",")
	p.got = append(p.got, n)
	return nil
}

func (p *program) takes(fail func(body string) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = fail
}

func (p *program) took() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.got, " ")
}

func (p *program) tried() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.tries)
}

// journal is a log that can be read meanwhile.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

type outside struct{}

func (outside) Outside() time.Time { return time.Now() }

// sending is an account whose events are sent to programs, one webhook each.
type sending struct {
	*Webhooks
	*queues
	ids      []string
	programs []*program
	log      journal
	stop     func() // the account is given up
}

func newSending(t *testing.T, n int) *sending {
	t.Helper()
	s := &sending{queues: newQueues()}
	var list List
	for i := range n {
		one := Webhook{Name: fmt.Sprintf("webhooks[%d]", i), URL: apiclient.Secret(fmt.Sprintf("http://127.0.0.1/%d", i)), Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Events: []string{Everything}, Accounts: []string{Everything}}
		list, s.ids = append(list, one), append(s.ids, one.ID())
	}
	var err error
	s.Webhooks, err = New(Config{Webhooks: list, Queues: s.queues, Clock: outside{}, Events: metrics.New().Hooks, Log: slog.New(slog.NewTextHandler(&s.log, nil))})
	require.NoError(t, err)
	for _, r := range s.receivers {
		p := &program{}
		r.to, s.programs = p, append(s.programs, p)
	}
	more, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(t.Context(), more, &call.Account{Name: "acme", Channel: "C1"})
	}()
	s.stop = func() { stop(); <-ended }
	t.Cleanup(s.stop)
	synctest.Wait()
	return s
}

// pass lets a time pass, and all that is due in it be done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// sends adds an entry about an attack for all webhooks, and wakes them.
func (s *sending) sends(attack string) string {
	n := s.add(attack, s.ids...)
	s.Wake("acme")
	synctest.Wait()
	return strconv.Itoa(n)
}

func (s *sending) count(outcome string, i int) float64 {
	return testutil.ToFloat64(s.cfg.Events.WithLabelValues(fmt.Sprintf("webhooks[%d]", i), outcome))
}

func away(string) error { return &webhook.Failure{Text: "it can't be reached"} }

// A program that is away for a day is tried again and again, ever more seldom, and loses nothing of the last day; what is older is dropped, which is said. The other
// program has everything at once.
func TestADeadReceiverBlocksOnlyItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSending(t, 2)
		dead, other := s.programs[0], s.programs[1]
		dead.takes(away)
		for _, attack := range []string{"a1", "a2", "a1"} {
			s.sends(attack)
		}
		require.Equal(t, "1 2 3", other.took(), "at once")
		require.Len(t, dead.tried(), 1, "a failure is a pause for all")
		require.Equal(t, map[string]string{"webhooks[0]": "it can't be reached"}, s.Trouble())

		pass(23 * time.Hour)
		s.sends("a4")
		tried := dead.tried()
		require.Greater(t, len(tried), 23*60/5)
		require.Less(t, len(tried), 400, "seldom")
		require.Less(t, tried[1].Sub(tried[0]), 3*time.Second, "soon at first")
		require.InDelta(t, 5*time.Minute, tried[len(tried)-1].Sub(tried[len(tried)-2]), float64(2*time.Second))
		require.Equal(t, 1, strings.Count(s.log.String(), "doesn't take events"), "said once")
		pass(2 * time.Hour)
		require.Equal(t, 1, strings.Count(s.log.String(), "events were dropped"), s.log.String())
		require.Contains(t, s.log.String(), "account=acme dropped=3")
		require.Len(t, s.noted[s.ids[0]], 1, "people are notified once")
		note := s.noted[s.ids[0]][0]
		require.Equal(t, []any{record.EventsDropped, "C1", record.DroppedFacts{Webhook: "webhooks[0]", Dropped: 3, Why: "it can't be reached"}}, []any{note.Kind, note.Channel, note.Payload})
		require.Empty(t, s.noted[s.ids[1]])
		require.Equal(t, []float64{3, 0, 4}, []float64{s.count("dropped", 0), s.count("dropped", 1), s.count("delivered", 1)})

		dead.takes(nil)
		pass(6 * time.Minute)
		require.Equal(t, "4", dead.took())
		require.Contains(t, s.log.String(), "takes events again")
		require.Empty(t, s.Trouble())
		require.Equal(t, "1 2 3 4", other.took())

		dead.takes(away)
		s.sends("a5")
		pass(WaitsFor + 6*time.Minute)
		require.Len(t, s.noted[s.ids[0]], 2, "again, as it took one meanwhile")
	})
}

// A program that refuses one event gets what is about other attacks, and what is about the same one in order, when it takes it.
func TestARefusedEventHoldsUpItsAttackOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSending(t, 1)
		p := s.programs[0]
		p.takes(func(body string) error {
			if strings.Contains(body, `"n":1,`) {
				return &webhook.Failure{Text: "it refuses the event (422)", Refused: true}
			}
			return nil
		})
		for _, attack := range []string{"a1", "a2", "a1", "a3", ""} {
			s.sends(attack)
		}
		require.Equal(t, "2 4 5", p.took())
		require.Empty(t, s.Trouble(), "it answers")
		require.Equal(t, 1, strings.Count(s.log.String(), "refuses an event"))
		p.takes(nil)
		pass(time.Hour)
		require.Equal(t, "2 4 5 1 3", p.took())
		require.Empty(t, s.noted)

		p.takes(func(string) error { return &webhook.Failure{Text: "it refuses the event (422)", Refused: true} })
		s.sends("a1")
		pass(WaitsFor + time.Minute)
		require.Equal(t, record.DroppedFacts{Webhook: "webhooks[0]", Dropped: 1, Why: "it refuses some of them"}, s.noted[s.ids[0]][0].Payload)
	})
}

// 410 is for good.
func TestAReceiverThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSending(t, 1)
		p := s.programs[0]
		p.takes(func(string) error { return &webhook.Failure{Text: "it wants no more events (410)", Gone: true} })
		s.sends("a1")
		p.takes(nil)
		s.sends("a2")
		pass(WaitsFor + time.Hour)
		require.Len(t, p.tried(), 1)
		require.Equal(t, 1, strings.Count(s.log.String(), "wants no more events"))
		require.Contains(t, s.log.String(), "dropped=2")
		require.EqualValues(t, 2, s.count("dropped", 0), "all of it ends")
		require.Equal(t, map[string]string{"webhooks[0]": "it wants no more events (410)"}, s.Trouble())
	})
}

// After an outage all that waits goes out at once, and what nobody woke it for is found.
func TestMoreThanIsReadAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSending(t, 1)
		for range 3*AtOnce + 1 {
			s.add("a1", s.ids...)
		}
		require.Empty(t, s.programs[0].took())
		pass(lookEvery + time.Second)
		require.Len(t, s.programs[0].tried(), 3*AtOnce+1)
		require.True(t, strings.HasPrefix(s.programs[0].took(), "1 2 3 4 "))
		require.True(t, slices.IsSortedFunc(strings.Fields(s.programs[0].took()), func(a, b string) int { x, _ := strconv.Atoi(a); y, _ := strconv.Atoi(b); return x - y }))
	})
}

// A receiver that hangs doesn't hold up another replica that takes the account over.
func TestAReceiverThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSending(t, 2)
		s.programs[0].hangs = true
		s.sends("a1")
		require.Equal(t, "1", s.programs[1].took())
		begun := time.Now()
		s.stop()
		require.LessOrEqual(t, time.Since(begun), 2*time.Second)
		require.Len(t, s.entries[s.ids[0]], 1, "it is sent again")
	})
}

// With the store away nothing is sent, which is logged once; what waits goes out when it is back.
func TestTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSending(t, 1)
		s.lose(errors.New("connection refused"))
		s.sends("a1")
		pass(time.Hour)
		require.Empty(t, s.programs[0].took())
		require.Equal(t, 1, strings.Count(s.log.String(), "read what waits for the webhook"))
		s.lose(nil)
		pass(storeWait + time.Second)
		require.Equal(t, "1", s.programs[0].took())
	})
}
