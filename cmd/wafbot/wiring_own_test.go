package main

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/internal/clock"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/internal/store"
	"github.com/wafbot/wafbot/poller"
)

// awayService is away, and counts who asks for attacks.
type awayService struct{ asked atomic.Int64 }

func (s *awayService) Attacks(context.Context, apiclient.AttackFilter) iter.Seq2[apiclient.AttackPage, error] {
	s.asked.Add(1)
	return func(yield func(apiclient.AttackPage, error) bool) { yield(apiclient.AttackPage{}, errors.New("away")) }
}

func (s *awayService) IPRules(context.Context, apiclient.IPRuleFilter) iter.Seq2[apiclient.IPRule, error] {
	return func(yield func(apiclient.IPRule, error) bool) { yield(apiclient.IPRule{}, errors.New("away")) }
}

func (s *awayService) Rules(context.Context, apiclient.RuleFilter) iter.Seq2[apiclient.Rule, error] {
	return func(yield func(apiclient.Rule, error) bool) { yield(apiclient.Rule{}, errors.New("away")) }
}

// nothing is an empty store.
type nothing struct{}

func (nothing) Load(context.Context, string) (poller.State, error) {
	return poller.State{}, nil
}
func (nothing) LoadEvidence(context.Context, string, []string) (map[string]record.Evidence, error) {
	return nil, nil
}
func (nothing) Save(context.Context, string, poller.Update) error { return nil }
func (nothing) Notify(string, []record.Event)                     {}

// Cards that are wanted and can't be given, as while the service is away, don't have it asked each second.
func TestCardsThatAreWantedHurryOnePoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &awayService{}
		p := poller.New(poller.Config{Account: "acme", API: service, Store: nothing{}, Notifier: nothing{}, Interval: time.Minute})
		a := &app{tenants: map[string]*tenant{"acme": {poller: p}}}
		ctx, stop := context.WithCancel(t.Context())
		pending, done := make(chan store.Pending), make(chan struct{})
		go func() { defer close(done); _ = p.Run(ctx) }()
		go a.passOn(ctx, "acme", pending, make(chan struct{}, 1))
		for range 20 {
			pending <- store.Pending{WantedCards: 2}
			time.Sleep(time.Second)
		}
		require.EqualValues(t, 2, service.asked.Load(), "at the start, and when they came to be wanted")
		pending <- store.Pending{WantedCards: 3}
		synctest.Wait()
		require.EqualValues(t, 3, service.asked.Load())
		stop()
		<-done
	})
}

// dated answers everything with the time alone.
type dated struct{}

func (dated) RoundTrip(*http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	answer.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	_, _ = answer.WriteString("{}")
	return answer.Result(), nil
}

// The machine's clock is wrong, and no poll reads the service's: it is asked, so that what is due can be ended.
func TestAnAccountThatIsNotPolledLearnsTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clocks := clock.NewAhead(time.Hour)
		clocks.NoteRedis(time.Now(), time.Now())
		require.False(t, clocks.Known("acme"))
		api, err := apiclient.New(apiclient.Config{BaseURL: "http://service", Token: "secret", ClientID: 5, HTTP: &http.Client{Transport: dated{}}, Clock: clocks.Service("acme"), Tries: 1})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			(&tenant{Account: &call.Account{Name: "acme"}, api: api}).askTime(ctx, clocks, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		require.True(t, clocks.Known("acme"))
		stop()
		<-done
	})
}
