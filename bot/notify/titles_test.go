package notify

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
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
		require.Empty(t, titles.title("1", "a"), "no card waits")
		require.Empty(t, titles.title("1", "b"))
		require.Empty(t, titles.title("3", "c"))
		after(0)
		slices.Sort(*redrawn)
		require.Equal(t, []string{"a", "b"}, *redrawn, "c has no title to show")
		require.Equal(t, "one", titles.title("1", "a"))
		require.Equal(t, "two", titles.title("2", "d"))
		require.Empty(t, titles.title("3", "c"))
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
