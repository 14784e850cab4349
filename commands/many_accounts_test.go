package commands_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
)

// manyAccounts makes a world of 300 accounts, of which the service of some can't be read.
func manyAccounts(unread int) func(*commands.Config) {
	return func(c *commands.Config) {
		for i := range 299 {
			one := *c.Accounts[0]
			one.Name = fmt.Sprintf("shop-%03d", i)
			one.Policy.Terminal = nil
			c.Accounts = append(c.Accounts, &one)
			c.Services[one.Name] = c.Services["acme"]
			if i < unread {
				c.Services[one.Name] = commands.Service{Lister: blindReader{c.Services["acme"].Lister}, Writer: c.Services["acme"].Writer}
			}
		}
	}
}

// blindReader is a service whose listing of attacks fails.
type blindReader struct{ commands.Lister }

func (blindReader) Attacks(context.Context, apiclient.AttackFilter) iter.Seq2[apiclient.AttackPage, error] {
	return func(yield func(apiclient.AttackPage, error) bool) {
		yield(apiclient.AttackPage{}, errors.New("connection refused"))
	}
}

// Over 300 accounts each answer is one that a person reads on a phone at 3 am: what it is about in the first line, and
// then a page. At the terminal it is as long, and --all gives all.
func TestAnswersOverManyAccounts(t *testing.T) {
	full.Only(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, manyAccounts(40))
		w.attackOn("/login")
		w.does(ann, "deny 203.0.113.7 account=shop-250")
		time.Sleep(time.Minute)
		typed := ann
		typed.Via = record.ViaCLI
		for line, want := range map[string]struct {
			first string
			lines int
		}{
			"status":                           {"Status of 300 accounts. wafbot is live: changes are made", 17},
			"status page=2":                    {"Status of 300 accounts", 17},
			"attacks":                          {"260 attacks in the last 1 h, in 260 of 300 accounts; unknown of 40", 14},
			"attacks page=26":                  {"260 attacks", 13},
			"incidents":                        {"0 incidents in the last 24 h, in 0 of 300 accounts; unknown of 40", 2},
			"audit":                            {" of 300 accounts", 13},
			"whoami":                           {"Ann", 4},
			"help":                             {"status", 15},
			"trends":                           {"Missing: account=, one of: acme, shop-000", 1},
			"summary":                          {"Missing: account=, one of: acme, shop-000", 1},
			"sources":                          {"Missing: account=, one of: acme, shop-000", 1},
			"lists":                            {"Missing: account=, one of: acme, shop-000", 1},
			"deny 203.0.113.7":                 {"Missing: account=, one of: acme, shop-000", 1},
			"deny 203.0.113.7 account=shop-30": {"Unknown account: shop-30 (did you mean shop-030?). One of: acme, shop-000", 1},
			"status account=shop250":           {"Unknown account: shop250 (did you mean shop-250?). One of: acme, shop-000", 1},
		} {
			for _, who := range []record.Actor{ann, typed} {
				if who.Via == record.ViaCLI && strings.HasPrefix(line, "deny") {
					continue // Ann has no role for that at the terminal
				}
				said := w.answers(who, line)
				require.Contains(t, strings.SplitN(said, "\n", 2)[0], want.first, "%s %s", line, who.Via)
				require.LessOrEqual(t, strings.Count(said, "\n")+1, want.lines, "%s %s: %s", line, who.Via, said)
				require.LessOrEqual(t, utf8.RuneCountInString(said), 3000, "%s %s", line, who.Via)
			}
		}
		require.Len(t, strings.Split(w.answers(typed, "attacks --all"), "\n"), 1+1+1+260, "the terminal holds all")
	})
}

// answers is what a person is answered.
func (w *world) answers(who record.Actor, line string) string {
	res, err := w.try(who, line)
	if err != nil {
		words, _ := call.ForPeople(call.Invocation{}, err)
		return words.String()
	}
	return textOf(res)
}

// What burns first stands first, whatever account it is of, on Home as in lists.
func TestWhatBurnsFirstOverManyAccounts(t *testing.T) {
	full.Only(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, manyAccounts(0))
		w.attackOn("/login")
		w.does(ann, "deny 203.0.113.7 account=shop-250")
		home := w.reads(ann, "status").Home.(*report.Home).Parts(true)
		rows := 0
		for _, p := range home {
			rows += len(p.Rows)
		}
		require.LessOrEqual(t, rows, 60, "with titles and buttons that is less than Slack's hundred blocks")
		require.Contains(t, home[0].More.String(), "… and 285 more: type status account=NAME")
		titles := []string{}
		for _, p := range home {
			titles = append(titles, p.Title.String())
		}
		require.Equal(t, "Going on: 300 attacks, 0 incidents among them", titles[0])
		require.True(t, slices.Contains(titles, "In force by wafbot: 1"), titles)
	})
}

// Facts of all accounts are read at once: however many there are, a listing takes no more rounds.
func TestTheAuditLogOfManyAccounts(t *testing.T) {
	full.Only(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, manyAccounts(0))
		for _, account := range []string{"acme", "shop-298", "shop-002"} {
			w.does(ann, "deny 203.0.113.7 account="+account)
			time.Sleep(time.Minute)
		}
		lines := strings.Split(w.answers(ann, "audit"), "\n")
		require.Equal(t, "3 entries, in 3 of 300 accounts", lines[0])
		for i, account := range []string{"shop-002", "shop-298", "acme"} {
			require.Contains(t, lines[1+i], "• "+account+" #1 ", "the newest first")
		}
	})
}
