package slackconn_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/slackconn"
)

// grid is a workspace T1, of the Enterprise Grid E1 or of none, and what users.info says there of whoever is asked about.
type grid struct {
	enterprise string
	user       string // JSON of the user without id and name

	mu      sync.Mutex
	asked   int
	failing bool
}

func (g *grid) fail() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failing = true
}

func (g *grid) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := fmt.Sprintf(`{"ok":true,"team_id":"T1","enterprise_id":%q,"user_id":"U0BOT","bot_id":"B0BOT"}`, g.enterprise)
	if strings.HasSuffix(r.URL.Path, "users.info") {
		g.mu.Lock()
		g.asked++
		failing := g.failing
		g.mu.Unlock()
		answer = `{"ok":true,"user":{"id":"U1","real_name":"Rob Reed",` + g.user + `}}`
		if failing {
			answer = `{"ok":false,"error":"internal_error"}`
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// Who is a full member of the token's workspace T1, by what Slack delivers as the user's team and what it says of the user.
func TestWhoIsAMember(t *testing.T) {
	t.Parallel()
	const inBoth, elsewhere, otherGrid = `"team_id":"T2","enterprise_user":{"enterprise_id":"E1","teams":["T1","T2"]}`,
		`"team_id":"T2","enterprise_user":{"enterprise_id":"E1","teams":["T2"]}`, `"team_id":"T1x","enterprise_user":{"enterprise_id":"E2","teams":["T1"]}`
	for _, c := range []struct {
		name, enterprise, delivered, user string
		full                              bool
		asked                             int
	}{
		{"a member", "", "T1", `"team_id":"T1"`, true, 1},
		{"a member, whose team isn't delivered", "", "", `"team_id":"T1"`, true, 1},
		{"of a connected workspace", "", "T2", `"team_id":"T2","is_stranger":true`, false, 0},
		{"of a connected workspace, by what Slack says", "", "T1", `"team_id":"T2"`, false, 1},
		{"a stranger", "", "", `"is_stranger":true`, false, 1},
		{"a guest", "", "T1", `"team_id":"T1","is_restricted":true`, false, 1},

		{"of the grid, in both workspaces", "E1", "T2", inBoth, true, 1},
		{"the same, delivered as ours", "E1", "T1", inBoth, true, 1},
		{"the same, delivered as the grid's", "E1", "E1", inBoth, true, 1},
		{"the same without a team", "E1", "", inBoth, true, 1},
		{"of the grid, not in this workspace", "E1", "T2", elsewhere, false, 1},
		{"the same, delivered as ours", "E1", "T1", elsewhere, false, 1},
		{"of another workspace, with the id of one of ours", "E1", "T9", inBoth, false, 1},
		{"of another grid", "E1", "T9", otherGrid, false, 1},
		{"of another grid, delivered as ours", "E1", "T1", otherGrid, false, 1},
		{"where the workspace is of no grid", "", "T1", inBoth, false, 1},
		{"a guest of the grid", "E1", "T2", inBoth + `,"is_ultra_restricted":true`, false, 1},
		{"a bot of the grid", "E1", "T2", inBoth + `,"is_bot":true`, false, 1},
		{"one who left the grid", "E1", "T2", inBoth + `,"deleted":true`, false, 1},
		{"one of whom Slack says nothing", "E1", "T2", `"name":"rob"`, false, 1},
	} {
		g := &grid{enterprise: c.enterprise, user: c.user}
		s := slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: g}})
		for range 2 { // the second time from the cache
			_, _, full, err := s.Member(t.Context(), c.delivered, "U1")
			require.NoError(t, err, c.name)
			require.Equal(t, c.full, full, c.name)
		}
		require.Equal(t, c.asked, g.asked, c.name)
	}
}

// What is known of a user doesn't depend on where the first delivery came from.
func TestOneUserFromTwoWorkspacesOfAGrid(t *testing.T) {
	t.Parallel()
	g := &grid{enterprise: "E1", user: `"name":"rob"`}
	s := slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: g}})
	for _, delivered := range []string{"T1", "T2", "T1"} {
		_, _, full, err := s.Member(t.Context(), delivered, "U1")
		require.NoError(t, err)
		require.Equal(t, delivered == "T1", full, delivered)
	}
}

