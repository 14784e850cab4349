package notify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// drawnFacts are those of a card that was posted then, of an attack that gets through.
func drawnFacts(posted time.Time, change ...func(*facts)) facts {
	f := facts{
		AttackDetails: record.AttackDetails{State: record.AttackState{Attack: apiclient.Attack{ID: "x:1", Type: "sqli",
			BlockStatus: "monitored", First: posted, Last: now, Hits: apiclient.Known(100)}, Notified: true}},
		account: Account{Account: &config.Account{Name: "acme"}}, now: now, attack: "a1", posted: posted,
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

func ownedSince(since time.Time) func(*facts) {
	return func(f *facts) { f.Triage.Owner = &record.Owner{ID: "U0ANN", Since: since} }
}

// Whatever a person does about a card, and whatever rings, has its figures redrawn sooner again.
func TestAttention(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	changed := func(via record.Via) func(*facts) {
		return func(f *facts) {
			f.Changes = []record.Change{{ID: "c1", AttackID: record.AttackID("acme", "x:1"), At: ago(time.Hour),
				Actor: record.Actor{ID: "U0ANN", Via: via}}}
		}
	}
	for name, tt := range map[string]struct {
		facts facts
		want  time.Duration
	}{
		"posted just now":       {drawnFacts(now), 0},
		"posted four hours ago": {drawnFacts(ago(4 * time.Hour)), 30 * time.Minute},
		"posted a day ago":      {drawnFacts(ago(24 * time.Hour)), time.Hour},
		"it rang an hour ago": {drawnFacts(ago(24*time.Hour),
			func(f *facts) { f.State.MentionedAt = ago(time.Hour) }), 7*time.Minute + 30*time.Second},
		"it resumed an hour ago": {drawnFacts(ago(24*time.Hour),
			func(f *facts) { f.State.ResumedAt = ago(time.Hour) }), 7*time.Minute + 30*time.Second},
		"its owner left it an hour ago": {drawnFacts(ago(24*time.Hour),
			func(f *facts) { f.Triage.UnackedAt = ago(time.Hour) }), 7*time.Minute + 30*time.Second},
		"a note": {drawnFacts(ago(24*time.Hour),
			func(f *facts) { f.Triage.Notes = []record.Note{{At: ago(time.Hour)}} }), 7*time.Minute + 30*time.Second},
		"a change":                 {drawnFacts(ago(24*time.Hour), changed(record.ViaButton)), 7*time.Minute + 30*time.Second},
		"a change of the clock's":  {drawnFacts(ago(24*time.Hour), changed(record.ViaClock)), time.Hour},
		"acknowledged just now":    {drawnFacts(ago(24*time.Hour), ownedSince(now)), 0},
		"acknowledged an hour ago": {drawnFacts(ago(24*time.Hour), ownedSince(ago(time.Hour))), 30 * time.Minute},
		"all hits are blocked, an hour old": {drawnFacts(ago(time.Hour),
			func(f *facts) { f.State.Attack.BlockStatus = "blocked" }), 30 * time.Minute},
		"a verdict of real, an hour ago": {drawnFacts(ago(24*time.Hour),
			func(f *facts) { f.Triage.Verdict = &record.Verdict{Is: "real", At: ago(time.Hour)} }),
			7*time.Minute + 30*time.Second},
	} {
		a := tt.facts.attention(tt.facts.situation())
		require.Equal(t, tt.want, a.patience(now), name)
		require.Equal(t, tt.want >= 5*time.Minute, a.rare(now, now.Add(5*time.Minute)), name)
		require.False(t, a.rare(now, now.Add(4*time.Minute)), "%s: there are edits enough", name)
		require.False(t, a.rare(time.Time{}, now), name)
	}
	require.Zero(t, attention{}.patience(now), "one that this replica hasn't drawn yet")
}

// The first is drawn first, in whatever order the marks are read.
func TestWhichCardIsDrawnFirst(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	mark := func(name string, urgency record.Urgency, since time.Duration) stale {
		return stale{attack: name, mark: record.RedrawMark{Urgency: urgency, Since: ago(since)}}
	}
	touched := func(o stale, ago time.Duration, open bool) stale {
		o.attention.touched, o.attention.open = o.mark.Since.Add(-ago), open
		return o
	}
	incident := func(o stale) stale { o.attention.incident = true; return o }
	rests := func(o stale) stale { o.rests = true; return o }
	want := []stale{
		mark("a click", record.UrgentActed, time.Second),
		mark("an incident's headline", record.UrgentIncident, time.Second),
		incident(mark("an incident while nothing is known", record.UrgentState, 0)),
		mark("a headline, a minute old", record.UrgentState, time.Minute),
		mark("a headline", record.UrgentState, time.Second),
		touched(mark("that waited two hours", record.UrgentFigures, 2*time.Hour), 24*time.Hour, false),
		mark("a storm's figures", record.UrgentStorm, 3*time.Second),
		mark("an incident's figures", record.UrgentGrown, 2*time.Second),
		mark("an incident's figures, and a later id", record.UrgentGrown, 2*time.Second),
		touched(mark("that was just acknowledged", record.UrgentFigures, 3*time.Minute), 0, false),
		mark("not drawn here yet", record.UrgentFigures, time.Second),
		touched(mark("unacknowledged for an hour", record.UrgentFigures, time.Minute), time.Hour, true),
		touched(mark("acknowledged an hour ago", record.UrgentFigures, time.Minute), time.Hour, false),
		touched(mark("that nobody acts on", record.UrgentFigures, time.Minute), 24*time.Hour, true),
		rests(mark("a click that failed", record.UrgentActed, time.Minute)),
	}
	shuffled := slices.Clone(want)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	marks, tt := map[string]record.RedrawMark{}, turns{}
	for _, o := range shuffled {
		marks[o.attack], tt.of(o.attack).attention = o.mark, o.attention
		if o.rests {
			tt.of(o.attack).tried = now
		}
	}
	for _, o := range want {
		next, wait := tt.next(marks, now)
		require.Zero(t, wait)
		require.Equal(t, o, next)
		delete(marks, next.attack)
	}
	_, wait := tt.next(marks, now)
	require.Equal(t, whenWoken, wait)
}

// What is remembered of cards that were drawn has an end: one account has storm after storm.
func TestTurnsForgetStorms(t *testing.T) {
	t.Parallel()
	turns := turns{}
	turns.saw("s1", attention{}, true, now)
	storms := map[string]record.RedrawMark{"s1": {Urgency: record.UrgentStorm}}
	_, wait := turns.next(storms, now.Add(time.Second))
	require.Equal(t, stormEvery-time.Second, wait)
	next, _ := turns.next(storms, now.Add(stormEvery))
	require.Equal(t, "s1", next.attack)
	turns.saw("s1", attention{}, false, now)
	require.Empty(t, turns)
	for i := range mostSeen + 1 {
		turns.saw(fmt.Sprint("s", i), attention{}, true, now)
	}
	require.Len(t, turns, 1, "of too many none is known again")
}
