package paging

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/hostiletext"
	"github.com/wafbot/wafbot/internal/record"
)

func TestWhenAPagerIsCalled(t *testing.T) {
	t.Parallel()
	notified := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return notified.Add(time.Duration(minutes) * time.Minute) }
	verdict := func(is string, minutes int) *record.Verdict { return &record.Verdict{Is: is, At: at(minutes)} }
	incident, falsePositive := apiclient.Attack{VulnID: "8"}, apiclient.Attack{State: "falsepositive"}
	calling := func(minutes int) record.Page { return record.Page{State: record.PageCalling, Since: at(minutes)} }
	ended := func(minutes int) record.Page { return record.Page{State: record.PageEnded, Since: at(minutes)} }
	const never = -1
	for name, tt := range map[string]struct {
		u    Unacknowledged
		last record.Page
		want int  // minutes after it was notified
		over bool // an open page is to be ended
	}{
		"unacknowledged":                     {want: 5},
		"acknowledged":                       {u: Unacknowledged{Triage: record.Triage{Owner: &record.Owner{}}}, want: never, over: true},
		"no longer acknowledged":             {u: Unacknowledged{Triage: record.Triage{UnackedAt: at(20)}}, want: 25, over: true},
		"muted":                              {u: Unacknowledged{Muted: true}, want: never, over: true},
		"a false positive, says the service": {u: Unacknowledged{Attack: falsePositive}, want: never, over: true},
		"quiet, an attack":                   {u: Unacknowledged{Quiet: true}, want: never},
		"quiet, an incident":                 {u: Unacknowledged{Quiet: true, Attack: incident}, want: 5},
		"a false positive":                   {u: Unacknowledged{Triage: record.Triage{Verdict: verdict("false_positive", 2)}}, want: never, over: true},
		"a test":                             {u: Unacknowledged{Triage: record.Triage{Verdict: verdict("test", 2)}}, want: never, over: true},
		"real":                               {u: Unacknowledged{Triage: record.Triage{Verdict: verdict("real", 2)}}, want: 5},
		"a false positive that got worse":    {u: Unacknowledged{WorsenedAt: at(9), Triage: record.Triage{Verdict: verdict("false_positive", 2)}}, want: 14, over: true},
		"worse, then a false positive":       {u: Unacknowledged{WorsenedAt: at(1), Triage: record.Triage{Verdict: verdict("false_positive", 2)}}, want: never, over: true},
		"worse before it is called":          {u: Unacknowledged{WorsenedAt: at(4)}, want: 5},
		"it is called":                       {last: calling(0), want: never},
		"it was, for the same time":          {last: ended(0), want: never},
		"it was, for a time before":          {u: Unacknowledged{Triage: record.Triage{UnackedAt: at(30)}}, last: ended(0), want: 35, over: true},
		"it was, and is unacked once more":   {u: Unacknowledged{Triage: record.Triage{UnackedAt: at(30)}}, last: ended(30), want: never, over: true},
		"another pager's, an incident now":   {u: Unacknowledged{Attack: incident, Route: "incidents"}, last: record.Page{State: record.PageEnded, Since: at(0), Route: "attacks"}, want: 5},
		"the same pager's, an incident now":  {u: Unacknowledged{Attack: incident, Route: "attacks"}, last: record.Page{State: record.PageEnded, Since: at(0), Route: "attacks"}, want: never},
		"its pager was called as one":        {u: Unacknowledged{Attack: incident, Route: "incidents"}, last: record.Page{State: record.PageEnded, Since: at(0), Route: "gone", Incident: true}, want: never},
		"no pager is left":                   {u: Unacknowledged{Attack: incident}, last: record.Page{State: record.PageEnded, Since: at(0), Route: "gone"}, want: never},
		"another pager's, no incident":       {u: Unacknowledged{Route: "moved"}, last: record.Page{State: record.PageEnded, Since: at(0), Route: "attacks"}, want: never},
	} {
		tt.u.NotifiedAt, tt.u.After = notified, 5*time.Minute
		since, when, ok := tt.u.PagesAt(tt.last)
		require.Equal(t, tt.want != never, ok, name)
		if ok {
			require.Equal(t, at(tt.want), when, name)
			require.Equal(t, at(tt.want-5), since, name)
		}
		require.Equal(t, tt.over, tt.u.over(calling(0)), name)
	}
}

// What an attacker wrote stands in a page for the people it calls, and does nothing where pagers show it.
func TestHostileTextInAPage(t *testing.T) {
	t.Parallel()
	for _, sample := range hostiletext.Samples() {
		text := sample.Text
		c := Config{Account: &config.Account{Name: "acme", Applications: map[int]config.Application{4: {Name: text}}}}
		attack := apiclient.Attack{
			ID: "a", App: apiclient.Known(4), Domain: text, Path: text, Method: text, Type: text, BlockStatus: text, Last: time.Unix(1795000000, 0),
			Sources: []apiclient.Source{{IP: netip.MustParseAddr("203.0.113.7"), Country: text}},
		}
		storm := &record.Storm{Grouped: 4, SharedBy: 3, Place: text, Types: map[string]int{text: 4}}
		for _, shown := range []record.AttackState{{Attack: attack}, {Attack: attack, Storm: storm}} {
			for _, state := range []record.PageState{"", record.PageEnding} {
				triage := record.Triage{Owner: &record.Owner{Name: text}}
				e := c.message(record.Page{ID: "p", Attack: "a7k2m9xw4", State: state}, shown, triage)
				texts := []string{e.Summary, e.Source, e.App, e.Type}
				for _, detail := range e.Details {
					texts = append(texts, detail)
				}
				for _, s := range texts {
					require.NoError(t, hostiletext.Plain(s), sample.Purpose)
					require.LessOrEqual(t, len([]rune(s)), 1_024, sample.Purpose)
				}
			}
		}
	}
}
