package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/sandbox/waf"
	"github.com/wafbot/wafbot/internal/sandbox/workspace"
)

const (
	stormAttacks   = 1000
	stormIncidents = 12 // of them
)

// BenchmarkStorm is a thousand attacks, some of them incidents, in one go and over a minute, with Slack's limits on and the bot's pace as it is
// by default: how long after its beginning an incident's card can be clicked, how long after the last beginning the storm's card counts all that
// it grouped, how many messages there are beside the incidents', and how many attacks were posted never or twice.
func BenchmarkStorm(b *testing.B) {
	for _, c := range []struct {
		name string
		over time.Duration
	}{{"at once", 0}, {"within a minute", time.Minute}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				s := newStage(b, asIntended())
				s.slack.SetRateLimits(true)
				bot := s.run(b, theBot)
				_, err := s.slack.WaitMessage(b.Context(), "#waf", func(m workspace.Message) bool { return strings.Contains(m.Text, "wafbot watches") })
				require.NoError(b, err)
				s.storm(b, c.over)
				bot.stop()
			}
			b.ReportMetric(0, "ns/op") // it has waiting in it
		})
	}
}

// storm plays a storm and reports what was seen of it.
func (s *stage) storm(b *testing.B, over time.Duration) {
	b.Helper()
	started := make(chan map[string]time.Time, 1)
	var last time.Time
	go func() {
		starts := s.startStorm(b, over)
		last = time.Now()
		started <- starts
	}()
	shown, right := s.watchStorm(b, over+time.Minute)
	var delays []time.Duration
	for path, at := range <-started {
		delays = append(delays, shown[path].Sub(at))
	}
	slices.Sort(delays)
	t := tallyOf(s.slack.Messages("#waf"))
	b.ReportMetric(delays[0].Seconds(), "s/1st-incident")
	b.ReportMetric(delays[3].Seconds(), "s/4th-incident")
	b.ReportMetric(delays[len(delays)-1].Seconds(), "s/last-incident")
	b.ReportMetric(right.Sub(last).Seconds(), "s/storm-right")
	b.ReportMetric(float64(t.others), "messages-beside")
	b.ReportMetric(float64(stormAttacks-t.shown()), "lost")
	b.ReportMetric(float64(t.twice), "twice")
}

// watchStorm watches until all is posted: when each incident's card came, by path, and when the storm's card counted all that are no incidents.
func (s *stage) watchStorm(b *testing.B, most time.Duration) (shown map[string]time.Time, right time.Time) {
	b.Helper()
	shown = map[string]time.Time{}
	for deadline := time.After(most); ; {
		changed := s.slack.Watch() // before the look, so that nothing falls in between
		t := tallyOf(s.slack.Messages("#waf"))
		for path := range t.incidents {
			if _, known := shown[path]; !known {
				shown[path] = time.Now()
			}
		}
		if right.IsZero() && t.grouped+t.cards == stormAttacks-stormIncidents {
			right = time.Now()
		}
		if t.shown() == stormAttacks {
			return shown, right
		}
		select {
		case <-changed:
		case <-deadline:
			require.Fail(b, "not all were shown", "%d incidents, %d in all", len(shown), t.shown())
		}
	}
}

// startStorm starts the attacks, and returns when each incident began, by path. Most come from one source.
func (s *stage) startStorm(b *testing.B, over time.Duration) map[string]time.Time {
	begun, began := time.Now(), map[string]time.Time{}
	for n := range stormAttacks {
		time.Sleep(time.Until(begun.Add(over * time.Duration(n) / stormAttacks)))
		spec := waf.AttackSpec{
			Path: fmt.Sprintf("/storm/%d", n), Hits: 100, Started: waf.Duration(time.Minute),
			Sources: []waf.SourceSpec{{IP: "198.51.100.23", Country: "NL", PerSecond: 1}},
		}
		if n%(stormAttacks/stormIncidents) == 0 && len(began) < stormIncidents {
			spec.Vulnerability = &waf.VulnSpec{ID: 900 + n}
			began[spec.Path] = time.Now()
		}
		_, err := s.waf.StartAttack(spec)
		assert.NoError(b, err)
	}
	return began
}

// stormTally is what a channel's messages say of a storm.
type stormTally struct {
	incidents map[string]bool // with a card that can be clicked, by path
	cards     int             // of attacks that are no incidents
	grouped   int             // by the storm's card, and not shown by a card of their own
	others    int             // messages beside the incidents' cards
	twice     int             // cards more than one of the same attack
}

var (
	stormPath  = regexp.MustCompile(`/storm/\d+`)
	stormCount = regexp.MustCompile(`(?s) storm.*? · (?:at least )?([\d,]+) attacks`)
)

func tallyOf(messages []workspace.Message) (t stormTally) {
	t.incidents = map[string]bool{}
	attacks := map[string]bool{}
	for _, m := range messages {
		f := factsOf(m)
		path, attack := stormPath.FindString(m.Plain()), f.Payload.Attack
		switch {
		case f.Type != "wafbot_card":
			t.others++
			continue
		case strings.HasPrefix(attack, "s"):
			t.others++
			if found := stormCount.FindStringSubmatch(m.Plain()); found != nil {
				t.grouped, _ = strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
			}
		case f.Payload.Kind == "incident":
			t.incidents[path] = len(m.Buttons()) > 0
		default:
			t.cards++
			t.others++
		}
		if attacks[attack] {
			t.twice++
		}
		attacks[attack] = true
	}
	return t
}

// shown is how many attacks have a card or are counted in the storm's.
func (t stormTally) shown() int { return len(t.incidents) + t.cards + t.grouped }
