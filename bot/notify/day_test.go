package notify

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

var update = flag.Bool("update", false, "write the table of waits into docs/reliability.md")

const (
	reliabilityDoc = "../../docs/reliability.md"
	dayBegins      = "<!-- The table is written by go test ./bot/notify -run TestADayOfManyCards -update. -->\n\n"
	dayEnds        = "\n<!-- The end of the table. -->\n"
)

// What is simulated: a day in which 500 attacks go on all the time, with a hit or more each minute.
const (
	liveCards = 500
	incidents = 20 // of these
	storms    = 3  // whose cards show something else each 3 s
	lives     = 10 * time.Hour
	perMinute = 32 // edits of 40 a minute that come by themselves: the other 8 may come at once
)

// simulated is a card of the simulated day.
type simulated struct {
	name     string
	begins   time.Time
	storm    bool
	facts    facts
	observed time.Time // of the figures that a redraw would show
	shows    time.Time // of those that the card shows
}

// redrawn is how often and how late cards of a kind were redrawn.
type redrawn struct {
	redraws int
	longest time.Duration // until what happened was shown
	oldest  time.Duration // figures
}

// simulation is a day of cards, marks and edits. The order is the real one, and so is how much attention each card
// gets.
type simulation struct {
	cards    map[string]*simulated
	all      []*simulated
	marks    map[string]record.RedrawMark
	happened map[string]time.Time // what isn't figures, by card
	turns    turns
	dice     *rand.Rand
	now      time.Time
	edits    float64 // that may be used
	kinds    map[string]redrawn
	made     int
}

func newSimulation() *simulation {
	s := &simulation{cards: map[string]*simulated{}, marks: map[string]record.RedrawMark{}, turns: turns{}, dice: rand.New(rand.NewPCG(7, 7)), now: now, kinds: map[string]redrawn{}, happened: map[string]time.Time{}} //nolint:gosec // a day that is the same each time
	for i := range liveCards {
		s.all = append(s.all, s.card(i, now.Add(-lives*time.Duration(i)/liveCards)))
	}
	return s
}

// card is a new one in the place of another; one of five is blocked.
func (s *simulation) card(i int, begins time.Time) *simulated {
	s.made++
	c := &simulated{name: fmt.Sprint("a", s.made), begins: begins, facts: drawnFacts(begins), storm: i < storms, observed: s.now, shows: s.now}
	switch {
	case i >= storms && i < storms+incidents:
		c.facts.State.Attack.VulnID = "812"
	case i%5 == 0:
		c.facts.State.Attack.BlockStatus = "blocked"
	}
	s.cards[c.name] = c
	return c
}

// mark marks a card stale, as the store does.
func (s *simulation) mark(c *simulated, u record.Urgency) {
	m := record.RedrawMark{Urgency: u, Since: s.now}
	if before, ok := s.marks[c.name]; ok {
		m.Urgency, m.Since = min(u, before.Urgency), before.Since
	}
	s.marks[c.name] = m
	if u < record.UrgentStorm && s.happened[c.name].IsZero() {
		s.happened[c.name] = s.now
	}
}

// second has attacks be hit, a person act twice a minute, and a headline change twice a minute.
func (s *simulation) second(n int) {
	for i, c := range s.all {
		if c.storm && n%3 == 0 || i%60 == n%60 {
			s.hit(i, c)
		}
	}
	if n%31 == 0 {
		c := s.all[s.dice.IntN(liveCards)]
		c.facts.Triage.Owner = &record.Owner{ID: "U0ANN", Since: s.now}
		s.mark(c, record.UrgentActed)
	}
	if n%29 == 0 {
		s.mark(s.all[storms+incidents+s.dice.IntN(liveCards-storms-incidents)], record.UrgentState)
	}
}

// hit has a poll find newer figures. An attack that has lived is over, and another one begins.
func (s *simulation) hit(i int, c *simulated) {
	if s.now.Sub(c.begins) >= lives {
		delete(s.cards, c.name)
		delete(s.marks, c.name)
		s.all[i] = s.card(i, s.now)
		return
	}
	c.observed = s.now
	switch {
	case c.storm:
		s.mark(c, record.UrgentStorm)
	case c.facts.State.Attack.Incident():
		s.mark(c, record.UrgentGrown)
	default:
		s.mark(c, record.UrgentFigures)
	}
}

// edit redraws the first of the stale cards, if one is to be redrawn now.
func (s *simulation) edit() bool {
	o, wait := s.turns.next(s.marks, s.now)
	if wait > 0 {
		return false
	}
	c := s.cards[o.attack]
	c.facts.now = s.now
	a := c.facts.attention(c.facts.situation())
	s.turns.saw(c.name, a, true, s.now)
	s.count(o, a, c)
	c.shows = c.observed
	delete(s.marks, c.name)
	delete(s.happened, c.name)
	return true
}

