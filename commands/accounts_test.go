package commands_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/apiclient"
	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/commands/call"
	"github.com/wafbot/wafbot/commands/refusal"
	"github.com/wafbot/wafbot/commands/report"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/full"
	"github.com/wafbot/wafbot/internal/record"
)

// twoAccounts is a world with a second account, on which Bob alone is a responder, and with guards of its own.
func twoAccounts(t *testing.T) *world {
	t.Helper()
	return newWorld(t, func(c *commands.Config) {
		secondAccount(c)
		globex := c.Accounts[1]
		p := &globex.Policy
		p.Viewers, p.Responders, p.Admins, p.Terminal = nil, []string{bob.ID}, nil, nil
		globex.Policy.Changes = config.ChangesDryRun
		globex.Policy.WidestPrefix.IPv4, globex.Policy.LongestDuration, globex.Policy.Approval.RequiredFor = 16, 2*time.Hour, []string{config.ApproveBroad}
		globex.Policy.Durations.Deny = time.Hour
		c.Sources = func(account string) []config.Source {
			if account != "globex" {
				return nil
			}
			return []config.Source{source("globex office", "", "203.0.113.0/24")}
		}
	})
}

// Guards go by the policy of the account that a line is about.
func TestEachAccountHasItsPolicy(t *testing.T) {
	w := twoAccounts(t)
	w.refuses(bob, "deny 203.0.113.7 account=globex", refusal.ErrGuarded, "203.0.113.7 is in globex office")
	w.does(bob, "deny 203.0.113.7 account=acme")
	w.refuses(bob, "deny 198.51.100.7 for=3h account=globex", refusal.ErrGuarded, "longer than the longest allowed, 2h")
	res := w.reads(bob, "deny 198.51.0.0/16 account=globex")
	require.Equal(t, "dry_run", res.Outcome)
	require.Contains(t, textOf(res), "for 1 h")
	require.NotContains(t, textOf(res), "approval")
	w.waits(bob, "deny 198.51.0.0/16 account=acme")
	require.Equal(t, 1, w.changesSent())
	// What another user is to type hits the account that it was refused on, wherever that user types it.
	w.refuses(bob, "delete-rule 5001 account=acme", refusal.ErrDenied, "to type delete-rule 5001 account=acme")
}

// Roles are those of the account, and an account without one for the person doesn't exist for that person.
func TestAnAccountOnWhichOneHasNoRole(t *testing.T) {
	w := twoAccounts(t)
	for _, line := range []string{"status", "audit", "lists", "deny 203.0.113.7", "help", "undo"} {
		n := len(w.audit.all())
		w.refuses(ann, line+" account=globex", refusal.ErrUsage, "Unknown account: globex. One of: acme")
		require.Len(t, w.audit.all(), n+1)
		e := w.lastAudit()
		require.Equal(t, []string{"globex", "refused", "no role on this account", ann.ID}, []string{e.Account, e.Outcome, e.Why, e.Actor.ID}, "its log says who tried")
	}
	n := len(w.audit.all())
	w.refuses(ann, "status account=nowhere", refusal.ErrUsage, "Unknown account: nowhere. One of: acme")
	require.Len(t, w.audit.all(), n)
	require.Contains(t, textOf(w.reads(ann, "status")), "Status of acme. wafbot is live")
	require.Contains(t, textOf(w.reads(bob, "status")), "Status of acme, globex. wafbot is live: changes are made (acme); in dry run: it shows what it would send and changes nothing (globex)")
	require.Contains(t, textOf(w.reads(bob, "whoami")), "globex: responder")
	require.NotContains(t, textOf(w.reads(root, "whoami")), "globex")

	// The place where a line is written counts as if it were named: what is meant for it never hits another account.
	inv := w.asks(ann, "deny 203.0.113.9")
	inv.Account = "globex"
	_, err := w.do(inv)
	require.ErrorIs(t, err, refusal.ErrUsage)
	require.ErrorContains(t, err, "Missing: account=, one of: acme")
	require.Zero(t, w.changesSent())
}

// What is shown of several accounts goes by the clock of each account's service, however wrong the clock is that
// replicas share.
func TestSeveralAccountsByTheirClocks(t *testing.T) {
	for _, shared := range []time.Duration{-6 * time.Hour, 6 * time.Hour} {
		w := twoAccounts(t)
		w.shared = shared
		w.pass(0)
		w.attackOn("/login")
		w.does(bob, "deny 203.0.113.7 for=2h account=acme")
		status := textOf(w.reads(bob, "status"))
		require.Contains(t, status, "Going on: 2 attacks", "both accounts are of one service here")
		require.Contains(t, status, "In force by wafbot: 1")
		attacks := textOf(w.reads(bob, "attacks since=1h"))
		require.Contains(t, attacks, "acme: 1 attack in the last 1 h")
		require.Contains(t, attacks, "globex: 1 attack in the last 1 h")
		require.Contains(t, textOf(w.reads(bob, "audit since=1h")), "acme: 1 entry")
		cli := record.Actor{ID: "cli:root", Via: record.ViaCLI, Name: "root"}
		var exported int
		for _, err := range w.reads(cli, "audit export since=1h").Stream {
			require.NoError(t, err)
			exported++
		}
		require.Equal(t, 1, exported)
	}
}

// A refusal that is about no account stands in no account's log.
func TestARefusalWithoutAnAccount(t *testing.T) {
	w := twoAccounts(t)
	w.refuses(record.Actor{ID: "U5NOBODY", Team: "T1"}, "status", refusal.ErrDenied, "You have no role here")
	require.Empty(t, w.audit.all())
	require.Contains(t, w.out.String(), `"account":"","actor":{"id":"U5NOBODY"`)
	w.refuses(eve, "deny 203.0.113.7", refusal.ErrDenied, "needs the role responder")
	require.Equal(t, "acme", w.lastAudit().Account, "the only one that she may see")
}

