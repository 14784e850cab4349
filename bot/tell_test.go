package bot

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/commands"
	"github.com/wafbot/wafbot/poller"
)

// outbox holds news of a change that was told before.
type outbox struct {
	Memory
	change commands.Change
	news   map[string]poller.News
}

func (o *outbox) Untold(context.Context, string) (all []poller.News, err error) {
	for _, n := range o.news {
		all = append(all, n)
	}
	return all, nil
}

func (o *outbox) Changes(context.Context, string) ([]commands.Change, error) {
	return []commands.Change{o.change}, nil
}

func (o *outbox) Trying(_ context.Context, _, _ string, now time.Time) (first time.Time, again, told bool, err error) {
	return now, true, true, nil
}

func (o *outbox) Told(_ context.Context, n poller.News, _, _ string, _ bool) (double bool, err error) {
	delete(o.news, n.ID)
	return false, nil
}

func (o *outbox) Drill(context.Context, string) (commands.Drill, error) { return commands.Drill{}, nil }

func (o *outbox) ToRedraw(context.Context, string) (map[string]commands.Mark, error) { return nil, nil }

// Else it would wait until nobody remembers that it was told, and then come twice.
func TestNewsThatIsAnnouncedAgainIsTakenOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ch := commands.Change{ID: "c1", Account: "acme", State: commands.StateBegun, Fault: "nobody knows"}
		n := Announcement(ch, "C1")
		box := &outbox{change: ch, news: map[string]poller.News{n.ID: n}}
		b := New(Config{
			Slack: Connect(SlackConfig{Token: "xoxb-secret"}), Memory: box, Runner: noRunner{},
			Accounts: []Account{{Account: &commands.Account{Name: "acme"}, Channel: "C1"}},
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); b.Tend(ctx, ctx, "acme") }()
		synctest.Wait()
		require.Empty(t, box.news)
		stop()
		<-ended
	})
}

// What failed, or perhaps did, calls who asked for it and who approved it, in the room of what calls people; nobody else's work does.
func TestWhomAFailureCalls(t *testing.T) {
	t.Parallel()
	ch := commands.Change{ID: "c1", Account: "acme", Does: "Deny 203.0.113.7", State: commands.StateBegun, Fault: "the service can't be reached", Actor: commands.Actor{ID: "U0ANN"}, Approved: &commands.Actor{ID: "U0ROB"}}
	call := changeCall(nil, ch, Announcement(ch, "C1"), nil)
	require.Contains(t, call.Message.Text, "<@U0ANN> <@U0ROB> *Perhaps done: Deny 203.0.113.7*: the service can't be reached. Ask the same again")
	require.True(t, call.Urgent)
	for _, actor := range []commands.Actor{{ID: "cli:root", Via: commands.ViaCLI}, {ID: "wafbot", Via: commands.ViaClock}} {
		ch.Actor, ch.Approved, ch.State = actor, nil, commands.StateHalf
		call = changeCall(nil, ch, Announcement(ch, "C1"), nil)
		require.NotContains(t, call.Message.Text, "@")
		require.Contains(t, call.Message.Text, "*Only partly done: Deny 203.0.113.7*")
	}
	ch.Actor, ch.State, ch.Fault = commands.Actor{ID: "U0ANN"}, commands.StateDone, ""
	call = changeCall(nil, ch, Announcement(ch, "C1"), nil)
	require.NotContains(t, call.Message.Text, "@")
	require.False(t, call.Urgent)
}
