package notify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/record"
)

// listing is a service's listing of vulnerabilities: it can fail, or hang until it is asked no longer.
type listing struct {
	mu    sync.Mutex
	all   []apiclient.Vulnerability
	fails bool
	hangs bool
	read  []time.Duration // since the start of the test
	begun time.Time
}

// becomes makes it another listing.
func (l *listing) becomes(fails, hangs bool, all ...apiclient.Vulnerability) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fails, l.hangs, l.all = fails, hangs, all
}

func (l *listing) reads() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.read)
}

func (l *listing) Vulnerabilities(ctx context.Context, _ apiclient.VulnFilter) iter.Seq2[apiclient.Vulnerability, error] {
	return func(yield func(apiclient.Vulnerability, error) bool) {
		l.mu.Lock()
		l.read = append(l.read, time.Since(l.begun))
		fails, hangs, all := l.fails, l.hangs, l.all
		l.mu.Unlock()
		if hangs {
			<-ctx.Done()
		}
		if fails || ctx.Err() != nil {
			yield(apiclient.Vulnerability{}, errors.New("no"))
			return
		}
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// titlesOf runs titles until the test ends; the attacks whose cards are redrawn come in redrawn.
func titlesOf(t *testing.T, l *listing) (titles *Titles, redrawn *[]string) {
	l.begun, redrawn = time.Now(), &[]string{}
	titles = NewTitles(l, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() { stop(); synctest.Wait() })
	go titles.run(ctx, func(_ context.Context, attacks []string) error {
		*redrawn = append(*redrawn, attacks...)
		return nil
	})
	synctest.Wait()
	return titles, redrawn
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestOneReadingGivesAllTitles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &listing{all: []apiclient.Vulnerability{{ID: "1", Title: "one"}, {ID: "2", Title: "two"}, {ID: "3"}}}
		titles, redrawn := titlesOf(t, l)
		for _, card := range [][2]string{{"1", "a"}, {"1", "b"}, {"3", "c"}} {
			title, untitled := titles.title(card[0], card[1])
			require.Empty(t, title, "no card waits")
			require.True(t, untitled)
		}
		for _, attack := range []string{"a", "b", "c"} {
			require.True(t, titles.untitled()(attack))
		}
		after(0)
		slices.Sort(*redrawn)
		require.Equal(t, []string{"a", "b"}, *redrawn, "c has no title to show")
		require.False(t, titles.untitled()("a"))
		for id, want := range map[string]string{"1": "one", "2": "two", "3": ""} {
			title, untitled := titles.title(id, "a")
			require.Equal(t, want, title)
			require.False(t, untitled)
		}
		after(time.Hour)
		require.Len(t, l.reads(), 1)
	})
}

func TestAMissingTitleIsLookedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &listing{}
		titles, redrawn := titlesOf(t, l)
		for range 10 {
			titles.title("1", "a")
			after(5 * time.Second)
		}
		require.Len(t, l.reads(), 1, "for a minute it is missing")
		require.False(t, titles.untitled()("a"))
		after(9 * time.Second)
		l.becomes(false, false, apiclient.Vulnerability{ID: "1", Title: "one"})
		after(2 * time.Second)
		require.Len(t, l.reads(), 2)
		require.Equal(t, []string{"a"}, *redrawn)
		titles.title("2", "b")
		after(time.Hour)
		require.Len(t, l.reads(), 2+10, "and not for ever")
	})
}

func TestAFailingListingIsGivenUpEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &listing{fails: true}
		titles, redrawn := titlesOf(t, l)
		for i := range 100 {
			titles.title(string(rune('a'+i)), string(rune('a'+i)))
			after(100 * time.Millisecond)
		}
		require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, l.reads(), "however many want one")
		l.becomes(false, true)
		after(6 * time.Second)
		require.Len(t, l.reads(), 5)
		l.becomes(false, false, apiclient.Vulnerability{ID: "a", Title: "one"})
		after(40 * time.Second)
		require.Len(t, l.reads(), 6, "what hangs is cut off, and asked again")
		require.Equal(t, []string{"a"}, *redrawn)
	})
}

