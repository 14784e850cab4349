package commands_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/text"
)

// outsiders are people without any role.
var outsiders = []record.Actor{
	{ID: "U8GUEST", Team: "T1", Name: "Guest", Via: record.ViaMention},
	{ID: "U9OTHER", Team: "T2", Name: "Other", Via: record.ViaMention},
}

// counting runs the runner until stop is called, or the test ends.
func (w *world) counting() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		cancel()
		require.ErrorIs(w.t, <-ended, context.Canceled)
	}
}

// Whoever is refused again and again fills neither the audit log nor the output: so many of an hour are recorded, cut, and the others counted in one entry.
func TestAFloodOfRefusalsIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		stop := w.counting()
		long := `deny 203.0.113.9 reason="` + strings.Repeat("é", 17_000) + `"`
		flood := func() {
			for i := range 280 {
				_, err := w.try(outsiders[i%2], long)
				require.ErrorIs(t, err, refusal.ErrDenied)
			}
			for range 30 {
				_, err := w.try(eve, long)
				require.ErrorIs(t, err, refusal.ErrDenied)
			}
		}
		flood()
		require.Len(t, w.audit.all(), 2*3+20)
		for _, e := range w.audit.all() {
			require.Equal(t, 500, text.Length(e.Line))
			require.True(t, strings.HasSuffix(e.Line, "é…"), e.Line)
			require.LessOrEqual(t, text.Length(e.Why), 500)
		}
		require.Less(t, len(w.out.String()), 64<<10)
		last := w.clock()
		time.Sleep(62 * time.Minute)
		synctest.Wait()
		entries := w.audit.all()
		require.Len(t, entries, 26+1)
		counted := entries[26]
		require.Equal(t, "and 284 more refused until "+last.Add(time.Hour).UTC().Format("15:04")+" UTC", counted.Why)
		require.Equal(t, record.Actor{Name: "others", Via: record.ViaClock}, counted.Actor)
		require.Equal(t, "refused", counted.Outcome)
		require.True(t, counted.At.After(last), "no entry is older than the one before it")
		for i, e := range entries {
			require.EqualValues(t, i+1, e.N, "numbers have no gap")
		}

		flood()
		require.Len(t, w.audit.all(), 27+26, "another hour")
		stop()
		require.Len(t, w.audit.all(), 53+1, "what was counted until a stop is recorded")
	})
}

// Of people without a role, whoever makes them, the first fifty are recorded. The others are counted together, and told
// so once.
func TestRefusalsOfManyStrangersAreCountedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		stop := w.counting()
		answered := 0
		for i := range 5 * 60 {
			stranger := outsiders[1]
			stranger.ID = fmt.Sprintf("U9OTHER%d", i%60)
			_, err := w.try(stranger, "deny 203.0.113.9")
			require.ErrorIs(t, err, refusal.ErrDenied)
			if !errors.Is(err, refusal.ErrUnanswered) {
				answered++
			}
		}
		require.Len(t, w.audit.all(), 50*3)
		require.Equal(t, 50*(3+1)+1, answered)
		tries := map[string]int{}
		for _, e := range w.audit.all() {
			tries[e.Actor.ID]++
		}
		require.Len(t, tries, 50)
		for who, n := range tries {
			require.Equal(t, 3, n, "nobody's tries vanish behind another's: %s", who)
		}
		stop()
		entries := w.audit.all()[50*3:]
		require.Len(t, entries, 1)
		require.Contains(t, entries[0].Why, "and 150 more refused until ")
	})
}

// A name is stored with each thing that a person does, and with what is refused.
func TestAVeryLongNameIsCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("é", 30_000)
	stranger := outsiders[1]
	stranger.Name = long
	_, err := w.try(stranger, "deny 203.0.113.7")
	require.ErrorIs(t, err, refusal.ErrDenied)
	w.members.set(func(m *members) { m.full[ann.ID] = long })
	w.does(ann, "deny 203.0.113.7")
	require.Len(t, w.audit.all(), 2)
	for _, e := range w.audit.all() {
		require.Equal(t, 100, text.Length(e.Actor.Name))
	}
	require.NotContains(t, w.out.String(), strings.Repeat("é", 100))
}

// Who is refused again and again is told so once, by whatever way, and then not answered until the hour is over. Others are answered as before.
func TestWhoIsRefusedTooOftenIsToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		defer w.counting()()
		asks := func(who record.Actor) (answers []string) {
			for range 40 {
				_, err := w.try(who, "allow 203.0.113.9")
				require.ErrorIs(t, err, refusal.ErrDenied)
				if !errors.Is(err, refusal.ErrUnanswered) {
					answers = append(answers, err.Error())
				}
			}
			return answers
		}
		for range 2 {
			until := w.clock().Add(time.Hour).UTC().Format("15:04")
			said := asks(eve)
			require.Len(t, said, 20+1)
			require.NotContains(t, said[19], "gets no answer")
			require.Equal(t, said[19]+". Much was refused here within an hour: until "+until+" UTC what you may not do gets no answer", said[20])
			require.Len(t, asks(outsiders[0]), 3+1)
			require.Len(t, asks(outsiders[1]), 3+1)
			for range 40 {
				_, err := w.try(ann, "deny 10.0.0.0/8")
				require.NotErrorIs(t, err, refusal.ErrUnanswered, "she may deny: that it wasn't done is said each time")
			}
			require.Len(t, asks(ann), 1, "she had as many recorded as are")
			_, err := w.try(ann, "deny 203.0.113.9")
			require.NotErrorIs(t, err, refusal.ErrDenied, "what she may do is done")
			time.Sleep(62 * time.Minute)
			synctest.Wait()
		}
	})
}

// What is surely refused is known before it is stored.
func TestWhatIsSurelyRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refused := func(who record.Actor, line string) bool { return w.Refuses(t.Context(), w.asks(who, line)) }
	for _, who := range append(outsiders, eve) {
		require.True(t, refused(who, "deny 203.0.113.7"), who.Name)
	}
	require.True(t, refused(outsiders[0], "status"), "who has no role may not even read")
	require.False(t, refused(eve, "status"))
	require.True(t, refused(ann, "allow 203.0.113.7"), "an admin's")
	require.False(t, refused(ann, "deny 203.0.113.7"))
	require.False(t, refused(ann, "deny"), "its arguments are looked at when it is done")
	w.members.set(func(m *members) { m.broken = true })
	require.False(t, refused(outsiders[0], "deny 203.0.113.7"), "Slack doesn't say who that is")
	require.Empty(t, w.audit.all())
}
