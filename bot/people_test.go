package bot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/wafbot/wafbot/bot/notify"
	"github.com/wafbot/wafbot/bot/slackconn"
	"github.com/wafbot/wafbot/internal/config"
)

// directory is Slack's end: it knows a user and a user group, and counts how often it is asked. It is served without a
// network.
type directory struct {
	mu      sync.Mutex
	members string // of S0ONCALL, as JSON
	guest   bool   // U0ROB
	refuses func(w http.ResponseWriter) bool
	users   int
	groups  int
}

func (d *directory) set(f func(d *directory)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
}

// RoundTrip implements http.RoundTripper.
func (d *directory) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	answer := httptest.NewRecorder()
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(answer, format, args...) }
	switch body, _ := io.ReadAll(r.Body); {
	case strings.HasSuffix(r.URL.Path, "/auth.test"):
		say(`{"ok":true,"team_id":"T0OURS","user_id":"U0BOT","bot_id":"B0BOT"}`)
	case strings.HasSuffix(r.URL.Path, "/users.info"):
		d.users++
		say(`{"ok":true,"user":{"id":"U0ROB","team_id":"T0OURS","real_name":"Rob Reed","is_restricted":%t}}`, d.guest)
	case strings.HasSuffix(r.URL.Path, "/usergroups.list") && bytes.Contains(body, []byte("include_users=true")):
		d.groups++
		if d.refuses == nil || !d.refuses(answer) {
			say(`{"ok":true,"usergroups":[{"id":"S0ONCALL","users":%s},{"id":"S0OTHER","users":["U0ANN"]}]}`, d.members)
		}
	default:
		say(`{"ok":false,"error":"unknown_method"}`)
	}
	return answer.Result(), nil
}

// sharedMarks holds the cache versions that replicas share.
type sharedMarks struct {
	mu    sync.Mutex
	marks map[string]int
	away  bool
}

func (m *sharedMarks) PeopleMark(_ context.Context, of string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return "", errors.New("redis is away")
	}
	return strconv.Itoa(m.marks[of]), nil
}

func (m *sharedMarks) PeopleChanged(_ context.Context, of string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return errors.New("redis is away")
	}
	m.marks[of]++
	return nil
}

func (m *sharedMarks) set(f func(m *sharedMarks)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

// replica is a bot that shares the cache versions with other replicas.
func (d *directory) replica(m *sharedMarks, log io.Writer) *Server {
	store := newLinkStore()
	return alone(Config{
		Slack:    slackconn.Connect(slackconn.Config{Token: "xoxb-secret", APIURL: "http://slack/api/", HTTP: &http.Client{Transport: d}, People: m, Log: slog.New(slog.NewTextHandler(log, nil))}),
		Accounts: []notify.Account{{Account: &config.Account{Name: "acme", Policy: config.Policy{Responders: []string{"S0ONCALL"}}}}}, Secret: signingSecret,
		Inbox: store, Runner: noRunner{},
	})
}

func newDirectory() (*directory, *sharedMarks) {
	return &directory{members: `["U0ROB"]`}, &sharedMarks{marks: map[string]int{}}
}

func isIn(t *testing.T, b *Server, want bool) {
	t.Helper()
	in, err := b.Slack.Groups(t.Context(), "U0ROB", []string{"S0ONCALL"})
	require.NoError(t, err)
	require.Equal(t, want, len(in) == 1)
}

// A user leaves the group between two clicks. Slack sends the event to one replica; the other one checks the new
// members at the next click.
func TestGroupEventInvalidatesEveryReplica(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]map[string]any{
		"members": {"type": "subteam_members_changed", "subteam_id": "S0ONCALL", "removed_users": []string{"U0ROB"}},
		"updated": {"type": "subteam_updated", "subteam": map[string]any{"id": "S0ONCALL"}},
		"created": {"type": "subteam_created", "subteam": map[string]any{"id": "S0ONCALL"}},
	} {
		d, m := newDirectory()
		one, other := d.replica(m, io.Discard), d.replica(m, io.Discard)
		for range 3 {
			isIn(t, one, true)
			isIn(t, other, true)
		}
		require.Equal(t, 2, d.groups, "one call each")
		d.set(func(d *directory) { d.members = `[]` })
		deliverEvent(t, one, "Ev1", event)
		isIn(t, other, false)
		isIn(t, one, false)
		d.set(func(d *directory) { d.members = `["U0ANN","U0ROB"]` })
		deliverEvent(t, other, "Ev2", event)
		isIn(t, one, true)
		isIn(t, other, true)
		require.Equal(t, 6, d.groups, name)
	}
}

