package card

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/record"
)

// What the thread of a card says, and what is left of a card that moved.
func TestCourseGolden(t *testing.T) {
	t.Parallel()
	s := situation(injection())
	s.Attack.Last = now.Add(-16 * time.Minute)
	s.Attack.First = s.Attack.Last.Add(-26 * time.Minute)
	first := s.Attack.First.Unix()
	course := []record.HitPoint{{At: first}, {At: first + 600, Hits: 300}, {At: first + 1200, Hits: 1500}, {At: s.Attack.Last.Unix(), Hits: 1530}}
	bare := s
	bare.Attack.First, bare.Attack.SourceCount = time.Time{}, apiclient.Figure{}
	undone, ended := denied(), patched()
	undone.State, ended.Until = record.StateUndone, now.Add(-5*time.Minute)
	s.Changes = []record.Change{undone, ended, denied(), patched()}
	s.Efficacy = map[string]record.Efficacy{denied().ID: {Finding: record.Working, Parts: map[string]record.Traffic{"203.0.113.7": {Stopped: record.Tally{N: 12, Last: now}}}}}
	line := MovedLine(acme(), "a30pj50d3", record.AttackState{Attack: incident().Situation.Attack}, record.Place{Channel: "C0INCIDENTS", TS: "1.1"},
		"https://acme.slack.com/archives/C0INCIDENTS/p11")
	for name, msg := range map[string]Message{
		"quiet":             Course(s, course),
		"quiet-and-unknown": Course(bare, nil),
		"resumed":           Worse(s.Account, record.Event{Account: "acme", Kind: record.Resumed, At: now, Attack: &record.AttackState{Attack: s.Attack}}, "S0ONCALL"),
		"moved":             Moved(acme(), "a30pj50d3", line),
		"stale":             Stale(line),
	} {
		requireFits(t, msg)
		golden(t, filepath.Join("testdata", "course", name+".json"), pretty(t, msg))
	}
}
