package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// BenchmarkDoubtfulPosts is sixty attacks while Slack takes 80 ms for a post, answers every 7th with 500 and accepts every 11th without an answer:
// how long until all are shown, and until all are recorded, how many were lost and how many came twice. The ratio is to a careless poster.
func BenchmarkDoubtfulPosts(b *testing.B) { benchBurst(b, 60, true) }

// BenchmarkBurst is two hundred attacks at once while Slack takes 80 ms for a post: how many are shown in a second.
func BenchmarkBurst(b *testing.B) { benchBurst(b, 200, false) }

func benchBurst(b *testing.B, attacks int, faults bool) {
	for b.Loop() {
		s := newStage(b, unlimited())
		s.serve(b)
		_, err := s.slack.WaitMessage(b.Context(), "#waf", func(m workspace.Message) bool { return strings.Contains(m.Text, "wafbot watches") })
		require.NoError(b, err)
		rough := &roughSlack{slack: s.slack, faults: faults}
		s.rough = rough
		begun := time.Now()
		for n := range attacks {
			_, err := s.waf.StartAttack(waf.AttackSpec{Path: fmt.Sprintf("/burst/%d", n), Hits: 100, Started: waf.Duration(time.Minute)})
			require.NoError(b, err)
		}
		shown := s.awaitBurst(b, begun, attacks)
		s.awaitRecorded(b)
		recorded, twice := time.Since(begun), s.burst().twice

		other := newStage(b, unlimited())
		other.rough = &roughSlack{slack: other.slack, faults: faults}
		careless := other.postCarelessly(b, attacks)
		b.ReportMetric(shown.Seconds(), "s/shown")
		b.ReportMetric(recorded.Seconds(), "s/recorded")
		b.ReportMetric(float64(attacks)/(shown-rough.first.Sub(begun)).Seconds(), "shown/s") // from the first post: the poll before it waits
		b.ReportMetric(float64(attacks-len(s.burst().shown)), "lost")
		b.ReportMetric(float64(twice), "twice")
		b.ReportMetric(careless.Seconds(), "careless-s")
		b.ReportMetric(float64(other.burst().twice), "careless-twice")
		b.ReportMetric(shown.Seconds()/careless.Seconds(), "carelesses")
	}
	b.ReportMetric(0, "ns/op") // it has waiting in it
}

// roughSlack is a Slack that takes 80 ms for a post. With faults it refuses every 7th with 500, and accepts every 11th without an answer.
type roughSlack struct {
	slack  http.Handler
	faults bool
	posts  atomic.Int64
	once   sync.Once
	first  time.Time // when the first post arrived
}

// ServeHTTP implements http.Handler.
func (s *roughSlack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.once.Do(func() { s.first = time.Now() })
	time.Sleep(80 * time.Millisecond)
	switch n := s.posts.Add(1); {
	case s.faults && n%7 == 0:
		http.Error(w, "<html>fault</html>", http.StatusInternalServerError)
	case s.faults && n%11 == 0:
		s.slack.ServeHTTP(httptest.NewRecorder(), r)
		<-r.Context().Done()
	default:
		s.slack.ServeHTTP(w, r)
	}
}

// postCarelessly posts a line for each attack, and again after each failure. It waits a quarter of a second for an answer.
func (s *stage) postCarelessly(b *testing.B, attacks int) time.Duration {
	b.Helper()
	begun, client := time.Now(), &http.Client{Timeout: 250 * time.Millisecond}
	for n := 0; n < attacks; {
		res, err := client.PostForm(s.url+"/slack/api/chat.postMessage", url.Values{"token": {"xoxb-bench"}, "channel": {"C0WAF0001"}, "text": {fmt.Sprintf("attack on /burst/%d", n)}})
		if err != nil {
			continue
		}
		if res.Body.Close(); res.StatusCode == http.StatusOK {
			n++
		}
	}
	return time.Since(begun)
}

// burstTally is what a channel shows of a burst.
type burstTally struct {
	shown map[string]bool // attacks, by path
	twice int             // messages more than one of the same attack
}

var burstPath = regexp.MustCompile(`/burst/\d+`)

func (s *stage) burst() burstTally {
	t := burstTally{shown: map[string]bool{}}
	for _, m := range s.slack.Messages("#waf") {
		if path := burstPath.FindString(m.Plain() + m.Text); path != "" {
			if t.shown[path] {
				t.twice++
			}
			t.shown[path] = true
		}
	}
	return t
}

// awaitBurst is how long it took until all attacks were shown.
func (s *stage) awaitBurst(b *testing.B, begun time.Time, attacks int) time.Duration {
	b.Helper()
	for deadline := time.After(2 * time.Minute); ; {
		changed := s.slack.Watch() // before the look, so that nothing falls in between
		if len(s.slack.Messages("#waf")) > attacks && len(s.burst().shown) == attacks {
			return time.Since(begun)
		}
		select {
		case <-changed:
		case <-deadline:
			require.Fail(b, "not all were shown", "%d", len(s.burst().shown))
		}
	}
}

// awaitRecorded waits until nothing is left to be notified: what is in doubt could still come twice.
func (s *stage) awaitRecorded(b *testing.B) {
	b.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(s.bot + "/metrics")
		require.NoError(b, err)
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		require.NoError(b, err)
		if strings.Contains(string(text), "\nwafbot_events_waiting 0\n") {
			return
		}
		require.True(b, time.Now().Before(deadline), "events are left to be notified")
	}
}