// While the workspace doesn't say who a person is, everyone is no one.
func TestEveryoneIsNoOneWhileNobodyIsKnown(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) { c.Accounts[0].Policy.Viewers = []string{"*"} })
	w.reads(record.Actor{ID: "U5NOBODY", Team: "T1"}, "status")
	w.members.setFail()
	for _, line := range []string{"status", "lists", "audit", "attacks"} {
		w.refuses(record.Actor{ID: "U9", Team: "T1"}, line, refusal.ErrDenied, "Slack doesn't say who you are just now", "Try again")
		w.refuses(record.Actor{ID: ann.ID, Team: "T9"}, line, refusal.ErrDenied, "You have no role here")
	}
	w.reads(ann, "status")
	w.refuses(ann, "deny 203.0.113.7", refusal.ErrDenied, "nothing is changed")
}

// off is another replica's configuration.
type off struct{ atomic.Bool }

// What another replica switches off isn't done here either, nor gone on with.
func TestAnotherReplicaSwitchesChangesOff(t *testing.T) {
	o := &off{}
	inDoubt := false
	w := newWorld(t, func(c *commands.Config) {
		sleep := c.Sleep
		c.Off = o.Load
		c.Sleep = func(ctx context.Context, d time.Duration) error {
			o.Store(inDoubt)
			return sleep(ctx, d)
		}
	})
	c := w.does(ann, "deny 203.0.113.7")
	o.Store(true)
	w.refuses(ann, "deny 203.0.113.8", refusal.ErrGuarded, "changes are switched off")
	w.refuses(ann, "undo "+c.ID, refusal.ErrGuarded, "changes are switched off")
	require.Contains(t, textOf(w.reads(ann, "status")), "only watching: changes are switched off")
	o.Store(false)

	// A change of unknown outcome is not sent again.
	inDoubt = true
	w.fault("POST /v4/ip_rules", "reset", 0)
	_, err := w.try(ann, "deny 203.0.113.9")
	require.ErrorContains(t, err, "switched off meanwhile")
	w.service.ClearFaults()
	require.Equal(t, []string{"203.0.113.7"}, w.denied())
}

// What is planned while another replica switches changes off isn't sent.
func TestChangesAreSwitchedOffWhileOneIsPlanned(t *testing.T) {
	for _, line := range []string{"deny 203.0.113.9", "patch shop.example.com/login type=sqli part=get.q", "contain 203.0.113.9 attack="} {
		o := &off{}
		w := newWorld(t, func(c *commands.Config) { c.Off = o.Load })
		if strings.HasSuffix(line, "=") {
			line += w.attackOn("/login")
		}
		w.ledger.set(func(l *ledger) {
			l.saveFail = func(int) bool {
				o.Store(true)
				return false
			}
		})
		w.refuses(ann, line, refusal.ErrService, "switched off meanwhile")
		require.Equal(t, "failed", w.lastAudit().Outcome)
		for _, ch := range w.ledger.all() {
			require.Equal(t, record.StateFailed, ch.State)
			require.False(t, ch.Steps[0].Sent)
		}
	}
}

// The one who asks at the terminal can't be the second person in Slack.
func TestOnePersonAtTheTerminalAndInSlack(t *testing.T) {
	w := newWorld(t)
	atTerminal := func(name string) record.Actor { return record.Actor{ID: "cli:" + name, Name: name, Via: record.ViaCLI} }
	mapped := w.waits(atTerminal("ann"), "deny country:FR")
	require.Equal(t, record.Responder, mapped.Role)
	w.refuses(ann, "approve "+mapped.ID, refusal.ErrDenied, "you asked for this yourself")
	w.refuses(atTerminal("ann"), "approve "+mapped.ID, refusal.ErrDenied, "the terminal can ask for approval and never give it")
	_, err := w.try(bob, "approve "+mapped.ID)
	require.NoError(t, err)

	unknown := w.waits(atTerminal("root"), "deny country:DE")
	require.Equal(t, record.Admin, unknown.Role)
	w.refuses(bob, "approve "+unknown.ID, refusal.ErrDenied, "needs the role admin")
	w.reads(root, "approve "+unknown.ID)

	inSlack := w.waits(ann, "deny country:NL")
	w.refuses(atTerminal("ann"), "approve "+inSlack.ID, refusal.ErrDenied, "the terminal can ask for approval and never give it")
}

// Of hundreds of accounts an answer names a few, and the one that was probably meant.
func TestHundredsOfAccountsAreNotListed(t *testing.T) {
	w := newWorld(t, func(c *commands.Config) {
		for i := range 150 {
			one := *c.Accounts[0]
			one.Name = fmt.Sprintf("customer-%03d-of-the-eu", i)
			c.Accounts = append(c.Accounts, &one)
			c.Services[one.Name] = c.Services["acme"]
		}
	})
	w.refuses(bob, "deny 203.0.113.7", refusal.ErrUsage, "Missing: account=, one of: acme, customer-000-of-the-eu, ")
	w.refuses(bob, "deny 203.0.113.7", refusal.ErrUsage, "customer-008-of-the-eu and 141 more")
	w.refuses(bob, "status account=customer-117-of-the-ue", refusal.ErrUsage, "(did you mean customer-117-of-the-eu?). One of: acme, ")
	status := textOf(w.reads(bob, "status"))
	require.Contains(t, status, "Status of 151 accounts. wafbot is live")
	require.Less(t, len(status), 3_000)
	require.Less(t, len(textOf(w.reads(bob, "whoami"))), 3_000)
}

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
