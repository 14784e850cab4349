package poller_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/poller"
)

func TestWhatTheListHides(t *testing.T) {
	t.Parallel()
	t.Run("list shifts while it is read", func(t *testing.T) {
		t.Parallel()
		a, p := watching(t)
		for i := range 250 {
			a.add(fmt.Sprintf("x:%03d", i), time.Duration(i)*time.Second)
		}
		n := 0
		a.served = func(request) { // one new record before each page: the last one of a page comes again
			if n++; n > 3 {
				return
			}
			a.add(fmt.Sprintf("late:%d", n), -time.Duration(n)*time.Second)
		}
		require.NoError(t, p.Poll(t.Context()))
		require.Len(t, a.store.takeNames(), 250)
		a.served = nil
		require.NoError(t, p.Poll(t.Context()))
		require.Len(t, a.store.takeNames(), 3, "each once")
	})
	t.Run("no requests past what is known", func(t *testing.T) {
		t.Parallel()
		a, p := watching(t)
		for i := range 300 {
			a.add(fmt.Sprintf("x:%03d", i), time.Hour+time.Duration(i)*time.Second)
		}
		require.NoError(t, p.Poll(t.Context()))
		require.Len(t, a.store.takeNames(), 300)
		require.Len(t, a.asked(""), 4, "everything is new")
		require.NoError(t, p.Poll(t.Context()))
		require.Len(t, a.asked(""), 1, "nothing is")
		a.at(time.Minute)
		for i := range 150 {
			a.change(fmt.Sprintf("x:%03d", i), func(r *attackRecord) { r.last = a.now(); r.hits++ })
		}
		require.NoError(t, p.Poll(t.Context()))
		asked := a.asked("")
		require.Len(t, asked, 3, "two pages have changed, the third shows that there is no more")
		require.InDelta(t, noon.Add(-24*time.Hour).Unix(), asked[0].From, 61, "always the whole lookback")
	})
	t.Run("silence is seen below pages of noise", func(t *testing.T) {
		t.Parallel()
		a, p := watching(t)
		a.add("x:1", 0)
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, []string{"new attack x:1"}, a.store.takeNames())
		a.at(14 * time.Minute)
		for i := range 300 {
			a.add(fmt.Sprintf("noise:%d", i), 5*time.Minute, blocked)
		}
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, []string{"grew x:1"}, a.store.takeNames(), "none came in a minute")
		a.at(16 * time.Minute)
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, []string{"quiet x:1"}, a.store.takeNames())
		a.asked("")
		require.NoError(t, p.Poll(t.Context()))
		require.Len(t, a.asked(""), 1, "looking deeper was for once")
	})
	t.Run("a false positive's silence is not looked for", func(t *testing.T) {
		t.Parallel()
		a, p := watching(t)
		a.add("x:1", 0)
		require.NoError(t, p.Poll(t.Context()))
		a.change("x:1", func(r *attackRecord) { r.state = "falsepositive" })
		require.NoError(t, p.Poll(t.Context()))
		a.at(20 * time.Minute)
		for i := range 150 {
			a.add(fmt.Sprintf("noise:%d", i), 5*time.Minute, blocked)
		}
		require.NoError(t, p.Poll(t.Context()))
		a.asked("")
		require.NoError(t, p.Poll(t.Context()))
		require.Len(t, a.asked(""), 1)
		require.Equal(t, []string{"new attack x:1", "grew x:1"}, a.store.takeNames())
	})
	t.Run("record is listed late", func(t *testing.T) {
		t.Parallel()
		a, p := watching(t)
		for i := range 150 {
			a.add(fmt.Sprintf("x:%03d", i), 30*time.Second, blocked)
		}
		require.NoError(t, p.Poll(t.Context()))
		a.at(15 * time.Second)
		a.add("x:late", 105*time.Second)
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, []string{"new attack x:late"}, a.store.takeNames())
	})
	t.Run("record is gone", func(t *testing.T) {
		t.Parallel()
		a, p := watching(t)
		a.add("x:1", 0)
		require.NoError(t, p.Poll(t.Context()))
		a.store.takeNames()
		a.mu.Lock()
		delete(a.records, "x:1")
		a.mu.Unlock()
		require.NoError(t, p.Poll(t.Context()))
		require.Empty(t, a.store.takeNames())
		a.at(15 * time.Minute)
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, []string{"quiet x:1"}, a.store.takeNames())
	})
	t.Run("denied source keeps trying", func(t *testing.T) {
		t.Parallel()
		a, p := watching(t)
		a.add("x:1", 0)
		require.NoError(t, p.Poll(t.Context()))
		a.store.takeNames()
		a.at(20 * time.Minute)
		denied := func(r *attackRecord) { r.typ, r.status = "blocked_source", "blocked" }
		a.add("denied:1", time.Minute, denied)
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, []string{"grew x:1"}, a.store.takeNames(), "none of its own came in a minute")
		require.Len(t, p.Attacks(), 2, "its record is a fact for others")
		a.at(34 * time.Minute)
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, []string{"quiet x:1"}, a.store.takeNames())
	})
	t.Run("another source tries", func(t *testing.T) {
		t.Parallel()
		a, p := watching(t)
		a.add("x:1", 0)
		require.NoError(t, p.Poll(t.Context()))
		a.store.takeNames()
		a.at(20 * time.Minute)
		a.add("denied:1", time.Minute, func(r *attackRecord) { r.typ, r.sources = "blocked_source", []string{"198.51.100.4"} })
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, []string{"quiet x:1"}, a.store.takeNames())
	})
	t.Run("service disregards the time filter", func(t *testing.T) {
		t.Parallel()
		a, _ := watching(t)
		a.add("x:1", 0)
		a.add("x:old", 30*time.Hour)
		for i := range 250 {
			a.add(fmt.Sprintf("older:%d", i), 40*time.Hour)
		}
		a.asked("")
		unfiltered := poller.New(poller.Config{Account: accountOf(a.name, ""), API: unfiltered{a.api}, Clock: a, Store: a.store, Notifier: a.store, Log: a.log})
		require.NoError(t, unfiltered.Poll(t.Context()))
		require.Equal(t, []string{"new attack x:1"}, a.store.takeNames())
		require.Len(t, a.asked(""), 1, "what is older is not read at all")
	})
	t.Run("record without last hit, record without id", func(t *testing.T) {
		t.Parallel()
		a, p := watching(t)
		a.add("x:1", 0, func(r *attackRecord) { r.undated = true })
		a.add("", 0)
		require.NoError(t, p.Poll(t.Context()))
		require.Equal(t, []string{"new attack x:1"}, a.store.takeNames())
		for range 3 {
			require.NoError(t, a.start().Poll(t.Context()))
		}
		require.Empty(t, a.store.takeNames())
	})
}

// unfiltered asks for all there ever was.
type unfiltered struct{ poller.API }

func (u unfiltered) Attacks(ctx context.Context, f apiclient.AttackFilter) iter.Seq2[apiclient.AttackPage, error] {
	f.From = time.Time{}
	return u.API.Attacks(ctx, f)
}