// Groups without a role change all the time in a big workspace.
func TestEventsOfOtherGroupsCostNothing(t *testing.T) {
	t.Parallel()
	d, m := newDirectory()
	b := d.replica(m, io.Discard)
	isIn(t, b, true)
	deliverEvent(t, b, "Ev1", map[string]any{"type": "subteam_members_changed", "subteam_id": "S0OTHER"})
	deliverEvent(t, b, "Ev2", map[string]any{"type": "team_join", "user": map[string]any{"id": "U0NEW"}})
	isIn(t, b, true)
	require.Equal(t, 1, d.groups)
	require.Empty(t, m.marks)
}

func TestUserEventInvalidatesEveryReplica(t *testing.T) {
	t.Parallel()
	d, m := newDirectory()
	one, other := d.replica(m, io.Discard), d.replica(m, io.Discard)
	full := func(b *Server) bool {
		_, _, full, err := b.Slack.Member(t.Context(), "T0OURS", "U0ROB")
		require.NoError(t, err)
		return full
	}
	require.True(t, full(one) && full(other) && full(other))
	require.Equal(t, 2, d.users)
	d.set(func(d *directory) { d.guest = true })
	deliverEvent(t, other, "Ev1", map[string]any{"type": "user_change", "user": map[string]any{"id": "U0ANN"}})
	require.True(t, full(one), "of another user")
	deliverEvent(t, other, "Ev2", map[string]any{"type": "user_change", "user": map[string]any{"id": "U0ROB", "is_restricted": true}})
	require.False(t, full(one) || full(other))
	require.Equal(t, 4, d.users)
}

// If the event is lost, a cache expires after five minutes. While Redis is unreachable only the replica that gets the
// event drops its cache at once.
func TestPeopleAreCachedForFiveMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, m := newDirectory()
		one, other := d.replica(m, io.Discard), d.replica(m, io.Discard)
		isIn(t, one, true)
		isIn(t, other, true)
		d.set(func(d *directory) { d.members = `[]` })
		m.set(func(m *sharedMarks) { m.away = true })
		deliverEvent(t, one, "Ev1", map[string]any{"type": "subteam_members_changed", "subteam_id": "S0ONCALL"})
		isIn(t, one, false)
		time.Sleep(5*time.Minute - time.Second)
		isIn(t, other, true)
		time.Sleep(2 * time.Second)
		isIn(t, other, false)
	})
}

// If groups can't be read, the cached ones are returned with an error. The log says it once, with the fix, and Slack
// isn't asked at every click.
func TestGroupsThatCantBeRead(t *testing.T) {
	t.Parallel()
	limited := func(w http.ResponseWriter) bool {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	says := func(name string) func(http.ResponseWriter) bool {
		return func(w http.ResponseWriter) bool {
			_, _ = fmt.Fprintf(w, `{"ok":false,"error":%q,"needed":"usergroups:read","provided":"chat:write"}`, name)
			return true
		}
	}
	for name, tt := range map[string]struct {
		refuses func(http.ResponseWriter) bool
		log     string
		within  time.Duration // it isn't asked again
	}{
		"free plan":    {says("plan_upgrade_required"), "write user ids instead", 2 * time.Second},
		"no scope":     {says("missing_scope"), "add usergroups:read", 2 * time.Second},
		"too often":    {limited, "takes no more of these requests", 29 * time.Second},
		"fault inside": {says("internal_error"), "a fault of its own", 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, m := newDirectory()
				var log bytes.Buffer
				b := d.replica(m, &log)
				isIn(t, b, true)
				d.set(func(d *directory) { d.refuses = tt.refuses })
				time.Sleep(6 * time.Minute)
				fails := func() {
					in, err := b.Slack.Groups(t.Context(), "U0ROB", []string{"S0ONCALL"})
					require.Error(t, err)
					require.NotContains(t, err.Error(), "xoxb-secret")
					require.Equal(t, []string{"S0ONCALL"}, in, "the cached ones")
				}
				fails()
				asked := d.groups
				time.Sleep(tt.within)
				fails()
				require.Equal(t, asked, d.groups)
				time.Sleep(2 * time.Second)
				fails()
				require.Equal(t, asked+1, d.groups)
				require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
				require.Contains(t, log.String(), tt.log)
				d.set(func(d *directory) { d.refuses = nil })
				time.Sleep(30 * time.Second)
				isIn(t, b, true)
				require.Contains(t, log.String(), "user groups can be read again")
			})
		})
	}
}

// A caller whose context ends gets an error, not members that it did not wait for.
func TestGroupsOfACallerThatGaveUp(t *testing.T) {
	t.Parallel()
	d, m := newDirectory()
	b := d.replica(m, io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	d.set(func(d *directory) {
		d.refuses = func(http.ResponseWriter) bool { cancel(); return false }
	})
	_, err := b.Slack.Self(t.Context())
	require.NoError(t, err)
	in, err := b.Slack.Groups(ctx, "U0ROB", []string{"S0ONCALL"})
	require.Error(t, err)
	require.Empty(t, in)
	isIn(t, b, true)
}
