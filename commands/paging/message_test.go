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
