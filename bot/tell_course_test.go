package bot

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// What the thread of a card tells, and what is left of a card that moved.
func TestCourseGolden(t *testing.T) {
	t.Parallel()
	s := situation(injection())
	s.Attack.Last = now.Add(-16 * time.Minute)
	s.Attack.First = s.Attack.Last.Add(-26 * time.Minute)
	kept := commands.Evidence{
		Peak:   &commands.Peak{Sight: commands.Sight{At: now.Add(-30 * time.Minute)}, PerMinute: 210},
		Course: []commands.Turn{{At: now.Add(-time.Hour), What: string(poller.Quiet)}, {At: now, What: string(poller.Resumed)}},
	}
	bare := s
	bare.Attack.First, bare.Attack.SourceCount = time.Time{}, apiclient.Figure{}
	undone, ended := denied(), patched()
	undone.State, ended.Until = commands.StateUndone, now.Add(-5*time.Minute)
	s.Changes = []commands.Change{undone, ended, denied(), patched()}
	line := elsewhere(acme(), "a30pj50d3", poller.Shown{Attack: incident().Situation.Attack}, commands.Place{Channel: "C0INCIDENTS", TS: "1.1"},
		"https://acme.slack.com/archives/C0INCIDENTS/p11")
	for name, msg := range map[string]Message{
		"quiet":             courseMessage(s, kept, true),
		"quiet-and-unknown": courseMessage(bare, commands.Evidence{}, true),
		"resumed":           courseMessage(s, kept, false),
		"moved":             moved(acme(), "a30pj50d3", line),
		"out-of-date":       outOfDate(line),
	} {
		requireFits(t, msg)
		golden(t, filepath.Join("testdata", "course", name+".json"), pretty(t, msg))
	}
}
