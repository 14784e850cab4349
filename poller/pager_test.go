package poller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestThePagerOfAnAttack(t *testing.T) {
	t.Parallel()
	route := Route{Match: Match{Kind: KindAttack}, PageAfter: 5 * time.Minute}
	incidents := Route{Match: Match{Kind: KindIncident}, PageAfter: time.Minute}
	began := &Pager{Route: "kind attack", After: 5 * time.Minute, Told: noon.Add(-time.Hour)}
	with := func(change func(p *Pager)) *Pager {
		p := *began
		change(&p)
		return &p
	}
	for name, tt := range map[string]struct {
		last   *Pager
		reason Reason
		route  Route
		want   *Pager
	}{
		"new":                              {reason: NewAttack, route: route, want: with(func(p *Pager) { p.Told = noon })},
		"new, no pager":                    {reason: NewAttack},
		"spared at the first start, grows": {reason: Grew, route: route},
		"spared at the first start, worse": {reason: Worsened, route: route, want: with(func(p *Pager) { p.Told = noon })},
		"grows":                            {last: began, reason: Grew, route: route, want: began},
		"worse, its route is gone":         {last: began, reason: Worsened, want: with(func(p *Pager) { p.Worse = noon })},
		"becomes an incident": {last: began, reason: BecameIncident, route: incidents,
			want: with(func(p *Pager) { p.Worse, p.Route, p.After = noon, "kind incident", time.Minute })},
		"becomes an incident, no pager": {last: began, reason: BecameIncident, want: with(func(p *Pager) { p.Worse = noon })},
	} {
		require.Equal(t, tt.want, tt.last.after(tt.reason, tt.route, noon), name)
	}
	require.Equal(t, noon.Add(-time.Hour), began.Told)
	require.Zero(t, began.Worse, "what is remembered isn't changed")
}