// While users.info fails, what was last known counts, unless it is known to have changed; of whom nothing is known it isn't even known that he is no guest.
func TestUsersThatCantBeLookedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, marks := &grid{user: `"team_id":"T1"`}, &mark{}
		s := slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: g}, People: marks})
		asks := func(team, user, workspace string, full bool) error {
			t.Helper()
			_, in, member, err := s.Member(t.Context(), team, user)
			require.Equal(t, []any{workspace, full}, []any{in, member})
			return err
		}
		require.NoError(t, asks("T1", "U1", "T1", true))
		g.fail()
		require.NoError(t, asks("T1", "U1", "T1", true), "from the cache")
		time.Sleep(slackconn.PeopleCachedFor)
		require.Error(t, asks("T1", "U1", "T1", true), "as last known")
		require.Error(t, asks("T1", "U2", "T1", false), "nothing is known")
		require.Error(t, asks("", "U2", "", false), "nor whose user it is")
		require.NoError(t, asks("T2", "U2", "", false), "of another workspace by what Slack delivers")
		require.NoError(t, marks.PeopleChanged(t.Context(), "U1"))
		require.Error(t, asks("T1", "U1", "T1", false), "perhaps made a guest")
	})
}

// Who is known to be a guest, or to have left, is no one whom the configuration may have named, also while users.info fails.
func TestAKnownGuestThatCantBeLookedUp(t *testing.T) {
	t.Parallel()
	for _, user := range []string{`"team_id":"T1","is_restricted":true`, `"team_id":"T1","deleted":true`} {
		synctest.Test(t, func(t *testing.T) {
			g := &grid{user: user}
			s := slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: g}, People: &mark{}})
			_, _, full, err := s.Member(t.Context(), "T1", "U1")
			require.NoError(t, err)
			require.False(t, full)
			g.fail()
			time.Sleep(slackconn.PeopleCachedFor)
			_, workspace, full, err := s.Member(t.Context(), "T1", "U1")
			require.Error(t, err)
			require.Equal(t, []any{"", false}, []any{workspace, full})
		})
	}
}

// Anybody in a channel can have Slack asked who they are: while it doesn't say, the log has one line a minute.
func TestUsersThatCantBeLookedUpAreLoggedSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, log := &grid{user: `"team_id":"T1"`}, &bytes.Buffer{}
		s := slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: g}, Log: slog.New(slog.NewTextHandler(log, nil))})
		g.fail()
		for n := range 2 {
			for i := range 300 {
				_, _, _, err := s.Member(t.Context(), "T1", fmt.Sprint("U", i))
				require.Error(t, err)
			}
			require.Equal(t, n+1, strings.Count(log.String(), "look up member"))
			time.Sleep(time.Minute)
		}
	})
}

// mark is the cache version of all users.
type mark struct{ n atomic.Int64 }

func (m *mark) PeopleMark(context.Context, string) (string, error) {
	return fmt.Sprint(m.n.Load()), nil
}
func (m *mark) PeopleChanged(context.Context, string) error { m.n.Add(1); return nil }

// Users are cached, but not without end.
func TestTheCacheOfUsersIsBounded(t *testing.T) {
	t.Parallel()
	g := &grid{user: `"team_id":"T1"`}
	s := slackconn.Connect(slackconn.Config{Token: "xoxb-1", HTTP: &http.Client{Transport: g}})
	ask := func(n int) {
		_, _, full, err := s.Member(t.Context(), "T1", fmt.Sprint("U", n))
		require.NoError(t, err)
		require.True(t, full)
	}
	for n := range 10_000 {
		ask(n)
	}
	ask(0)
	require.Equal(t, 10_000, g.asked)
	ask(10_000)
	ask(0)
	require.Equal(t, 10_002, g.asked, "it began again")
}
