package notify

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// counted notes what is read of a change whose attack has a card. Each of these is a round trip; the details decode all
// changes of the account.
type counted struct {
	outbox
	reads []string
}

func (c *counted) Change(context.Context, string, string) (record.Change, error) {
	c.reads = append(c.reads, "change")
	return c.change, nil
}

func (c *counted) Card(context.Context, string, string) (channel, ts string, err error) {
	c.reads = append(c.reads, "card")
	return cardAt.Channel, cardAt.TS, nil
}

func (c *counted) Details(context.Context, string, string) (record.AttackDetails, error) {
	c.reads = append(c.reads, "details")
	return record.AttackDetails{State: record.AttackState{Attack: through}, Card: cardAt, Changes: []record.Change{c.change}}, nil
}

func (c *counted) BeginNotify(_ context.Context, _, _ string, now time.Time) (record.Attempt, error) {
	return record.Attempt{First: now}, nil
}

func (c *counted) Redrawn(context.Context, string, string, record.RedrawMark) error { return nil }

// A click makes a reply and redraws the card: the reply reads its own change alone, the card the account's changes
// once.
func TestAReplyReadsOneChangeAndARedrawAllOnce(t *testing.T) {
	t.Parallel()
	attack := record.AttackID("acme", through.ID)
	box := &counted{outbox: outbox{change: record.Change{ID: "c1", Account: "acme", AttackID: attack, State: record.StateDone, At: now}}}
	slack := &choosy{refuses: func(string, string) string { return "" }}
	n := New(Config{
		Slack:    slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: slack}}),
		Stores:   Stores{Outbox: box, Cards: box, Attacks: box, Triage: box, Changes: box, Redraws: box, Drills: box},
		Accounts: []Account{{Account: &config.Account{Name: "acme", Channel: "C1"}}},
	})
	settled := record.Event{ID: "c1:done", Account: "acme", Kind: record.ChangeSettled, Channel: "C1", At: now, Payload: record.ChangeFacts{Change: "c1"}}
	require.NoError(t, n.handle(t.Context(), settled))
	require.Equal(t, []string{"change", "card"}, box.reads)
	require.Len(t, slack.took, 1)

	box.reads = nil
	_, err := newRedrawQueue(n, "acme", Unread{}).redraw(t.Context(), stale{attack: attack})
	require.NoError(t, err)
	require.Equal(t, []string{"details"}, box.reads)
}
