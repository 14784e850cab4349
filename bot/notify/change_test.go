package notify

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// Else it would wait until its delivery is no longer stored, and then be posted twice.
func TestAnEventThatIsStoredAgainIsTakenOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ch := record.Change{ID: "c1", Account: "acme", State: record.StateBegun, Fault: "it is not known"}
		e := record.Event{ID: "c1:begun", Account: "acme", Kind: record.ChangeSettled, Channel: "C1", Detail: record.ChangeFacts{Change: "c1"}}
		box := newBox(t)
		box.put("changes", "c1", ch)
		box.announce(e)
		_, err := box.Outbox.Notified(t.Context(), e, "C1", "1.1", false)
		require.NoError(t, err)
		box.announce(e)
		b := made(Config{
			Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-secret"}), Store: box.Store,
			Accounts: []Account{{Account: &config.Account{Name: "acme", Channel: "C1"}}},
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); b.Own(ctx, ctx, "acme", Unread{}) }()
		synctest.Wait()
		waits, err := box.Outbox.Waiting(t.Context(), "acme")
		require.NoError(t, err)
		require.Empty(t, waits)
		stop()
		<-ended
	})
}

// A change that failed, or perhaps did, mentions its author and its approver, in the slots of what mentions people; the
// clock's and a terminal's mention no one.
func TestWhomAFailureMentions(t *testing.T) {
	t.Parallel()
	ch := record.Change{ID: "c1", Account: "acme", Does: "Deny 203.0.113.7", State: record.StateBegun, Fault: "the service can't be reached", Actor: record.Actor{ID: "U0ANN"}, Approved: &record.Actor{ID: "U0ROB"}}
	settled := func() Post {
		f := facts{AttackDetails: record.AttackDetails{Changes: []record.Change{ch}},
			account: Account{Account: &config.Account{Channel: "C1"}}, change: ch}
		f.Event = record.Event{ID: "c1", Channel: "C1"}
		return changeSettled(record.ChangeFacts{}, f).posts[0]
	}
	made := settled()
	require.Contains(t, made.Message.Text, "<@U0ANN> <@U0ROB> *Failed, or perhaps done: Deny 203.0.113.7*: the service can't be reached. Ask the same again")
	require.True(t, made.Urgent)
	for _, actor := range []record.Actor{{ID: "cli:root", Via: record.ViaCLI}, {ID: "wafbot", Via: record.ViaClock}} {
		ch.Actor, ch.Approved, ch.State = actor, nil, record.StateHalf
		made = settled()
		require.NotContains(t, made.Message.Text, "@")
		require.Contains(t, made.Message.Text, "*Failed in part: Deny 203.0.113.7*")
	}
	ch.Actor, ch.State, ch.Fault = record.Actor{ID: "U0ANN"}, record.StateDone, ""
	made = settled()
	require.NotContains(t, made.Message.Text, "@")
	require.False(t, made.Urgent)
}

// A denial of two minutes is renewed thirty times an hour: one of these is said.
func TestFewRenewalsAreSaid(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	said := func(length time.Duration, by record.Actor) (n int) {
		for now := at.Add(length); !now.After(at.Add(4 * time.Hour)); now = now.Add(length) {
			renewed := record.Change{ID: "c1", At: at, Until: now.Add(length)}
			f := facts{change: record.Change{ID: "c2", Extends: "c1", Actor: by, State: record.StateDone, At: now}, extended: renewed, account: Account{Account: &config.Account{Name: "acme"}}}
			n += len(changeSettled(record.ChangeFacts{}, f).posts)
		}
		return n
	}
	clock := record.Actor{ID: "wafbot", Via: record.ViaClock}
	require.Equal(t, 4, said(2*time.Minute, clock), "once an hour")
	require.Equal(t, 1, said(4*time.Hour, clock), "each that is longer")
	require.Equal(t, 120, said(2*time.Minute, record.Actor{ID: "U0ANN", Via: record.ViaButton}), "what a person asks for is answered")
}

// What failed or doesn't work mentions operators, else whom the route of its attack mentions, outside quiet hours; what
// is about no attack, whom a route does.
func TestWhoHearsOfWhatFailed(t *testing.T) {
	t.Parallel()
	quiet, loud := record.AttackState{Attack: through, Mention: "S0TEAM", Suppressed: true}, record.AttackState{Attack: through, Mention: "S0TEAM"}
	for _, c := range []struct {
		name, ops, attack string
		kind              record.EventKind
		state             record.AttackState
		hears             []string
	}{
		{"failed, of an attack", "", theAttack, record.ChangeSettled, loud, []string{"U0ANN", "S0TEAM"}},
		{"failed, of an attack, in quiet hours", "", theAttack, record.ChangeSettled, quiet, []string{"U0ANN"}},
		{"failed, of no attack", "", "", record.ChangeSettled, loud, []string{"U0ANN", "S0FIRST"}},
		{"failed, and there are operators", "S0OPS", theAttack, record.ChangeSettled, loud, []string{"U0ANN", "S0OPS"}},
		{"not working", "", theAttack, record.MitigationNotWorking, loud, []string{"U0ANN", "S0TEAM"}},
		{"not working, acknowledged", "", theAttack, record.MitigationNotWorking, loud, []string{"U0ANN", "U0BOB", "S0TEAM"}},
		{"not working, and there are operators", "S0OPS", theAttack, record.MitigationNotWorking, quiet,
			[]string{"U0ANN", "S0OPS"}},
	} {
		box := newBox(t)
		box.put("attacks", theAttack, c.state)
		box.redis.HSet("{a:acme}:cards", theAttack, cardAt.String())
		if strings.HasSuffix(c.name, "acknowledged") {
			box.put("triage", theAttack, record.Triage{Owner: &record.Owner{ID: "U0BOB"}})
		}
		ch := record.Change{
			ID: "c1", Account: "acme", AttackID: c.attack, Does: "Deny 203.0.113.7", State: record.StateFailed,
			Fault: "the service can't be reached", Actor: record.Actor{ID: "U0ANN"}, At: now,
		}
		if c.kind == record.MitigationNotWorking {
			ch.State, ch.Fault = record.StateDone, ""
			box.put("efficacy", "c1", record.Efficacy{Finding: record.NotWorking})
		}
		box.put("changes", "c1", ch)
		var said string
		slack := &choosy{refuses: func(_, text string) string { said = text; return "" }}
		n := made(Config{
			Slack:    slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: slack}}),
			Store:    box.Store,
			Accounts: []Account{{Account: &config.Account{Name: "acme", Channel: "C1", OpsMention: c.ops, Routes: []config.Route{{Mention: "S0FIRST"}}}}},
		})
		require.NoError(t, n.handle(t.Context(), n.accounts["acme"],
			record.Event{ID: "e1", Account: "acme", Kind: c.kind, Channel: "C1", At: now,
				Detail: record.ChangeFacts{Change: "c1"}}), c.name)
		hears := []string{}
		for _, mention := range regexp.MustCompile(`<(?:@|!subteam\^)(\w+)>`).FindAllStringSubmatch(said, -1) {
			hears = append(hears, mention[1])
		}
		require.Equal(t, c.hears, hears, c.name+": "+said)
	}
}