// While the listing fails, what cards want is forgotten after a while: their marks stand, and the cards are drawn once it works.
func TestAListingThatKeepsFailingFillsNoMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &listing{fails: true}
		titles, _ := titlesOf(t, l)
		for i := range 100 {
			titles.title("1", fmt.Sprint("attack ", i))
			titles.title(fmt.Sprint("vulnerability ", i), "a")
			after(time.Minute)
		}
		titles.mu.Lock()
		require.LessOrEqual(t, len(titles.wanted), 12)
		require.LessOrEqual(t, len(titles.wanted["1"].attacks), 12)
		titles.mu.Unlock()
		require.True(t, titles.untitled()("attack 0"), "it isn't drawn again and again")
		l.becomes(false, false)
		after(2 * time.Minute)
		require.False(t, titles.untitled()("attack 0"))
	})
}

// sharedMarks is what two replicas share, one after the other: the marks of stale cards, and an incident with its card.
type sharedMarks struct {
	outbox
	Pace
	mu    sync.Mutex
	marks map[string]record.RedrawMark
	card  record.Place // zero: it is about to be recorded
}

func (h *sharedMarks) Details(context.Context, string, string) (record.AttackDetails, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return record.AttackDetails{State: record.AttackState{Attack: incident()}, Card: h.card}, nil
}

func (h *sharedMarks) Stale(context.Context, string) (map[string]record.RedrawMark, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.marks), nil
}

func (h *sharedMarks) MarkStale(_ context.Context, _, attack string, urgency record.Urgency) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.marks[attack] = record.RedrawMark{Urgency: urgency, Since: time.Now(), ID: h.marks[attack].ID + "+"}
	return nil
}

func (h *sharedMarks) Redrawn(_ context.Context, _, attack string, mark record.RedrawMark) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.marks[attack] == mark {
		delete(h.marks, attack)
	}
	return nil
}

// own has a replica own the account for two seconds, which reads titles from that listing.
func (h *sharedMarks) own(t *testing.T, s *choosy, l *listing) {
	n := New(Config{
		Slack:    slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: s}}),
		Stores:   Stores{Outbox: h, Cards: h, Attacks: h, Triage: h, Changes: h, Redraws: h, Drills: h, Pace: h},
		Accounts: []Account{{Account: &call.Account{Name: "acme", Channel: "C1"}, Titles: NewTitles(l, slog.New(slog.DiscardHandler))}},
	})
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	n.Own(ctx, ctx, "acme", Unread{})
}

func (h *sharedMarks) EditSlot(context.Context, string, int, int) (wait time.Duration, err error) {
	return 0, nil
}

// The replica that drew a card without its title is gone before it can read it: the next one finishes the card, or learns that there is no title.
func TestAnotherReplicaShowsTheTitle(t *testing.T) {
	t.Parallel()
	for name, all := range map[string][]apiclient.Vulnerability{"known": {{ID: "v1", Title: "a hole"}}, "missing": nil} {
		synctest.Test(t, func(t *testing.T) {
			attack, s := record.AttackID("acme", incident().ID), &choosy{}
			box := &sharedMarks{marks: map[string]record.RedrawMark{attack: {Urgency: record.UrgentState, Since: time.Now()}}, card: cardAt}
			box.own(t, s, &listing{hangs: true})
			require.Len(t, s.edits, 1, name)
			require.NotContains(t, s.edits[0], "a hole")
			require.Len(t, box.marks, 1, "of what the card lacks")
			box.own(t, s, &listing{all: all})
			require.Empty(t, box.marks, name)
			require.Len(t, s.edits, 1+len(all), "an edit that shows nothing is none")
			if len(all) > 0 {
				require.Contains(t, s.edits[1], "a hole")
			}
		})
	}
}

// A title may be known before it is recorded where the card is.
func TestATitleWaitsForItsCard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &choosy{}
		box := &sharedMarks{marks: map[string]record.RedrawMark{record.AttackID("acme", incident().ID) + lacksTitle: {Since: time.Now()}}}
		l := &listing{all: []apiclient.Vulnerability{{ID: "v1", Title: "a hole"}}}
		box.own(t, s, l)
		require.Empty(t, s.edits)
		box.card = cardAt
		box.own(t, s, l)
		require.Len(t, s.edits, 1)
		require.Contains(t, s.edits[0], "a hole")
		require.Empty(t, box.marks)
	})
}
