package notify

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
	"github.com/wafbot/wafbot/internal/record"
)

// A click makes a reply and redraws the card: the reply reads its own change alone, the card the account's changes
// once.
func TestAReplyReadsOneChangeAndARedrawAllOnce(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	box.holds(record.AttackState{Attack: through})
	box.redis.HSet("{a:acme}:cards", theAttack, cardAt.String())
	slack := &choosy{refuses: func(string, string) string { return "" }}
	n := made(Config{
		Slack:    slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: slack}}),
		Store:    box.Store,
		Accounts: []Account{{Account: &config.Account{Name: "acme", Channel: "C1"}}},
	})
	require.NoError(t, box.Ping(t.Context())) // it is connected
	box.reads = nil
	settled := record.Event{ID: "c1:done", Account: "acme", Kind: record.ChangeSettled, Channel: "C1", At: now, Detail: record.ChangeFacts{Change: "c1"}}
	require.NoError(t, n.handle(t.Context(), n.accounts["acme"], settled))
	require.Equal(t, []string{"{a:acme}:changes", "{a:acme}:cards"}, box.reads)
	require.Len(t, slack.took, 1)

	box.reads = nil
	_, err := newRedrawQueue(n, n.accounts["acme"], Unread{}).redraw(t.Context(), stale{attack: theAttack})
	require.NoError(t, err)
	require.Equal(t, []string{"{a:acme}:attacks"}, box.reads)
}
