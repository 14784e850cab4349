package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

// BenchmarkStuckDeny is a click on Deny whose call the service answers with 500, and wafbot is killed. As soon as it
// runs again, and the service is well again, another user clicks ten times on other targets of the account: how long
// until each of these is answered, beside ten clicks after a restart with nothing in hand, and how long until the first
// one is. A careless bot loses the first.
func BenchmarkStuckDeny(b *testing.B) {
	var bot, careless stuck
	sample(b, 3, func(int) {
		bot.play(b, theBot)
		careless.play(b, carelessClicker)
	})
	b.ReportMetric(bot.deny.median().Seconds()*1000, "deny-ms")
	b.ReportMetric(float64(bot.others.median())/float64(bot.undisturbed.median()), "others-x-undisturbed")
	b.ReportMetric(slices.Max(bot.others).Seconds()*1000, "others-max-ms")
	rounds := float64(len(bot.deny))
	b.ReportMetric(float64(bot.lost)/rounds, "lost")
	b.ReportMetric(float64(careless.lost)/rounds, "careless-lost")
	reportBeside(b, "others-", bot.others, careless.others)
}

// stuck is what became of clicks around a change that got stuck.
type stuck struct {
	undisturbed, others durations // of the account: after a kill with nothing in hand, and after it got stuck
	deny                durations // itself, since the program ran again
	lost                int       // of it
}

const otherClicks = 10

// Who clicks. Each one's clicks on an account take turns.
const (
	theClicker   = "U0ROB0002"
	otherClicker = "U0ANN0001"
)

// by has somebody else click from now on.
func (c *clicks) by(user string) { c.payload["user"].(map[string]any)["id"] = user }

func (o *stuck) play(b *testing.B, name string) {
	b.Helper()
	s := newStage(b, unlimited())
	var broken atomic.Bool
	failed := make(chan struct{}, 1)
	service := s.service
	s.service = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !broken.Load() || r.Method != http.MethodPost || r.URL.Path != "/v4/ip_rules" {
			service.ServeHTTP(w, r)
			return
		}
		http.Error(w, "<html>fault</html>", http.StatusInternalServerError)
		select {
		case failed <- struct{}{}:
		default:
		}
	})
	p := s.run(b, theBot)
	clicks := s.newClicks(b)
	p.stop()
	p = s.run(b, name)
	clicks.by(otherClicker)
	o.undisturbed = append(o.undisturbed, clicks.atOnce(b, p, otherClicks)...)
	broken.Store(true)
	clicks.by(theClicker)
	first := clicks.click(b, p)
	<-failed
	p.stop()
	clicks.by(otherClicker)
	broken.Store(false)
	p = s.run(b, name)
	defer p.stop()
	again := time.Now()
	o.others = append(o.others, clicks.atOnce(b, p, otherClicks)...)
	if name == theBot {
		o.deny.add(s.seen.await(b, "answered", first.source).Sub(again))
	}
	o.lost += 1 - s.denied(b, first.source)
}

// denied is how many entries the service has for a source.
func (s *stage) denied(b *testing.B, source string) (n int) {
	b.Helper()
	state, err := s.waf.State("default")
	require.NoError(b, err)
	for _, e := range state.IPRules {
		if e.Listed && strings.TrimSuffix(e.Subnet, "/32") == source {
			n++
		}
	}
	return n
}

// BenchmarkClicksWhileChangesAreSlow is five clicks on five targets at once while the service takes half a second to
// answer a change: how long until all are answered, as a ratio to that half second and to a careless bot.
func BenchmarkClicksWhileChangesAreSlow(b *testing.B) {
	const targets, takes = 5, 500 * time.Millisecond
	s := newStage(b, unlimited())
	s.slowChanges(takes)
	bot, careless := s.run(b, theBot), s.run(b, carelessClicker)
	clicks := s.newClicks(b)
	var took, carelessTook durations
	sample(b, 3, func(int) {
		carelessTook.add(slices.Max(clicks.atOnce(b, careless, targets))) // first: wafbot still draws when it has answered
		took.add(slices.Max(clicks.atOnce(b, bot, targets)))
	})
	b.ReportMetric(float64(took.median())/float64(takes), "x-one-answer")
	reportBeside(b, "", took, carelessTook)
}

// slowChanges has the service take its time to answer a change of its lists.
func (s *stage) slowChanges(takes time.Duration) {
	service := s.service
	s.service = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/v4/ip_rules" {
			time.Sleep(takes)
		}
		service.ServeHTTP(w, r)
	})
}

// BenchmarkUndoAtOnce is a patch that is undone as soon as it is accepted, when the service doesn't list it yet: its
// listings lag 2 s. How long until the user is told that it was undone, and how many patches are left at the service
// all the same. A careless bot deletes what is listed, and leaves it.
func BenchmarkUndoAtOnce(b *testing.B) {
	s := newStage(b, unlimited())
	s.run(b, theBot)
	var took durations
	sample(b, 5, func(n int) {
		path := fmt.Sprintf("/shown/%d", n)
		s.types(b, "patch attack="+factsOf(s.card(b, path)).Payload.Attack)
		s.told(b, "Patch exactly", path)
		begun := time.Now()
		s.types(b, "undo")
		s.told(b, "Undo of: Patch exactly", path)
		took.add(time.Since(begun))
	})
	left := s.patches(b)
	point := apiclient.Part{"header", "HOST"}
	patch := apiclient.Rule{
		Type: apiclient.RulePatch, AttackType: "sqli", Point: apiclient.Point{{"uri"}},
		Conditions: []apiclient.Condition{{Type: "iequal", Point: point, Value: "shop.example.com"}},
	}
	require.NoError(b, newCareless(s.url).undoPatch(context.Background(), patch))
	b.ReportMetric(took.median().Seconds()*1000, "ms/undone")
	b.ReportMetric(float64(left), "left")
	b.ReportMetric(float64(s.patches(b)-left), "careless-left")
	b.ReportMetric(0, "ns/op") // it has waiting in it
}

// types has a user type a line.
func (s *stage) types(b *testing.B, line string) {
	b.Helper()
	d, err := s.slack.Command(b.Context(), workspace.Command{User: "rob", Channel: "#waf", Text: line})
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, d.Status, "%+v", d)
}

// told waits until the user was told that something was accepted.
func (s *stage) told(b *testing.B, parts ...string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patienceOfBench)
	defer cancel()
	_, err := s.slack.WaitEphemeral(ctx, "rob", func(m workspace.Message) bool { return says(m, append(parts, "accepted by the service")...) })
	require.NoError(b, err)
}

// patches is how many patches the service has.
func (s *stage) patches(b *testing.B) int {
	b.Helper()
	state, err := s.waf.State("default")
	require.NoError(b, err)
	return len(slices.DeleteFunc(state.Rules, func(r waf.RuleState) bool { return !r.Listed || r.Type != apiclient.RulePatch }))
}