func (s *simulation) count(o stale, a attention, c *simulated) {
	kind := s.kind(o, a, c)
	k := s.kinds[kind]
	k.redraws++
	k.longest = max(k.longest, s.now.Sub(cmp.Or(s.happened[c.name], o.mark.Since)))
	k.oldest = max(k.oldest, s.now.Sub(c.shows))
	s.kinds[kind] = k
}

// The kinds of redraws, as the table has them.
const (
	acted      = "what a person did"
	headlined  = "another headline"
	ofStorm    = "figures of a storm"
	ofIncident = "figures of an incident"
	openNow    = "figures, unacknowledged, touched in the last 15 min"
	openHour   = "… in the last hour"
	openFour   = "… in the last 4 h"
	openLong   = "… before"
	othersNow  = "figures, acknowledged or blocked, touched in the last 15 min"
	othersHour = "… in the last hour "
	othersLong = "… before "
)

// kind is what the table calls a redraw.
func (s *simulation) kind(o stale, a attention, c *simulated) string {
	switch age, u := s.now.Sub(a.touched), o.mark.Urgency; {
	case u == record.UrgentActed:
		return acted
	case u < record.UrgentStorm:
		return headlined
	case c.storm:
		return ofStorm
	case a.incident:
		return ofIncident
	case a.open && age < 15*time.Minute:
		return openNow
	case a.open && age < time.Hour:
		return openHour
	case a.open && age < 4*time.Hour:
		return openFour
	case a.open:
		return openLong
	case age < 15*time.Minute:
		return othersNow
	case age < time.Hour:
		return othersHour
	}
	return othersLong
}

// run plays for so long.
func (s *simulation) run(long time.Duration) {
	for range int(long / time.Second) {
		s.now = s.now.Add(time.Second)
		s.second(int(s.now.Sub(now) / time.Second))
		s.edits = min(s.edits+perMinute/60.0, 4)
		for s.edits >= 1 && s.edit() {
			s.edits--
		}
	}
}

// outage has all cards say something else at once, and is how long that takes, of incidents and of all.
func (s *simulation) outage() (ofIncidents, ofAll time.Duration) {
	begun := s.now
	for _, c := range s.all {
		s.mark(c, record.UrgentState)
	}
	waits := func(some []*simulated) bool {
		return slices.ContainsFunc(some, func(c *simulated) bool { return !s.happened[c.name].IsZero() && !s.happened[c.name].After(begun) })
	}
	for ; waits(s.all); s.run(time.Second) {
		if ofIncidents == 0 && !waits(s.all[storms:storms+incidents]) {
			ofIncidents = s.now.Sub(begun)
		}
	}
	return ofIncidents, s.now.Sub(begun)
}

// table is what the document has of it.
func (s *simulation) table() string {
	var b strings.Builder
	b.WriteString("| what is redrawn | times a day | waits at most | figures are at most so old |\n|---|---|---|---|\n")
	for _, kind := range []string{acted, headlined, ofStorm, ofIncident, openNow, openHour, openFour, openLong, othersNow, othersHour, othersLong} {
		k, old := s.kinds[kind], "–"
		if kind != acted && kind != headlined {
			old = text.Duration(k.oldest.Round(time.Second))
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", strings.TrimSpace(kind), k.redraws, text.Duration(k.longest.Round(time.Second)), old)
	}
	return b.String()
}

// The table says how old each kind of card gets at worst where there are many more than edits.
func TestADayOfManyCards(t *testing.T) {
	full.Only(t)
	t.Parallel()
	s := newSimulation()
	s.run(2 * time.Hour) // until it is as on any day
	s.kinds = map[string]redrawn{}
	s.run(day)
	table := s.table()
	require.LessOrEqual(t, s.kinds[acted].longest, 5*time.Second)
	require.LessOrEqual(t, s.kinds[headlined].longest, 10*time.Second)
	require.LessOrEqual(t, s.kinds[ofIncident].oldest, 5*time.Minute)
	require.LessOrEqual(t, s.kinds[openLong].oldest, 90*time.Minute, "no card is left behind")
	ofIncidents, ofAll := s.outage()
	table += fmt.Sprintf("\nAn outage of the service, which all cards say at once, is on the cards of incidents after %s and on all after %s.\n", text.Duration(ofIncidents), text.Duration(ofAll))

	doc, err := os.ReadFile(reliabilityDoc)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(doc), dayBegins)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, dayEnds)
	require.True(t, ok)
	want := before + dayBegins + table + dayEnds + after
	if *update {
		require.NoError(t, os.WriteFile(reliabilityDoc, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, string(doc), "go test ./bot/notify -run TestADayOfManyCards -update writes it again")
}
