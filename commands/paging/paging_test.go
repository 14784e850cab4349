package paging_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands/paging"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/pager"
	"github.com/wafbot/wafbot/internal/record"
)

// machine is the machine's clock.
type machine struct{}

func (machine) Now() time.Time { return time.Now() }

// account is what is stored of acme, and what it notifies: nothing.
type account struct {
	mu      sync.Mutex
	attacks []record.AttackState
	pages   map[string]record.Page
	triage  map[string]record.Triage
	mutes   []record.Mute
}

func (a *account) WithPager() ([]record.AttackState, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.attacks, true
}

func (a *account) Pages(context.Context, string) (map[string]record.Page, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.pages), nil
}

func (a *account) SavePage(_ context.Context, _ string, p record.Page, _ ...record.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pages[p.Attack] = p
	return nil
}

func (a *account) DropPage(context.Context, string, string) error { return nil }

func (a *account) TriageOf(_ context.Context, _, attack string) (record.Triage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.triage[attack], nil
}

func (a *account) AllTriage(context.Context, string) (map[string]record.Triage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.triage), nil
}

func (a *account) Mutes(context.Context, string) ([]record.Mute, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mutes, nil
}

func (a *account) Notify(string, []record.Event) {}
func (a *account) Stale(string)                  {}

// change has something be done about the account.
func (a *account) change(do func(a *account)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do(a)
}

// begins has an attack begin that gets through, whose pager is called after a time.
func (a *account) begins(id, route string, after time.Duration) (attack string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := record.AttackState{Attack: apiclient.Attack{ID: id, BlockStatus: "not_blocked"}, Pager: &record.Pager{Route: route, After: after, NotifiedAt: time.Now()}}
	a.attacks = append(a.attacks, s)
	return record.AttackID("acme", id)
}

// phone is a pager that answers after a time; it takes what it is sent, unless it hangs.
type phone struct {
	answers time.Duration
	hangs   bool
	began   time.Time

	mu  sync.Mutex
	got []string
	ids map[string]bool
}

func newPhone(answers time.Duration, hangs bool) *phone {
	return &phone{answers: answers, hangs: hangs, began: time.Now(), ids: map[string]bool{}}
}

func (p *phone) Send(_ context.Context, e pager.Event) error {
	time.Sleep(p.answers)
	if p.hangs {
		return &pager.Failure{Text: "it can't be reached"}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, fmt.Sprint(map[bool]string{false: "calls", true: "resolves"}[e.Resolve], " ", time.Since(p.began).Round(time.Minute)))
	p.ids[e.ID] = true
	return nil
}

func (p *phone) Lasts() time.Duration { return 0 }

// all is what it was sent, and when, and how many calls those are.
func (p *phone) all() (got []string, calls int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got, len(p.ids)
}

// calling plays with the pagers of acme, which are called as long as that takes.
func calling(t *testing.T, a *account, pagers map[string]paging.Sender, play func()) {
	t.Helper()
	called(t, a, pagers, func(*paging.Paging) { play() })
}

func called(t *testing.T, a *account, pagers map[string]paging.Sender, play func(p *paging.Paging)) {
	t.Helper()
	a.pages, a.triage = map[string]record.Page{}, map[string]record.Triage{}
	p := paging.New(paging.Config{
		Account: &config.Account{Name: "acme"}, Clock: machine{}, Pagers: pagers, Pages: a, Triage: a, Attacks: a.WithPager, Notifier: a,
		Calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "calls"}, []string{"account", "outcome"}), Log: slog.New(slog.DiscardHandler),
	})
	ctx, stop := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { p.Run(ctx, ctx) })
	defer ended.Wait()
	defer stop()
	play(p)
}

