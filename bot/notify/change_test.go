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

// outbox holds an event of a change that was notified before.
type outbox struct {
	Outbox
	Cards
	Attacks
	Triage
	Redraws
	Drills
	change record.Change
	events map[string]record.Event
}

func (o *outbox) Waiting(context.Context, string) (all []record.Event, err error) {
	for _, e := range o.events {
		all = append(all, e)
	}
	return all, nil
}

func (o *outbox) Changes(context.Context, string) ([]record.Change, error) {
	return []record.Change{o.change}, nil
}

func (o *outbox) Change(context.Context, string, string) (record.Change, error) { return o.change, nil }

func (o *outbox) BeginNotify(_ context.Context, _, _ string, now time.Time) (record.Attempt, error) {
	return record.Attempt{First: now, Again: true, Notified: true}, nil
}

func (o *outbox) Notified(_ context.Context, e record.Event, _, _ string, _ bool) (double bool, err error) {
	delete(o.events, e.ID)
	return false, nil
}

func (o *outbox) Drill(context.Context, string) (record.Drill, error) { return record.Drill{}, nil }

func (o *outbox) Stale(context.Context, string) (map[string]record.RedrawMark, error) {
	return nil, nil
}

// stores are those that the tests need.
func stores(box *outbox) Stores {
	return Stores{Outbox: box, Cards: box, Attacks: box, Triage: box, Changes: box, Redraws: box, Drills: box}
}

// Else it would wait until its delivery is no longer stored, and then be posted twice.
func TestAnEventThatIsStoredAgainIsTakenOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ch := record.Change{ID: "c1", Account: "acme", State: record.StateBegun, Fault: "it is not known"}
		e := record.Event{ID: "c1:begun", Account: "acme", Kind: record.ChangeSettled, Channel: "C1", Payload: record.ChangeFacts{Change: "c1"}}
		box := &outbox{change: ch, events: map[string]record.Event{e.ID: e}}
		b := New(Config{
			Slack: slackconn.Connect(slackconn.Config{Token: "xoxb-secret"}), Stores: stores(box),
			Accounts: []Account{{Account: &config.Account{Name: "acme", Channel: "C1"}}},
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); b.Own(ctx, ctx, "acme", Unread{}) }()
		synctest.Wait()
		require.Empty(t, box.events)
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
		f := facts{account: Account{Account: &config.Account{Channel: "C1"}}, change: ch, changes: []record.Change{ch}}
		return changeSettled(record.Event{ID: "c1", Channel: "C1"}, record.ChangeFacts{}, f).posts[0]
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
			n += len(changeSettled(record.Event{}, record.ChangeFacts{}, f).posts)
		}
		return n
	}
	clock := record.Actor{ID: "wafbot", Via: record.ViaClock}
	require.Equal(t, 4, said(2*time.Minute, clock), "once an hour")
	require.Equal(t, 1, said(4*time.Hour, clock), "each that is longer")
	require.Equal(t, 120, said(2*time.Minute, record.Actor{ID: "U0ANN", Via: record.ViaButton}), "what a person asks for is answered")
}

// states has one attack's state.
type states struct {
	outbox
	state record.AttackState
	owner *record.Owner
}

func (s *states) AttackState(context.Context, string, string) (record.AttackState, bool, error) {
	return s.state, true, nil
}

func (s *states) Card(context.Context, string, string) (channel, ts string, err error) {
	return cardAt.Channel, cardAt.TS, nil
}

func (s *states) BeginNotify(_ context.Context, _, _ string, now time.Time) (record.Attempt, error) {
	return record.Attempt{First: now}, nil
}

func (s *states) Details(context.Context, string, string) (record.AttackDetails, error) {
	return record.AttackDetails{State: s.state, Card: cardAt, Triage: record.Triage{Owner: s.owner}, Changes: []record.Change{s.change}, Efficacy: map[string]record.Efficacy{"c1": {Finding: record.NotWorking}}}, nil
}

// What failed or doesn't work mentions operators, else whom the route of its attack mentions, outside quiet hours; what
// is about no attack, whom a route does.
func TestWhoHearsOfWhatFailed(t *testing.T) {
	t.Parallel()
	quiet, loud := record.AttackState{Attack: through, Mention: "S0TEAM", Suppressed: true}, record.AttackState{Attack: through, Mention: "S0TEAM"}
	attack := record.AttackID("acme", through.ID)
	for _, c := range []struct {
		name, ops, attack string
		kind              record.EventKind
		state             record.AttackState
		hears             []string
	}{
		{"failed, of an attack", "", attack, record.ChangeSettled, loud, []string{"U0ANN", "S0TEAM"}},
		{"failed, of an attack, in quiet hours", "", attack, record.ChangeSettled, quiet, []string{"U0ANN"}},
		{"failed, of no attack", "", "", record.ChangeSettled, loud, []string{"U0ANN", "S0FIRST"}},
		{"failed, and there are operators", "S0OPS", attack, record.ChangeSettled, loud, []string{"U0ANN", "S0OPS"}},
		{"not working", "", attack, record.MitigationNotWorking, loud, []string{"U0ANN", "S0TEAM"}},
		{"not working, acknowledged", "", attack, record.MitigationNotWorking, loud, []string{"U0ANN", "U0BOB", "S0TEAM"}},
		{"not working, and there are operators", "S0OPS", attack, record.MitigationNotWorking, quiet, []string{"U0ANN", "S0OPS"}},
	} {
		box := &states{state: c.state, outbox: outbox{change: record.Change{
			ID: "c1", Account: "acme", AttackID: c.attack, Does: "Deny 203.0.113.7", State: record.StateFailed, Fault: "the service can't be reached", Actor: record.Actor{ID: "U0ANN"}, At: now,
		}}}
		if strings.HasSuffix(c.name, "acknowledged") {
			box.owner = &record.Owner{ID: "U0BOB"}
		}
		if c.kind == record.MitigationNotWorking {
			box.change.State, box.change.Fault = record.StateDone, ""
		}
		var said string
		slack := &choosy{refuses: func(_, text string) string { said = text; return "" }}
		n := New(Config{
			Slack:    slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: slack}}),
			Stores:   Stores{Outbox: box, Cards: box, Attacks: box, Triage: box, Changes: box, Redraws: box, Drills: box},
			Accounts: []Account{{Account: &config.Account{Name: "acme", Channel: "C1", OpsMention: c.ops, Routes: []config.Route{{Mention: "S0FIRST"}}}}},
		})
		require.NoError(t, n.handle(t.Context(), record.Event{ID: "e1", Account: "acme", Kind: c.kind, Channel: "C1", At: now, Payload: record.ChangeFacts{Change: "c1"}}), c.name)
		hears := []string{}
		for _, mention := range regexp.MustCompile(`<(?:@|!subteam\^)(\w+)>`).FindAllStringSubmatch(said, -1) {
			hears = append(hears, mention[1])
		}
		require.Equal(t, c.hears, hears, c.name+": "+said)
	}
}
