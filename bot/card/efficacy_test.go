package card

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// denying is a denial of these sources.
func denying(sources ...string) record.Change {
	ch := denied()
	ch.Line.Words, ch.Steps = sources, nil
	for _, source := range sources {
		e := *denied().Steps[0].Entry
		e.Subnet = netip.MustParsePrefix(source + "/32")
		ch.Steps = append(ch.Steps, record.Step{Kind: record.AddEntry, Entry: &e, Sent: true, Done: true, ID: 101})
	}
	return ch
}

func earlier(d time.Duration) time.Time { return now.Add(-d) }

// effectCards are cards on which something was done, by what was seen of it.
func effectCards() map[string]drawing {
	cards := map[string]drawing{}
	add := func(name string, ch record.Change, e record.Efficacy, change func(s *call.Situation)) {
		c := attackCard(func(*apiclient.Attack) {})
		c.Situation.Changes, c.Situation.Efficacy = []record.Change{ch}, map[string]record.Efficacy{ch.ID: e}
		c.Triage.Owner = &record.Owner{ID: "U0ANN", Name: "Anna Weber", Since: earlier(3 * time.Minute)}
		change(&c.Situation)
		for _, ch := range c.Situation.Changes {
			for _, step := range ch.Steps {
				switch {
				case name == "gone", name == "no-longer", !ch.InForce(now):
				case step.Entry != nil:
					c.Situation.Entries = append(c.Situation.Entries, *step.Entry)
				case step.Rule != nil:
					c.Situation.Rules = append(c.Situation.Rules, *step.Rule)
				}
			}
		}
		cards["effect-"+name] = c
	}
	plain := func(*call.Situation) {}
	one := func(finding record.Finding, t record.Traffic) record.Efficacy {
		return record.Efficacy{Finding: finding, Parts: map[string]record.Traffic{"203.0.113.7": t}, At: now}
	}
	through := record.Tally{N: 1204, First: earlier(9 * time.Minute), Last: earlier(time.Minute)}
	stopped := record.Tally{N: 10, First: earlier(time.Minute), Last: earlier(20 * time.Second)}
	deny := denying("203.0.113.7")
	deny.At = earlier(13 * time.Minute)
	add("works", deny, one(record.Working, record.Traffic{Stopped: stopped, Through: record.Tally{Last: earlier(70 * time.Second)}}), func(s *call.Situation) {
		s.Changes = append(s.Changes, patched())
	})
	add("none", deny, one(record.NotWorking, record.Traffic{Through: through}), func(s *call.Situation) {
		s.Entries = append(s.Entries, apiclient.IPRule{List: apiclient.ListAllow, Kind: apiclient.KindRange, Subnet: netip.MustParsePrefix("203.0.113.0/24"), Apps: []int{0}, Expires: now.Add(time.Hour)})
	})
	add("no-longer", deny, one(record.NotWorking, record.Traffic{Through: through, Stopped: record.Tally{N: 3, Last: earlier(10 * time.Minute)}}), plain)
	add("gone", deny, one(record.Working, record.Traffic{Stopped: stopped}), func(s *call.Situation) { s.ListsReadAt = now })
	add("in-part", deny, one(record.PartlyWorking, record.Traffic{Through: through, Stopped: stopped}), plain)
	add("unseen", deny, one(record.EfficacyUnknown, record.Traffic{}), plain)
	add("unlisted", deny, one(record.EfficacyUnknown, record.Traffic{}), func(s *call.Situation) { s.Attack.Sources = s.Attack.Sources[1:] })
	add("mixed", deny, one(record.EfficacyUnknown, record.Traffic{Mixed: through}), func(s *call.Situation) { s.Attack.BlockStatus = "Partially blocked" })
	several := denying("203.0.113.7", "203.0.113.8", "203.0.113.9")
	several.At, several.Does = deny.At, "Deny 203.0.113.7, 203.0.113.8, 203.0.113.9 everywhere for 4 h"
	add("several", several, record.Efficacy{Finding: record.PartlyWorking, Parts: map[string]record.Traffic{"203.0.113.7": {Stopped: stopped}, "203.0.113.8": {Through: through}}}, plain)
	over := deny
	over.Until = earlier(time.Minute)
	add("over", over, one(record.Working, record.Traffic{Stopped: stopped}), plain)
	add("came-back", over, one(record.SourceReturned, record.Traffic{Stopped: stopped, After: record.Tally{N: 40, First: earlier(30 * time.Second), Last: earlier(time.Second)}}), plain)
	gray := denying("203.0.113.7")
	gray.Steps[0].Entry.List, gray.Does = apiclient.ListGray, "Graylist 203.0.113.7 everywhere for 24 h"
	add("can-not-be-seen", gray, record.Efficacy{}, plain)
	return cards
}