// The pager of a test card is called until the card is acknowledged, also while it is being called, or the drill is
// over.
func TestThePagerOfATestCard(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after time.Duration // until it is acknowledged; 0: it isn't
		want  []string
	}{
		"acknowledged":           {2 * time.Minute, []string{"calls 0s", "resolves 2m0s"}},
		"acknowledged at once":   {2 * time.Second, []string{"calls 0s", "resolves 0s"}},
		"nobody acknowledges it": {0, []string{"calls 0s", "resolves 5m0s"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a, p := &account{}, newPhone(5*time.Second, false)
			d := record.Drill{ID: "d1", Account: "acme", At: time.Now(), Page: true, Cards: []record.DrillCard{{Channel: "C1", Pager: "any"}}}
			called(t, a, map[string]paging.Sender{"any": p}, func(paging *paging.Paging) {
				test := func() { require.NoError(t, paging.Test(t.Context(), *d.PageOf(0, time.Now()))) }
				test()
				test() // its event comes again
				if time.Sleep(tt.after); tt.after > 0 {
					d.Cards[0].By = &record.Actor{ID: "U0ROB"}
					test()
					test()
				}
				time.Sleep(10 * time.Minute)
			})
			got, calls := p.all()
			require.Equal(t, tt.want, got, name)
			require.Equal(t, 1, calls, name)
		})
	}
}

// A mute or a verdict ends a call. When it is gone, and the attack still gets through, the silence is over, too.
func TestThePagerIsCalledAgainAfterASilence(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		silence, end func(a *account, attack string)
	}{
		"a mute ends by itself": {silence: func(a *account, attack string) {
			a.mutes = []record.Mute{{Account: "acme", Attack: attack, Until: time.Now().Add(10 * time.Minute)}}
		}, end: func(*account, string) {}},
		"a mute is ended": {silence: func(a *account, attack string) {
			a.mutes = []record.Mute{{Account: "acme", Attack: attack, Until: time.Now().Add(time.Hour)}}
		}, end: func(a *account, _ string) { a.mutes = nil }},
		"a verdict is taken back": {silence: func(a *account, attack string) {
			a.triage = map[string]record.Triage{attack: {Verdict: &record.Verdict{Is: "false_positive", At: time.Now()}}}
		}, end: func(a *account, attack string) {
			a.triage = map[string]record.Triage{attack: {Verdict: &record.Verdict{Is: "real", At: time.Now()}}}
		}},
		"the service's mark is taken back": {silence: func(a *account, _ string) {
			a.attacks = []record.AttackState{a.attacks[0]}
			a.attacks[0].Attack.State = "falsepositive"
		}, end: func(a *account, _ string) {
			a.attacks = []record.AttackState{a.attacks[0]}
			a.attacks[0].Attack.State = ""
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a, p := &account{}, newPhone(0, false)
			calling(t, a, map[string]paging.Sender{"any": p}, func() {
				attack := a.begins("x:1", "any", 5*time.Minute)
				time.Sleep(10 * time.Minute)
				a.change(func(a *account) { tt.silence(a, attack) })
				time.Sleep(10 * time.Minute)
				a.change(func(a *account) { tt.end(a, attack) })
				time.Sleep(2 * time.Minute) // not long enough
				a.change(func(a *account) { tt.silence(a, attack) })
				time.Sleep(10 * time.Minute)
				a.change(func(a *account) { tt.end(a, attack) })
				time.Sleep(18 * time.Minute)
				a.change(func(a *account) {
					a.triage = map[string]record.Triage{attack: {Owner: &record.Owner{ID: "U0ANN", Since: time.Now()}}}
				})
				time.Sleep(20 * time.Minute)
			})
			got, calls := p.all()
			require.Equal(t, []string{"calls 5m0s", "resolves 10m0s", "calls 37m0s", "resolves 50m0s"}, got, name)
			require.Equal(t, 2, calls, name)
		})
	}
}

// Each of many calls of a pager that hangs takes as long as a call may. Another pager is called in time.
func TestAPagerThatHangsDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, stuck, other := &account{}, newPhone(10*time.Second, true), newPhone(0, false)
		calling(t, a, map[string]paging.Sender{"stuck": stuck, "other": other}, func() {
			for i := range 20 {
				a.begins(fmt.Sprint("x:", i), "stuck", time.Minute)
			}
			time.Sleep(time.Second)
			a.begins("y:1", "other", time.Minute)
			time.Sleep(time.Minute + 2*time.Second)
			got, _ := other.all()
			require.Equal(t, []string{"calls 1m0s"}, got)
		})
	})
}
