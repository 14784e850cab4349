package poller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

func TestThePagerOfAnAttack(t *testing.T) {
	t.Parallel()
	route := config.Route{Match: config.Match{Kind: config.OneOrMore{config.KindAttack}}, Page: &config.Page{After: 5 * time.Minute}}
	incidents := config.Route{Match: config.Match{Kind: config.OneOrMore{config.KindIncident}}, Page: &config.Page{After: time.Minute}}
	began := &record.Pager{Route: "kind attack", After: 5 * time.Minute, NotifiedAt: noon.Add(-time.Hour)}
	with := func(change func(p *record.Pager)) *record.Pager {
		p := *began
		change(&p)
		return &p
	}
	for name, tt := range map[string]struct {
		last  *record.Pager
		kind  record.EventKind
		route config.Route
		want  *record.Pager
	}{
		"new":                               {kind: record.NewAttack, route: route, want: with(func(p *record.Pager) { p.NotifiedAt = noon })},
		"new, no pager":                     {kind: record.NewAttack},
		"unpaged at the first start, grows": {kind: record.Grew, route: route},
		"unpaged at the first start, worse": {kind: record.Worsened, route: route, want: with(func(p *record.Pager) { p.NotifiedAt = noon })},
		"grows":                             {last: began, kind: record.Grew, route: route, want: began},
		"worse, its route is gone":          {last: began, kind: record.Worsened, want: with(func(p *record.Pager) { p.WorsenedAt = noon })},
		"becomes an incident": {last: began, kind: record.BecameIncident, route: incidents,
			want: with(func(p *record.Pager) { p.WorsenedAt, p.Route, p.After = noon, "kind incident", time.Minute })},
		"becomes an incident, no pager": {last: began, kind: record.BecameIncident, want: with(func(p *record.Pager) { p.WorsenedAt = noon })},
	} {
		require.Equal(t, tt.want, (&Config{Account: &config.Account{}}).pagerAfter(tt.last, tt.kind, tt.route, noon), name)
	}
	require.Equal(t, noon.Add(-time.Hour), began.NotifiedAt)
	require.Zero(t, began.WorsenedAt, "what is stored isn't changed")
}
