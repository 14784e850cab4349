package poller_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
	"github.com/wafbot/wafbot/poller/storm"
)

// course is what people were notified of, by attack.
type course struct {
	cards map[string]int // first events, by attack id
}

// takes holds what is saved, and the events since the last time, against what must be so at any time.
func (o *course) takes(t require.TestingT, a *account) {
	for _, n := range a.store.takeEvents() {
		if n.Kind == record.NewAttack || n.Kind == record.NewIncident {
			o.cards[n.Subject]++
			require.Equal(t, 1, o.cards[n.Subject], "%s has one card", n.Subject)
		}
		s := a.store.state[a.name].Attacks[n.Subject]
		require.False(t, n.Subject != "" && s.StormID != "" && !s.OwnCard, "%s %s: its storm shows it", n.Kind, n.Subject)
	}
	members, own := map[string]int{}, map[string]int{}
	for id, s := range a.store.state[a.name].Attacks {
		if s.StormID == "" {
			require.Equal(t, s.Notified, o.cards[id] == 1, id)
			continue
		}
		members[s.StormID]++
		if s.OwnCard {
			own[s.StormID]++
		}
		require.Equal(t, s.OwnCard, o.cards[id] == 1, "%s has a card, or is in a storm", id)
		require.Equal(t, 1, o.cards[s.StormID], "%s is in a storm that has a card", id)
		require.False(t, s.Attack.Incident() && !s.OwnCard, "%s is an incident", id)
	}
	for _, s := range storms(a) {
		id := s.Attack.ID
		if s.Storm.Ended.IsZero() || !s.Quiet {
			require.LessOrEqual(t, members[id], s.Storm.Grouped, "%s counts all that it has now, and perhaps some that belong to a later storm", id)
			require.Equal(t, own[id], s.Storm.OwnCards, id)
		}
	}
}

// Whatever happens, in whatever order, and whenever the process or the store goes away: people are notified of each
// attack that a route takes exactly once, by a card or by one storm's card, and of incidents by a card.
func TestEachAttackIsNotifiedOnceInStorms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		a := newAccount(t)
		a.storm = storm.Config{Storm: config.Storm{Over: 3, In: time.Minute}, EndsAfter: 3 * time.Minute}
		a.routes = []config.Route{{Match: config.Match{Kind: config.OneOrMore{config.KindIncident}}, Channel: "C1"}, {Match: config.Match{Type: config.OneOrMore{"xss"}}, Channel: "C2"}, {}}
		muted := false
		a.muted = func(context.Context) (func(apiclient.Attack) bool, error) {
			return func(one apiclient.Attack) bool { return muted && one.Type == "xss" }, nil
		}
		p, o := a.start(), &course{cards: map[string]int{}}
		begun, clock := 0, time.Duration(0)
		some := func() string { return fmt.Sprint("x:", rapid.IntRange(0, begun-1).Draw(rt, "which")) }
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			do := rapid.SampledFrom([]string{"begin", "begin", "flood", "hit", "incident", "worse", "wait", "restart", "fail", "lose", "break", "mute"}).Draw(rt, "do")
			if begun == 0 && (do == "hit" || do == "incident" || do == "worse") {
				do = "begin"
			}
			begin := func(n int) {
				for range n {
					kind := rapid.SampledFrom([]string{"sqli", "sqli", "xss"}).Draw(rt, "kind")
					vuln := rapid.SampledFrom([]int{0, 0, 0, 0, 0, 8}).Draw(rt, "vuln")
					a.add(fmt.Sprint("x:", begun), 0, func(r *attackRecord) { r.typ, r.vuln = kind, vuln })
					begun++
				}
			}
			step := rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Second, 90 * time.Second}).Draw(rt, "step")
			switch do {
			case "begin":
				begin(rapid.IntRange(1, 3).Draw(rt, "few"))
			case "flood":
				begin(rapid.IntRange(4, 130).Draw(rt, "many"))
			case "hit":
				a.change(some(), func(r *attackRecord) { r.last, r.hits = a.now(), r.hits*2 })
			case "incident":
				a.change(some(), func(r *attackRecord) { r.vuln = 9 })
			case "worse":
				a.change(some(), func(r *attackRecord) { r.last, r.hits = a.now(), r.hits*20+1000 })
			case "wait":
				step = rapid.SampledFrom([]time.Duration{4 * time.Minute, 16 * time.Minute, time.Hour}).Draw(rt, "long")
			case "restart":
				p = a.start()
			case "fail", "lose":
				at, n := rapid.IntRange(1, 3).Draw(rt, "at"), 0
				a.store.breaks(func(bool) (before, after bool) {
					n++
					return n == at && do == "fail", n == at && do == "lose"
				})
			case "break":
				a.fail(func(q request) bool { return q.Offset > 0 })
			case "mute":
				muted = !muted
			}
			a.at(clock)
			if p.Poll(t.Context()) != nil {
				a.store.breaks(nil)
				a.fail(nil)
			}
			o.takes(rt, a)
			clock += step
			a.at(clock)
		}
		muted = false
		a.store.breaks(nil)
		a.fail(nil)
		require.NoError(rt, p.Poll(t.Context()))
		o.takes(rt, a)
		for id, s := range a.store.state[a.name].Attacks {
			require.True(rt, s.Notified || !s.Attack.Last.After(noon.Add(clock-15*time.Minute)), "%s has an event", id)
		}
	})
}