// hostileEffect is a change without effect where everything that strangers write is the text.
func hostileEffect(text string) call.Situation {
	s := hostile(text).Situation
	ch := hostileChange(text)
	s.Efficacy = map[string]record.Efficacy{ch.ID: {Finding: record.NotWorking, Parts: map[string]record.Traffic{text: {Through: record.Tally{N: 5, First: now, Last: now}}}}}
	return s
}

// What is said of a change without effect in the thread: who, what, why, and the way back.
func TestRenderNoEffect(t *testing.T) {
	t.Parallel()
	cards := effectCards()
	for name, users := range map[string][]string{"none": {"U0ANN", "U0ROB"}, "no-longer": {"U0ANN"}, "came-back": {"U0ANN"}} {
		s := cards["effect-"+name].Situation
		msg := Efficacy(s, s.Changes[0], users)
		requireFits(t, msg)
		golden(t, "testdata/effect/"+name+".json", pretty(t, msg))
	}
}

// Who made a change is called, and who is on its attack; else whom its route calls.
func TestWhoIsConcerned(t *testing.T) {
	t.Parallel()
	ch := denied()
	shown := record.AttackState{Mention: "S0ONCALL"}
	require.Equal(t, []string{"U0ANN", "S0ONCALL"}, Recipients(ch, record.Triage{}, shown))
	require.Equal(t, []string{"U0ANN"}, Recipients(ch, record.Triage{Owner: &record.Owner{ID: "U0ANN"}}, shown))
	require.Equal(t, []string{"U0ANN", "U0ROB"}, Recipients(ch, record.Triage{Owner: &record.Owner{ID: "U0ROB"}}, shown))
	ch.Actor = record.Actor{ID: "cli:root", Via: record.ViaCLI}
	require.Equal(t, []string{"S0ONCALL"}, Recipients(ch, record.Triage{}, shown))
	ch.Actor = record.Actor{ID: "wafbot", Via: record.ViaClock}
	require.Equal(t, []string{"S0ONCALL"}, Recipients(ch, record.Triage{}, shown))
}

// What was made for another attack shows on the card of this one while it goes on. Once it is over nothing would draw
// the card again when that works, or not: only what was seen of it by then shows.
func TestWhatIsOverShowsNothingPendingOfOthers(t *testing.T) {
	t.Parallel()
	ch := patched()
	ch.AttackID = "a0ther000"
	s := situation(injection())
	s.AccountChanges = []record.Change{ch}
	for goesOn, want := range map[bool]int{true: 1, false: 0} {
		s.GoesOn = goesOn
		require.Len(t, drawing{Situation: s}.done(), want)
	}
	ch.AttackID = s.ID
	s.Changes, s.AccountChanges = []record.Change{ch}, []record.Change{ch}
	require.Len(t, drawing{Situation: s}.done(), 1, "its own is drawn again when it is judged")
	s.Changes, s.Efficacy = nil, map[string]record.Efficacy{ch.ID: {Finding: record.Working}}
	require.Len(t, drawing{Situation: s}.done(), 1, "what was seen stays")
}
